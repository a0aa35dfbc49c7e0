use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn account() -> Account {
    Account::new("claude", "/home/me/.claude", "login")
}

const NOW: &str = "2026-02-03T10:00:00Z";

#[test]
fn an_account_is_on_hold_until_shortly_after_the_reset() {
    let resets_at = at("2026-02-03T12:00:00Z");
    let hold = hold(&account(), "five_hour", Some(resets_at), at(NOW)).unwrap();
    assert_eq!((hold.window.as_str(), hold.resets_at), ("five_hour", resets_at));
    let extra = hold.until.duration_since(resets_at).as_secs();
    assert!((0..=120).contains(&extra), "{extra}");
    assert_eq!(account().jitter(), account().jitter());
}

#[test]
fn accounts_wait_differently_long_after_the_same_reset() {
    let waits: std::collections::BTreeSet<i64> = (0..40)
        .map(|number| Account::new("claude", &format!("/home/{number}"), "login").jitter().as_secs())
        .collect();
    assert!(waits.len() > 20 && waits.iter().all(|seconds| (0..=120).contains(seconds)), "{waits:?}");
}

#[test]
fn a_reset_that_cannot_be_right_holds_nothing() {
    for (window, resets_at, why) in [
        ("five_hour", None, "its reset time is unknown"),
        ("five_hour", Some("2026-02-03T10:00:00Z"), "its reset time is in the past"),
        ("five_hour", Some("1970-01-01T00:00:00Z"), "its reset time is in the past"),
        ("five_hour", Some("2026-02-03T16:00:01Z"), "its reset time is more than 6 hours away"),
        ("five_hour", Some("9999-12-01T00:00:00Z"), "its reset time is more than 6 hours away"),
        ("seven_day", Some("2026-02-11T10:00:01Z"), "its reset time is more than 8 days away"),
        ("seven_day_opus", Some("2026-03-05T10:00:00Z"), "its reset time is more than 8 days away"),
        ("", Some("2026-03-08T10:00:00Z"), "its reset time is more than 32 days away"),
    ] {
        let held = hold(&account(), window, resets_at.map(at), at(NOW));
        assert_eq!(held.unwrap_err().to_string(), why, "{window} {resets_at:?}");
    }
    for (window, resets_at) in [
        ("five_hour", "2026-02-03T16:00:00Z"),
        ("seven_day_opus", "2026-02-11T10:00:00Z"),
        ("overage", "2026-03-05T10:00:00Z"),
    ] {
        assert!(hold(&account(), window, Some(at(resets_at)), at(NOW)).is_ok(), "{window}");
    }
}

#[test]
fn a_hold_ends_by_itself() {
    let hold = hold(&account(), "five_hour", Some(at("2026-02-03T12:00:00Z")), at(NOW)).unwrap();
    let until = hold.until;
    let usage = Usage { hold: Some(hold), ..Usage::default() };
    assert!(usage.held(at(NOW)).is_some());
    assert!(usage.held(until).is_none());
    // The clock was wrong when it was written.
    assert!(usage.held(at("2025-02-03T10:00:00Z")).is_none());
}

#[test]
fn a_reserve_is_kept_until_the_limit_resets() {
    let window = |utilization: Option<f64>, resets_at: Option<&str>| Window {
        status: "allowed".to_owned(),
        utilization,
        resets_at: resets_at.map(at),
        reported_at: at(NOW),
    };
    let (soon, later) = (Some("2026-02-03T12:00:00Z"), Some("2026-02-05T12:00:00Z"));
    let in_hours = |hours| (at(NOW) + SignedDuration::from_hours(hours)).to_string();
    let (in_6_hours, in_8_days) = (in_hours(6), in_hours(192));
    let reserve: Reserve = "30%".parse().unwrap();
    for (five_hour, seven_day, expected) in [
        (window(Some(0.70), soon), window(Some(0.2), later), None),
        (window(Some(0.71), soon), window(Some(0.2), later), soon),
        (window(Some(0.71), soon), window(Some(0.8), later), later),
        (window(Some(0.10), soon), window(Some(0.8), later), later),
        // Has reset meanwhile.
        (window(Some(0.99), Some(NOW)), window(None, later), None),
        // When it resets is unknown, or not plausible.
        (window(Some(0.99), None), window(Some(0.0), None), Some(&*in_6_hours)),
        (window(Some(0.0), None), window(Some(0.99), None), Some(&*in_8_days)),
        (window(Some(0.99), Some("2027-02-05T12:00:00Z")), window(None, None), Some(&*in_6_hours)),
    ] {
        let windows = [("five_hour".to_owned(), five_hour), ("seven_day".to_owned(), seven_day)];
        let usage = Usage { windows: windows.clone().into(), hold: None };
        let until = usage.reserved_until(reserve, at(NOW)).map(|reserved| reserved.until);
        assert_eq!(until, expected.map(at), "{windows:?}");
        // Neither once it is over, nor after the clock was set back.
        for now in [expected.map_or(at(NOW), at), at("2025-02-03T10:00:00Z")] {
            assert!(expected.is_none() || usage.reserved_until(reserve, now).is_none(), "{windows:?}");
        }
    }
}
