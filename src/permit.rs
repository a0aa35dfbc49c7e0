//! What an agent may do: a tool call goes in, a decision comes out. Pure: it reads no file, asks nobody and knows no
//! daemon; who calls it brings what it needs.
//!
//! - [`call`], [`mod@line`]: what is asked for; [`policy`]: what holds for who asks; [`decision`]: what comes out
//! - [`links`]: where links on the disk lead
//! - [`guard`]: what is refused whatever anybody says, by what it means; [`shell`]: what a line would run
//! - [`rules`]: a user's own permissions.toml
//! - [`manager`]: what an agent may do that directs others
//! - [`pipeline`]: guard, rules and policy in their order
//! - [`question`]: what an agent asks a person, and the answers in the form it takes them
//! - [`deny`]: the list for Claude Code's own check, a second layer

pub mod call;
pub mod decision;
pub mod deny;
pub mod guard;
pub mod line;
pub mod links;
pub mod manager;
pub mod pipeline;
pub mod plain;
pub mod policy;
pub mod question;
pub mod request;
pub mod rules;
pub mod shell;
