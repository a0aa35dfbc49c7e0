//! murmur runs coding agents unattended and tells honestly how it went.
//!
//! A *workspace* is a folder with a `HEARTBEAT.md`. A *heartbeat* is one scheduled prompt of it, a *beat* one
//! run of a heartbeat: it ends in an *outcome*, `ok`, `attention` or `error`, and in one line of the journal.
//!
//! # How data flows
//!
//! `config` → `schedule` (what is due) → `agent` (prompt and invocation) → a process → bytes → events →
//! `outcome` → `journal`. `beat` is that flow on one screen; `daemon` decides when it runs; `cli` is the door.
//!
//! # The map
//!
//! Each module uses only those above it; `tests/it/layers.rs` checks it against this list.
//!
//! - `error`: what failed, the thing, why and what to do, each a value of its own; shown in one place
//! - `sys`: clock, atomic files, locks, process trees, process 1, sockets, arrivals, wake-ups; the only unsafe code and clock
//! - `secrets`: what looks like a secret in a text, and the text without it
//! - `config`: config.json and HEARTBEAT.md's frontmatter → resolved heartbeats; config.toml → settings
//! - `schedule`: pure: (schedule, last run, now) → due, and when to wake
//! - `permit`: pure: (call, policy, rules, what the guard finds) → a decision, or whom to ask; questions and answers
//! - `trust`: what a repository's Claude files would do, whether its user trusts them, and what an agent gets without
//! - `agent`: prompt, invocation, the files of rules, events, the stream parser
//! - `capture`: a terminal-faithful run of any command, and the sessions that keep what it wrote
//! - `mcp`: the sessions' output for programs that speak the Model Context Protocol
//! - `rpc`: JSON lines on a Unix socket: questions, answers, and a stream of numbered events
//! - `pulse`: what each agent did last, in one small file: written by hooks, read by whoever shows agents
//! - `host`: one process an agent: its life, its events, its socket
//! - `roster`: every agent there is, from hosts, pulses and Claude Code's own session files
//! - `replay`: fixtures: recording a run, scrubbing it, playing it back
//! - `outcome`: pure: how a run ended and what it said → ok, attention or error
//! - `journal`: heartbeats.jsonl, the beats that are not yet in it, last-beat files
//! - `beat`: one beat from prompt to journal line
//! - `hook`: what Claude Code's hooks are answered: `permit`, and asking the daemon
//! - `setup`: Claude Code's settings files: murmur's hooks put in and taken out, nothing else touched
//! - `daemon`: the event loop (state × event → state + effects), the broker, the socket, the single instance
//! - `doctor`: whether everything is as it should be: a finding a check, and what to do
//! - `service`: pure: what systemd and launchd are told of the daemon
//! - `cli`: one small file a command: parse, call, print
//!
//! On Windows there are only the captures, under derun's command line (docs/windows.md).

#[cfg(unix)]
pub mod agent;
#[cfg(unix)]
pub mod beat;
pub mod capture;
pub mod cli;
#[cfg(unix)]
pub mod config;
#[cfg(unix)]
pub mod daemon;
#[cfg(unix)]
pub mod doctor;
pub mod error;
#[cfg(unix)]
pub mod hook;
#[cfg(unix)]
pub mod host;
#[cfg(unix)]
pub mod journal;
pub mod mcp;
#[cfg(unix)]
pub mod outcome;
#[cfg(unix)]
pub mod permit;
#[cfg(unix)]
pub mod pulse;
#[cfg(unix)]
pub mod replay;
#[cfg(unix)]
pub mod roster;
#[cfg(unix)]
pub mod rpc;
#[cfg(unix)]
pub mod schedule;
#[cfg(unix)]
pub mod secrets;
#[cfg(unix)]
pub mod service;
#[cfg(unix)]
pub mod setup;
pub mod sys;
#[cfg(unix)]
pub mod trust;
