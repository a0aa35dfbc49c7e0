//! Describes a tool call: takes the tool and its input as JSON, returns one short line such as the command, path or
//! pattern (spec 2's `last_action`).

use super::ACTION;
use super::brief;
use super::shallow::{self, Object};
use secrets::{REMOVED, is_secret_name};
use serde_json::value::RawValue;

/// The most descriptive input keys of unknown tools, best first.
const DESCRIPTIVE: [&str; 18] = [
    "command",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "query",
    "url",
    "uri",
    "description",
    "subject",
    "question",
    "prompt",
    "message",
    "title",
    "name",
    "skill",
    "bash_id",
    "plan",
];

/// Describes a call of `tool` with the JSON `input`, in at most [`ACTION`] characters and without secrets.
#[must_use]
pub fn of(tool: &str, input: &str) -> String {
    let description = match Object::parse(input) {
        Ok(input) => known(tool, &input).or_else(|| descriptive(&input)).unwrap_or_else(|| compact(&input)),
        Err(_) => {
            let value: Option<&RawValue> = serde_json::from_str(input).ok();
            value.map(plain).unwrap_or_default()
        }
    };
    brief::exact(&description, ACTION)
}

fn known(tool: &str, input: &Object<'_>) -> Option<String> {
    match tool {
        "Bash" => input.text("command"),
        "Read" | "Write" | "Edit" | "MultiEdit" => input.text("file_path"),
        "NotebookEdit" | "NotebookRead" => input.text("notebook_path"),
        "Glob" | "Grep" => {
            let pattern = input.text("pattern")?;
            let place = input.text("path").filter(|place| !place.is_empty());
            Some(place.map_or_else(|| pattern.clone(), |place| format!("{pattern} in {place}")))
        }
        "LS" => input.text("path"),
        "WebFetch" => input.text("url"),
        "WebSearch" | "ToolSearch" => input.text("query"),
        "Task" | "Agent" => input.text("description"),
        "TaskCreate" => input.text("subject"),
        "Skill" => {
            let skill = input.text("skill")?;
            Some(input.text("args").map_or_else(|| skill.clone(), |args| format!("{skill} {args}")))
        }
        "TodoWrite" => todo(&shallow::elements(input.get("todos")?)),
        "AskUserQuestion" => {
            let questions = shallow::elements(input.get("questions")?);
            Object::parse(questions.first()?.get()).ok()?.text("question")
        }
        _ => None,
    }
}

/// The first entry in progress, else the first pending one, else how many are done.
fn todo(list: &[&RawValue]) -> Option<String> {
    let list: Vec<Object<'_>> = list.iter().filter_map(|entry| Object::parse(entry.get()).ok()).collect();
    let first = |status: &str| list.iter().find(|entry| entry.text("status").as_deref() == Some(status));
    match first("in_progress").or_else(|| first("pending")) {
        Some(entry) => entry.text("content"),
        None => Some(format!("{} of {} done", list.len(), list.len())),
    }
}

fn descriptive(input: &Object<'_>) -> Option<String> {
    DESCRIPTIVE.iter().find_map(|name| input.text(name).filter(|text| !text.trim().is_empty()))
}

/// `key: value, key: value`, with the values of secret names removed.
fn compact(input: &Object<'_>) -> String {
    let member = |(name, value): (&str, &RawValue)| {
        let value = if is_secret_name(name) { REMOVED.to_owned() } else { plain(value) };
        format!("{name}: {value}")
    };
    input.members().take(ACTION).map(member).collect::<Vec<_>>().join(", ")
}

