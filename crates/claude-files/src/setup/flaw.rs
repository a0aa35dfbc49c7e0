//! Finds what in a settings file keeps hooks from running.
//!
//! Tested: Claude Code 2.1.197 silently ignores a file with an invalid entry; 2.1.329 skips the entry with a message,
//! but ignores the file if the event makes decisions.

use super::tree::{Event, Group, Settings, kind, place};
use murmur_agent::settings::DECIDING;
use murmur_core::config::json::{self, Object};
use murmur_core::config::problem::{Position, Problem};
use std::path::Path;
use sys::error::Hinted;
use sys::failure;

/// The types of hooks in Claude Code since 2.1.197, and their required keys.
const TYPES: [(&str, &[&str]); 5] = [
    ("command", &["command"]),
    ("prompt", &["prompt"]),
    ("agent", &["prompt"]),
    ("http", &["url"]),
    ("mcp_tool", &["server", "tool"]),
];

/// The optional keys of a hook, and their types.
const OPTIONS: [(&str, &str); 6] = [
    ("async", "true or false"),
    ("if", "a string"),
    ("once", "true or false"),
    ("shell", "\"bash\" or \"powershell\""),
    ("statusMessage", "a string"),
    ("timeout", "a number above 0"),
];

/// The events of 2.1.197. It and 2.1.329 ignore whatever is under another name.
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

/// Whether Claude Code has this event.
#[must_use]
pub fn is_event(name: &str) -> bool {
    EVENTS.contains(&name)
}

/// The events that Claude Code reads.
pub(super) fn known_events<'a>(settings: &'a Settings<'a>) -> impl Iterator<Item = &'a Event<'a>> {
    settings.events().filter(|event| EVENTS.contains(&event.name.as_ref()))
}

/// Something in a settings file that keeps hooks from running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Its position.
    pub place: Position,
    /// The entry, such as `hooks.PostToolUse[0]`.
    pub entry: String,
    /// Whether [`fix_flat`](super::flat::fix_flat) rewrites it.
    pub is_flat: bool,
    what: String,
    to_do: String,
}

impl Flaw {
    /// One line with the file, position, problem, consequence and hint.
    #[must_use]
    pub fn at(&self, path: &Path) -> String {
        self.problem(path).line()
    }

    /// The same as a [`Problem`].
    #[must_use]
    pub fn problem(&self, path: &Path) -> Problem {
        let Self { place, entry, what, to_do, .. } = self;
        Problem::at(path, *place, failure!("{entry} {what}"; "{to_do}"))
    }
}

/// Returns all flaws in `source`, in order; none if it is not JSON.
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
            what: "is true: Claude Code runs no hooks, not even murmur's".to_owned(),
            to_do: "remove it to enable them".to_owned(),
        });
    }
    let deny = if denies { ", so your permissions.deny has no effect" } else { "" };
    for event in known_events(&settings) {
        let dropped = match DECIDING.contains(&event.name.as_ref()) {
            true => format!("Claude Code ignores the whole file because of it, 2.1.197 silently{deny}"),
            false => format!(
                "Claude Code 2.1.197 silently ignores the whole file because of it{deny}, 2.1.329 ignores the entry"
            ),
        };
        let mut push = |part: &str, entry: String, is_flat: bool, what: &str, to_do: &str| {
            let (place, what) = (place(source, part), format!("{what}: {dropped}"));
            flaws.push(Flaw { place, entry, is_flat, what, to_do: to_do.to_owned() });
        };
        for (index, group) in event.groups.iter().enumerate() {
            let entry = format!("hooks.{}[{index}]", event.name);
            let Some(hooks) = &group.hooks else {
                let GroupProblem { is_flat, what, to_do } = group_problem(group);
                push(group.text, entry, is_flat, &what, to_do);
                continue;
            };
            if let Some(matcher) =
                group.object.get("matcher").filter(|member| json::string(member.value).is_none())
            {
                let what = format!("has a matcher that is {}, not a string", kind(matcher.value));
                push(matcher.key, entry.clone(), false, &what, "set it to \"*\" or a pattern");
            }
            for (number, hook) in hooks.iter().enumerate() {
                if let Some(HookProblem { what, to_do }) = hook_problem(hook.text) {
                    push(hook.text, format!("{entry}.hooks[{number}]"), false, &what, &to_do);
                }
            }
        }
    }
    flaws
}

/// The problem of a group.
struct GroupProblem {
    is_flat: bool,
    what: String,
    to_do: &'static str,
}

/// The problem of a hook.
struct HookProblem {
    what: String,
    to_do: String,
}

/// The problem of a group without an array of hooks.
fn group_problem(group: &Group<'_>) -> GroupProblem {
    if group.flat_command().is_some() {
        let to_do = "`murmur setup hooks --fix-flat` rewrites it as {\"matcher\", \"hooks\": [...]}";
        let what = "has its command next to the matcher (flat form)".to_owned();
        return GroupProblem { is_flat: true, what, to_do };
    }
    let to_do = "make it {\"matcher\", \"hooks\": [...]}, or remove it";
    if group.object.0.is_empty() && !group.text.starts_with('{') {
        let what = format!("is {}, not an object", kind(group.text));
        return GroupProblem { is_flat: false, what, to_do };
    }
    GroupProblem { is_flat: false, what: "has no array \"hooks\"".to_owned(), to_do }
}

