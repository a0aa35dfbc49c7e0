//! Tests which config.json files are valid, and the error messages.

mod mistakes;

use super::*;
use crate::config::approval::{Approval, ApprovalSettings, Checker, Questions};
use crate::config::gate::{GateSource, Gates};
use crate::config::interval::Interval;
use crate::config::permissions::Permissions;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use sys::error::Hinted;

fn parse(text: &str) -> Result<File, String> {
    parse_bytes(text.as_bytes())
}

fn parse_bytes(bytes: &[u8]) -> Result<File, String> {
    File::parse(bytes, Path::new("/m/config.json"), &Crons::new(TimeZone::UTC)).map_err(|error| error.line())
}

fn entry(members: &str) -> Result<Workspace, String> {
    let mut file = parse(&format!("{{\"workspaces\": [\n  {{{members}}}\n]}}")).unwrap();
    file.workspaces.remove(0).map_err(|bad| bad.problem.line())
}

#[test]
fn the_config_of_the_first_spec_is_read() {
    let file = parse(
        r#"{"workspaces": [
            {"path": "/Users/theo/repos/my-project", "interval": "30m", "maxTurns": 3, "lastRun": "2026-02-03T10:00:00Z"},
            {"path": "/Users/theo/repos/another-project/", "interval": "1h", "maxTurns": 5,
             "permissions": {"deny": ["Bash(curl *)", "Bash(wget *)"]}, "lastRun": null}]}"#,
    )
    .unwrap();
    assert_eq!(file.max_concurrent.get(), 4);
    assert_eq!(file.warnings, []);
    let [Ok(one), Ok(other)] = file.workspaces.as_slice() else { panic!("{:?}", file.workspaces) };
    assert_eq!(&*one.path, Path::new("/Users/theo/repos/my-project"));
    assert_eq!(one.schedule.as_ref().unwrap().to_string(), "every 30m");
    assert_eq!((one.max_turns.unwrap().get(), one.timeout, one.permissions.denied().len()), (3, None, 0));
    assert_eq!(one.last_run, Some("2026-02-03T10:00:00Z".parse().unwrap()));
    assert_eq!(other.path.to_str(), Some("/Users/theo/repos/another-project"));
    assert_eq!(
        (other.max_turns.unwrap().get(), other.permissions.denied().len(), other.last_run),
        (5, 2, None)
    );
    assert_eq!(other.place.to_string(), "3:13");
}

#[test]
fn every_key_is_read() {
    let workspace = entry(
        r#""path": "\/a", "name": "A", "cron": "0 9 * * *", "tz": "Europe/Berlin", "timeout": "1m", "backgroundWait": "1s", "model": "opus",
           "permissions": "skip", "permissionsChecker": "manual", "approval": "defer", "approvalWait": "30s",
           "approvalExpiry": null, "questions": "deny", "requires": ["mail", "web"], "mcp": ["mail"],
           "when": "./changed.sh", "verify": {"run": "./check.sh"}, "gates": "workspace", "lastRuns": {"b": "2026-02-03T10:00:00.5Z", "a": null}"#,
    )
    .unwrap();
    assert_eq!(workspace.schedule.as_ref().unwrap().to_string(), "cron 0 9 * * * Europe/Berlin");
    assert_eq!((workspace.name.as_deref(), workspace.model.as_deref()), (Some("A"), Some("opus")));
    assert_eq!((workspace.timeout.unwrap().as_secs(), &workspace.permissions), (60, &Permissions::Skip));
    assert_eq!(workspace.background_wait.unwrap().as_secs(), 1);
    assert_eq!(workspace.requires.0.iter().map(|name| &**name).collect::<Vec<_>>(), ["mail", "web"]);
    let Gates { when, verify } = &workspace.gates;
    assert_eq!((when.0.len(), verify.0.len(), workspace.gate_source), (1, 1, GateSource::Workspace));
    assert!(workspace.mcp.has_name("mail") && !workspace.mcp.has_name("web"));
    let asking = ApprovalSettings {
        checker: Some(Checker::Manual),
        approval: Some(Approval::Defer),
        approval_wait: Interval::from_secs(30),
        approval_expiry: None,
        questions: Some(Questions::Deny),
    };
    assert_eq!(workspace.asking, asking);
    assert_eq!(*workspace.last_runs, [("b".into(), "2026-02-03T10:00:00.5Z".parse().unwrap())]);
}

