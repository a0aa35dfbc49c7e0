//! An agent: how it is started, its prompt, its settings, and its stream of events.
//!
//! Takes a prompt and an invocation; returns events. Must not know schedules, outcomes or the daemon.
//!
//! Each module uses only those above it; `tests/it/layers.rs` checks it against this list.
//!
//! - `event`: what an agent does, whatever agent it is
//! - `claude`: the stream parser: Claude Code's stream-json → events
//! - `conversation`: events → turns
//! - `background`: events → the background tasks that still run
//! - `prompt`: the prompt of a beat
//! - `invocation`: arguments, environment and working folder
//! - `settings`: the settings that make Claude Code call murmur's hooks
//! - `rule_files`: the rules that apply to agents, from files
//! - `find`: the agent's program, in the PATH of the login shell too

pub mod background;
pub mod claude;
pub mod conversation;
pub mod event;
pub mod find;
pub mod invocation;
pub mod prompt;
pub mod rule_files;
pub mod settings;
