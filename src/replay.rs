//! Recorded runs of an agent's command line: recording one, making it stable and safe, playing it back.
//!
//! In comes a command, or a fixture's folder; out goes a fixture's folder, or the bytes the command once
//! wrote. Nothing here reads what the bytes mean: that is `agent`'s. The format is `docs/fixtures.md`'s.

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
pub use record::{Doors, RecordError, RecordPlan, Recorded, Stdin, ask_version, record, record_through};