#[test]
fn an_unparsable_file_is_one_error_with_its_position() {
    for (text, expected) in [
        (
            "{\"workspaces\": [\n  {\"ä\": 1,}]}",
            "/m/config.json:2:11: this is not JSON: key must be a string; correct it there or just before",
        ),
        (
            "{",
            "/m/config.json:1:1: this is not JSON: EOF while parsing an object; correct it there or just before",
        ),
        (
            "\n []",
            "/m/config.json:2:2: invalid type: sequence, expected an object; write {\"workspaces\": []}",
        ),
        (
            "7",
            "/m/config.json:1:1: invalid type: integer `7`, expected an object; write {\"workspaces\": []}",
        ),
        (
            "{} x",
            "/m/config.json:1:4: this is not JSON: trailing characters; correct it there or just before",
        ),
        (
            "{\"workspaces\": {}}",
            "/m/config.json:1:16: \"workspaces\" is {}; write a list of objects, [{\"path\": ...}]",
        ),
        (
            "{\"workspaces\": null}",
            "/m/config.json:1:16: \"workspaces\" is null; write a list of objects, [{\"path\": ...}]",
        ),
        (
            "{\"maxConcurrent\": 0}",
            "/m/config.json:1:19: \"maxConcurrent\" is 0; write a whole number of at least 1, such as 4",
        ),
        (
            "{\"maxConcurrent\": \"4\"}",
            "/m/config.json:1:19: \"maxConcurrent\" is \"4\"; write a whole number of at least 1, such as 4",
        ),
        (
            "{\"permissions\": {}}",
            "/m/config.json:1:2: unknown key \"permissions\"; move it into each workspace: rules are set per workspace",
        ),
        (
            "{\"budgets\": {\"day\": 5}}",
            "/m/config.json:1:2: unknown key \"budgets\"; did you mean \"budget\"?",
        ),
        (
            "\u{feff}{\"maxConcurrent\": 0}",
            "/m/config.json:1:19: \"maxConcurrent\" is 0; write a whole number of at least 1, such as 4",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err(), expected, "{text}");
    }
    assert_eq!(
        parse_bytes(b"{\n\"a\xff").unwrap_err(),
        "/m/config.json:2:3: byte 4 is not UTF-8; save the file as UTF-8"
    );
}

