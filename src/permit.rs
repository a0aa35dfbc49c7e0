//! What an agent may do. So far: the deny list that Claude Code is started with.

pub mod deny;
