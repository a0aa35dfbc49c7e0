use super::*;
use proptest::prelude::*;

const PLAIN: &str = r#"{"ts":"2026-02-03T10:00:00.250Z","workspace":"/home/me/site","outcome":"ok","durationMs":8200,"beat":"0198","heartbeat":"nightly","agent":"a","exit":{"code":0},"costUsd":0.0132,"numTurns":3,"model":"opus","tokens":{"input":10,"output":20,"cacheRead":30,"cacheWrite":40},"denials":["Bash"],"stopped":true}"#;

/// Whether the scan reads it, and what both read.
fn both(line: &[u8]) -> (bool, Option<BeatUsage<'_>>) {
    let (fast, slow) = (Scanned::scan(line), BeatUsage::parse_slowly(line));
    if let Some(fast) = &fast {
        assert!(fast.ts.is_ascii());
    }
    let is_fast = fast.is_some();
    let parsed = BeatUsage::parse(line);
    assert_eq!(parsed, slow, "{}", String::from_utf8_lossy(line));
    (is_fast, parsed)
}

#[test]
fn a_line_of_murmur_is_scanned() {
    let (is_fast, line) = both(PLAIN.as_bytes());
    assert!(is_fast);
    let line = line.unwrap();
    let ended = line.ended().and_then(|at| Timestamp::from_millisecond(at).ok()).unwrap();
    assert_eq!(ended.to_string(), "2026-02-03T10:00:08.45Z");
    assert_eq!((line.cost.unwrap().usd(), line.tokens.total(), line.is_quiet), (0.0132, 100, true));
    assert_eq!((line.heartbeat.as_deref(), line.model.as_deref()), (Some("nightly"), Some("opus")));
}

