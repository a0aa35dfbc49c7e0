//! `murmur show`: what a beat did, for a person.

mod pager;

use std::io::{BufRead, BufReader, Write};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::{Env, Workspace};

/// Runs a beat that plays a recorded run of Claude Code, and returns what `murmur show` prints with `args`.
fn played(env: &Env, site: &Workspace, fixture: &str, args: &[&str]) -> String {
    site.plays(&json!({ "fixture": fixture_path(fixture) }));
    env.run(["beat", "site"]);
    shown(env, args)
}

fn fixture_path(name: &str) -> String {
    format!("{}/fixtures/claude/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// What `murmur show` prints, with times and ids replaced.
fn shown(env: &Env, args: &[&str]) -> String {
    let text = env.run(std::iter::once("show").chain(args.iter().copied()));
    let text = regex(r"[0-9a-f]{8}-[0-9a-f-]{27}", &text, "[BEAT]");
    let text = regex(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", &text, "[TIME]");
    regex(r"\b\d+(ms|\.\ds)\b", &text, "[S]")
}

fn regex(pattern: &str, text: &str, with: &str) -> String {
    regex::Regex::new(pattern).unwrap().replace_all(text, with).into_owned()
}

#[test]
fn a_run_is_shown_with_a_header_and_a_line_for_each_call() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    assert_snapshot!(played(&env, &site, "tools", &[]), @"
    site  [ENV]/site
      beat     [BEAT]
      started  [TIME], took [S]
      outcome  ok
      cost     $0.0013, 4 turns, tokens: 30 input, 60 output
      model    claude-opus-5-5
      ended    exit code 0

    Looking at the notes first.
      Read(/workspace/notes.md)  3 lines, [S]
      Bash(wc -l < notes.md)  2, [S]
      Write(/workspace/report.md)  1 line, [S]
    Wrote report.md. HEARTBEAT_OK
    [exit 0]
    ");
    let full = shown(&env, &["--full"]);
    assert!(
        full.contains("  Bash(wc -l < notes.md)  2, [S]\n    > description: \"Count the lines\"\n  Write"),
        "{full}"
    );
    assert!(full.contains("  Read(/workspace/notes.md)  3 lines, [S]\n    "), "{full}");
    assert_snapshot!(played(&env, &site, "subagent", &["site"]), @"
    site  [ENV]/site
      beat     [BEAT]
      started  [TIME], took [S]
      outcome  attention Waiting for the count.
      cost     $0.0022, 3 turns, tokens: 50 input, 100 output
      model    claude-opus-5-5
      ended    exit code 0

      Agent(Count files)  6 lines, [S]
      [task] started in the background: Count files
    Waiting for the count.
          Bash(ls | wc -l)  1, [S]
        There is 1 file.
      [task] completed: There is 1 file.
    There is 1 file. HEARTBEAT_OK
    [exit 0]
    ");
    assert_snapshot!(played(&env, &site, "api-429-retries", &["last"]), @"
    site  [ENV]/site
      beat     [BEAT]
      started  [TIME], took [S]
      outcome  error     exited with code 1: API Error: Request rejected (429) · This request would exceed your account's rate limit.
      cost     $0.0000, 1 turn
      model    claude-opus-5-5
      ended    exit code 1

      [retry] 1 of 2 in [MS] ms (status 429)
      [retry] 2 of 2 in [MS] ms (status 429)
      [refused] rate_limit (status 429)
    API Error: Request rejected (429) · This request would exceed your account's rate limit.
    [exit 0]
    ");
}

#[test]
fn a_denied_call_names_who_denied_it_and_why() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    assert_snapshot!(played(&env, &site, "denied", &["--full"]), @r#"
    site  [ENV]/site
      beat     [BEAT]
      started  [TIME], took [S]
      outcome  attention 1 call denied  ATTENTION: I may not use sudo, but the guard refused Bash(sudo ls /root)
      cost     $0.0009, 2 turns, tokens: 20 input, 40 output
      model    claude-opus-5-5
      ended    exit code 0

      Bash(sudo ls /root)  denied by the guard: `sudo ls /root` is refused: it raises privileges; work without them, or ask the user to run it, [S]
        > description: "List"
        Permission to use Bash with command sudo ls /root has been denied.
    ATTENTION: I may not use sudo.
    [exit 0]
    "#);
    let object = env.murmur(["show", "--json"]).json();
    assert_eq!(object["beat"]["outcome"], "attention");
    let call = &object["items"][0];
    assert_eq!(
        (&call["type"], &call["tool"], &call["subject"]),
        (&json!("call"), &json!("Bash"), &json!("sudo ls /root"))
    );
    assert!(
        call["denied"].as_str().unwrap().starts_with("by the guard: `sudo ls /root` is refused"),
        "{call}"
    );
    assert_eq!(call["result"]["isError"], true);
}

#[test]
fn a_beat_is_found_by_name_folder_and_the_beginning_of_its_id() {
    let env = Env::new();
    assert_snapshot!(env.run(["show"]), @"
    | error: there are no beats yet
    | hint: run one: murmur beat
    [exit 1]
    ");
    let site = env.workspace("site", "Do it.");
    let blog = env.workspace("blog", "Do it.");
    env.configure(&json!({ "workspaces": [{ "path": site.path(), "interval": "1h" }] }).to_string());
    assert_snapshot!(env.run(["show", "site"]).replace(site.path(), "[SITE]"), @"
    | error: [SITE] has not run yet
    | hint: run it: murmur beat [SITE]
    [exit 1]
    ");
    env.run(["beat", "site"]);
    env.run(["beat", "blog"]);
    let id =
        |what: &str| env.murmur(["show", what, "--json"]).json()["beat"]["beat"].as_str().unwrap().to_owned();
    let (first, second) = (id("site"), id("blog"));
    assert_eq!(id(site.path()), first);
    assert_eq!(id(&first[..20]), first);
    assert_eq!(id(blog.path()), second);
    assert_eq!(id("last"), second);
    let both = first.chars().zip(second.chars()).take_while(|(one, other)| one == other).count();
    let ambiguous = env.run(["show", &first[..both]]);
    assert!(
        ambiguous.contains(&first) && ambiguous.contains(&second) && ambiguous.ends_with("[exit 1]"),
        "{ambiguous}"
    );
    assert_snapshot!(env.run(["show", "nope"]), @r#"
    | error: no beat, heartbeat, agent or capture "nope"
    | hint: see: murmur log, murmur agent list, murmur capture list
    [exit 1]
    "#);
    assert_snapshot!(env.run(["show", "site", "--tail", "1"]), @"
    | error: --tail needs a capture
    | hint: add --raw to print the bytes that the agent wrote
    [exit 1]
    ");
}

#[test]
fn any_beginning_of_an_id_is_enough_or_lists_the_beats_that_have_it() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    env.run(["beat", "site"]);
    assert!(env.run(["show", "0"]).starts_with("site  "), "{}", env.run(["show", "0"]));
    env.run(["beat", "site"]);
    let ids: Vec<String> =
        env.journal().iter().rev().map(|line| line["beat"].as_str().unwrap().to_owned()).collect();
    let said = env.murmur(["show", "01"]).output();
    let expected = format!("error: 2 beats begin with \"01\"\nhint: use one of: {}\n", ids.join(", "));
    assert_eq!(String::from_utf8(said.stderr).unwrap(), expected);
    assert!(env.run(["show", &ids[0].to_uppercase()]).starts_with("site  "));
}

#[test]
fn a_damaged_capture_is_reported_below_what_the_journal_has() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    env.run(["beat", "site"]);
    let capture = env.journal()[0]["capture"].as_str().unwrap().to_owned();
    let sessions = env.home().join(".local/state/derun/sessions");
    std::fs::write(sessions.join(format!("{capture}.zst")), "not zstd").unwrap();
    assert_snapshot!(shown(&env, &[]).replace(&capture, "[CAPTURE]"), @"
    site  [ENV]/site
      beat     [BEAT]
      started  [TIME], took [S]
      outcome  ok
      cost     $0.0004, 1 turn, tokens: 10 input, 20 output
      model    claude-opus-5-5
      ended    exit code 0
    | error: session [CAPTURE]: meta.json: the pack is damaged
    [exit 1]
    ");
}

#[test]
fn the_capture_of_a_beat_is_shown_as_the_beat_unless_its_bytes_are_wanted() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let bytes = std::fs::read_to_string(format!("{}/stdout", fixture_path("denied"))).unwrap();
    site.plays(&json!({ "fixture": fixture_path("denied") }));
    env.run(["beat", "site"]);
    assert_eq!(env.run(["show", "--raw"]), format!("{bytes}[exit 0]"));
    let object = env.murmur(["show", "--json"]).json();
    let capture = object["beat"]["capture"].as_str().unwrap();
    let beat = shown(&env, &["site"]);
    assert!(beat.contains("Bash(sudo ls /root)  denied by the guard"), "{beat}");
    assert_eq!(shown(&env, &[capture]), beat);
    assert_eq!(shown(&env, &[capture, "--full"]), shown(&env, &["site", "--full"]));
    assert_eq!(env.murmur(["show", capture, "--json"]).json(), object);
    let printed = |args: &[&str]| env.run(["capture", "show", capture].iter().chain(args));
    assert_eq!(printed(&[]), env.run(["show"]));
    assert_eq!(printed(&["--raw"]), format!("{bytes}[exit 0]"));
    assert_eq!(printed(&["--plain"]), format!("{bytes}[exit 0]"));
    assert_eq!(env.run(["show", capture, "--raw"]), format!("{bytes}[exit 0]"));
    let last = bytes.lines().last().unwrap();
    assert_eq!(env.run(["show", capture, "--tail", "1"]), format!("{last}\n[exit 0]"));
}

#[test]
fn a_cut_call_says_so_and_full_shows_all_of_its_input() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let long: String = (0..8).map(|n| format!("echo line  {n}\n")).collect();
    let call = |id: &str, input: Value| {
        let content = [json!({ "type": "tool_use", "id": id, "name": "Bash", "input": input })];
        json!({ "type": "assistant", "message": { "id": id, "content": content } })
    };
    let calls = [
        call("1", json!({ "command": long, "description": "Print", "timeout": 5 })),
        call("2", json!({ "command": "git push\n# hi\u{202e}" })),
        call("3", json!({ "command": "ls  -l" })),
    ];
    let calls = calls.map(|call| call.to_string()).join("\n");
    site.plays(&json!({ "stdout": format!("{calls}\n{}", crate::env::result("HEARTBEAT_OK")) }));
    env.run(["beat", "site"]);
    let calls_of = |args: &[&str]| shown(&env, args).split_once("\n\n").unwrap().1.to_owned();
    assert_snapshot!(calls_of(&[]), @r"
      Bash(echo line  0\necho line  1\necho line  2\necho line  3\necho line  4\necho line  5\necho line  6\ne…)
      Bash(git push\n# hi\u{202e})
      Bash(ls  -l)
    [exit 0]
    ");
    assert_snapshot!(calls_of(&["--full"]), @r#"
      Bash(echo line  0\necho line  1\necho line  2\necho line  3\necho line  4\necho line  5\necho line  6\ne…)
        > echo line  0
        > echo line  1
        > echo line  2
        > echo line  3
        > echo line  4
        > echo line  5
        > echo line  6
        > echo line  7
        >
        > description: "Print"
        > timeout: 5
      Bash(git push\n# hi\u{202e})
        > git push
        > # hi\u{202e}
      Bash(ls  -l)
    [exit 0]
    "#);
    let items = &env.murmur(["show", "--json"]).json()["items"];
    assert_eq!(items[0]["input"], json!({ "command": long, "description": "Print", "timeout": 5 }));
    assert_eq!(items[1]["subject"], r"git push\n# hi\u{202e}");
}

#[test]
fn hostile_output_cannot_act_on_the_terminal() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let text = json!({ "type": "text", "text": "a\u{1b}[2Jb\u{202e}c\n\td" });
    let call = json!({ "type": "tool_use", "id": "1", "name": "Ba\u{1b}]0;x\u{7}sh", "input": { "command": "e\r\u{1b}[1m" } });
    let line =
        |content: Value| json!({ "type": "assistant", "message": { "id": "m", "content": [content] } });
    let answer = json!({ "type": "tool_result", "tool_use_id": "1", "content": "x\u{1b}[31m\ny" });
    let user = json!({ "type": "user", "message": { "content": [answer] } });
    let lines =
        format!("{}\n{}\n{user}\nnot JSON\n{}", line(text), line(call), crate::env::result("HEARTBEAT_OK"));
    site.plays(&json!({ "stdout": lines }));
    env.run(["beat", "site"]);
    let shown = shown(&env, &["--full"]);
    assert!(!shown.contains(['\u{1b}', '\r', '\u{7}', '\u{202e}']), "{shown:?}");
    assert_snapshot!(shown, @r"
    site  [ENV]/site
      beat     [BEAT]
      started  [TIME], took [S]
      outcome  ok
      cost     1 turn
      ended    exit code 0

    abc
    	d
      Ba\u{1b}]0;x\u{7}sh(e\u{d}\u{1b}[1m)  2 lines, [S]
        x
        y
      [note] skipped a line that is not JSON
    [exit 0]
    ");
}

#[test]
fn what_was_not_kept_of_a_huge_run_is_named() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let config = env.create_data().join("config");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), "[captures]\nmax-per-run = \"1MiB\"\n").unwrap();
    let text = |number: usize| {
        let text = json!({ "type": "text", "text": format!("Text {number}. {}", "x".repeat(10_000)) });
        json!({ "type": "assistant", "message": { "id": format!("m{number}"), "content": [text] } })
            .to_string()
    };
    let lines: Vec<String> = (0..300).map(text).collect();
    site.plays(&json!({ "stdout": format!("{}\n{}", lines.join("\n"), crate::env::result("HEARTBEAT_OK")) }));
    env.run(["beat", "site"]);
    let shown = shown(&env, &[]);
    let gaps: Vec<&str> =
        shown.lines().filter(|line| line.contains("bytes of output were not kept")).collect();
    assert!(gaps.len() == 1 && gaps[0].starts_with("  [gap] "), "{gaps:?}");
    assert!(shown.contains("\nText 0. ") && shown.contains("\nText 299. ") && !shown.contains("not JSON"));
    assert!(!shown.contains("\nText 150. "));
}

#[test]
fn an_object_cannot_be_followed() {
    let env = Env::new();
    assert_snapshot!(env.run(["show", "--json", "--follow"]), @"
    | error: --json cannot be combined with --follow
    | hint: remove one of them; see: murmur show --help
    [exit 2]
    ");
}

#[test]
fn a_running_beat_is_followed_to_its_end() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let text = |text: &str| {
        let content = json!([{ "type": "text", "text": text }]);
        json!({ "type": "assistant", "message": { "id": text, "content": content } })
    };
    let (pace, mut gate) = env.gate("gate");
    let lines = format!("{}\n{}\n{}", text("One."), text("Two."), crate::env::result("HEARTBEAT_OK"));
    site.plays(&json!({ "stdout": lines, "pace": pace }));
    let mut beat = env.murmur(["beat", "site", "-v"]).start();
    gate.write_all(b".").unwrap();
    let mut begun = String::new();
    BufReader::new(beat.stdout.take().unwrap()).read_line(&mut begun).unwrap();
    assert_eq!(begun, "One.\n");

    let mut show = env.murmur(["show", "site", "--follow"]).start();
    let mut shown = BufReader::new(show.stdout.take().unwrap()).lines().map(Result::unwrap);
    let before: Vec<String> = shown.by_ref().take_while(|line| line != "One.").collect();
    assert!(before.iter().any(|line| line.contains("running for")), "{before:?}");
    // A beat that is about to end has a line already.
    let id = before.iter().find_map(|line| line.trim().strip_prefix("beat     ")).unwrap();
    let line = json!({ "ts": sys::clock::rfc3339(sys::clock::now()), "workspace": site.path(), "outcome": "ok",
        "durationMs": 1, "beat": id });
    std::fs::write(env.data().join("heartbeats.jsonl"), format!("{line}\n")).unwrap();
    for name in ["site", "last", id] {
        let text = env.run(["show", name]);
        assert!(text.contains("  outcome  ok") && !text.contains("running for"), "{name}: {text}");
    }
    std::fs::remove_file(env.data().join("heartbeats.jsonl")).unwrap();
    gate.write_all(b"..").unwrap();
    let after: Vec<String> = shown.collect();
    assert_eq!(after[..2], ["Two.", ""]);
    assert!(after[2].starts_with("  took     "), "{after:?}");
    assert_eq!(after[3..], ["  outcome  ok", "  cost     1 turn", "  ended    exit code 0"]);
    assert!(show.wait().unwrap().success() && beat.wait().unwrap().success());
}
