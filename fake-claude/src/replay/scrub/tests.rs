//! Tests of replaced, unchanged and refused text.

use super::*;
use crate::replay::{End, FORMAT};
use secrets::samples;

fn identity() -> Identity {
    Identity {
        cwd: vec!["/home/alice/work/shop".into()],
        home: vec!["/home/alice".into()],
        user: Some("alice".into()),
        env: vec![("SHOP_TOKEN".into(), "hunter2-and-more".into()), ("SHORT_KEY".into(), "abc".into())],
    }
}

fn fixture(stdout: &[u8]) -> Fixture {
    let run = Run {
        format: FORMAT,
        program: "claude".into(),
        version: String::new(),
        argv: vec![],
        cwd: "/home/alice/work/shop".into(),
        env: Default::default(),
        end: End::Code(0),
        duration_ms: 1,
    };
    Fixture { run, stdin: vec![], stdout: stdout.into(), stderr: vec![], times: vec![] }
}

fn scrubbed(stdout: &str) -> String {
    let clean = scrub(&fixture(stdout.as_bytes()), &identity()).unwrap();
    String::from_utf8(clean.stdout).unwrap()
}

#[test]
fn an_id_has_the_same_placeholder_everywhere() {
    let (one, two) = ("3e19ede8-a163-47b1-8bae-e239447492bb", "e7d7d954-105e-4857-b1c6-16e52d1e4ad6");
    let mut raw = fixture(format!("{{\"session_id\":\"{two}\",\"text\":\"\\n{one}\"}}").as_bytes());
    raw.stdin = one.as_bytes().to_vec();
    raw.run.argv = vec![format!("--resume={two}"), one.to_uppercase()];
    let clean = scrub(&raw, &identity()).unwrap();
    let placeholder = |n: usize| format!("00000000-0000-4000-8000-{n:012}");
    assert_eq!(clean.stdin, placeholder(1).as_bytes());
    let stdout = format!("{{\"session_id\":\"{}\",\"text\":\"\\n{}\"}}", placeholder(2), placeholder(1));
    assert_eq!(clean.stdout, stdout.as_bytes());
    assert_eq!(clean.run.argv, [format!("--resume={}", placeholder(2)), placeholder(1)]);
    assert_eq!(clean.run.cwd, "/workspace");
}

