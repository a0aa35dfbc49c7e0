//! An agent: what it is asked, how it is started, what it says, and how it ends.
//!
//! A prompt and an invocation go in; events and an ending come out. Nothing here knows of schedules or outcomes.

pub mod background;
pub mod claude;
pub mod conversation;
pub mod event;
pub mod find;
pub mod invocation;
pub mod prompt;
pub mod rule_files;
pub mod settings;
