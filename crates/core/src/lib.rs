//! What murmur decides without running anything: which heartbeats there are, when they are due, and what an agent may
//! do.
//!
//! Takes files, times and calls; returns heartbeats, due times and decisions. Must not know agents, processes or the
//! daemon, and doesn't read the clock.
//!
//! Each module uses only those above it; `tests/it/layers.rs` checks it against this list.
//!
//! - `id`: the ids of agents, beats and sessions
//! - `naming`: pure: (what a person typed, known names and ids) → which one is meant
//! - `usage`: pure: journal lines → beats, cost and tokens, by heartbeat, workspace, day or model
//! - `config`: config.json and HEARTBEAT.md's frontmatter → resolved heartbeats; config.toml → settings
//! - `schedule`: pure: (schedule, last run, now) → due, and when to wake
//! - `spending`: pure: (budgets, beats that ended) → which heartbeats are on hold, and until when
//! - `usage_limit`: pure: what agents reported about an account's usage → until when nothing may start
//! - `failures`: pure: failures in a row of a heartbeat → when to retry, and when to run less often
//! - `retention`: pure: (captures, limits, now) → which to remove
//! - `permit`: pure: (call, policy, rules, findings of `shell_guard`) → a decision, or whom to ask; questions and
//!   answers; `permit::deny_list` builds the deny list for Claude Code
//! - `outcome`: how a beat ended, in the words of the journal

pub mod config;
pub mod failures;
pub mod id;
pub mod naming;
pub mod outcome;
pub mod permit;
pub mod retention;
pub mod schedule;
pub mod spending;
pub mod usage;
pub mod usage_limit;