#[test]
fn a_background_task_has_one_placeholder_from_where_it_is_introduced() {
    for (raw, clean) in [
        (
            r#"bewyu56va {"task_id":"bewyu56va"} ID: bewyu56va. tasks/bewyu56va.output"#,
            r#"bewyu56va {"task_id":"b00000001"} ID: b00000001. tasks/b00000001.output"#,
        ),
        (
            "running in background with ID: bqa36cb8r. {bqa36cb8r}",
            "running in background with ID: b00000001. {b00000001}",
        ),
        (
            r#"\"task_id\":\"aaaaaaaa1\",\"task_id\":\"aaaaaaaa2\""#,
            r#"\"task_id\":\"b00000001\",\"task_id\":\"b00000002\""#,
        ),
        ("something and 123456789", "something and 123456789"),
        (r#""task_id":"0mwsjfrj7-7e29bf82""#, r#""task_id":"000000001-00000000""#),
    ] {
        assert_eq!(scrubbed(raw), clean);
    }
}

#[test]
fn paths_times_and_durations_become_stable() {
    for (raw, clean) in [
        ("\"cwd\":\"/home/alice/work/shop\"", "\"cwd\":\"/workspace\""),
        (r"text\n/home/alice/work/shop/a.rs", r"text\n/workspace/a.rs"),
        ("/home/alice/work/shop2", "/home/user/work/shop2"),
        ("projects/-home-alice-work-shop/x", "projects/-workspace/x"),
        ("/Users/alice/x and /alice2", "/Users/user/x and /alice2"),
        ("malice", "malice"),
        ("\"2026-11-21T01:06:40.951Z\"", "\"2026-01-01T00:00:00.000Z\""),
        ("2026-11-21T01:06:40+01:00", "2026-01-01T00:00:00.000Z"),
        (r#""ttft_ms":109,"durationMs": 3.5,\"x_ms\":7"#, r#""ttft_ms":1,"durationMs": 1,\"x_ms\":1"#),
        (r#""end_time":1795223201238"#, r#""end_time":1767225600000"#),
        ("/tmp/tmp.zPP08UViFp/home", "/tmp/scratch/home"),
        ("/tmp/.tmpA1b2C3/x", "/tmp/scratch/x"),
        ("/tmp/claude-0/-home-alice-work-shop/x", "/tmp/claude-1000/-workspace/x"),
        ("http://127.0.0.1:43210/v1", "http://127.0.0.1:8080/v1"),
        ("/run/claude-4711.sock", "/run/claude-1.sock"),
        ("req_011CSabcdefGHIJ", "req_000000000000000000000001"),
        ("ad713035f49ff1859", "a0000000000000001"),
        ("0mwppjj60-2b8f8772", "000000001-00000000"),
    ] {
        assert_eq!(scrubbed(raw), clean);
    }
}

#[test]
fn keys_and_tokens_are_removed() {
    let long = "a1".repeat(20);
    for prefix in ["sk-ant-", "ghp_", "gho_", "github_pat_", "xoxb-", "AIza", "npm_"] {
        assert_eq!(scrubbed(&format!("{{\"k\":\"\\n{prefix}{long}\"}}")), "{\"k\":\"\\n[removed]\"}");
    }
    assert_eq!(scrubbed("AKIAIOSFODNN7EXAMPLE."), "[removed].");
    assert_eq!(scrubbed("Authorization: Bearer abc.def-123"), "Authorization: Bearer [removed]");
    assert_eq!(scrubbed("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl!"), "[removed]!");
    assert_eq!(scrubbed("x=hunter2-and-more;abc"), "x=[removed];abc");
}

#[test]
fn a_variable_is_removed_by_its_name_unless_it_is_a_short_number() {
    let mut raw = fixture(b"");
    let env = [("ANTHROPIC_API_KEY", "x"), ("MAX_THINKING_TOKENS", "8000"), ("CLAUDE_X", "/home/alice/x")];
    raw.run.env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let clean = scrub(&raw, &identity()).unwrap().run.env;
    let values: Vec<&str> = clean.values().map(String::as_str).collect();
    assert_eq!(values, ["[removed]", "/home/user/x", "8000"]);
}

#[test]
fn harmless_text_is_unchanged() {
    for text in [
        "task-force-of-many-words, risk-averse-behaviour-again",
        r#"{"input_tokens":10,"apiKeySource":"ANTHROPIC_API_KEY"}"#,
        "use Bearer tokens; the secret: none; https://example.com:443/@x",
    ] {
        assert_eq!(scrubbed(text), text);
    }
    let bytes = b"\xff\xfe{\"half\":\"\\u00";
    assert_eq!(scrub(&fixture(bytes), &identity()).unwrap().stdout, bytes);
}

#[test]
fn secrets_that_cannot_be_removed_are_refused_with_their_position() {
    for (line, column, what) in [
        ("-----BEGIN OPENSSH PRIVATE KEY-----", 1, "a private key"),
        ("postgres://app:s3cr3t@db/shop", 16, "a URL with a password"),
        ("{\\\"password\\\": \\\"correct0horse0battery\\\"}", 18, "a possible password or token"),
        ("xsk-ant-api03-abcdefghijkl", 2, "a possible key"),
        ("at 2026-11-21T01:06:40.951Z mysql -phunter2", 37, "a password in a program's arguments"),
    ] {
        let refused = scrub(&fixture(format!("fine\n{line}\n").as_bytes()), &identity()).unwrap_err();
        assert_eq!(refused, Suspicious { stream: "stdout", line: 2, column, what });
    }
}

#[test]
fn an_option_and_its_value_are_refused_in_two_arguments() {
    let mut raw = fixture(b"");
    raw.run.argv = ["-c", "x", "--api-key", "abcdef123456"].map(str::to_owned).into();
    let refused = scrub(&raw, &identity()).unwrap_err();
    let what = "a possible password or token";
    assert_eq!(refused, Suspicious { stream: "argv", line: 4, column: 1, what });
}

#[test]
fn every_published_token_is_removed_or_refused() {
    let mut wrong = Vec::new();
    for (name, token) in samples::tokens() {
        for text in samples::around(&token) {
            if recorded(&text).is_ok_and(|said| said.contains(&token[token.len() - 12..])) {
                wrong.push(format!("{name}: {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} stay:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_secret_is_removed_or_refused_by_its_context() {
    let mut wrong = Vec::new();
    for (text, secrets) in samples::in_context() {
        for (index, text) in samples::wrapped(&text).iter().enumerate() {
            let leaks =
                |said: String| secrets.iter().any(|secret| said.contains(&samples::escaped(secret)[index]));
            if recorded(text).is_ok_and(leaks) {
                wrong.push(text.clone());
            }
        }
    }
    assert!(wrong.is_empty(), "{} stay:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn ordinary_lines_are_not_refused() {
    let lines = samples::ordinary();
    let said = |line: &&str| recorded(line).err().map(|error| format!("{line}\n    → {error}"));
    let refused: Vec<String> = lines.iter().filter_map(said).collect();
    assert!(refused.is_empty(), "{} refused:\n{}", refused.len(), refused.join("\n"));
}

/// Scrubs a recording of `text` without facts about the machine.
fn recorded(text: &str) -> Result<String, Suspicious> {
    let clean = scrub(&fixture(text.as_bytes()), &Identity::default())?;
    Ok(String::from_utf8(clean.stdout).unwrap())
}

#[test]
fn what_differs_between_runs_of_codex_and_opencode_is_replaced() {
    for (raw, clean) in [
        (
            "/sessions/2026/11/25/rollout-2026-11-25T06-27-38-x",
            "/sessions/2026/01/01/rollout-2026-01-01T00-00-00-x",
        ),
        (
            r#"{"startedAt":1795588058,"resetsAt":1795588058}"#,
            r#"{"startedAt":1767225600,"resetsAt":1795588058}"#,
        ),
        (r#"{"processId":"45936"}"#, r#"{"processId":"1"}"#),
        (r#"{"status":"disabled","serverName":"vm"}"#, r#"{"status":"disabled","serverName":"host"}"#),
        ("\u{1b}[2m2026-11-25T07:02:15.773350Z\u{1b}[0m", "\u{1b}[2m2026-01-01T00:00:00.000Z\u{1b}[0m"),
        (r#"{"title":"tmp/.tmp6SbBKD/workspace/a"}"#, r#"{"title":"tmp/scratch/workspace/a"}"#),
        (r#"{"serverName":"db"}"#, r#"{"serverName":"db"}"#),
        ("ses_def002f24ffe6blwxi9Lo6tGh5 msg_short", "ses_00000000000000000000000001 msg_short"),
    ] {
        assert_eq!(scrubbed(raw), clean);
    }
}
