//! How long a person has, and whose timeout is paused.

use std::io::Write;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{bash, line, text};
use crate::env::{Env, kill};

const MANUAL: &str = "permissionsChecker: manual";

/// Lets more than this many seconds pass: the timeout of a hanging beat.
fn seconds_pass(env: &Env, seconds: u32) {
    env.workspace("slow", &format!("---\ntimeout: {seconds}s\n---\nDo it."))
        .plays(&json!({ "stdout": "", "faults": ["hang"] }));
    assert_eq!(env.murmur(["beat", "slow"]).output().status.code(), Some(1));
}

#[test]
fn a_beats_timeout_is_paused_while_a_person_is_asked() {
    let env = Env::new();
    env.workspace_calling(&format!("{MANUAL}\ntimeout: 2s"), &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    assert_eq!(row["expiresAt"], Value::Null, "it waits until it is answered");
    seconds_pass(&env, 2);
    env.run(["permission", "respond", text(&row, "id"), "allow"]);
    let line = line(beat);
    assert_eq!((&line["outcome"], &line["timedOut"]), (&json!("ok"), &Value::Null), "{line}");
    assert!(line["durationMs"].as_u64().unwrap() > 2000, "{line}");
    assert!(env.only_tool_result().ran());
    daemon.stop();
}

#[test]
fn watchdogs_are_paused_while_a_person_is_asked_and_count_again_afterwards() {
    for (watchdog, hangs) in [(Value::Null, false), (json!("toolTimeout"), true)] {
        let env = Env::new();
        let limits = "timeout: 20s\nstartTimeout: 3s\nidleTimeout: 3s\ntoolTimeout: 3s";
        let site = env.workspace_calling(&format!("{MANUAL}\n{limits}"), &[bash("t1", "git push")]);
        let (pace, mut gate) = env.gate("gate");
        if hangs {
            site.plays(&json!({ "script": [[bash("t1", "git push")]], "pace": pace }));
            // Two lines of a hook, the start, and the call.
            gate.write_all(b"....").unwrap();
        }
        let daemon = env.daemon();
        let beat = env.beat();
        let row = env.opened();
        seconds_pass(&env, 3);
        env.run(["permission", "respond", text(&row, "id"), "allow"]);
        let line = line(beat);
        assert_eq!(line["watchdog"], watchdog, "{line}");
        assert_eq!(line["outcome"] == "ok", !hangs, "{line}");
        assert!(line["durationMs"].as_u64().unwrap() > 3000, "{line}");
        daemon.stop();
    }
}

#[test]
fn a_stop_names_the_open_request_and_records_it_as_unanswered() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    let daemon = env.daemon();
    let mut events = env.events();
    let beat = env.beat();
    let id = text(&events.until("request_opened"), "id").to_owned();
    kill(beat.id().into(), Signal::TERM);
    let line = line(beat);
    let error = text(&line, "error");
    let named = format!(", while request {id} was waiting for an answer (");
    assert!(error.contains(&named), "{error}");
    assert_eq!(text(&events.until("request_closed"), "how"), "gone");
    daemon.stop();
    let decisions = env.decisions();
    assert_eq!(decisions.len(), 1, "{decisions:#?}");
    let decision = &decisions[0];
    assert_eq!((text(decision, "decision"), &decision["by"]), ("deny", &json!({ "kind": "nobody" })));
    assert_eq!((text(decision, "request"), text(decision, "tool")), (id.as_str(), "Bash"));
}

#[test]
fn a_request_that_expires_after_its_beat_is_recorded() {
    let env = Env::new();
    let frontmatter = format!("{MANUAL}\napproval: defer\napprovalWait: 1s\napprovalExpiry: 1s");
    let site = env.workspace_calling(&frontmatter, &[bash("t1", "git push")]);
    env.register(&[&site]);
    let daemon = env.daemon();
    let mut events = env.events();
    let id = text(&events.until("request_opened"), "id").to_owned();
    assert_eq!(text(&events.until("request_closed"), "how"), "denied");
    env.wait_for_journal(2);
    let decisions = env.decisions();
    let told: Vec<_> = decisions.iter().map(|line| (text(line, "decision"), text(line, "request"))).collect();
    assert_eq!(told, [("defer", id.as_str()), ("deny", &id), ("deny", &id)], "{decisions:#?}");
    assert!(decisions.iter().all(|line| line["by"] == json!({ "kind": "nobody" })));
    daemon.stop();
}
