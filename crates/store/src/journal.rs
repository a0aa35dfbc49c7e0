//! The journal: one line for every beat that started, even after a crash (spec 0, Log Format).
//!
//! Lines are appended in one write each and read newest first. A beat has a record in `beats/` from its beginning until
//! its line is written, so that a crash loses no line. For a full disk, spare records (`spares`) and space for lines
//! (`reserve`) are allocated in advance. Deferred calls are in `approvals/`. Agents' unknown output is in unknown.json
//! (`unknown`).

pub mod append;
pub mod decisions;
pub mod deferred;
mod early_end;
pub mod entry;
pub mod last_beat;
pub mod read;
pub mod reserve;
pub mod spares;
pub mod tail;
pub mod unfinished;
pub mod unknown;
