//! An agent: its prompt, how it is started, its event stream, and its settings.
//!
//! Takes a prompt and an invocation; returns events. Must not know schedules or outcomes.

pub mod background;
pub mod claude;
pub mod conversation;
pub mod event;
pub mod find;
pub mod invocation;
pub mod prompt;
pub mod rule_files;
pub mod settings;
