//! Recording a command's run, making the recording stable and safe to publish, and replaying it.
//!
//! Input: a command, or a fixture's folder. Output: a fixture's folder, or the recorded bytes. Nothing here
//! interprets the bytes; that is up to `agent`. `fake-claude/README.md` documents the format.

mod asking;
mod fixture;
mod folder;
mod play;
mod pump;
mod record;
pub mod scrub;

pub use asking::{Asking, AskingWriter};
pub use fixture::{End, FORMAT, Fixture, FixtureError, Parts, Run, lines};
pub use play::{Pace, PlayError, play};
pub use record::{RecordError, RecordPlan, Recorded, Stdin, Streams, ask_version, record, record_through};
