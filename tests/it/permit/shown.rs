//! `murmur show` of calls that wait for a person, of beats that were continued, and of hosted agents.

use super::{acts, bash, line, text};
use crate::env::Env;
use std::io::{BufRead, BufReader};

const MANUAL: &str = "permissionsChecker: manual";

#[test]
fn a_call_that_waits_is_marked_with_the_command_that_answers_it() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let id = text(&env.opened(), "id").to_owned();
    let waits =
        format!("for your approval of Bash; run: murmur allow {id}, or: murmur deny {id} --reason '...'");
    let shown = env.run(["show", "site"]);
    assert!(shown.contains(&format!("\n  Bash(git push)  waiting {waits}\n")), "{shown}");
    let items = env.murmur(["show", "site", "--json"]).json()["items"].clone();
    assert_eq!(items.as_array().unwrap().last().unwrap()["waiting"], id);
    let mut show = env.murmur(["show", "site", "--follow"]).start();
    let mut lines = BufReader::new(show.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.find(|line| line.contains("[waiting]")), Some(format!("  [waiting] {waits}")));
    env.run(["allow", &id]);
    line(beat);
    assert!(lines.any(|line| line.starts_with("  end of Bash(git push)")));
    show.wait().unwrap();
    assert!(!env.run(["show", "site"]).contains("waiting"));
    daemon.stop();
}

#[test]
fn a_deferred_beat_and_the_one_that_continues_it_name_each_other() {
    let env = Env::new();
    let site = env.workspace_calling(
        "permissionsChecker: manual\napproval: defer\napprovalWait: 1s",
        &[bash("t1", "git push")],
    );
    env.register(&[&site]);
    let daemon = env.daemon();
    let mut events = env.events();
    let id = text(&events.until("request_opened"), "id").to_owned();
    let first = text(&events.until("beat_ended"), "beat").to_owned();
    let waiting = env.run(["show", &first]);
    assert!(
        waiting
            .contains(&format!("Bash(git push)  waiting for your approval of Bash; run: murmur allow {id}")),
        "{waiting}"
    );
    env.run(["allow", &id]);
    let second = text(&events.until("beat_ended"), "beat").to_owned();
    let (shown, resumed) = (env.run(["show", &first]), env.run(["show", &second]));
    assert!(shown.contains(&format!("\n  resumed  by beat {second}\n")), "{shown}");
    assert!(
        resumed.contains(&format!("\n  resumes  beat {first}, which waited for an answer\n")),
        "{resumed}"
    );
    // The call itself is one of the first beat; only its result is not.
    assert!(shown.contains("\n  Bash(git push)\n"), "{shown}");
    assert!(resumed.contains("\n  Bash(git push)  "), "{resumed}");
    daemon.stop();
}

#[test]
fn a_hosted_agent_is_shown_by_its_id() {
    let env = Env::new();
    let site = env.workspace("site", "");
    site.plays(&acts(&[bash("t1", "echo hi")]));
    env.run(["agent", "start", "--agent-id", "fixer", "--worktree", site.path(), "Go."]);
    env.wait_for_tool_results(1);
    let running = env.run(["show", "fix"]);
    assert!(running.contains("\n  agent    fixer\n") && running.contains(", running for "), "{running}");
    env.run(["agent", "stop", "fixer"]);
    let ended = env.run(["show", "fixer"]);
    assert!(ended.contains("  Bash(echo hi)  ") && !ended.contains("outcome"), "{ended}");
    assert!(ended.contains("\n  ended    ") && ended.contains(", took "), "{ended}");
    let unknown = env.run(["show", "nobody"]);
    insta::assert_snapshot!(unknown, @r#"
    | error: no beat, heartbeat, agent or capture "nobody"
    | hint: see: murmur log, murmur agent list, murmur capture list
    [exit 1]
    "#);
    let beat = env.run_beat();
    assert_eq!(env.murmur(["show", text(&beat, "agent"), "--json"]).json()["beat"]["beat"], beat["beat"]);
}
