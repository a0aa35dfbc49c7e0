//! `murmur inbox`: what waits for a person besides requests, and the inbox as it changes.

use insta::assert_snapshot;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};

use crate::agents::pulse;
use crate::env::Env;

/// A heartbeat whose agent makes this call.
fn calling(env: &Env, command: &str) {
    let call = json!({ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": command } });
    env.workspace("site", "---\npermissionsChecker: manual\n---\nDo it.").plays(&json!({
        "script": [[call], [{ "type": "text", "text": "HEARTBEAT_OK" }]]
    }));
}

/// The entries of the inbox, without requests.
fn entries(env: &Env) -> Vec<Value> {
    env.murmur(["inbox", "--json"]).json()["entries"].as_array().unwrap().clone()
}

#[test]
fn a_watched_inbox_shows_each_request_once_as_it_comes() {
    let env = Env::new();
    calling(&env, "git push");
    let daemon = env.daemon();
    let mut inbox = env.murmur(["inbox", "--watch"]).start();
    let mut lines = BufReader::new(inbox.stdout.take().unwrap()).lines().map(Result::unwrap);
    let beat = env.murmur(["beat", "site", "--json"]).start();
    assert!(lines.next().unwrap().starts_with("1  "));
    assert_eq!(lines.next().unwrap(), "    git push");
    assert!(lines.next().unwrap().starts_with("  asked "));
    assert_eq!(lines.next().unwrap(), "  run: murmur allow 1, or: murmur deny 1 --reason '...'");
    env.run(["allow", "1"]);
    assert!(beat.wait_with_output().unwrap().status.success());
    daemon.stop();
    // Nothing else was new until the daemon ended.
    assert_eq!(lines.next(), None);
    let ended = inbox.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8(ended.stderr).unwrap(),
        "error: the daemon has ended\nhint: run: murmur start\n"
    );
}

#[test]
fn a_watched_inbox_notices_files_that_change_without_an_event() {
    let env = Env::new();
    let site = env.workspace("site", "---\nenabled: false\n---\nDo it.");
    env.register(&[&site]);
    let daemon = env.daemon();
    env.setting("permissions.toml", "");
    let mut inbox = env.murmur(["inbox", "--watch", "--json"]).start();
    let mut lines = BufReader::new(inbox.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut next_kind = || {
        let entry: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
        entry["kind"].as_str().unwrap().to_owned()
    };
    // The first entry may be in the first list; from then on, it watches.
    let until = sys::clock::now() + jiff::SignedDuration::from_mins(90);
    let until = sys::clock::rfc3339(until);
    let hold = json!({ "window": "five_hour", "resetsAt": until, "until": until });
    let hold = json!({ "version": 1, "accounts": { "claude": { "windows": {}, "hold": hold } } });
    std::fs::write(env.data().join("limits.json"), hold.to_string()).unwrap();
    assert_eq!(next_kind(), "limit");
    env.setting("permissions.toml", "[[rules]");
    assert_eq!(next_kind(), "rules");
    daemon.stop_after_saying("is on hold until");
    inbox.wait().unwrap();
}

#[test]
fn a_watched_inbox_needs_a_daemon() {
    let env = Env::new();
    assert_snapshot!(env.run(["inbox", "--watch"]), @"
    | error: murmur is not running, so nothing new arrives
    | hint: run: murmur start
    [exit 1]
    ");
}

#[test]
fn a_held_limit_is_listed_with_its_end() {
    let env = Env::new();
    let until = sys::clock::now() + jiff::SignedDuration::from_mins(90);
    let limit = json!({ "status": 429, "error": { "type": "rate_limit_error", "message": "limit" }, "headers": {
        "x-should-retry": "false",
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": until.as_second().to_string(),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
    }});
    env.workspace("site", "Do it.").plays(&json!({ "script": [limit] }));
    env.murmur(["beat", "site"]).set("CLAUDE_CODE_OAUTH_TOKEN", "sk-test").unset("ANTHROPIC_API_KEY").run();
    let shown = env.run(["inbox"]);
    let shown = regex::Regex::new(r"in 1h \d+m").unwrap().replace(&shown, "in [SPAN]");
    assert_snapshot!(shown, @"
    1  limit  on hold: claude [ENV]/home/.claude (OAuth token), whose five-hour limit is reached
      ends in [SPAN]
      see: murmur limits
    [exit 0]
    ");
    let entry = &entries(&env)[0];
    assert_eq!((&entry["kind"], &entry["command"]), (&json!("limit"), &json!("murmur limits")));
}

#[test]
fn an_untrusted_repository_is_listed_once() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.named("nightly", "Count.");
    let hook =
        json!({ "hooks": { "SessionStart": [{ "hooks": [{ "type": "command", "command": "true" }] }] } });
    std::fs::create_dir(site.0.join(".claude")).unwrap();
    std::fs::write(site.0.join(".claude/settings.json"), hook.to_string()).unwrap();
    env.register(&[&site]);
    let found = entries(&env);
    let kinds: Vec<&Value> = found.iter().map(|entry| &entry["kind"]).collect();
    assert_eq!(kinds, [&json!("untrusted")]);
    assert_snapshot!(env.run(["inbox"]), @"
    1  untrusted  [ENV]/site: repository settings not trusted
      run: murmur trust [ENV]/site
    [exit 0]
    ");
    // It is as old as its first sight.
    let (path, hours) = (env.data().join("inbox.json"), jiff::SignedDuration::from_hours(2));
    let mut numbers: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let since = sys::clock::rfc3339(sys::clock::now() - hours);
    numbers["others"][0]["since"] = json!(since);
    std::fs::write(&path, numbers.to_string()).unwrap();
    assert!(env.run(["inbox"]).contains("not trusted\n  for 2h"));
    assert_eq!(entries(&env)[0]["since"], json!(since));
    // Its number is not that of a request.
    for args in [["allow", "1"], ["deny", "1"], ["answer", "1"]] {
        assert_eq!(env.run(args), env.run(["allow", "1"]), "{args:?}");
    }
    assert_snapshot!(env.run(["allow", "1"]), @"
    | error: 1 in the inbox is an untrusted repository, not a request
    | hint: run: murmur trust [ENV]/site
    [exit 1]
    ");
    env.run(["trust", "site", "--yes"]);
    assert_eq!(entries(&env).len(), 0);
}

#[test]
fn a_stuck_agent_is_listed_with_how_long_nothing_happened() {
    let env = Env::new();
    env.beats(&pulse("busy", 0));
    env.beats(&pulse("site-1", 45 * 60 + 20));
    let shown = env.run(["inbox"]);
    let shown = regex::Regex::new(r"45m \d+s").unwrap().replace(&shown, "[SPAN]");
    assert_snapshot!(shown, @"
    1  stuck  site-1 is stuck: it has done nothing for [SPAN]
      see: murmur agent show site-1
    [exit 0]
    ");
}
