//! What is to run, when and how: config.json and the frontmatter of HEARTBEAT.md, resolved to heartbeats.
//!
//! In come files, out go [`heartbeat::Heartbeat`]s and problems a person can act on. Nothing here runs anything or
//! reads the clock; the system's time zone is an argument. `docs/config.md` says the same to users.
//!
//! - [`interval`], [`cron`], [`timing`]: the two kinds of schedule
//! - [`permissions`], [`problem`]: the words that both files share
//! - [`mod@file`]: config.json, read so that a wrong workspace stops no other
//! - [`frontmatter`]: the YAML at the top of HEARTBEAT.md
//! - [`heartbeat`]: both together, with what lies in the workspace's folder
//! - [`edit`]: changes to config.json that leave every other byte alone
//! - [`schema`]: the JSON Schema of config.json

pub mod cron;
pub mod edit;
pub mod file;
pub mod frontmatter;
pub mod heartbeat;
pub mod interval;
mod json;
pub mod permissions;
pub mod problem;
pub mod schema;
mod spelling;
pub mod timing;
