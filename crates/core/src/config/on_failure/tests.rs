use super::*;

fn read(text: &str) -> Result<Retry, String> {
    let retry = super::super::checked::from_json::<Retry>(text).map_err(|_| "another kind".to_owned())?;
    retry.map_err(|error| error.line())
}

fn retry(max: u32, backoff: &str, max_backoff: &str) -> Retry {
    Retry {
        max: NonZeroU32::new(max).unwrap(),
        backoff: backoff.parse().unwrap(),
        max_backoff: max_backoff.parse().unwrap(),
    }
}

#[test]
fn retries_have_defaults_and_anything_wrong_is_named() {
    assert_eq!(read(r#"{"max":3}"#), Ok(retry(3, "1m", "30m")));
    assert_eq!(read(r#"{"max":1,"backoff":"2h"}"#), Ok(retry(1, "2h", "2h")));
    assert_eq!(read(r#"{"max":2,"backoff":"10s","maxBackoff":"20s"}"#), Ok(retry(2, "10s", "20s")));
    for (text, error) in [
        ("3", "another kind"),
        ("{}", "\"max\" is missing; write an object such as"),
        (r#"{"max":0}"#, "\"max\" has a wrong value; write a whole number from 1 to 100"),
        (r#"{"max":101}"#, "\"max\" has a wrong value"),
        (r#"{"max":"3"}"#, "\"max\" has a wrong value"),
        (r#"{"max":-1}"#, "\"max\" has a wrong value"),
        (r#"{"max":3,"backoff":5}"#, "\"backoff\" is not a time; write a string"),
        (r#"{"max":3,"backoff":"soon"}"#, "\"backoff\": \"soon\" is not an interval"),
        (r#"{"max":3,"maxBackoff":"0s"}"#, "\"maxBackoff\": \"0s\" is too short"),
        (r#"{"max":3,"backoff":"5m","maxBackoff":"1m"}"#, "\"maxBackoff\" is 1m, less than \"backoff\", 5m"),
        (r#"{"max":3,"wait":"5m"}"#, "unknown key \"wait\"; write an object such as"),
    ] {
        let found = read(text).unwrap_err();
        assert!(found.starts_with(error), "{text}: {found}");
    }
}

#[test]
fn a_heartbeat_can_only_ask_for_rarer_runs() {
    let user = FailureKeys { retry: Some(retry(3, "1m", "30m")), breaker: None };
    let of = |user: FailureKeys, retry, breaker| {
        let mut notices = Notices::default();
        let resolved = user.resolve(FailureKeys { retry, breaker }, &mut notices);
        (resolved.retry.map(|retry| retry.value), resolved.breaker.value.to_string(), notices.lines().len())
    };
    let after = |failures| NonZeroU32::new(failures).map(Breaker::After);
    assert_eq!(of(user, None, None), (user.retry, "5".to_owned(), 0));
    let fewer = retry(2, "5m", "1h");
    assert_eq!(of(user, Some(fewer), after(3)), (Some(fewer), "3".to_owned(), 0));
    let more = retry(9, "5m", "10m");
    assert_eq!(of(user, Some(more), after(9)), (Some(retry(3, "5m", "30m")), "5".to_owned(), 2));
    assert_eq!(of(user, None, Some(Breaker::Off)), (user.retry, "5".to_owned(), 1));
    let off = FailureKeys { retry: None, breaker: Some(Breaker::Off) };
    assert_eq!(of(off, Some(fewer), None), (None, "0".to_owned(), 1));
    assert_eq!(of(off, None, after(9)), (None, "9".to_owned(), 0));
}
