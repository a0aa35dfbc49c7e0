//! The journal: one line for every beat that was started, whatever crashed (spec 0, Log Format).
//!
//! An entry goes in and is appended in one write; entries come out newest first. A beat that has begun stands in
//! `beats/` until its line is written, so that a crash loses none. What that needs on a full disk is made while there is
//! room: spare records (`spares`), and room for lines that are not in the journal (`reserve`). A call that waits for a person
//! without a process stands in `approvals/`.

pub mod append;
pub mod entry;
pub mod last_beat;
pub mod put_off;
pub mod read;
pub mod reserve;
pub mod spares;
pub mod tail;
pub mod unfinished;
