use super::*;
use crate::config::limit::Source;

fn keys(json: serde_json::Value) -> ScheduleKeys {
    fn read<T: serde::de::DeserializeOwned>(json: &serde_json::Value, key: &str) -> Option<T> {
        json.get(key).map(|value| serde_json::from_value(value.clone()).unwrap())
    }
    ScheduleKeys {
        enabled: read(&json, "enabled"),
        active_hours: read(&json, "activeHours"),
        except: read(&json, "except"),
        jitter: read(&json, "jitter"),
        catch_up: read(&json, "catchUp"),
        start_deadline: read(&json, "startDeadline"),
        on: None,
        overlap: read(&json, "overlap"),
    }
}

#[test]
fn a_heartbeat_md_only_makes_runs_rarer() {
    for (key, user, front, expected, source, has_notice) in [
        ("enabled", "null", "false", "false", Source::Heartbeat, false),
        ("enabled", "true", "false", "false", Source::Heartbeat, false),
        ("enabled", "false", "true", "false", Source::ConfigJson, true),
        ("enabled", "false", "null", "false", Source::ConfigJson, false),
        ("enabled", "true", "true", "true", Source::ConfigJson, false),
        ("enabled", "null", "true", "true", Source::Heartbeat, false),
        ("jitter", "\"5m\"", "\"1m\"", "5m", Source::ConfigJson, true),
        ("jitter", "\"5m\"", "\"1h\"", "1h", Source::Heartbeat, false),
        ("jitter", "null", "\"1m\"", "1m", Source::Heartbeat, false),
        ("catchUp", "\"skip\"", "\"once\"", "skip", Source::ConfigJson, true),
        ("catchUp", "\"2h\"", "\"3h\"", "2h", Source::ConfigJson, true),
        ("catchUp", "\"2h\"", "\"1h\"", "1h", Source::Heartbeat, false),
        ("catchUp", "\"once\"", "\"2h\"", "2h", Source::Heartbeat, false),
        ("catchUp", "null", "\"skip\"", "skip", Source::Heartbeat, false),
        ("startDeadline", "\"5m\"", "\"1h\"", "5m", Source::ConfigJson, true),
        ("startDeadline", "\"5m\"", "\"1m\"", "1m", Source::Heartbeat, false),
        ("overlap", "null", "\"skip\"", "skip", Source::Heartbeat, false),
        ("overlap", "\"queue\"", "\"skip\"", "skip", Source::Heartbeat, false),
        ("overlap", "\"skip\"", "\"queue\"", "skip", Source::ConfigJson, true),
        ("overlap", "\"replace\"", "\"queue\"", "replace", Source::ConfigJson, true),
        ("overlap", "\"replace\"", "\"skip\"", "replace", Source::ConfigJson, true),
        ("overlap", "\"replace\"", "\"replace\"", "replace", Source::ConfigJson, false),
        ("overlap", "\"queue\"", "\"replace\"", "queue", Source::ConfigJson, true),
    ] {
        let one = |value: &str| {
            let value: serde_json::Value = serde_json::from_str(value).unwrap();
            keys(if value.is_null() { serde_json::json!({}) } else { serde_json::json!({ key: value }) })
        };
        let mut told = Notices::default();
        let options = ScheduleOptions::of(Some(&one(user)), Some(&one(front)), true, &mut told).unwrap();
        let shown = |value: &dyn fmt::Display, source| Some((value.to_string(), source));
        let found = match key {
            "enabled" => shown(&options.enabled.value, options.enabled.source),
            "jitter" => options.jitter.and_then(|jitter| shown(&jitter.value, jitter.source)),
            "catchUp" => options.catch_up.and_then(|catch_up| shown(&catch_up.value, catch_up.source)),
            "startDeadline" => options.start_deadline.and_then(|most| shown(&most.value, most.source)),
            _ => options.overlap.and_then(|overlap| shown(&overlap.value.word(), overlap.source)),
        };
        assert_eq!(found, Some((expected.to_owned(), source)), "{key}: {user} {front}");
        assert_eq!(told.lines().len(), usize::from(has_notice), "{key}: {user} {front}: {told:?}");
    }
    assert_eq!(ScheduleOptions::of(None, None, true, &mut Notices::default()), None);
    let mut told = Notices::default();
    let replace = keys(serde_json::json!({ "overlap": "replace" }));
    assert_eq!(ScheduleOptions::of(None, Some(&replace), true, &mut told).unwrap().overlap, None);
    assert_eq!(told.lines().len(), 1);
}

