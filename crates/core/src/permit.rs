//! Decides what an agent may do: takes a tool call and returns a decision. Pure: it reads no files, asks nobody and
//! doesn't know the daemon; callers provide what it needs.
//!
//! The crate `shell_guard` (crates/shell-guard) defines calls, parses shell, and refuses what nobody may allow.
//!
//! - [`policy`]: the settings of the agent that makes the call; [`decision`]: the result
//! - [`rules`]: a user's own permissions.toml
//! - [`manager`]: what a manager, an agent that directs others, may do
//! - [`pipeline`]: guard, rules and policy, in this order
//! - [`request`]: requests to a person or a model, and their answers
//! - [`call_text`]: a call as text for the person who decides on it
//! - [`question`]: an agent's questions to a person, and the answers in the form that the agent expects
//! - [`deny_list`]: builds the deny list, which `murmur_agent::invocation` passes to Claude Code

pub mod call_text;
pub mod decision;
pub mod deny_list;
pub mod manager;
pub mod pipeline;
pub mod policy;
pub mod question;
pub mod request;
pub mod rules;
