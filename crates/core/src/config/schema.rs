//! The form of config.json as types, and the JSON Schema generated from them.
//!
//! The parser fills the same fields, one by one, so the schema can't name other types than it accepts.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

use jiff::Timestamp;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use super::approval::{Approval, ApprovalSettings, Checker, Questions, Word};
use super::backend::Backends;
use super::budget::{Budget, Usd};
use super::gate::{GateSource, Verify, When};
use super::interval::Interval;
use super::mcp;
use super::on_failure::FailureKeys;
use super::permissions::Permissions;
use super::requires::Requires;
use super::reserve::{OnLimit, Reserve};
use super::schedule_options::ScheduleKeys;
use super::size::Size;
use super::watchdogs::WatchdogKeys;

/// murmur's configuration: which workspaces have heartbeats, and when.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(title = "murmur config.json")]
#[expect(dead_code, reason = "only its shape is used: the file is parsed entry by entry")]
struct Config {
    /// How many beats may run at once, in all workspaces together.
    #[schemars(default = "default_max_concurrent")]
    max_concurrent: Option<NonZeroU32>,
    /// The share of each usage limit to leave unused, unless a workspace sets another. Default: none.
    reserve: Option<Reserve>,
    /// How much the beats of all workspaces may cost together. Default: no limit.
    budget: Option<Budget>,
    /// The workspaces. An invalid one doesn't affect the others.
    #[schemars(default)]
    workspaces: Vec<WorkspaceEntry>,
}

/// A folder with a HEARTBEAT.md, or with `heartbeats/<name>/HEARTBEAT.md` for more than one. Frontmatter there can ask
/// for less than what is set here, and set what is left open here.
#[derive(Debug, Default, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkspaceEntry {
    /// The folder's absolute path. `~` is not expanded.
    #[schemars(required, with = "String", regex(pattern = "^/"))]
    pub(super) path: Option<String>,
    /// Its display name. Default: the folder's name.
    pub(super) name: Option<String>,
    /// The time between the last run and the next. Can't be combined with `cron`.
    pub(super) interval: Option<Interval>,
    /// When to run, as five cron fields: minute, hour, day of month, month, weekday. Can't be combined with `interval`.
    #[schemars(example = "0 9 * * MON-FRI")]
    pub(super) cron: Option<String>,
    /// The time zone of `cron`, an IANA name. Default: the system's.
    #[schemars(example = "Europe/Berlin")]
    pub(super) tz: Option<String>,
    /// How many replies of the model a beat may take, including those in turns that the agent starts by itself.
    #[schemars(default = "default_max_turns")]
    pub(super) max_turns: Option<NonZeroU32>,
    /// How long a beat may take before it is stopped. Time spent waiting for a person doesn't count.
    #[schemars(default = "default_timeout")]
    pub(super) timeout: Option<Interval>,
    /// How long a beat may wait for background tasks after its answer, in case it takes another turn.
    #[schemars(default = "default_background_wait")]
    pub(super) background_wait: Option<Interval>,
    /// The model. Default: the agent's own choice.
    pub(super) model: Option<String>,
    /// The programs that may run its agents: "claude", "codex" or a name such as "acp:opencode", or a list of them. The
    /// first is the default; a HEARTBEAT.md can choose among them, or "claude". Default: as in config.toml.
    pub(super) agent: Option<Backends>,
    /// What its agents may not do. Anything but `"skip"` or a deny list is an error, and nothing runs there.
    #[schemars(with = "Permissions", default)]
    pub(super) permissions: Option<Permissions>,
    /// Who decides on a tool call that neither the guard nor a rule decides. Default: as in config.toml.
    pub(super) permissions_checker: Option<Word<Checker>>,
    /// What happens if a person does not answer in time. Default: as in config.toml.
    pub(super) approval: Option<Word<Approval>>,
    /// How long a person has to answer before the call is denied or deferred. Default: as in config.toml.
    pub(super) approval_wait: Option<Interval>,
    /// How long a deferred call waits for its answer. Default: as in config.toml.
    pub(super) approval_expiry: Option<Interval>,
    /// Who answers the questions of its agents. Default: as in config.toml.
    pub(super) questions: Option<Word<Questions>>,
    /// The MCP servers that its heartbeats require, by name. A beat without one of them is an error.
    pub(super) requires: Option<Requires>,
    /// The MCP servers that its agents may use: "none", "project" for those in the repository's .mcp.json, or a list of
    /// names. Default: all that Claude Code knows.
    pub(super) mcp: Option<mcp::Written>,
    /// When its HEARTBEAT.md last ran, an RFC 3339 time, or null if never. Written by murmur.
    pub(super) last_run: Option<ConfigTime>,
    /// When its named heartbeats last ran, by name, each an RFC 3339 time. Written by murmur.
    pub(super) last_runs: Option<BTreeMap<String, Option<ConfigTime>>>,
    /// The share of each usage limit to leave unused: no beat starts once less is left. Default: the `reserve` for all
    /// workspaces.
    pub(super) reserve: Option<Reserve>,
    /// What happens to a beat that a usage limit stopped. Default: resume.
    pub(super) on_limit: Option<Word<OnLimit>>,
    #[serde(flatten)]
    pub(super) options: ScheduleKeys,
    /// What must hold before a beat starts its agent: a program that exits with 0 (run the beat) or 78 (skip it),
    /// changed files, new commits or a changed page. Of a list, all must hold.
    pub(super) when: Option<When>,
    /// A program that must succeed after a beat that reports success. Of a list, all must succeed.
    pub(super) verify: Option<Verify>,
    /// Who may define `when` and `verify`. Default: "config".
    pub(super) gates: Option<Word<GateSource>>,
    #[serde(flatten)]
    pub(super) on_failure: FailureKeys,
    /// How much a beat may cost, in US dollars. Default: no limit.
    pub(super) max_budget_usd: Option<Usd>,
    /// How much the beats of all its heartbeats may cost together, in US dollars or tokens, in a day, week or month of
    /// `tz`. Then none starts until the next one. Default: no limit.
    pub(super) budget: Option<Budget>,
    /// How much space must be free for the workspace, the data folder and captures before a beat starts.
    #[schemars(default = "default_min_free")]
    pub(super) min_free: Option<Size>,
    #[serde(flatten)]
    pub(super) watchdogs: WatchdogKeys,
}

