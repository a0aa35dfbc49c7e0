//! What is to run, when and how: config.json and the frontmatter of HEARTBEAT.md, resolved to heartbeats.
//!
//! In come files, out go [`heartbeat::Heartbeat`]s and problems a person can act on. Nothing here runs anything or
//! reads the clock; the system's time zone is an argument. `docs/config.md` says the same to users.
//!
//! - [`interval`], [`cron`], [`timing`]: the two kinds of schedule
//! - [`permissions`], [`asking`], [`problem`]: the words that the files share
//! - [`limit`]: what counts where the user's files and a HEARTBEAT.md both say something
//! - [`settings`]: config.toml, what holds for all of a user's agents; [`quiet`], when a quiet one is stuck
//! - [`mod@file`]: config.json, read so that a wrong workspace stops no other
//! - [`frontmatter`]: the YAML at the top of HEARTBEAT.md
//! - [`requires`], [`mcp`]: the MCP servers that a heartbeat can't do without, and those that it may have
//! - [`toml_text`]: TOML read strictly, with places in its errors
//! - [`heartbeat`]: both together, with what lies in the workspace's folder
//! - [`template`]: what `murmur init` writes, and whether a HEARTBEAT.md is still that
//! - [`edit`]: changes to config.json that leave every other byte alone
//! - [`schema`]: the JSON Schema of config.json

pub mod asking;
mod checked;
pub mod cron;
pub mod edit;
pub mod file;
pub mod frontmatter;
pub mod heartbeat;
pub mod interval;
pub(crate) mod json;
pub mod limit;
pub mod mcp;
pub mod permissions;
pub mod problem;
pub mod quiet;
pub mod requires;
pub mod schema;
pub mod settings;
pub(crate) mod spelling;
pub mod template;
pub mod timing;
pub mod toml_text;
