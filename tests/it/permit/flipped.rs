//! A link on the path of a written file, changed between the decision and the write: a write to a protected folder
//! is noticed after the call, unless the link was restored by then.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::{acts, call};
use crate::env::Env;

/// The hook's answer on `event` to a call that writes `path`.
fn hook(env: &Env, event: &str, path: &Path, site: &Path) -> String {
    let call = json!({ "session_id": "s", "transcript_path": "/nowhere", "cwd": site, "hook_event_name": event,
        "tool_name": "Write", "tool_input": { "file_path": path, "content": "x" }, "tool_use_id": "t1" });
    let policy = json!({ "guard": true, "checker": "off", "approval": "wait", "approvalWait": 50, "approvalExpiry": 1,
        "questions": "deny" });
    let run = env.hook(event, call.to_string()).set("MURMUR_PERMISSIONS", policy.to_string());
    let run =
        run.set("MURMUR_AGENT_ID", "site-1").set("MURMUR_WORKSPACE", site).set("MURMUR_PROJECT", "site");
    let output = run.output();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).unwrap()
}

/// A workspace with a link to one of its folders, and a rule that protects another.
fn linked(env: &Env) -> (crate::env::Workspace, std::path::PathBuf) {
    let site = env.workspace("site", "Do it.");
    let protected = env.root().join("protected");
    fs::create_dir_all(site.0.join("own")).unwrap();
    fs::create_dir_all(&protected).unwrap();
    let pattern = format!("/{}/**", protected.display());
    let rule =
        format!("[[rules]]\ntool = \"Write\"\naction = \"deny\"\npattern = {}\n", Value::from(pattern));
    env.setting("permissions.toml", &rule);
    symlink(site.0.join("own"), site.0.join("link")).unwrap();
    (site, protected)
}

fn flip(site: &Path, to: &Path) {
    fs::remove_file(site.join("link")).unwrap();
    symlink(to, site.join("link")).unwrap();
}

#[test]
fn a_link_that_changes_during_the_call_is_recorded_as_a_breach() {
    let env = Env::new();
    let (site, protected) = linked(&env);
    let path = site.0.join("link/x");
    let said = hook(&env, "PreToolUse", &path, &site.0);
    assert!(said.contains("\"allow\""), "{said}");
    assert_eq!(hook(&env, "PostToolUse", &path, &site.0), "");
    assert_eq!(env.decisions().len(), 1, "as it was decided");
    flip(&site.0, &protected);
    assert_eq!(hook(&env, "PostToolUse", &path, &site.0), "", "a hook that is not asked says nothing");
    let breach = env.decisions().remove(1);
    assert_eq!(
        (&breach["breach"], &breach["decision"], &breach["toolUseId"]),
        (&json!(true), &json!("deny"), &json!("t1"))
    );
    assert_eq!(breach["by"]["kind"], "rule", "{breach}");
}

#[test]
fn a_breach_ends_the_run_as_an_error() {
    let env = Env::new();
    let (site, protected) = linked(&env);
    let path = site.0.join("link/x");
    let write = |id: &str| call(id, "Write", &json!({ "file_path": path, "content": "x" }));
    site.plays(&acts(&[write("t1"), write("t2")]));
    // The user's own hook, which runs after murmur's, changes the link after the decision.
    let decided = env.data().join("decisions.jsonl");
    let script = format!(
        "until grep -q t1 {decided} 2>/dev/null; do :; done; rm -f {link}; ln -s {protected} {link}",
        decided = decided.display(),
        link = site.0.join("link").display(),
        protected = protected.display()
    );
    let settings =
        json!({ "hooks": { "PreToolUse": [{ "hooks": [{ "type": "command", "command": script }] }] } });
    fs::create_dir_all(env.home().join(".claude")).unwrap();
    fs::write(env.home().join(".claude/settings.json"), settings.to_string()).unwrap();
    let line = env.run_beat();
    assert_eq!(line["outcome"], "error", "{line}");
    let error = line["error"].as_str().unwrap_or_else(|| panic!("{line}"));
    assert!(error.starts_with("a call wrote where it is not allowed, because a link changed"), "{error}");
    assert!(error.contains("Write("), "{error}");
}
