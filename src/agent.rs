//! An agent: its prompt, how it is started, its event stream, and its settings.
//!
//! Takes a prompt and an invocation; returns events. Must not know schedules or outcomes.

pub mod acp;
pub mod backend;
pub mod background;
pub mod claude;
pub mod codex;
pub mod conversation;
pub mod dialog;
pub mod event;
pub mod find;
pub mod invocation;
pub mod parser;
pub mod prompt;
pub mod rule_files;
pub mod settings;
pub mod start;