#[test]
fn a_heartbeat_md_starts_no_runs_besides_those_of_config_json() {
    let (none, src, docs) =
        [serde_json::json!({}), serde_json::json!({ "path": "src" }), serde_json::json!({ "path": "docs" })]
            .map(|on| ScheduleKeys { on: serde_json::from_value(on).ok(), ..ScheduleKeys::default() })
            .into();
    for (user, front, is_scheduled, expected, has_notice) in [
        (&none, &src, false, Some(Source::Heartbeat), false),
        (&none, &src, true, None, true),
        (&src, &none, true, Some(Source::ConfigJson), false),
        (&src, &src, true, Some(Source::ConfigJson), false),
        (&src, &docs, false, Some(Source::ConfigJson), true),
    ] {
        let mut told = Notices::default();
        let options = ScheduleOptions::of(Some(user), Some(front), is_scheduled, &mut told).unwrap();
        assert_eq!(options.on.map(|on| on.source), expected, "{user:?} {front:?}");
        assert_eq!(told.lines().len(), usize::from(has_notice), "{told:?}");
    }
}

#[test]
fn hours_and_dates_of_both_files_count() {
    let user = keys(serde_json::json!({ "activeHours": "08:00-20:00", "except": ["2026-02-03"] }));
    let front = keys(
        serde_json::json!({ "activeHours": ["Mon-Fri", "Sun 09:00-10:00"], "except": ["2026-02-05..2026-02-07"] }),
    );
    let options = ScheduleOptions::of(Some(&user), Some(&front), true, &mut Notices::default()).unwrap();
    for (at, expected) in [
        ("2026-02-02T07:00:00Z", "2026-02-02T08:00:00Z"),
        ("2026-02-02T20:00:00Z", "2026-02-04T08:00:00Z"),
        ("2026-02-04T20:00:00Z", "2026-02-08T09:00:00Z"),
        ("2026-02-08T10:00:00Z", "2026-02-09T08:00:00Z"),
    ] {
        assert_eq!(options.from(at.parse().unwrap()).unwrap().to_string(), expected, "{at}");
    }
    // They exclude each other.
    let front = keys(serde_json::json!({ "activeHours": "20:00-08:00" }));
    let options = ScheduleOptions::of(Some(&user), Some(&front), true, &mut Notices::default()).unwrap();
    assert_eq!(options.from("2026-02-02T07:00:00Z".parse().unwrap()), None);
}

#[test]
fn times_and_dates_are_in_the_zone_that_is_nearest() {
    let berlin = sys::clock::named_zone("Europe/Berlin").unwrap();
    let at = |json: serde_json::Value, at: &str| {
        let keys = keys(json).boxed(&berlin).unwrap();
        let options = ScheduleOptions::of(Some(&keys), None, true, &mut Notices::default()).unwrap();
        options.from(at.parse().unwrap()).unwrap().to_string()
    };
    let hours = |text: &str| serde_json::json!({ "activeHours": text });
    assert_eq!(at(hours("08:00-20:00"), "2026-02-02T00:00:00Z"), "2026-02-02T07:00:00Z");
    assert_eq!(at(hours("08:00-20:00 UTC"), "2026-02-02T00:00:00Z"), "2026-02-02T08:00:00Z");
    let except = serde_json::json!({ "except": ["2026-02-02"] });
    assert_eq!(at(except, "2026-02-01T23:00:00Z"), "2026-02-02T23:00:00Z");
    let both = serde_json::json!({ "activeHours": "00:00-24:00 UTC", "except": ["2026-02-02"] });
    assert_eq!(at(both, "2026-02-01T23:00:00Z"), "2026-02-01T23:00:00Z");
}

