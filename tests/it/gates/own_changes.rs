//! What a beat itself changes doesn't wake its heartbeat again, and neither do changes without new contents or commits.

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{site, told};
use crate::env::{Env, Workspace, result};

const GIT: &str = "git -c user.name=x -c user.email=x -c init.defaultBranch=main";

/// The workspace `site` with these keys, whose agents first run the script `does`.
fn active(env: &Env, entry: Value) -> Workspace {
    let site = site(env, "Do it.", entry);
    let real = env.claude().with_file_name("real-claude");
    std::fs::rename(env.claude(), &real).unwrap();
    write(&env.claude(), "[ ! -x ./does ] || ./does >&2 || exit 1\nexec \"$HOME/bin/real-claude\" \"$@\"");
    site
}

fn write(script: &Path, text: &str) {
    std::fs::write(script, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(script, PermissionsExt::from_mode(0o755)).unwrap();
}

/// The outcome of a beat, and what its line says.
fn beat(env: &Env) -> String {
    env.run(["beat", "site"]);
    let entry = env.journal().pop().unwrap();
    let text = entry["error"].as_str().or(entry["summary"].as_str()).unwrap_or_default();
    format!("{} {text}", entry["outcome"].as_str().unwrap()).trim_end().to_owned()
}

fn sh(env: &Env, site: &Workspace, script: &str) -> String {
    let script = format!("git() {{ command {GIT} \"$@\"; }}; set -e; {script}");
    env.program("sh", ["-c", &script]).at(&site.0).quiet().trim().to_owned()
}

#[test]
fn a_beat_that_commits_does_not_wake_itself() {
    let env = Env::new();
    let site = active(&env, json!({ "when": { "git": "new-commits" } }));
    sh(&env, &site, "git init --quiet; git commit --quiet --allow-empty -m one");
    site.script("does", &format!("{GIT} commit --quiet --allow-empty -m own"));
    let begun = sh(&env, &site, "git rev-parse HEAD");
    assert_eq!(beat(&env), "ok");
    let ended = sh(&env, &site, "git rev-parse HEAD");
    assert_ne!(begun, ended);
    assert_eq!(beat(&env), "skipped no new commits");
    // Somebody may have committed during the beat, so the agent is told where it began.
    sh(&env, &site, "git commit --quiet --allow-empty -m two");
    let now = sh(&env, &site, "git rev-parse HEAD");
    assert_eq!(beat(&env), "ok");
    let told = told(&env).replace(&begun, "[BEGUN]").replace(&ended, "[ENDED]").replace(&now, "[NOW]");
    assert!(told.contains("\nHEAD was [ENDED] ([BEGUN] before the last beat) and is [NOW]\n"), "{told}");
    // A beat that fails has not dealt with them.
    sh(&env, &site, "git commit --quiet --allow-empty -m three");
    site.plays(&json!({ "stdout": "", "exit": 1 }));
    assert_eq!(beat(&env), "error exited with code 1");
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
    assert_eq!(beat(&env), "ok");
    assert_eq!(beat(&env), "skipped no new commits");
}

#[test]
fn a_reset_or_another_branch_has_no_new_commits() {
    let env = Env::new();
    let site = active(&env, json!({ "when": { "git": "new-commits" } }));
    sh(&env, &site, "git init --quiet; git commit --quiet --allow-empty -m one");
    sh(&env, &site, "git branch old; git commit --quiet --allow-empty -m two");
    assert_eq!(beat(&env), "ok");
    for (change, is_new) in [
        ("git reset --quiet --hard HEAD~1", false),
        ("git reset --quiet --hard HEAD@{1}", false),
        ("git switch --quiet old", false),
        ("git switch --quiet -c topic main", false),
        ("git switch --quiet --detach main~1", false),
        ("git switch --quiet topic; git commit --quiet --allow-empty -m three", true),
        ("git switch --quiet main", false),
        ("git merge --quiet topic", false),
        (
            "git switch --quiet -c other; git commit --quiet --allow-empty -m four; git switch --quiet main",
            false,
        ),
        ("git merge --quiet other", true),
        ("git commit --quiet --amend --allow-empty -m another", true),
    ] {
        sh(&env, &site, change);
        assert_eq!(beat(&env), if is_new { "ok" } else { "skipped no new commits" }, "{change}");
    }
}

#[test]
fn only_what_others_write_counts_as_changed() {
    let env = Env::new();
    let site = active(&env, json!({ "when": { "changed": "notes/**" } }));
    std::fs::create_dir(site.0.join("notes")).unwrap();
    sh(&env, &site, "echo one >notes/a; echo two >notes/b; touch -d @1 notes/a; ln -s a notes/link");
    let nothing = "skipped nothing changed in notes/**";
    assert_eq!(beat(&env), "ok");
    assert_eq!(beat(&env), nothing);
    for (change, is_new) in [
        ("touch notes/*", false),
        ("cp notes/a notes/d; mv notes/d notes/a", false),
        ("ln -sfn a notes/link", false),
        ("ln -sfn c notes/link", true),
        ("echo other >notes/c", true),
        ("chmod +x notes/c", true),
    ] {
        sh(&env, &site, change);
        assert_eq!(beat(&env), if is_new { "ok" } else { nothing }, "{change}");
    }
}

#[test]
fn files_that_change_during_a_beat_start_one_more_unless_the_agents_edit_tools_wrote_them() {
    let env = Env::new();
    let site = active(&env, json!({ "when": { "changed": "notes/**" } }));
    std::fs::create_dir(site.0.join("notes")).unwrap();
    sh(&env, &site, "echo one >notes/a; echo two >notes/b");
    let edit = |id: &str, tool: &str, key: &str, path: &str| json!([{ "type": "tool_use", "id": id, "name": tool, "input": { key: path } }]);
    let new = site.0.join("notes/new.ipynb");
    site.plays(&json!({ "script": [
        edit("1", "Edit", "file_path", &format!("{}/./notes/a", site.path())),
        edit("2", "NotebookEdit", "notebook_path", new.to_str().unwrap()),
        [{ "type": "text", "text": "HEARTBEAT_OK" }],
    ] }));
    let nothing = "skipped nothing changed in notes/**";
    // What the agent says that it writes.
    site.script("does", "echo own >>notes/a; echo new >notes/new.ipynb");
    assert_eq!(beat(&env), "ok");
    assert_eq!(beat(&env), nothing);
    // Others change files, too: the next beat is told, and so is the one after it.
    sh(&env, &site, "echo other >notes/b");
    site.script("does", "echo own >>notes/a; date +%N >>notes/person; rm -f notes/b");
    assert_eq!(beat(&env), "ok");
    assert_eq!(beat(&env), "ok");
    assert!(told(&env).contains("\nadded notes/person\nremoved notes/b\n"), "{}", told(&env));
    site.script("does", "echo own >>notes/a");
    assert_eq!(beat(&env), "ok");
    assert!(told(&env).contains("\nmodified notes/person\n"), "{}", told(&env));
    assert_eq!(beat(&env), nothing);
    // If that one's agent runs commands, all that changes meanwhile is its own: the commands may have written it.
    let command = json!([{ "type": "tool_use", "id": "3", "name": "Bash", "input": { "command": "true" } }]);
    site.plays(&json!({ "script": [command, [{ "type": "text", "text": "HEARTBEAT_OK" }]] }));
    sh(&env, &site, "echo other >notes/b");
    site.script("does", "date +%N >>notes/person");
    assert_eq!(beat(&env), "ok");
    assert_eq!(beat(&env), "ok");
    assert!(told(&env).contains("\nmodified notes/person\n"), "{}", told(&env));
    assert_eq!(beat(&env), nothing);
    // Another change, at the same time, counts as ever.
    sh(&env, &site, "echo other >notes/c");
    assert_eq!(beat(&env), "ok");
    sh(&env, &site, "echo another >notes/c");
    assert_eq!(beat(&env), "ok");
    assert_eq!(beat(&env), "ok");
    assert_eq!(beat(&env), nothing);
}

#[test]
fn a_change_by_a_person_during_a_beat_that_a_change_started_starts_another() {
    let env = Env::new();
    let site = active(&env, json!({}));
    let notes = "notes/**";
    let entry = json!({ "path": site.0, "on": { "path": notes }, "when": { "changed": notes } });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    std::fs::create_dir(site.0.join("notes")).unwrap();
    site.script("does", "[ -e notes/person ] || echo new >notes/person");
    let daemon = env.daemon();
    env.run(["status"]);
    std::fs::write(site.0.join("notes/one"), "").unwrap();
    let lines = env.wait_for_journal(2);
    assert!(lines.iter().all(|line| line["outcome"] == "ok"), "{lines:?}");
    assert!(told(&env).contains("\nadded notes/person\n"), "{}", told(&env));
    // What its agent writes starts a beat that is skipped, and that one starts none.
    let own = site.0.join("notes/own");
    let call = json!([{ "type": "tool_use", "id": "1", "name": "Edit", "input": { "file_path": own } }]);
    site.plays(&json!({ "script": [call, [{ "type": "text", "text": "HEARTBEAT_OK" }]] }));
    site.script("does", "echo own >notes/own");
    std::fs::write(site.0.join("notes/two"), "").unwrap();
    let lines = env.wait_for_journal(4);
    assert_eq!((&lines[2]["outcome"], &lines[3]["outcome"]), (&json!("ok"), &json!("skipped")));
    let status = env.ask("status", &Value::Null);
    assert_eq!(status["heartbeats"][0]["nextRun"], Value::Null);
    daemon.stop();
}

#[test]
fn a_broken_memory_is_reported_and_replaced() {
    let env = Env::new();
    let site = active(&env, json!({ "when": { "changed": "watched" } }));
    std::fs::write(site.0.join("watched"), "").unwrap();
    assert_eq!(beat(&env), "ok");
    let name = env.names(&env.data()).lines().find(|name| name.starts_with("gates-")).unwrap().to_owned();
    let file = env.data().join(&name);
    std::fs::write(&file, "{\"version\":1,").unwrap();
    let doctor = env.run(["doctor"]);
    assert!(
        doctor.contains("has an unknown format or version, so its gates see everything as new"),
        "{doctor}"
    );
    let shown = env.run(["beat", "site"]);
    assert!(
        shown.contains(&format!("warning: {} has an unknown format or version", file.display())),
        "{shown}"
    );
    assert_eq!(beat(&env), "skipped nothing changed in watched");
}
