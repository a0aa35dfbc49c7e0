//! How murmur ended a beat early, as the keys of a journal line: `timedOut`, `outOfTurns`, `stopped`, `replaced` and
//! `watchdog`.

use murmur_core::config::watchdogs::Watchdog;
use murmur_core::outcome::EarlyEnd;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The keys, of which a line has at most one.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Keys {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    timed_out: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    out_of_turns: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stopped: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replaced: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    watchdog: Option<Watchdog>,
}

#[expect(clippy::ref_option, reason = "serde passes a reference")]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn serialize<S: Serializer>(end: &Option<EarlyEnd>, serializer: S) -> Result<S::Ok, S::Error> {
    let none = Keys::default();
    match *end {
        None => none,
        Some(EarlyEnd::TimedOut) => Keys { timed_out: true, ..none },
        Some(EarlyEnd::OutOfTurns) => Keys { out_of_turns: true, ..none },
        Some(EarlyEnd::Stopped) => Keys { stopped: true, ..none },
        Some(EarlyEnd::Replaced) => Keys { replaced: true, ..none },
        Some(EarlyEnd::Hung(watchdog)) => Keys { watchdog: Some(watchdog), ..none },
    }
    .serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<EarlyEnd>, D::Error> {
    let Keys { timed_out, out_of_turns, stopped, replaced, watchdog } = Keys::deserialize(deserializer)?;
    // A verifier could be stopped after the turns had run out: older versions then wrote both.
    Ok(if stopped {
        Some(EarlyEnd::Stopped)
    } else if replaced {
        Some(EarlyEnd::Replaced)
    } else if timed_out {
        Some(EarlyEnd::TimedOut)
    } else if let Some(watchdog) = watchdog {
        Some(EarlyEnd::Hung(watchdog))
    } else {
        out_of_turns.then_some(EarlyEnd::OutOfTurns)
    })
}

#[cfg(test)]
mod tests {
    use crate::journal::entry::JournalEntry;
    use murmur_core::config::watchdogs::Watchdog;
    use murmur_core::outcome::EarlyEnd;

    const START: &str = r#"{"ts":"2026-02-03T10:00:00Z","workspace":"/w","outcome":"error","durationMs":1,"beat":"b","agent":"a""#;

    fn read(keys: &str) -> JournalEntry {
        serde_json::from_str(&format!("{START},{keys}}}")).unwrap()
    }

    #[test]
    fn each_early_end_has_its_key() {
        for (keys, end) in [
            (r#""timedOut":true"#, EarlyEnd::TimedOut),
            (r#""outOfTurns":true"#, EarlyEnd::OutOfTurns),
            (r#""stopped":true"#, EarlyEnd::Stopped),
            (r#""replaced":true"#, EarlyEnd::Replaced),
            (r#""watchdog":"idleTimeout""#, EarlyEnd::Hung(Watchdog::IdleTimeout)),
        ] {
            let entry = read(keys);
            assert_eq!(entry.early_end, Some(end));
            assert_eq!(entry.line().unwrap(), format!("{START},{keys}}}\n"));
        }
    }

    #[test]
    fn lines_of_other_versions_are_read() {
        assert_eq!(read(r#""stopped":false,"newer":{"a":1}"#).early_end, None);
        assert_eq!(read(r#""outOfTurns":true,"stopped":true"#).early_end, Some(EarlyEnd::Stopped));
        let wrong = format!(r#"{START},"stopped":"yes"}}"#);
        assert!(serde_json::from_str::<JournalEntry>(&wrong).is_err());
    }
}
