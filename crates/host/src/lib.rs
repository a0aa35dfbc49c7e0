//! One process per agent: keeps the agent running independently of everything else, records its output, and streams
//! its events to clients (spec 3; docs/reference/host-protocol.md).
//!
//! # How it works
//!
//! ```text
//! agent's bytes ─┬─> capture session ────────────────────> replay ─┐
//!                └─> output_parser ─> numbered events ─> feed ──────┴─> clients, each at its own pace
//! ```
//!
//! [`run`] owns the agent: its process, its [`state`] and its capture session. The agent's events are derived from its
//! bytes, and the same bytes always give the same events ([`output_parser`]). murmur's own events are in the session's
//! [`ledger`]. So captured events can be replayed from the session alone, with the same numbers ([`replay`]).
//!
//! A host locks its [`record`] while it lives. If it dies, the kernel kills the agent with it on Linux
//! ([`sys::process`]), the daemon notices (`daemon::hosts`), and [`reap`] kills leftover processes and closes the
//! record. If it ran a beat, the daemon also writes the missing journal line (`daemon::write_behind::lines`).

mod activity;
pub mod audit;
pub mod beat_limits;
pub mod calls;
pub mod capture;
mod client_files;
mod control_requests;
pub mod converse;
pub mod discover;
pub mod drain;
pub mod event;
pub mod launch;
pub mod ledger;
pub mod local_rules;
pub mod output_parser;
pub mod pipes;
pub mod process;
pub mod protocol;
pub mod pulses;
pub mod reap;
pub mod record;
pub mod registration;
pub mod replay;
pub mod run;
pub mod serve;
pub mod state;
mod terminals;
pub mod unrecorded;
pub mod watchdogs;
