//! The journal: one line for every beat that began, whatever crashed (spec 0, Log Format).
//!
//! Lines are appended in one write each and read newest first. A beat has a record in `beats/` from its beginning until
//! its line is written, so that a crash loses no line. What a full disk would prevent is prepared while there is space:
//! spare records (`spares`), and space for lines that don't fit into the journal (`reserve`). Deferred calls are in
//! `approvals/`.

pub mod append;
pub mod decisions;
pub mod deferred;
pub mod entry;
pub mod last_beat;
pub mod read;
pub mod reserve;
pub mod spares;
pub mod tail;
pub mod unfinished;
