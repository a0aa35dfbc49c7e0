//! What the doctor says about the channels of notifications.

use serde_json::json;
use std::fs;

use super::{finding, write};
use crate::env::Env;

#[test]
fn programs_of_channels_are_looked_for() {
    let env = Env::new();
    let checks = || env.murmur(["doctor", "--json"]).json()["findings"].to_string();
    assert!(!checks().contains(r#""notifications""#));
    let phone = "[notify.channels.phone]\ntype = \"webhook\"\nurl = \"http://127.0.0.1:1/\"\n";
    let program = "[notify.channels.own]\ntype = \"command\"\ncommand = [\"tell-me\", \"-x\"]\n";
    env.setting("config.toml", &format!("{phone}{program}"));
    let found = finding(&env, "notifications");
    assert_eq!(
        (&found["level"], &found["found"]),
        (&json!("fail"), &json!("channel own: there is no tell-me"))
    );
    write(&env.home().join("bin/tell-me"), "#!/bin/sh\n", 0o755);
    let found = finding(&env, "notifications");
    assert_eq!((&found["level"], &found["found"]), (&json!("ok"), &json!("own, phone")));
}

#[test]
fn a_channel_that_does_not_deliver_is_a_problem_as_in_status() {
    let env = Env::new();
    env.setting(
        "config.toml",
        "[notify.channels.phone]\ntype = \"webhook\"\nurl = \"http://127.0.0.1:1/\"\n",
    );
    let error = "cannot reach http://127.0.0.1:1";
    let state = json!({ "version": 1, "channels": {
        "phone": { "failures": 2, "error": error },
        // No longer configured.
        "pager": { "failures": 1, "error": "gone" },
    } });
    fs::create_dir_all(env.data()).unwrap();
    fs::write(env.data().join("notify.json"), state.to_string()).unwrap();
    let found = finding(&env, "notifications");
    assert_eq!(
        (&found["level"], &found["found"], &found["hint"]),
        (
            &json!("fail"),
            &json!(format!("phone: not delivered: {error}")),
            &json!("to try it, run: murmur notify test phone")
        )
    );
    let status = env.run(["status"]);
    assert!(status.contains(&format!("notifications by phone are not delivered: {error}")), "{status}");
    assert!(!status.contains("pager"), "{status}");
}
