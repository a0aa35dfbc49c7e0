//! Rules and settings that are not readable deny every call: users are warned first, with the position.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::json;

use super::{bash, line};
use crate::env::Env;

/// The error is in its third line.
const BROKEN: &str = "[[rules]]\ntool = \"Bash\"\naction = \"alow\"\n";

#[test]
fn invalid_rules_prevent_beats_and_the_journal_names_the_position() {
    for (frontmatter, global) in
        [("model: x", true), ("model: x", false), ("permissions: skip", true), ("permissions: skip", false)]
    {
        let env = Env::new();
        let site = env.workspace_calling(frontmatter, &[bash("t1", "echo hi")]);
        site.named("nightly", &format!("---\n{frontmatter}\n---\nDo it."));
        let file = match global {
            true => "config/permissions.toml",
            false => "projects/site/permissions.toml",
        };
        env.setting("permissions.toml", if global { BROKEN } else { "" });
        env.project_rules("site", if global { "" } else { BROKEN });
        let named = line(env.murmur(["beat", "site", "--name", "nightly", "--json"]).start());
        for line in [env.run_beat(), named] {
            let place = format!("{}/{file}:3:10: ", env.data().display());
            let error = format!(
                "every call would be denied: {place}\"action\": \"alow\" is not known; write \"allow\", \"deny\" or \"pass\""
            );
            assert_eq!((&line["outcome"], &line["error"]), (&json!("error"), &json!(error)), "{line}");
        }
        assert_eq!((env.agents().len(), env.journal().len()), (0, 2));
        let shown = env.run(["beat", "site"]);
        assert!(
            shown.starts_with("error ") && shown.contains(file) && shown.ends_with("[exit 1]"),
            "{shown}"
        );
        let shown = env.run(["beat", "site", "--dry-run"]);
        assert!(shown.starts_with("| error: every call would be denied: "), "{shown}");
    }
}

#[test]
fn only_unreadable_rules_of_the_own_project_matter() {
    let env = Env::new();
    env.workspace_calling("model: x", &[bash("t1", "echo hi")]);
    env.project_rules("blog", BROKEN);
    assert_eq!(env.run_beat()["outcome"], "ok");
    std::fs::create_dir_all(env.data().join("projects/site/permissions.toml")).unwrap();
    assert_snapshot!(env.run(["beat", "site"]), @"
    error [S] every call would be denied: [ENV]/data/projects/site/permissions.toml: not readable: it is not a regular file; check its owner and mode
    [exit 1]
    ");
    assert_eq!(env.agents().len(), 1);
}

#[test]
fn status_shows_invalid_rules_and_settings_first_with_and_without_a_daemon() {
    let env = Env::new();
    env.project_rules("blog", BROKEN);
    env.setting("permissions.toml", BROKEN);
    env.setting("config.toml", "permissions-checker = \"of\"\n");
    let shown = env.run(["status"]);
    assert_snapshot!(shown, @r#"
    problem: every call is denied: [ENV]/data/config/config.toml:1:23: "permissions-checker": "of" is not known; write "off", "manual", "llm" or "deny"
    problem: every call is denied: [ENV]/data/config/permissions.toml:3:10: "action": "alow" is not known; write "allow", "deny" or "pass"
    problem: every call in project blog is denied: [ENV]/data/projects/blog/permissions.toml:3:10: "action": "alow" is not known; write "allow", "deny" or "pass"
    murmur is not running; start it with: murmur start
    no heartbeats
    [exit 0]
    "#);
    let alone = env.murmur(["status", "--json"]).json();
    let problems: Vec<_> =
        alone["problems"].as_array().unwrap().iter().map(|problem| problem.as_str().unwrap()).collect();
    assert_eq!(problems.len(), 3);
    assert!(
        problems
            .iter()
            .zip(shown.lines())
            .all(|(problem, line)| line.starts_with("problem: every call")
                && problem.starts_with("every call"))
    );
    assert_eq!(alone["denied"], alone["problems"]);
    let daemon = env.daemon();
    assert_eq!(env.murmur(["status", "--json"]).json()["problems"], alone["problems"]);
    assert!(env.run(["status"]).starts_with("problem: every call is denied: "));
    // As they are now, not as they were.
    env.setting("permissions.toml", "");
    env.setting("config.toml", "");
    env.project_rules("blog", "");
    assert_eq!(env.murmur(["status", "--json"]).json()["problems"], json!([]));
    assert!(daemon.says("every call is denied").contains("config.toml:1:23"));
    daemon.signal(rustix::process::Signal::TERM);
    let (ended, said) = daemon.ended();
    assert!(ended.success());
    assert!(!said.iter().any(|line| line.contains("the defaults apply")), "twice: {said:#?}");
}

#[test]
fn init_and_spawn_warn_about_invalid_rules() {
    let env = Env::new();
    env.setting("permissions.toml", BROKEN);
    let warning = "| warning: every call is denied: ";
    let site = env.root().join("site");
    let made = env.run(["init", site.to_str().unwrap()]);
    assert!(made.contains("registered ") && made.contains(warning) && made.ends_with("[exit 0]"), "{made}");
    let spawned = env.run(["host", "spawn", "--worktree", site.to_str().unwrap()]);
    assert!(spawned.contains(warning), "{spawned}");
    assert_eq!(
        spawned.lines().filter(|line| line.starts_with("| ")).position(|line| line.contains(warning)),
        Some(0)
    );
}

#[test]
fn invalid_rules_are_reported_before_an_open_data_folder() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    env.setting("permissions.toml", BROKEN);
    let data = env.data();
    for args in [
        &["beat", "site"][..],
        &["start"],
        &["start"],
        &["status"],
        &["restart"],
        &["init", "blog"],
        &["host", "spawn", "--worktree", "site"],
    ] {
        std::fs::set_permissions(&data, PermissionsExt::from_mode(0o755)).unwrap();
        let output = env.murmur(args).output();
        // A beat reports it as its outcome, on stdout; other commands warn.
        let shown = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let (denied, open) = (shown.find("every call "), shown.find("is open to other users"));
        assert!(denied.is_some() && open.is_some() && denied < open, "{args:?}: {shown}");
    }
    env.run(["host", "stop", "--all"]);
    env.run(["stop"]);
}

#[test]
fn start_and_restart_warn_about_invalid_rules_first() {
    let env = Env::new();
    env.setting("permissions.toml", BROKEN);
    let place = format!("{}/config/permissions.toml:3:10", env.data().display());
    let warning = &*format!(
        "| warning: every call is denied: {place}: \"action\": \"alow\" is not known; write \"allow\", \"deny\" or \"pass\"\n"
    );
    let started = env.run(["start"]);
    assert!(started.contains(warning) && started.contains("murmur is running (PID "), "{started}");
    let again = env.run(["start"]);
    assert!(again.contains(warning) && again.contains("murmur is already running (PID "), "{again}");
    let restarted = env.run(["restart"]);
    assert!(restarted.contains(warning) && restarted.contains("murmur was restarted"), "{restarted}");
    env.run(["stop"]);
}