#[test]
fn a_wrong_word_is_refused_with_what_is_accepted() {
    let read = |json: &str| {
        let read = crate::config::checked::from_json::<CatchUp>(json).unwrap();
        read.map_err(|failure| failure.line())
    };
    assert_eq!(read("\"2h\""), Ok(CatchUp::Within("2h".parse().unwrap())));
    assert_eq!([read("\"skip\""), read("\"once\"")], [Ok(CatchUp::Skip), Ok(CatchUp::Once)]);
    for text in ["\"Once\"", "\"0s\"", "\"\"", "\"2 hours\""] {
        let line = read(text).unwrap_err();
        assert!(line.ends_with(CatchUp::ACCEPTED), "{line}");
    }
}

#[test]
fn every_wrong_value_is_one_error_with_its_place_key_and_what_is_accepted() {
    use crate::config::approval::Choice;
    use crate::config::budget::{Budget, Usd};
    use crate::config::cron::Crons;
    use crate::config::file::File;
    use crate::config::frontmatter;
    use crate::config::on_failure::{Breaker, Retry};
    use crate::config::requires::Requires;
    use crate::config::reserve::{OnLimit, Reserve};
    use crate::config::size::Size;
    const JSON_SPAN: &str = "write a string such as \"5m\" or \"1h30m\"";
    const YAML_SPAN: &str = "write an interval such as 30m or 1h30m";
    const SPAN: &str = "write whole numbers with d, h, m or s, largest first, such as \"30m\" or \"1h30m\"";
    let hours = [ActiveHours::ACCEPTED; 2];
    let dates = [Except::ACCEPTED; 2];
    let catch_up = [CatchUp::ACCEPTED; 2];
    let words = [Overlap::ACCEPTED; 2];
    let on = [On::ACCEPTED; 2];
    let limited = [OnLimit::ACCEPTED; 2];
    let reserve = [Reserve::ACCEPTED; 2];
    let sizes = [Size::ACCEPTED; 2];
    let breaker = [Breaker::ACCEPTED; 2];
    let retry = [Retry::ACCEPTED; 2];
    let usd = [Usd::ACCEPTED; 2];
    let requires = [Requires::ACCEPTED; 2];
    let crons = Crons::new(TimeZone::UTC);
    for (key, value, accepted) in [
        ("enabled", "\"maybe\"", ["write true or false"; 2]),
        ("enabled", "0", ["write true or false"; 2]),
        ("activeHours", "\"9 to 5\"", hours),
        ("activeHours", "\"Mon-Fri 08:00-20:00 Mars\"", hours),
        ("activeHours", "[]", hours),
        ("activeHours", "{}", hours),
        ("except", "\"2026-12-24\"", dates),
        ("except", "[\"24.12.2026\"]", dates),
        ("except", "[\"2026-02-30\"]", dates),
        ("except", "[[]]", dates),
        ("jitter", "\"5 minutes\"", [SPAN; 2]),
        ("jitter", "\"0s\"", ["write at least \"1s\""; 2]),
        ("jitter", "[]", [JSON_SPAN, YAML_SPAN]),
        ("catchUp", "\"twice\"", catch_up),
        ("catchUp", "[\"once\"]", catch_up),
        ("startDeadline", "\"soon\"", [SPAN; 2]),
        ("startDeadline", "{}", [JSON_SPAN, YAML_SPAN]),
        ("overlap", "\"kill\"", words),
        ("overlap", "[]", words),
        ("on", "\"src/**\"", on),
        ("on", "{\"path\": []}", on),
        ("on", "{\"path\": \"a\", \"x\": 1}", on),
        ("onLimit", "\"wait\"", limited),
        ("onLimit", "[]", limited),
        ("reserve", "\"0.3\"", reserve),
        ("reserve", "\"100%\"", reserve),
        ("reserve", "{}", reserve),
        ("startTimeout", "\"2 minutes\"", [SPAN; 2]),
        ("startTimeout", "\"0s\"", ["write at least \"1s\""; 2]),
        ("idleTimeout", "\"-1s\"", [SPAN; 2]),
        ("idleTimeout", "[]", [JSON_SPAN, YAML_SPAN]),
        ("toolTimeout", "\"1s1h\"", [SPAN; 2]),
        ("toolTimeout", "{}", [JSON_SPAN, YAML_SPAN]),
        ("minFree", "\"256 MB\"", sizes),
        ("breaker", "\"often\"", breaker),
        ("retry", "{\"max\": 3, \"backof\": \"1m\"}", retry),
        ("retry", "[3]", retry),
        ("maxBudgetUsd", "0", usd),
        ("budget", "{\"day\": 0}", [Budget::ACCEPTED; 2]),
        ("budget", "[5, 5, 5]", [Budget::ACCEPTED; 2]),
        ("requires", "\"mail\"", requires),
    ] {
        let text = format!(
            "{{\"workspaces\": [\n{{\"path\": \"/a\", \"interval\": \"1h\", \"{key}\": {value}}},\n{{\"path\": \"/b\"}}]}}"
        );
        let file = File::parse(text.as_bytes(), std::path::Path::new("/config.json"), &crons).unwrap();
        let column = text.lines().nth(1).unwrap().find(value).unwrap() + 1;
        assert!(file.workspaces[1].is_ok(), "only that workspace is wrong");
        let line = file.workspaces[0].as_ref().unwrap_err().problem.line();
        let start = format!("/config.json:2:{column}: \"{key}\"");
        assert!(line.starts_with(&start) && line.ends_with(accepted[0]), "{line}");
        let text = format!("---\nname: x\n{key}: {value}\n---\nx");
        let error = frontmatter::split(text.as_bytes(), &crons).unwrap_err();
        assert_eq!(error.place().map(|place| place.line), Some(3), "{text}");
        let line = error.line();
        assert!(line.starts_with(&format!("\"{key}\"")) && line.ends_with(accepted[1]), "{line}");
    }
}

