//! What an agent may do: a tool call goes in, a decision comes out. Pure: it reads no file, asks nobody and knows no
//! daemon; who calls it brings what it needs.

pub mod call;
pub mod decision;
pub mod deny;
pub mod guard;
pub mod line;
pub mod policy;
pub mod shell;
