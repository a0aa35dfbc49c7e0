//! murmur runs coding agents unattended and tells honestly how it went.
//!
//! A *workspace* is a folder with a `HEARTBEAT.md`. A *heartbeat* is one scheduled prompt of it, a *beat* one
//! run of a heartbeat: it ends in an *outcome*, `ok`, `attention` or `error`, and in one line of the journal.
//!
//! # How data flows
//!
//! `config` → `schedule` (what is due) → `agent` (prompt and invocation) → a process → bytes → events →
//! `outcome` → `journal`. `beat` is that flow on one screen; `daemon` decides when it runs; `cli` is the entry point.
//!
//! # The map
//!
//! Below all modules are eight crates. Five don't know murmur:
//!
//! - `sys` (crates/sys): the operating system, and `sys::error`, the one error type; only it has unsafe code and reads the clock
//! - `secrets` (crates/secrets): finds and masks secrets in text
//! - `shell_guard` (crates/shell-guard): reads shell commands and refuses catastrophic ones
//! - `derun` (crates/derun): a terminal-faithful run of any command, its sessions, and an MCP server that reads them
//! - `fake_claude` (fake-claude): records and replays runs of agents; its programs stand in for Claude Code in tests
//!
//! Three are the lower layers of murmur, each of which uses only those above it:
//!
//! - `murmur_core` (crates/core): ids, configuration, schedules and permissions
//! - `murmur_agent` (crates/agent): prompt, invocation, rule files, events, the stream parser
//! - `murmur_rpc` (crates/rpc): JSON lines on a Unix socket: requests, responses, and a stream of numbered events
//!
//! Each module uses only those above it; `tests/it/layers.rs` checks it against this list.
//!
//! - `trust`: what a repository's Claude files would do, whether the user trusts them, and how agents start without them
//! - `pulse`: the last action of each agent, in a small file: written by hooks, read by commands that show agents
//! - `host`: the process that owns one agent: lifecycle, events, socket
//! - `roster`: all agents, from hosts, pulses and Claude Code's own session files
//! - `outcome`: pure: how a run ended and its results → ok, attention or error
//! - `journal`: heartbeats.jsonl, records of beats that are not yet in it, deferred calls, last-beat files
//! - `beat`: one beat from prompt to journal line
//! - `hook`: answers Claude Code's hooks: applies `permit`, and asks the daemon
//! - `setup`: adds murmur's hooks to Claude Code's settings files and removes them, changing nothing else
//! - `daemon`: the event loop around a pure state, the broker, the socket, the single instance
//! - `doctor`: checks the installation and configuration: one finding per check, with a hint
//! - `service`: pure: the systemd unit and the launchd agent that run the daemon
//! - `cli`: one file per command: parse, call, print
//!
//! murmur needs Unix. Windows has derun alone (docs/guide/windows.md).

#[cfg(not(unix))]
compile_error!("murmur needs Unix; on Windows, build derun: cargo build --package derun");

pub mod beat;
pub mod cli;
pub mod daemon;
pub mod doctor;
pub mod hook;
pub mod host;
pub mod journal;
pub mod outcome;
pub mod pulse;
pub mod roster;
pub mod service;
pub mod setup;
pub mod trust;