#[test]
fn an_invalid_entry_is_reported_with_position_value_and_accepted_values() {
    for (members, expected) in [
        (r#""interval": "30m""#, r#":2:3: "path" is missing; write the folder's absolute path"#),
        (
            r#""path": "a""#,
            r#":2:12: "path" is "a", which is not absolute; write the folder's absolute path, such as "/home/me/project""#,
        ),
        (
            r#""path": "~/a""#,
            r#":2:12: "path" is "~/a", and `~` is not expanded; write your home folder's absolute path instead"#,
        ),
        (
            r#""path": 5"#,
            r#":2:12: "path" is 5; write the folder's absolute path, such as "/home/me/project""#,
        ),
        (
            r#""path": "/a", "interval": 30"#,
            r#":2:30: "interval" is 30; write a string such as "30m" or "1h30m""#,
        ),
        (
            r#""path": "/a", "interval": "5 min""#,
            r#":2:30: "interval": "5 min" is not an interval; write whole numbers with d, h, m or s, largest first, such as "30m" or "1h30m""#,
        ),
        (
            r#""path": "/a", "interval": "5m", "cron": "@daily""#,
            r#":2:44: "cron": both "interval" and "cron" are given; remove one of them"#,
        ),
        (
            r#""path": "/a", "cron": "0 0 30 2 *""#,
            r#":2:26: "cron": "0 0 30 2 *" never fires; write a day that exists"#,
        ),
        (
            r#""path": "/a", "cron": "@daily", "tz": "Mars""#,
            r#":2:42: "tz": time zone "Mars" is unknown; write an IANA name such as "Europe/Berlin" or "UTC""#,
        ),
        (
            r#""path": "/a", "interval": "5m", "tz": "UTC""#,
            r#":2:42: "tz": "tz" is given without "cron"; remove it, or write "cron" instead of "interval""#,
        ),
        (
            r#""path": "/a", "maxTurns": 0"#,
            r#":2:30: "maxTurns" is 0; write a whole number of at least 1, such as 3"#,
        ),
        (
            r#""path": "/a", "maxTurns": 1.5"#,
            r#":2:30: "maxTurns" is 1.5; write a whole number of at least 1, such as 3"#,
        ),
        (
            r#""path": "/a", "agent": "gemini""#,
            r#":2:27: "agent": unknown agent "gemini"; did you mean acp:gemini? Otherwise, use claude, codex, or acp:NAME, such as acp:opencode"#,
        ),
        (
            r#""path": "/a", "agent": []"#,
            r#":2:27: "agent": the list is empty; write "claude", "codex", a name such as "acp:opencode", or a list of them, whose first is the default"#,
        ),
        (
            r#""path": "/a", "agent": 7"#,
            r#":2:27: "agent" is 7; write "claude", "codex", a name such as "acp:opencode", or a list of them, whose first is the default"#,
        ),
        (
            r#""path": "/a", "model": "--x""#,
            r#":2:27: "model" is "--x"; write a non-empty string without control characters that does not start with '-'"#,
        ),
        (
            r#""path": "/a", "lastRun": "yesterday""#,
            r#":2:29: "lastRun" is "yesterday"; write null, or a time such as "2026-02-03T10:00:00Z""#,
        ),
        (
            r#""path": "/a", "permissions": null"#,
            r#":2:33: "permissions" is null; write "skip" or {"deny": ["Bash(curl *)"]}"#,
        ),
        (
            r#""path": "/a", "permissions": []"#,
            r#":2:33: "permissions" is []; write "skip" or {"deny": ["Bash(curl *)"]}"#,
        ),
        (
            r#""path": "/a", "permissions": {"deny": ["-x"]}"#,
            r#":2:33: "permissions": pattern 1 of "deny" starts with '-'; write a tool pattern such as "Bash(curl *)""#,
        ),
        (
            r#""path": "/a", "permisions": "skip""#,
            r#":2:18: unknown key "permisions"; did you mean "permissions"?"#,
        ),
        (
            r#""path": "/a", "permissionsChecker": "on""#,
            r#":2:40: "permissionsChecker": "on" is not known; write "off", "manual", "llm" or "deny""#,
        ),
        (
            r#""path": "/a", "permissionsChecker": true"#,
            r#":2:40: "permissionsChecker" is true; write "off", "manual", "llm" or "deny""#,
        ),
        (
            r#""path": "/a", "permissionschecker": "deny""#,
            r#":2:18: unknown key "permissionschecker"; did you mean "permissionsChecker"?"#,
        ),
        (r#""path": "/a", "approval": 1"#, r#":2:30: "approval" is 1; write "wait" or "defer""#),
        (r#""path": "/a", "approvalWait": 2"#, r#":2:34: "approvalWait" is 2; write a string such as "2m""#),
        (
            r#""path": "/a", "requires": "mail""#,
            r#":2:30: "requires" is "mail"; write a list of the names of MCP servers, such as ["mail"]"#,
        ),
        (
            r#""path": "/a", "mcp": "all""#,
            r#":2:25: "mcp": "all" is not known; write "none", "project", or a list of the names of MCP servers, such as ["mail"]"#,
        ),
        (
            r#""path": "/a", "when": "./a b""#,
            r#":2:26: "when": "./a b" has spaces, and no shell splits it; write a list, such as ["./changed.sh", "--since", "1d"]"#,
        ),
        (
            r#""path": "/a", "verify": 1"#,
            r#":2:28: "verify" is 1; write a program such as "./check.sh", a list of a program and its arguments, {"run": …, "timeout": "10m"}, or a list of these objects"#,
        ),
        (
            r#""path": "/a", "gates": "heartbeat""#,
            r#":2:27: "gates": "heartbeat" is not known; write "config" or "workspace""#,
        ),
        (
            r#""path": "/a", "requires": ["-x"]"#,
            r#":2:30: "requires": "-x" is not a name; write a list of the names of MCP servers, such as ["mail"]"#,
        ),
        (
            r#""path": "/a", "approvalExpiry": {}"#,
            r#":2:36: "approvalExpiry" is {}; write a string such as "24h""#,
        ),
        (
            r#""path": "/a", "questions": "no""#,
            r#":2:31: "questions": "no" is not known; write "broker" or "deny""#,
        ),
        (
            r#""path": "/a", "question": "deny""#,
            r#":2:18: unknown key "question"; did you mean "questions"?"#,
        ),
        (r#""path": "/a", "wehn": "./a""#, r#":2:18: unknown key "wehn"; did you mean "when"?"#),
        (r#""path": "/a", "deny": []"#, r#":2:18: unknown key "deny"; rules go into "permissions""#),
    ] {
        assert_eq!(entry(members).unwrap_err(), format!("/m/config.json{expected}"));
    }
    let file = parse("{\"workspaces\": [7, {\"path\": \"/b\"}]}").unwrap();
    assert_eq!(
        file.workspaces[0].as_ref().unwrap_err().problem.line(),
        "/m/config.json:1:17: \"workspaces\" is 7; write an object such as {\"path\": \"/home/me/project\", \"interval\": \"30m\"}"
    );
    assert!(file.workspaces[1].is_ok(), "the next entry is read all the same");
}

#[test]
fn an_invalid_entry_keeps_its_valid_keys() {
    let file = parse(
        r#"{"workspaces": [{"maxTurns": "x", "path": "/a", "interval": "1h", "lastRun": "2026-02-03T10:00:00Z"}]}"#,
    )
    .unwrap();
    let bad = file.workspaces[0].as_ref().unwrap_err();
    assert_eq!(bad.path.as_deref(), Some(Path::new("/a")));
    assert_eq!(bad.schedule.as_ref().unwrap().to_string(), "every 1h");
    assert_eq!(bad.last_run, Some("2026-02-03T10:00:00Z".parse().unwrap()));
}

#[test]
fn unknown_keys_are_warnings_and_equal_keys_count_as_the_last() {
    let file = parse(
        "{\"comment\": 1, \"maxconcurrent\": 2, \"maxConcurrent\": 5, \"maxConcurrent\": 6,\n \"workspaces\": [{\"path\": \"/a\", \"modle\": 9, \"path\": \"/b\", \"p\\u0061th\": \"/c\"}]}",
    )
    .unwrap();
    assert_eq!(file.max_concurrent.get(), 6);
    assert_eq!(&*file.workspaces[0].as_ref().unwrap().path, Path::new("/c"));
    let warnings: Vec<String> = file.warnings.iter().map(Hinted::line).collect();
    assert_eq!(
        warnings,
        [
            "/m/config.json:1:2: unknown key \"comment\"; it has no effect; use one of maxConcurrent, reserve, workspaces, budget",
            "/m/config.json:1:16: unknown key \"maxconcurrent\"; did you mean \"maxConcurrent\"?",
            "/m/config.json:2:32: unknown key \"modle\"; did you mean \"model\"?",
        ]
    );
}

#[test]
fn a_table_of_config_toml_is_a_warning_that_says_where_it_belongs() {
    let file = parse("{\"workspaces\": [{\"path\": \"/a\", \"captures\": {\"keep\": \"14d\"}}]}").unwrap();
    assert!(file.workspaces[0].is_ok() && file.warnings[0].line().starts_with("/m/config.json:1:32: unknown key \"captures\"; write it as a table [captures] in config.toml, which holds"));
}

#[test]
fn a_path_listed_twice_runs_once_or_not_at_all_if_the_settings_differ() {
    let problems = |text: &str| -> Vec<Option<String>> {
        let file = parse(text).unwrap();
        file.workspaces.iter().map(|entry| entry.as_ref().err().map(|bad| bad.problem.line())).collect()
    };
    assert_eq!(
        problems("{\"workspaces\": [{\"path\": \"/a\"},\n{\"path\": \"/b\"},\n{\"path\": \"/a/./\"}]}"),
        [None, None, Some("/m/config.json:3:1: workspace \"/a\" is also listed in line 1, and only that entry counts; remove one of the two".into())]
    );
    assert_eq!(
        problems("{\"workspaces\": [{\"path\": \"/a\"},\n{\"path\": \"/a\", \"permissions\": \"skip\"}]}"),
        [
            Some("/m/config.json:1:17: workspace \"/a\" is also listed in line 2, and the two disagree on \"permissions\", so nothing runs there; remove one of the two".into()),
            Some("/m/config.json:2:1: workspace \"/a\" is also listed in line 1, and only that entry counts; remove one of the two".into()),
        ]
    );
    let first =
        problems("{\"workspaces\": [{\"path\": \"/a\", \"questions\": \"deny\"},\n{\"path\": \"/a\"}]}")
            .swap_remove(0);
    assert!(first.unwrap().contains("the two disagree on \"questions\", so nothing runs there"));
}

#[test]
fn no_file_is_an_empty_configuration_and_a_file_without_text_is_torn() {
    let folder = tempfile::tempdir().unwrap();
    let crons = Crons::new(TimeZone::UTC);
    assert!(File::read(&folder.path().join("config.json"), &crons).unwrap().workspaces.is_empty());
    for text in ["{}", "\u{feff}{}"] {
        assert!(parse(text).unwrap().workspaces.is_empty(), "{text:?}");
    }
    for text in ["", " \n", "\u{feff}"] {
        assert!(parse(text).unwrap_err().to_string().contains("it is empty"), "{text:?}");
    }
    let error = File::read(folder.path(), &crons).unwrap_err().line();
    assert_eq!(
        error,
        format!("cannot read {}: it is not a regular file; put a file in its place", folder.path().display())
    );
}

#[test]
fn a_very_deep_file_is_read_or_refused_but_never_overflows() {
    let deep = format!("{{\"x\": {}1{}, \"workspaces\": []}}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(parse(&deep).unwrap().workspaces.is_empty());
    assert!(parse(&"[".repeat(200_000)).is_err());
    let rules = format!(r#""path": "/a", "permissions": {}{}"#, "[".repeat(200_000), "]".repeat(200_000));
    assert!(entry(&rules).is_err());
}

#[test]
fn the_examples_of_the_guide_are_right() {
    fn block<'a>(page: &'a str, start: &str) -> &'a str {
        page.split("```").find(|block| block.starts_with(start)).unwrap().split_once('\n').unwrap().1
    }
    let file = parse(block(include_str!("../../../../../docs/reference/config.md"), "json\n")).unwrap();
    assert!(file.workspaces.iter().all(Result::is_ok) && file.warnings.is_empty(), "{file:?}");
    let example = block(include_str!("../../../../../docs/guide/heartbeats.md"), "markdown\n---\ncron");
    let (front, body) =
        crate::config::frontmatter::split(example.as_bytes(), &Crons::new(TimeZone::UTC)).unwrap();
    assert!(front.is_some() && body.starts_with("Run `gh run list --branch main"));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = parse_bytes(&bytes);
    }

    #[test]
    fn no_text_of_json_pieces_panics(pieces in prop::collection::vec(prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"path\"", "\"/a\"", "\"workspaces\"", "\"interval\"", "\"1h\"", "null", "1", " ", "\n",
        "\"\\ud800\"", "\"permissions\"", "\"deny\"", "\u{feff}", "é",
    ]), 0..30)) {
        let _ = parse(&format!("{{\"workspaces\":[{{{}", pieces.concat()));
        let _ = parse(&pieces.concat());
    }
}