impl WorkspaceEntry {
    /// Who decides on its agents' calls.
    pub(super) fn asking(&self) -> ApprovalSettings {
        ApprovalSettings {
            checker: self.permissions_checker.map(|word| word.0),
            approval: self.approval.map(|word| word.0),
            approval_wait: self.approval_wait,
            approval_expiry: self.approval_expiry,
            questions: self.questions.map(|word| word.0),
        }
    }
}

/// A time in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConfigTime(pub(super) Timestamp);

impl<'de> Deserialize<'de> for ConfigTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for ConfigTime {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

fn default_max_concurrent() -> u32 {
    super::file::DEFAULT_MAX_CONCURRENT.get()
}

fn default_max_turns() -> u32 {
    super::file::DEFAULT_MAX_TURNS.get()
}

fn default_timeout() -> &'static str {
    "5m"
}

fn default_background_wait() -> String {
    super::file::DEFAULT_BACKGROUND_WAIT.to_string()
}

fn default_min_free() -> String {
    super::file::DEFAULT_MIN_FREE.to_string()
}

/// The JSON Schema (draft 2020-12) of config.json.
#[must_use]
pub fn schema() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Config>()
}

/// The JSON Schema (draft 2020-12) of config.toml.
#[must_use]
pub fn settings_schema() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<super::settings::Keys>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file::KEYS;
    use std::collections::BTreeSet;

    #[test]
    fn the_schema_describes_every_key_that_the_parser_knows() {
        let schema = schema().to_value();
        let entry = &schema["$defs"]["WorkspaceEntry"];
        let keys: BTreeSet<&str> =
            entry["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, BTreeSet::from(KEYS));
        assert_eq!(entry["required"], serde_json::json!(["path"]));
        for (key, property) in entry["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{key}: {property}");
        }
        assert_eq!(entry["properties"]["maxTurns"]["default"], 3);
        assert_eq!(schema["properties"]["maxConcurrent"]["default"], 4);
    }

    #[test]
    fn the_schema_of_config_toml_describes_every_key() {
        fn check(schema: &serde_json::Value, seen: &mut BTreeSet<String>) {
            for (key, property) in schema["properties"].as_object().into_iter().flatten() {
                let is_known = property["const"].is_string();
                assert!(is_known || property["description"].is_string(), "{key}: {property}");
                seen.insert(key.clone());
            }
            let variants = schema["oneOf"].as_array().into_iter().flatten();
            let parts = schema["$defs"].as_object().into_iter().flatten().map(|(_, part)| part);
            parts.chain(variants).for_each(|part| check(part, seen));
        }
        let schema = settings_schema().to_value();
        let mut seen = BTreeSet::new();
        check(&schema, &mut seen);
        for key in [
            "approval-wait",
            "api-key-file",
            "max-per-run",
            "stuck",
            "offer",
            "quiet-hours",
            "token-file",
            "type",
        ] {
            assert!(seen.contains(key), "{key}: {seen:?}");
        }
        assert_eq!(schema["additionalProperties"], false);
    }
}
