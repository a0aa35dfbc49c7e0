//! Configuration: config.json and the frontmatter of HEARTBEAT.md, resolved into heartbeats.
//!
//! Takes files, returns [`heartbeat::Heartbeat`]s and problems that a person can fix. Runs nothing and doesn't read the
//! clock; the system's time zone is an argument. `docs/reference/config.md` is the user's view of it.
//!
//! - [`interval`], [`cron`], [`timing`]: the two kinds of schedule
//! - [`active_hours`], [`except`], [`trigger`], [`schedule_options`]: the other keys about a schedule
//! - [`permissions`], [`approval`], [`problem`]: types shared by the files
//! - [`backend`]: the programs that run as agents, and what they can do
//! - [`acp_program`]: programs that speak the Agent Client Protocol, from config.toml
//! - [`limit`]: which value applies if both the user's files and a HEARTBEAT.md set one
//! - [`settings`]: config.toml, for all of a user's agents; [`quiet`]: when a quiet agent counts as stuck;
//!   [`captures`]: how long captures are kept; [`notify`]: what murmur tells a person, and how; [`secret_file`]: files
//!   that hold one secret
//! - [`mod@file`]: config.json, read so that an invalid workspace doesn't affect the others
//! - [`frontmatter`]: the YAML at the top of HEARTBEAT.md
//! - [`requires`], [`mcp`]: the MCP servers that a heartbeat requires, and those that it may use
//! - [`reserve`]: the share of usage limits that a heartbeat leaves unused, and what happens when a limit is reached
//! - [`on_failure`]: whether to retry after a failed beat, and when to run less often
//! - [`budget`]: how much beats may cost
//! - [`size`]: an amount of disk space
//! - [`watchdogs`]: how long an agent may be silent, and a tool may run
//! - [`gate`]: what decides whether a beat starts its agent, and whether its success counts
//! - [`toml_text`]: strict TOML with positions in its errors
//! - [`heartbeat`]: config.json and frontmatter, combined with the files in the workspace's folder
//! - [`template`]: what `murmur init` writes, and whether a HEARTBEAT.md is still an unedited template
//! - [`edit`]: changes to config.json that leave every other byte alone
//! - [`short_names`]: what people call heartbeats
//! - [`schema`]: the JSON Schemas of config.json and config.toml

pub mod acp_program;
pub mod active_hours;
pub mod approval;
pub mod backend;
pub mod budget;
pub mod captures;
mod checked;
pub mod cron;
pub mod edit;
pub mod except;
pub mod file;
pub mod frontmatter;
pub mod gate;
pub mod heartbeat;
pub mod interval;
pub mod json;
pub mod limit;
pub mod mcp;
pub(crate) mod members;
pub mod notify;
pub mod on_failure;
pub mod permissions;
pub mod problem;
pub mod quiet;
pub mod requires;
pub mod reserve;
pub mod schedule_options;
pub mod schema;
pub mod secret_file;
pub mod settings;
pub mod short_names;
pub mod size;
mod spelling;
pub mod template;
pub mod timing;
pub mod toml_text;
pub mod trigger;
pub mod watchdogs;
#[cfg(test)]
mod wrong_shapes;
