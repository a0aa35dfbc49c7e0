use super::*;

fn line(ts: &str, rest: &str) -> String {
    format!(r#"{{"ts":"{ts}","durationMs":60000,{rest}}}"#)
}

fn groups(by: GroupBy, since: Option<&str>, zone: &str) -> Vec<String> {
    let zone = sys::clock::named_zone(zone).unwrap();
    let lines = [
        line(
            "2026-02-03T22:58:30Z",
            r#""workspace":"/w","outcome":"ok","costUsd":0.1,"model":"opus","tokens":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4}"#,
        ),
        line(
            "2026-02-03T22:59:30Z",
            r#""workspace":"/w","outcome":"attention","costUsd":0.2,"heartbeat":"n""#,
        ),
        line("2026-02-04T10:00:00Z", r#""workspace":"/v","outcome":"skipped""#),
        line("2026-02-05T10:00:00Z", r#""workspace":"/w","outcome":"error","costUsd":0.4,"model":"opus""#),
        line("someday", r#""workspace":"/w","outcome":"ok""#),
        line("2026-02-05T10:00:00Z", r#""workspace":"/w","outcome":"attention","kind":"stuck""#),
    ];
    let count = |lines: &[String]| {
        let mut counter = Counter::new(by, since.map(|since| since.parse().unwrap()), &zone);
        lines.iter().filter_map(|line| BeatUsage::parse(line.as_bytes())).for_each(|line| counter.add(&line));
        counter
    };
    let apart = count(&lines[..2]).merged(count(&lines[2..])).groups();
    assert_eq!(apart, count(&lines).groups());
    let shown = |(group, sums): &(Group, Sums)| {
        let cost = sums.cost.map(Money::usd);
        format!("{group:?} {} {} {cost:?} {}", sums.beats, sums.quiet, sums.tokens.total())
    };
    let total = total(&apart);
    assert_eq!(total.beats, apart.iter().map(|(_, sums)| sums.beats).sum::<u64>());
    apart.iter().map(shown).collect()
}

#[test]
fn the_most_expensive_group_comes_first() {
    assert_eq!(
        groups(GroupBy::Heartbeat, None, "UTC"),
        [
            r#"Heartbeat("/w", None) 3 2 Some(0.5) 10"#,
            r#"Heartbeat("/w", Some("n")) 1 0 Some(0.2) 0"#,
            r#"Heartbeat("/v", None) 1 1 None 0"#,
        ]
    );
    assert_eq!(
        groups(GroupBy::Workspace, None, "UTC"),
        [r#"Workspace("/w") 4 2 Some(0.7) 10"#, r#"Workspace("/v") 1 1 None 0"#]
    );
    assert_eq!(
        groups(GroupBy::Model, None, "UTC"),
        [r#"Model(Some("opus")) 2 1 Some(0.5) 10"#, "Model(None) 3 2 Some(0.2) 0"]
    );
}

#[test]
fn a_beat_belongs_to_the_day_on_which_it_ended() {
    assert_eq!(
        groups(GroupBy::Day, None, "Europe/Berlin"),
        [
            "Day(None) 1 1 None 0",
            "Day(Some(2026-02-03)) 1 1 Some(0.1) 10",
            "Day(Some(2026-02-04)) 2 1 Some(0.2) 0",
            "Day(Some(2026-02-05)) 1 0 Some(0.4) 0",
        ]
    );
    assert_eq!(
        groups(GroupBy::Day, Some("2026-02-03T23:00:00Z"), "UTC"),
        [
            "Day(None) 1 1 None 0",
            "Day(Some(2026-02-03)) 1 0 Some(0.2) 0",
            "Day(Some(2026-02-04)) 1 1 None 0",
            "Day(Some(2026-02-05)) 1 0 Some(0.4) 0",
        ]
    );
}

#[test]
fn money_is_exact_to_the_billionth() {
    let sum = (0..1000).fold(Money::default(), |sum, _| sum.plus(Money::from_usd(0.1).unwrap()));
    assert_eq!(sum.usd(), 100.0);
    for wrong in [-0.1, f64::NAN, f64::INFINITY, 1e10] {
        assert_eq!(Money::from_usd(wrong), None);
    }
}
