//! What in a settings file keeps hooks from running, murmur's among them.
//!
//! Measured: Claude Code 2.1.197 drops a file with an entry that it does not know, without a word; 2.1.329 skips the entry
//! and says so.

use super::tree::{Event, Group, Settings, kind, place};
use crate::config::json::{self, Object};
use crate::config::problem::{Place, Problem};
use std::path::Path;

/// The types of hooks that Claude Code has known since 2.1.197.
const TYPES: [&str; 5] = ["command", "prompt", "agent", "http", "mcp_tool"];

/// The events that 2.1.197 knows. What stands under another name does no harm there, whatever it is; nor in 2.1.329.
const EVENTS: [&str; 30] = [
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Notification",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "PermissionRequest",
    "PermissionDenied",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "WorktreeCreate",
    "WorktreeRemove",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "MessageDisplay",
];

/// The events whose entries Claude Code looks at.
pub(super) fn looked_at<'a>(settings: &'a Settings<'a>) -> impl Iterator<Item = &'a Event<'a>> {
    settings.events().filter(|event| EVENTS.contains(&event.name.as_ref()))
}

/// A place of a settings file by which hooks do not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Where it is.
    pub place: Place,
    /// Which entry, as `hooks.PostToolUse[0]`.
    pub entry: String,
    /// Whether [`fix_flat`](super::flat::fix_flat) rewrites it.
    pub is_flat: bool,
    what: String,
    to_do: String,
}

impl Flaw {
    /// One line: which file, where, what is wrong, what comes of it, and what to do.
    #[must_use]
    pub fn at(&self, path: &Path) -> String {
        let Self { place, entry, what, to_do, .. } = self;
        Problem::at(path, *place, format!("{entry} {what}; {to_do}")).to_string()
    }
}

/// All of them in `source`, in their order. A text that is not JSON has none that could be told.
#[must_use]
pub fn flaws(source: &str) -> Vec<Flaw> {
    let Ok(settings) = Settings::read(source, Path::new(""), &[]) else { return Vec::new() };
    let denies = settings
        .root
        .get("permissions")
        .and_then(|member| Object::parse(member.value).ok()?.get("deny"))
        .is_some_and(|deny| json::elements(deny.value).is_ok_and(|deny| !deny.is_empty()));
    let mut flaws = Vec::new();
    if let Some(member) = settings.root.get("disableAllHooks").filter(|member| member.value == "true") {
        flaws.push(Flaw {
            place: place(source, member.key),
            entry: "disableAllHooks".to_owned(),
            is_flat: false,
            what: "is true: Claude Code runs no hooks, murmur's neither".to_owned(),
            to_do: "take it out to have them run".to_owned(),
        });
    }
    let deny = if denies { ", so that your permissions.deny is off" } else { "" };
    let mut push = |part: &str, entry: String, is_flat: bool, what: &str, to_do: &str| {
        flaws.push(Flaw {
            place: place(source, part),
            entry,
            is_flat,
            what: format!(
                "{what}: Claude Code 2.1.197 drops the whole file for it without a word{deny}, 2.1.329 skips the entry"
            ),
            to_do: to_do.to_owned(),
        });
    };
    for event in looked_at(&settings) {
        for (index, group) in event.groups.iter().enumerate() {
            let entry = format!("hooks.{}[{index}]", event.name);
            let Some(hooks) = &group.hooks else {
                let (is_flat, what, to_do) = about(group);
                push(group.text, entry, is_flat, &what, to_do);
                continue;
            };
            for (number, hook) in hooks.iter().enumerate() {
                if let Some(what) = about_type(hook.text) {
                    let to_do = "give it \"type\": \"command\" and a command, or take it out";
                    push(hook.text, format!("{entry}.hooks[{number}]"), false, &what, to_do);
                }
            }
        }
    }
    flaws
}

/// What is wrong with a group that has no array of hooks.
fn about(group: &Group<'_>) -> (bool, String, &'static str) {
    if group.flat_command().is_some() {
        let to_do = "`murmur setup hooks --fix-flat` rewrites it as {\"matcher\", \"hooks\": [...]}";
        return (true, "has its command beside the matcher, the flat form".to_owned(), to_do);
    }
    let to_do = "make it {\"matcher\", \"hooks\": [...]}, or take it out";
    if group.object.0.is_empty() && !group.text.starts_with('{') {
        return (false, format!("is {}, not an object", kind(group.text)), to_do);
    }
    (false, "has no array \"hooks\"".to_owned(), to_do)
}

/// What is wrong with the type of a hook.
fn about_type(hook: &str) -> Option<String> {
    if !hook.starts_with('{') {
        return Some(format!("is {}, not an object", kind(hook)));
    }
    let Some(member) = Object::parse(hook).ok()?.get("type") else {
        return Some("has no \"type\"".to_owned());
    };
    match json::string(member.value) {
        Some(name) if TYPES.contains(&&*name) => None,
        Some(name) => Some(format!("is of the type {name:?}, which is not known")),
        None => Some(format!("has a type that is {}", kind(member.value))),
    }
}
