//! murmur runs coding agents unattended and reports honestly how each run went.
//!
//! A *workspace* is a folder with a `HEARTBEAT.md`. A *heartbeat* is one of its scheduled prompts, and a *beat* is one
//! run of a heartbeat. A beat ends with an *outcome* (`ok`, `attention`, `error`, `limited` or `skipped`; a waiting
//! call makes it `attention`) and one line in the journal.
//!
//! # How data flows
//!
//! `murmur_core::config` → `murmur_core::schedule` (what is due) → `murmur_gate` (whether there is anything to do) →
//! `murmur_agent` (prompt and invocation) → a process → bytes → events → `murmur_outcome` → `murmur_store::journal`.
//! `beat` has this flow on one screen, `daemon` decides when a beat runs, and `cli` is the entry point.
//!
//! # The map
//!
//! Comments name the specification that a behavior comes from, such as "spec 3"; the specifications are not in this
//! repository.
//!
//! The seventeen crates come first; none uses murmur's own modules. Seven don't use the ten below:
//!
//! - `sys` (crates/sys): the operating system, with all unsafe code and reads of the wall clock; and
//!   `sys::error::Failure`, the error type that people see
//! - `rotate` (crates/rotate): append-only files that processes share, rotated by size into dated zstd files
//! - `secrets` (crates/secrets): finds and masks secrets in text
//! - `shell_guard` (crates/shell-guard): reads shell commands and refuses catastrophic ones
//! - `watch` (crates/watch): the live view on a terminal; pure: rows and keys in, frames and actions out
//! - `derun` (crates/derun): runs any command as if directly on the terminal and captures its output; an MCP server
//!   for the captures
//! - `fake_claude` (fake-claude): records and replays runs of agents; its programs stand in for Claude Code in tests
//!
//! Ten are murmur's lower layers; each uses only the crates listed above it:
//!
//! - `murmur_core` (crates/core): ids and names; configuration; schedules; permissions; `permit::deny_list` builds the
//!   deny list for Claude Code, `usage_limit` turns a reached limit into a hold, and `failures` decides on retries
//! - `murmur_agent` (crates/agent): prompt, invocation, rule files, events, the stream parser, transcripts for people
//! - `murmur_rpc` (crates/rpc): JSON lines on a Unix socket: requests, responses, and a feed of numbered events
//! - `murmur_store` (crates/store): files in the data folder: the journal, *pulses* (each agent's last action),
//!   limits.json
//! - `murmur_outcome` (crates/outcome): pure: how a run ended and its results → ok, attention, error, limited or
//!   skipped; and alerts outside beats
//! - `murmur_host` (crates/host): the process that owns one agent: lifecycle, events and their `replay`, socket, and
//!   `reap` for dead hosts
//! - `murmur_gate` (crates/gate): runs gates: whether a beat starts its agent (`when`), and whether its success counts
//!   (`verify`)
//! - `murmur_hook` (crates/hook): answers Claude Code's hooks: applies `permit`, asks the daemon, and fails closed
//! - `notify` (crates/notify): decides what to report, delivers it through channels, and checks answers
//! - `murmur_claude_files` (crates/claude-files): hooks in Claude Code's settings, and what a repository's files would
//!   run
//!
//! Each module uses only those above it; `tests/it/layers.rs` checks this.
//!
//! - `agents`: all agents, from hosts, pulses and Claude Code's own session files
//! - `beat`: one beat from prompt to journal line
//! - `daemon`: the event loop around a pure state, the broker, the socket, the single instance
//! - `notifier`: the process that sends notifications and accepts answers to requests
//! - `doctor`: checks the installation and configuration: one finding per check, with a hint
//! - `service`: pure: the systemd unit and the launchd agent that run the daemon
//! - `cli`: one file per command: parse, call, print
//!
//! murmur needs Unix. On Windows, there is only derun (crates/derun/README.md).

#[cfg(not(unix))]
compile_error!("murmur needs Unix; on Windows, build derun: cargo build --package derun");

pub mod agents;
pub mod beat;
pub mod cli;
pub mod daemon;
pub mod doctor;
pub mod notifier;
pub mod service;