/// The problem of a hook, if it has one.
fn hook_problem(hook: &str) -> Option<HookProblem> {
    let problem = |what: String, to_do: String| Some(HookProblem { what, to_do });
    let typed = "add \"type\": \"command\" and a command, or remove it".to_owned();
    if !hook.starts_with('{') {
        return problem(format!("is {}, not an object", kind(hook)), typed);
    }
    let object = Object::parse(hook).ok()?;
    let Some(member) = object.get("type") else {
        return problem("has no \"type\"".to_owned(), typed);
    };
    let Some(name) = json::string(member.value) else {
        return problem(format!("has a type that is {}", kind(member.value)), typed);
    };
    let Some((_, needed)) = TYPES.iter().find(|(known, _)| *known == name) else {
        return problem(format!("has the unknown type {name:?}"), typed);
    };
    let text = |key: &str| object.get(key).and_then(|member| json::string(member.value));
    if let Some(missing) = needed.iter().find(|key| text(key).is_none()) {
        return problem(format!("has no string {missing:?}"), "add one, or remove it".to_owned());
    }
    if name == "http" && text("url").is_some_and(|url| !url.contains("://")) {
        return problem(
            "has an invalid \"url\"".to_owned(),
            "use a full URL, such as http://127.0.0.1:8080/".to_owned(),
        );
    }
    OPTIONS.into_iter().find_map(|(key, wanted)| {
        let value = object.get(key)?.value;
        let is_right = match key {
            "async" | "once" => matches!(value, "true" | "false"),
            "shell" => matches!(json::string(value).as_deref(), Some("bash" | "powershell")),
            "timeout" => serde_json::from_str::<f64>(value).is_ok_and(|seconds| seconds > 0.0),
            _ => json::string(value).is_some(),
        };
        (!is_right).then(|| {
            let what = format!("has a {key:?} that is not {wanted}");
            HookProblem { what, to_do: format!("make it {wanted}, or remove it") }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The problems of one hook under PostToolUse, without the consequence.
    fn flaw_text(hook: &str) -> String {
        let source = format!(r#"{{"hooks":{{"PostToolUse":[{{"hooks":[{hook}]}}]}}}}"#);
        let flaws = flaws(&source);
        flaws
            .iter()
            .map(|flaw| flaw.what.split(": Claude").next().unwrap_or_default())
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// Each was tested with Claude Code 2.1.197.
    #[test]
    fn invalid_hooks_are_reported_and_valid_ones_are_not() {
        for fine in [
            r#"{"type":"command","command":"x","timeout":1.5,"onFailure":"x","unknown":[]}"#,
            r#"{"type":"command","command":"","async":true,"once":false,"shell":"bash","if":"Bash(ls *)"}"#,
            r#"{"type":"prompt","prompt":"x"}"#,
            r#"{"type":"http","url":"http://127.0.0.1/"}"#,
        ] {
            assert_eq!(flaw_text(fine), "", "{fine}");
        }
        for (wrong, expected) in [
            (r#""x""#, "is a string, not an object"),
            ("{}", "has no \"type\""),
            (r#"{"type":5}"#, "has a type that is a number"),
            (r#"{"type":"weird"}"#, "has the unknown type \"weird\""),
            (r#"{"type":"command"}"#, "has no string \"command\""),
            (r#"{"type":"command","command":5}"#, "has no string \"command\""),
            (r#"{"type":"agent"}"#, "has no string \"prompt\""),
            (r#"{"type":"http","url":"x"}"#, "has an invalid \"url\""),
            (r#"{"type":"mcp_tool","server":"x"}"#, "has no string \"tool\""),
            (
                r#"{"type":"command","command":"x","timeout":"5"}"#,
                "has a \"timeout\" that is not a number above 0",
            ),
            (
                r#"{"type":"command","command":"x","timeout":0}"#,
                "has a \"timeout\" that is not a number above 0",
            ),
            (
                r#"{"type":"command","command":"x","timeout":null}"#,
                "has a \"timeout\" that is not a number above 0",
            ),
            (r#"{"type":"command","command":"x","once":"x"}"#, "has a \"once\" that is not true or false"),
            (r#"{"type":"command","command":"x","if":5}"#, "has a \"if\" that is not a string"),
        ] {
            assert_eq!(flaw_text(wrong), expected, "{wrong}");
        }
    }

    #[test]
    fn under_a_deciding_event_every_version_ignores_the_file() {
        let source = |event: &str| {
            format!(
                r#"{{"permissions":{{"deny":["Read"]}},"hooks":{{"{event}":[{{"matcher":5,"hooks":[]}}]}}}}"#
            )
        };
        let at = |event: &str| flaws(&source(event))[0].at(Path::new("/s"));
        assert!(at("PreToolUse").contains(
            "hooks.PreToolUse[0] has a matcher that is a number, not a string: Claude Code ignores the whole file because of it, \
             2.1.197 silently, so your permissions.deny has no effect; set it"
        ));
        assert!(
            at("Stop").contains("so your permissions.deny has no effect, 2.1.329 ignores the entry; set it")
        );
    }
}
