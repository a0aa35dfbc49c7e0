//! One test binary, one file per command area.
//!
//! The tests find and await processes by Linux-specific means (pidfds, /proc, inotify, setsid), so on other systems
//! only unit tests exist.
//!
//! `cfg(test)` on each module tells clippy that its helpers are tests as well.

#![cfg(target_os = "linux")]

#[cfg(test)]
mod agents;
#[cfg(test)]
mod backends;
#[cfg(test)]
mod beat;
#[cfg(test)]
mod book;
#[cfg(test)]
mod budgets;
#[cfg(test)]
#[path = "../built.rs"]
mod built;
#[cfg(test)]
mod captures;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod container;
#[cfg(test)]
mod cookbook;
#[cfg(test)]
mod daemon;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod env;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod fake_agents;
#[cfg(test)]
mod fake_claude;
#[cfg(test)]
mod fake_model;
#[cfg(test)]
mod file_size;
#[cfg(test)]
mod gates;
#[cfg(test)]
mod gc;
#[cfg(test)]
mod generated;
#[cfg(test)]
mod hints;
#[cfg(test)]
mod host;
#[cfg(test)]
mod hostile_text;
#[cfg(test)]
mod inbox;
#[cfg(test)]
mod init;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod llm;
#[cfg(test)]
mod log;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod names;
#[cfg(test)]
mod not_files;
#[cfg(test)]
mod notify;
#[cfg(test)]
mod packaging;
#[cfg(test)]
mod pause;
#[cfg(test)]
mod permission;
#[cfg(test)]
mod permit;
#[cfg(test)]
mod picture;
#[cfg(test)]
mod preflight;
#[cfg(test)]
mod pulse;
#[cfg(test)]
mod pulse_payloads;
#[cfg(test)]
mod regress;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod rotation;
#[cfg(test)]
mod run;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod schedule;
#[cfg(test)]
mod service;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod setup;
#[cfg(test)]
mod show;
#[cfg(test)]
mod soak;
#[cfg(test)]
mod status;
#[cfg(test)]
mod timeout;
#[cfg(test)]
mod trust;
#[cfg(test)]
mod upper_bounds;
#[cfg(test)]
mod usage;
#[cfg(test)]
mod usage_limits;
#[cfg(test)]
mod verbose;
#[cfg(test)]
mod watch;
#[cfg(test)]
mod workspaces;
#[cfg(test)]
mod year;