/// A string as it is, anything else as JSON.
fn plain(value: &RawValue) -> String {
    shallow::text(value).unwrap_or_else(|| value.get().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{Just, any, prop, prop_oneof, proptest};
    use proptest::strategy::Strategy;
    use serde_json::Value;

    #[test]
    fn calls_are_described_for_people() {
        for (tool, input, expected) in [
            ("Bash", r#"{"command":"cargo test\n  --quiet","description":"Test"}"#, r"cargo test\n  --quiet"),
            ("Read", r#"{"file_path":"/w/src/a.rs","limit":5}"#, "/w/src/a.rs"),
            ("Write", r#"{"content":"x","file_path":"/w/ü.txt"}"#, "/w/ü.txt"),
            ("Edit", r#"{"file_path":"/w/a","old_string":"x","new_string":"y"}"#, "/w/a"),
            ("NotebookEdit", r#"{"notebook_path":"/w/a.ipynb","new_source":"x"}"#, "/w/a.ipynb"),
            ("Glob", r#"{"pattern":"**/*.rs"}"#, "**/*.rs"),
            ("Grep", r#"{"pattern":"TODO","path":"src","-n":true}"#, "TODO in src"),
            ("WebFetch", r#"{"url":"https://example.com","prompt":"What?"}"#, "https://example.com"),
            ("WebSearch", r#"{"query":"rust flock"}"#, "rust flock"),
            ("Task", r#"{"prompt":"long","description":"Find it","subagent_type":"Explore"}"#, "Find it"),
            ("Skill", r#"{"skill":"review","args":"src"}"#, "review src"),
            ("Skill", r#"{"skill":"review"}"#, "review"),
            (
                "TodoWrite",
                r#"{"todos":[{"content":"One","status":"completed"},{"content":"Two","status":"in_progress"}]}"#,
                "Two",
            ),
            ("TodoWrite", r#"{"todos":[{"content":"One","status":"pending"}]}"#, "One"),
            ("TodoWrite", r#"{"todos":[{"content":"One","status":"completed"}]}"#, "1 of 1 done"),
            ("TodoWrite", r#"{"todos":"none"}"#, "0 of 0 done"),
            ("AskUserQuestion", r#"{"questions":[{"question":"Which?","options":[]}]}"#, "Which?"),
            ("TaskUpdate", r#"{"taskId":"3","status":"completed"}"#, "taskId: 3, status: completed"),
            ("mcp__git__log", r#"{"count":5,"query":"fix"}"#, "fix"),
            ("mcp__x__y", r#"{"a":{"b":[1, 2]},"c":null,"d":"e"}"#, r#"a: {"b":[1, 2]}, c: null, d: e"#),
            (
                "mcp__x__y",
                r#"{"api_token":"a b","secrets":["x"],"n":1}"#,
                "api_token: [removed], secrets: [removed], n: 1",
            ),
            ("Bash", r#"{"cmd":"ls"}"#, "cmd: ls"),
            ("Bash", r#"{"command":["ls","-l"]}"#, r#"command: ["ls","-l"]"#),
            ("Bash", r#"{"command":"export TOKEN=abcdef; run"}"#, "export TOKEN=[removed]; run"),
            ("Bash", r#"{"command":"echo \ud83d"}"#, "echo \u{fffd}\u{fffd}\u{fffd}"),
            ("Any", "\"text\"", "text"),
            ("Any", "[1,2]", "[1,2]"),
            ("Any", "{}", ""),
            ("Any", "{", ""),
            ("", "", ""),
        ] {
            assert_eq!(of(tool, input), expected, "{tool} {input}");
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let name =
            prop_oneof![prop::sample::select(DESCRIPTIVE.to_vec()).prop_map(str::to_owned), any::<String>()];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "(\\PC|[\\u{300}\\u{200d}\\u{fe0f}\n\0]){90,130}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, move |inner| {
            let members = prop::collection::vec((name.clone(), inner.clone()), 0..6);
            prop_oneof![
                prop::collection::vec(inner, 0..6).prop_map(Value::from),
                members.prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_call_is_described_in_one_short_line(
            tool in prop_oneof![
                prop::sample::select(vec!["Bash", "Grep", "TodoWrite", "AskUserQuestion", "Skill", "mcp__a__b"])
                    .prop_map(str::to_owned),
                any::<String>(),
            ],
            input in json(),
        ) {
            let actual = of(&tool, &input.to_string());
            assert!(actual.chars().count() <= ACTION, "{actual:?}");
            assert!(!actual.chars().any(char::is_control), "{actual:?}");
        }
    }
}
