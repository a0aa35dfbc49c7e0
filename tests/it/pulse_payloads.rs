//! The payloads recorded from the real Claude Code (`fixtures/hooks`), and some possible ones:
//! for each, the hook writes the pulse in a committed table.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use murmur_store::pulse::Pulse;
use serde_json::Value;

use crate::env::{Env, show};

const HOOK: &str = env!("CARGO_BIN_EXE_murmur-hook");
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/hooks");

/// What `fixtures/hooks` omits from its payloads because of its size.
const LARGE: [(&str, usize); 2] = [("[2MB]", 2_000_000), ("[200KB]", 200_000)];

/// Runs the hook with a payload; returns the pulse and removes it.
fn told(env: &Env, event: &str, payload: &str) -> Option<Pulse> {
    let file = env.root().join("payload");
    std::fs::write(&file, payload).unwrap();
    let stdin = std::fs::File::open(&file).unwrap();
    let said = show(&env.program(HOOK, [event]).unset("CLAUDE_CODE_SESSION_ID").stdin(stdin).output());
    assert_eq!(said, "[exit 0]", "{event} {:.400}", payload);
    let folder = env.data().join("heartbeats");
    let entries = std::fs::read_dir(&folder).into_iter().flatten();
    let files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() < 2, "{files:?}");
    let file = files.first()?;
    let pulse = Pulse::parse(&std::fs::read(file).unwrap()).unwrap();
    assert!(pulse.agent_id.contains('/') || file.file_stem().unwrap() == pulse.agent_id.as_str());
    assert_eq!(pulse.pid, Some(std::process::id()), "its parent stands for the agent");
    std::fs::remove_file(file).unwrap();
    Some(pulse)
}

/// A line of the table.
fn line(event: &str, pulse: Option<&Pulse>) -> String {
    let Some(pulse) = pulse else { return format!("{event}: no pulse\n") };
    let mut line = format!("{event} {} {:?}", pulse.state.as_str(), pulse.tool_name);
    write!(line, " {:?}", pulse.last_action).unwrap();
    if let Some(id) = &pulse.tool_use_id {
        write!(line, " {id}").unwrap();
    }
    if let Some(duration) = pulse.duration_ms {
        write!(line, " {duration} ms").unwrap();
    }
    if let Some(error) = &pulse.error {
        write!(line, " error {error:?}").unwrap();
    }
    line + "\n"
}

/// The table of all payloads recorded from a version.
fn table(version: &str) -> String {
    let env = Env::new();
    let folder = Path::new(FIXTURES).join(version);
    let mut table = String::new();
    for name in env.names(&folder).lines() {
        writeln!(table, "# {name}").unwrap();
        let mut payloads = std::fs::read_to_string(folder.join(name)).unwrap();
        for (stands_for_it, length) in LARGE {
            payloads = payloads.replace(stands_for_it, &"0123456789".repeat(length / 10));
        }
        for payload in payloads.lines() {
            let event = between(payload, r#""hook_event_name":""#);
            // That event decides, and writes no pulse.
            if event == "PreToolUse" {
                continue;
            }
            let pulse = told(&env, event, payload);
            if let Some(pulse) = &pulse {
                let session = between(payload, r#""session_id":""#);
                assert_eq!(pulse.session_id.as_ref().map(murmur_core::id::SessionId::as_str), Some(session));
                assert_eq!(pulse.agent_id, format!("claude-{session}"));
                assert_eq!(pulse.workspace.to_str(), Some(between(payload, r#""cwd":""#)));
            }
            table += &line(event, pulse.as_ref());
        }
    }
    table
}

/// The text of the first such key: not all payloads are JSON that a parser accepts.
fn between<'a>(payload: &'a str, key: &str) -> &'a str {
    let begin = payload.find(key).unwrap() + key.len();
    payload[begin..].split('"').next().unwrap()
}

#[test]
fn pulses_of_the_newer_version() {
    insta::assert_snapshot!(table("2.1.329"));
}

#[test]
fn pulses_of_the_older_version() {
    insta::assert_snapshot!(table("2.1.197"));
}

#[test]
fn the_recordings_of_both_versions_have_every_pulse_event() {
    for version in ["2.1.197", "2.1.329"] {
        let folder = Path::new(FIXTURES).join(version);
        let files = std::fs::read_dir(folder).unwrap();
        let texts: String =
            files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
        for (event, _) in murmur_agent::settings::PULSE_EVENTS {
            assert!(texts.contains(&format!("\"hook_event_name\":\"{event}\"")), "{version} {event}");
        }
    }
}

/// Payloads that were never recorded but are possible.
#[test]
fn missing_or_unexpected_fields_do_not_prevent_a_pulse() {
    let deep = format!(
        r#"{{"session_id":"s","tool_name":"Deep","tool_input":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let payloads: [(&str, &str); 20] = [
        ("PostToolUse", "{}"),
        ("PostToolUse", r#"{"session_id":"s"}"#),
        ("PostToolUse", r#"{"session_id":"s","tool_name":"Bash"}"#),
        ("PostToolUse", r#"{"session_id":"s","tool_name":"Bash","tool_input":{}}"#),
        ("PostToolUse", r#"{"session_id":"s","tool_name":"Bash","tool_input":null}"#),
        ("PostToolUse", r#"{"session_id":"s","tool_name":"Bash","tool_input":"ls"}"#),
        ("PostToolUse", r#"{"session_id":"s","tool_name":"Bash","tool_input":["ls","-l"]}"#),
        ("PostToolUse", r#"{"session_id":"s","tool_name":"Bash","tool_input":{"command":7}}"#),
        ("PostToolUse", r#"{"session_id":"s","tool_name":7,"tool_input":{"command":"ls"}}"#),
        (
            "PostToolUse",
            r#"{"session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"},"duration_ms":-1.5,"tool_use_id":[]}"#,
        ),
        (
            "PostToolUse",
            r#"{"session_id":"s","tool_name":"Bash","tool_input":{"command":"a","command":"b"}}"#,
        ),
        ("PostToolUse", r#"{"session_id":"s","tool_name":"Bash","tool_input":{"command":"\ud83d"}}"#),
        (
            "PostToolUse",
            r#"{"session_id":"s","tool_name":"Bash","tool_input":{"command":"curl -H 'Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789'"}}"#,
        ),
        ("PostToolUse", &deep),
        ("PostToolUseFailure", r#"{"session_id":"s","tool_name":"Bash","error":{"message":"no"}}"#),
        ("PostToolUseFailure", r#"{"session_id":"s","tool_name":"Bash","error":"\n\nlate\nlater"}"#),
        ("SessionStart", r#"{"session_id":"s","source":"a new one"}"#),
        ("UserPromptSubmit", r#"{"session_id":"s","prompt":[{"type":"text","text":"Go."}]}"#),
        ("StopFailure", r#"{"session_id":"s"}"#),
        ("SessionEnd", r#"{"session_id":"../../s","reason":null}"#),
    ];
    let env = Env::new();
    let mut table = String::new();
    for (event, payload) in payloads {
        let pulse = told(&env, event, payload);
        let is_one = serde_json::from_str::<Value>(payload).is_ok();
        writeln!(table, "{payload:.120}{}", if is_one { "" } else { " (no JSON of ours)" }).unwrap();
        write!(table, "  {}", line(event, pulse.as_ref())).unwrap();
    }
    insta::assert_snapshot!(table);
}
