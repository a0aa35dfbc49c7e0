//! A beat reports if its own HEARTBEAT.md changed while it ran.

use serde_json::json;

use crate::env::{Env, fixture};

/// What is done to the file while the agent runs, and whether that is a change.
#[test]
fn a_heartbeat_changed_during_its_beat_is_reported() {
    let other = "Do something else.";
    let changes: [(&str, bool); 6] = [
        ("nothing", false),
        ("rewritten", true),
        ("the same", false),
        ("gone", true),
        ("a link", true),
        ("a link to another", true),
    ];
    for (change, is_reported) in changes {
        let env = Env::new();
        let site = env.workspace("site", "Do it.");
        let file = site.0.join("HEARTBEAT.md");
        if change == "a link to another" {
            std::fs::rename(&file, site.0.join("one.md")).unwrap();
            std::os::unix::fs::symlink("one.md", &file).unwrap();
        }
        let (gate, mut open) = env.gate("gate");
        site.plays(&json!({ "fixture": fixture("ok"), "pace": gate }));
        let beat = env.murmur(["beat", "site"]).start();
        env.wait_for_agents(1);
        match change {
            "rewritten" => site.heartbeat(other),
            "the same" => site.heartbeat("Do it."),
            "gone" => std::fs::remove_file(&file).unwrap(),
            "a link" => {
                std::fs::rename(&file, site.0.join("same.md")).unwrap();
                std::os::unix::fs::symlink("same.md", &file).unwrap();
            }
            "a link to another" => {
                std::fs::copy(site.0.join("one.md"), site.0.join("two.md")).unwrap();
                std::fs::remove_file(&file).unwrap();
                std::os::unix::fs::symlink("two.md", &file).unwrap();
            }
            _ => {}
        }
        std::io::Write::write_all(&mut open, &[b'\n'; 100]).unwrap();
        crate::env::ended(beat).success();
        let line = env.journal().remove(0);
        let expected = if is_reported { json!(true) } else { json!(null) };
        assert_eq!(line["heartbeatChanged"], expected, "{change}: {line}");
        let log = env.run(["log"]);
        assert_eq!(log.contains("its HEARTBEAT.md changed"), is_reported, "{change}: {log}");
    }
}
