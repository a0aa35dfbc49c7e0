//! The guard, in a beat: what it refuses, what it allows, and what it doubts.

use serde_json::json;

use super::{acts, bash};
use crate::env::Env;

#[test]
fn a_beat_can_make_allowed_calls_and_learns_why_others_are_denied() {
    let env = Env::new();
    env.workspace("site", "Do it.").plays(&acts(&[bash("t1", "echo hi"), bash("t2", "sudo ls")]));
    let line = env.run_beat();
    assert_eq!((&line["outcome"], &line["denials"]), (&json!("attention"), &json!(["Bash"])));
    let told = env.tool_results();
    assert!(told[0].ran() && told[0].text == "hi", "{told:?}");
    assert_eq!((told[1].call.as_str(), told[1].is_error), ("t2", true));
    let decisions = env.decisions();
    assert!(told[1].text.ends_with(super::text(&decisions[1], "reason")), "{told:?} {decisions:?}");
    let by = [
        json!({ "kind": "default", "which": "permissions-checker" }),
        json!({ "kind": "guard", "which": "sudo" }),
    ];
    assert_eq!([&decisions[0]["by"], &decisions[1]["by"]], by.each_ref());
}

#[test]
fn skip_turns_off_guard_and_deny_list() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&acts(&[bash("t1", "sudo ls")]));
    env.configure(&json!({ "workspaces": [{ "path": site.0, "permissions": "skip" }] }).to_string());
    assert_eq!(env.run_beat()["denials"], json!(null));
    assert!(env.only_tool_result().ran());
    assert!(!env.agents()[0]["argv"].to_string().contains("--disallowedTools"));
    // Everything else applies: allowed calls are recorded, and a rule denies.
    assert_eq!(env.decisions()[0]["decision"], "allow");
    env.setting("permissions.toml", "[[rules]]\ntool = \"Bash\"\naction = \"deny\"\npattern = \"sudo:*\"\n");
    assert_eq!(env.run_beat()["denials"], json!(["Bash"]));
}

#[test]
fn frontmatter_cannot_turn_off_guard_or_deny_list() {
    let env = Env::new();
    env.workspace_calling("permissions: skip", &[bash("t1", "sudo ls")]);
    assert_eq!(env.run_beat()["denials"], json!(["Bash"]));
    assert!(env.agents()[0]["argv"].to_string().contains("--disallowedTools"));
    assert_eq!(env.decisions()[0]["by"], json!({ "kind": "guard", "which": "sudo" }));
}

#[test]
fn doubtful_calls_are_denied_if_nobody_can_be_asked() {
    let env = Env::new();
    env.workspace("site", "Do it.").plays(&acts(&[bash("t1", "\"$TOOL\" --now")]));
    assert_eq!(env.run_beat()["denials"], json!(["Bash"]));
    let (told, decisions) = (env.only_tool_result(), env.decisions());
    assert!(told.text.ends_with(super::text(&decisions[0], "reason")), "{told:?} {decisions:?}");
    assert!(told.text.contains("; nobody can be asked to approve it; "), "{told:?}");
    assert_eq!(decisions[0]["by"], json!({ "kind": "guard", "which": "doubt" }));
}

#[test]
fn doubtful_calls_are_asked_about_if_a_person_can_be_asked() {
    let env = Env::new();
    env.workspace_calling("permissionsChecker: manual", &[bash("t1", "\"$TOOL\" --now")]);
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    let doubt = super::text(&row, "doubt");
    let listed = env.run(["permission", "list"]);
    assert!(listed.contains(&format!("\n  the guard cannot tell what it does: {doubt}\n")), "{listed}");
    env.run(["permission", "respond", super::text(&row, "id"), "allow"]);
    assert_eq!(super::line(beat)["outcome"], "ok");
    assert!(env.only_tool_result().ran());
    daemon.stop();
}
