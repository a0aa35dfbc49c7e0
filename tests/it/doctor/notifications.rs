//! What the doctor says about the channels of notifications.

use serde_json::json;

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
