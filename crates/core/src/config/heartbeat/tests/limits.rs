//! Limits of space and time from both files.

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
