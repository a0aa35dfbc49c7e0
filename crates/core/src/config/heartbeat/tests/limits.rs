//! Limits that both files set.

use super::*;

#[test]
fn frontmatter_asks_for_at_least_as_much_free_space() {
    for (config, front, value, source, notice) in [
        ("", "1MiB", "256MiB", Source::Default, Some("less than the default asks for; 256MiB applies")),
        ("", "1GiB", "1GiB", Source::Heartbeat, None),
        (r#", "minFree": "0B""#, "1MiB", "1MiB", Source::Heartbeat, None),
        (
            r#", "minFree": "2MiB""#,
            "1MiB",
            "2MiB",
            Source::ConfigJson,
            Some("less than config.json asks for; 2MiB applies"),
        ),
    ] {
        let mut home = Home::new();
        home.config(&format!(r#"{{"path": "@/a", "interval": "1h"{config}}}"#));
        home.write("a/HEARTBEAT.md", format!("---\nminFree: {front}\n---\nx"));
        let beat = home.load().heartbeats.remove(0);
        assert_eq!(
            (beat.settings.min_free.value.to_string().as_str(), beat.settings.min_free.source),
            (value, source)
        );
        let notices: Vec<String> = beat.settings.notices.lines().iter().map(ToString::to_string).collect();
        let expected = notice.map(|notice| format!("minFree: {front} in HEARTBEAT.md is {notice}"));
        assert_eq!(notices, expected.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn timeouts_that_never_end_a_beat_are_named() {
    let mut home = Home::new();
    home.config(r#"{"path": "@/a", "interval": "1h", "timeout": "1m", "idleTimeout": "59s"}"#);
    home.write("a/HEARTBEAT.md", "---\ntoolTimeout: 1m\n---\nx");
    assert_eq!(
        home.load().heartbeats[0].timeouts_without_effect(),
        ["toolTimeout: 1m in HEARTBEAT.md has no effect; timeout ends beats after 1m"]
    );
}

#[test]
fn frontmatter_asks_for_less_than_config_and_rules_add_up() {
    let mut home = Home::new();
    home.config(r#"{"path": "@/a", "cron": "@daily", "tz": "Europe/Berlin", "maxTurns": 2, "timeout": "1m", "model": "opus", "permissions": {"deny": ["A"]}}"#.replace("@daily", "0 0 * * *").as_str());
    home.write("a/HEARTBEAT.md", "---\ninterval: 1h\nmaxTurns: 9\npermissions: {deny: [B]}\n---\nx");
    let beat = home.load().heartbeats.remove(0);
    assert_eq!(beat.schedule.unwrap().to_string(), "cron 0 0 * * * Europe/Berlin");
    assert_eq!(
        beat.settings.max_turns,
        Some(Sourced { value: NonZeroU32::new(2).unwrap(), source: Source::ConfigJson })
    );
    assert_eq!(
        (beat.settings.timeout.value.as_secs(), beat.settings.timeout.source),
        (60, Source::ConfigJson)
    );
    assert_eq!(&*beat.settings.model.as_ref().unwrap().value, "opus");
    assert_eq!(beat.settings.permissions.denied(), ["A".into(), "B".into()]);
    assert_eq!(
        beat.settings.notices.lines(),
        [
            "interval: 1h in HEARTBEAT.md is more often than config.json allows; cron 0 0 * * * Europe/Berlin applies".into(),
            "maxTurns: 9 in HEARTBEAT.md is more than config.json allows; 2 applies".into(),
        ]
    );
    home.write("a/HEARTBEAT.md", "---\ncron: 0 3 * * MON\ntz: UTC\nmaxTurns: 1\n---\nx");
    let beat = home.load().heartbeats.remove(0);
    assert_eq!(beat.schedule.unwrap().to_string(), "cron 0 3 * * MON UTC");
    assert_eq!(
        (beat.scheduled_by, beat.settings.max_turns.unwrap().source),
        (Source::Heartbeat, Source::Heartbeat)
    );
    assert!(beat.settings.notices.lines().is_empty());
}
