//! What agents leave in murmur's data folder: their last actions, their accounts' limits, and the journal of beats.
//!
//! Takes events, outcomes and lines; writes and reads files that several processes share. Must not know processes,
//! hosts or the daemon.
//!
//! Each module uses only those above it; `tests/it/layers.rs` checks it against this list.
//!
//! - `limits`: limits.json: what agents reported of their accounts' usage limits, and which beats to continue
//! - `failures`: failures.json: how often each heartbeat has failed in a row
//! - `pulse`: the last action of each agent, in a small file: written by hooks, read by commands that show agents
//! - `journal`: heartbeats.jsonl, records of beats that are not yet in it, deferred calls, last-beat files

pub mod failures;
pub mod journal;
pub mod limits;
pub mod pulse;