#[test]
fn odd_lines_are_read_as_serde_reads_them() {
    // What to change in the plain line, whether it is still scanned, and whether it is a beat.
    for (old, new, is_fast, is_beat) in [
        ("", "", true, true),
        (r#""ok""#, r#""error","error":"a \"quoted\"\nline""#, true, true),
        (r#""ok""#, r#""error","error":"a \u00e9 line""#, false, true),
        (r#""ok""#, r#""error","error":"a \ud800 line""#, false, true),
        (r#""ok""#, r#""error","error":"a \x line""#, false, false),
        (r#""ok""#, "\"error\",\"error\":\"a\tline\"", false, false),
        (r#""ok""#, r#""skipped""#, true, true),
        (r#""ok""#, r#""dreamt""#, true, false),
        (r#""ok""#, r#""o\u006b""#, false, true),
        (r#""ok""#, "null", false, false),
        (r#","agent":"a""#, r#","kind":"stuck","agent":"a""#, true, false),
        (r#","agent":"a""#, r#","kind":"beat""#, true, true),
        (r#","agent":"a""#, r#","kind":"bea\u0074""#, false, true),
        (r#","agent":"a""#, r#","kind":null"#, true, true),
        (r#","agent":"a""#, r#","kind":{"a":[1]}"#, true, false),
        (r#","agent":"a""#, r#","outcome":"ok""#, false, false),
        (r#","agent":"a""#, r#","agent":"b","agent":[[],{},{"":-1.5e+3,"b":[true,false,null]}]"#, true, true),
        (r#","agent":"a""#, r#","agent":tru"#, false, false),
        (r#","agent":"a""#, r#","agent":01"#, false, false),
        (r#","agent":"a""#, r#","agent":1."#, false, false),
        (r#","agent":"a""#, r#","agent":[1,]"#, false, false),
        (r#","agent":"a""#, r#","an \"agent\"":1"#, false, true),
        (r#","agent":"a""#, r#","größe":1"#, false, true),
        (r#","agent":"a""#, r#", "agent" : "a""#, false, true),
        ("8200", "8200.0", false, false),
        ("8200", "-1", false, false),
        ("8200", "08", false, false),
        ("8200", "99999999999999999999", false, false),
        ("8200", "9999999999999999999", false, true),
        ("8200", "null", false, false),
        (r#""durationMs":8200,"#, "", false, false),
        ("0.0132", "null", true, true),
        ("0.0132", "-1", true, true),
        ("0.0132", "1e999", false, false),
        ("0.0132", "1e99", true, true),
        ("0.0132", r#""free""#, false, false),
        (r#""nightly""#, "null", true, true),
        (r#""nightly""#, r#""größe""#, true, true),
        (r#""nightly""#, r#""a\\b""#, false, true),
        (r#""nightly""#, "7", false, false),
        ("2026-02-03T10:00:00.250Z", "2026-02-29T10:00:00Z", true, true),
        ("2026-02-03T10:00:00.250Z", "2028-02-29T10:00:00Z", true, true),
        ("2026-02-03T10:00:00.250Z", "2026-02-03T10:00:00+01:00", true, true),
        ("2026-02-03T10:00:00.250Z", "2026-02-03t10:00:60z", true, true),
        ("2026-02-03T10:00:00.250Z", "1969-12-31T23:59:59Z", true, true),
        ("2026-02-03T10:00:00.250Z", "yesterday", true, true),
        (r#"{"code":0}"#, r#"{"code":0},"exit":null"#, false, false),
        (r#""input":10,"#, "", true, true),
        (r#""input":10"#, r#""input":10,"input":11"#, false, false),
        (r#""input":10"#, r#""input":10,"thinking":11"#, false, true),
        (r#"{"input":10,"output":20,"cacheRead":30,"cacheWrite":40}"#, "null", false, true),
        (r#"{"input":10,"output":20,"cacheRead":30,"cacheWrite":40}"#, "{}", false, true),
        (r#""stopped":true}"#, r#""stopped":true} "#, false, true),
        (r#""stopped":true}"#, r#""stopped":true}x"#, false, false),
        (r#""stopped":true}"#, r#""stopped":true"#, false, false),
        (PLAIN, "", false, false),
        (PLAIN, "{}", false, false),
        (PLAIN, "[1]", false, false),
    ] {
        let line = PLAIN.replace(old, new);
        let (fast, found) = both(line.as_bytes());
        assert_eq!((fast, found.is_some()), (is_fast, is_beat), "{line}");
    }
    let mut deep = PLAIN.replace(r#""a""#, &format!("{}{}", "[".repeat(40), "]".repeat(40)));
    assert!(both(deep.as_bytes()).1.is_some());
    deep.truncate(deep.len() - 1);
    assert!(both(deep.as_bytes()).1.is_none());
    let invalid = [PLAIN.as_bytes(), b"\xff"].concat();
    assert!(both(&invalid).1.is_none());
    let invalid: Vec<u8> = PLAIN.bytes().map(|byte| if byte == b'/' { 0xff } else { byte }).collect();
    assert!(both(&invalid).1.is_none());
}

#[test]
fn a_cost_is_missing_if_the_agent_ran_and_reported_none() {
    let cost = r#""costUsd":0.0132"#;
    let with = |member: &str| PLAIN.replace(cost, member);
    for (line, is_fast, lacks) in [
        (PLAIN.to_owned(), true, false),
        (with(r#""costUsd":null"#), true, true),
        (with(r#""costUsd":-1"#), true, true),
        (with(r#""backend":"codex""#), true, true),
        (with(&format!(r#"{cost},"backend":"codex""#)), true, false),
        // No agent ran.
        (with(r#""costUnknown":false"#).replace(r#""exit":{"code":0},"#, ""), true, false),
        (with(r#""costUnknown":false"#).replace(r#"{"code":0}"#, "null"), true, false),
    ] {
        let (fast, found) = both(line.as_bytes());
        assert_eq!((fast, found.unwrap().lacks_cost), (is_fast, lacks), "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]
    #[test]
    fn any_change_of_a_line_is_read_as_serde_reads_it(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0usize..3, r#"[0-9a-z{}\[\]":,.\\ \-+eE]|null|"beat""#), 1..4)
    ) {
        let mut line = PLAIN.as_bytes().to_vec();
        for (place, removed, added) in changes {
            let start = place.index(line.len());
            let end = (start + removed).min(line.len());
            line.splice(start..end, added.bytes());
        }
        both(&line);
    }

    #[test]
    fn any_short_cost_is_read_as_serde_reads_it(cost in r"[0-9]{1,6}(\.[0-9]{1,9})?") {
        both(PLAIN.replace("0.0132", &cost).as_bytes());
    }

    #[test]
    fn any_second_is_read_like_any_other_time(seconds in -62_167_219_200i64..253_402_207_200) {
        let at = Timestamp::from_second(seconds).unwrap();
        assert_eq!(as_written(at.to_string().as_bytes()), Some(at));
    }
}

#[test]
fn times_as_murmur_writes_them_are_read_like_any_other() {
    for text in [
        "2026-02-03T10:00:00Z",
        "2026-02-03T10:00:00.123Z",
        "2024-02-29T23:59:59.999Z",
        "1969-12-31T23:59:59.001Z",
        "0000-01-01T00:00:00Z",
        "9999-12-30T22:00:00Z",
    ] {
        assert_eq!(as_written(text.as_bytes()), text.parse().ok(), "{text}");
        assert!(as_written(text.as_bytes()).is_some(), "{text}");
    }
    // Left to the parser of all forms, which accepts some of them.
    for text in [
        "",
        "2026-02-03T10:00:00",
        "2026-02-03T10:00:00.12Z",
        "2026-02-03T10:00:00.123456Z",
        "2026-02-03T10:00:00+01:00",
        "2026-02-03 10:00:00Z",
        "2026-02-03T10-00-00Z",
        "2026-02-30T10:00:00Z",
        "2025-02-29T10:00:00Z",
        "2026-13-03T10:00:00Z",
        "2026-02-03T24:00:00Z",
        "2026-02-03T10:00:60Z",
        "2026-02-03T10:00:0xZ",
        "2026-02-03T10:00:00,123Z",
        "+026-02-03T10:00:00Z",
        "2026-02-03T10:00:00\u{e9}",
        "\u{e9}026-02-03T10:00:00",
    ] {
        assert_eq!(as_written(text.as_bytes()), None, "{text}");
    }
}