#[test]
fn every_key_refuses_every_other_kind_of_value() {
    use crate::config::cron::Crons;
    use crate::config::file::{self, File};
    use crate::config::frontmatter;
    const VALUES: [&str; 20] = [
        "true",
        "7",
        "0",
        "-1",
        "1.5",
        "\"what ever\"",
        "\"\"",
        "\"0s\"",
        "\"0%\"",
        "\"100%\"",
        "\"5 EUR\"",
        "[]",
        "[7]",
        "[7, 7, 7]",
        "[[]]",
        "{}",
        "{\"x\": 1}",
        "{\"path\": 7}",
        "{\"day\": 0}",
        "{\"max\": 0}",
    ];
    let crons = Crons::new(TimeZone::UTC);
    let is_read_apart = |key: &str| matches!(key, "path" | "name" | "lastRun" | "lastRuns");
    let is_accepted =
        |line: &str| ["; write ", "; use ", "; remove it"].iter().any(|hint| line.contains(hint));
    for key in file::KEYS.into_iter().filter(|key| !is_read_apart(key)) {
        let mut refused = [0, 0];
        for value in VALUES {
            let text = format!(
                "{{\"workspaces\": [\n{{\"path\": \"/a\", \"{key}\": {value}}},\n{{\"path\": \"/b\"}}]}}"
            );
            let file = File::parse(text.as_bytes(), std::path::Path::new("/config.json"), &crons).unwrap();
            assert!(file.workspaces[1].is_ok(), "only that workspace is wrong: {text}");
            if let Err(wrong) = &file.workspaces[0] {
                let line = wrong.problem.line();
                let start = format!("/config.json:2:{}: \"{key}\"", key.len() + 20);
                assert!(line.starts_with(&start) && is_accepted(&line) && !line.contains('\n'), "{line}");
                refused[0] += 1;
            }
            let text = format!("---\nname: x\n{key}: {value}\n---\nx");
            if let Err(error) = frontmatter::split(text.as_bytes(), &crons) {
                let line = error.line();
                let start = match key {
                    "gates" => "unknown key \"gates\"; only ".to_owned(),
                    _ => format!("\"{key}\""),
                };
                let is_one = line.starts_with(&start) && !line.contains('\n');
                assert!(is_one && (key == "gates" || is_accepted(&line)), "{value}: {line}");
                assert_eq!(error.place().map(|place| place.line), Some(3), "{text}");
                refused[1] += 1;
            }
        }
        assert!(refused.iter().all(|count| *count >= 10), "{key}: {refused:?}");
    }
}
