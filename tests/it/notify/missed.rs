//! What happened while no notifier ran, or before there was a channel or a ping.

use super::server::Ntfy;
use super::{log, ntfy, says};
use crate::env::{Env, Workspace};
use serde_json::Value;

/// Runs a beat that ends as `text` says, and returns its id.
fn beat(env: &Env, site: &Workspace, text: &str) -> String {
    says(site, text);
    env.run(["beat", site.path()]);
    let journal = env.journal_text();
    let lines = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line["beat"].as_str().map(str::to_owned)).next_back().unwrap()
}

/// The suffix and the beat of a ping.
fn pinged(message: &Value) -> (String, String) {
    let ping = message["ping"].as_str().unwrap_or_else(|| panic!("{message}"));
    let (path, beat) = ping.split_once("?rid=").unwrap();
    (path.strip_prefix("/check").unwrap().to_owned(), beat.to_owned())
}

/// The next ping about the end of a beat. A manual beat may be so short that the daemon doesn't see its start.
fn next_end(server: &Ntfy) -> (String, String) {
    loop {
        let ping = pinged(&server.next());
        if ping.0 != "/start" {
            return ping;
        }
    }
}

#[test]
fn what_is_over_when_the_first_channel_is_added_is_no_news() {
    let (env, phone, monitor) = (Env::new(), Ntfy::start(), Ntfy::start());
    let site = env.workspace("site", "Look.");
    // Not registered workspaces, which the daemon would run at once.
    env.register(&[]);
    // There is no config.toml yet.
    let daemon = env.daemon();
    for text in ["ATTENTION: look at this", "HEARTBEAT_OK", "HEARTBEAT_OK", "ATTENTION: look at that"] {
        beat(&env, &site, text);
    }
    let ping = format!("[notify]\nping = \"{}/check\"\n", monitor.url);
    env.setting("config.toml", &ping);
    env.wait(&env.data(), || env.data().join("notify.json").exists().then_some(()));
    let fifth = beat(&env, &site, "ATTENTION: look at that");
    assert_eq!(next_end(&monitor), ("/fail".to_owned(), fifth));
    env.setting("config.toml", &format!("{ping}{}", ntfy(&phone, "")));
    // The ongoing problem is new to the phone channel, which was added later.
    let told = || {
        beat(&env, &site, "ATTENTION: look at that");
        let text = std::fs::read_to_string(env.data().join("notifications.jsonl")).unwrap_or_default();
        text.lines().next().map(str::to_owned)
    };
    let mut first = told();
    while first.is_none() {
        first = told();
    }
    assert_eq!(phone.next()["message"], "ATTENTION: look at that");
    let lines = log(&env, 1);
    assert_eq!(lines[0]["what"], "site needs attention");
    daemon.stop();
}

#[test]
fn after_a_pause_only_what_is_still_true_is_told_and_pinged() {
    let (env, phone, monitor) = (Env::new(), Ntfy::start(), Ntfy::start());
    let ping = format!("[notify]\ncooldown = \"1s\"\nping = \"{}/check\"\n", monitor.url);
    env.setting("config.toml", &format!("{ping}{}", ntfy(&phone, "")));
    let (site, other) = (env.workspace("site", "Look."), env.workspace("other", "Look."));
    env.register(&[]);
    let daemon = env.daemon();
    let first = beat(&env, &site, "ATTENTION: look at this");
    assert_eq!(phone.next()["title"], "site needs attention");
    assert_eq!(next_end(&monitor), ("/fail".to_owned(), first));
    log(&env, 1);
    daemon.stop();
    for text in ["ATTENTION: another", "HEARTBEAT_OK", "ATTENTION: a third", "HEARTBEAT_OK"] {
        beat(&env, &other, text);
    }
    let other = beat(&env, &other, "HEARTBEAT_OK");
    beat(&env, &site, "ATTENTION: a fourth");
    let last = beat(&env, &site, "HEARTBEAT_OK");
    let daemon = env.daemon();
    let mut ends = [next_end(&monitor), next_end(&monitor)];
    ends.sort();
    assert_eq!(ends, [(String::new(), other), (String::new(), last)]);
    assert_eq!(phone.next()["title"], "site is ok again");
    // Nothing else was on its way.
    let next = beat(&env, &site, "ATTENTION: a fifth");
    assert_eq!(next_end(&monitor), ("/fail".to_owned(), next));
    assert_eq!(phone.next()["message"], "ATTENTION: a fifth");
    daemon.stop();
}

#[test]
fn pings_of_a_heartbeat_arrive_in_the_order_of_its_beats() {
    let (env, monitor) = (Env::new(), Ntfy::start());
    env.setting("config.toml", &format!("[notify]\nping = \"{}/check\"\n", monitor.url));
    let site = env.workspace("site", "Look.");
    env.register(&[]);
    let daemon = env.daemon();
    env.run(["status"]);
    let mut expected = Vec::new();
    for text in ["ATTENTION: a", "HEARTBEAT_OK", "ATTENTION: b", "HEARTBEAT_OK"] {
        let suffix = if text == "HEARTBEAT_OK" { "" } else { "/fail" };
        expected.push((suffix.to_owned(), beat(&env, &site, text)));
    }
    let mut ends: Vec<(String, String)> = Vec::new();
    let mut last = String::new();
    while ends.len() < expected.len() {
        let (suffix, beat) = pinged(&monitor.next());
        // A start is never pinged after the beat's end.
        assert!(beat > last, "{suffix} {beat}");
        if suffix != "/start" {
            last.clone_from(&beat);
            ends.push((suffix, beat));
        }
    }
    assert_eq!(ends, expected);
    daemon.stop();
}
