//! A record as it is on disk: flat, as every version of murmur has written and read it.

use super::super::entry::JournalEntry;
use super::{BeatRecord, Phase};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A record's JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Contents {
    pid: u32,
    entry: JournalEntry,
    over: bool,
    #[serde(default)]
    scheduled: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    announced: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data_dir: Option<PathBuf>,
}

impl From<Contents> for BeatRecord {
    fn from(contents: Contents) -> Self {
        let Contents { pid, entry, over, scheduled, announced, before, data_dir } = contents;
        let phase = match (over, announced) {
            (true, _) => Phase::Over,
            (false, true) => Phase::Announced { before },
            (false, false) => Phase::Running { pid, scheduled, data_dir },
        };
        Self { entry, phase }
    }
}

impl From<BeatRecord> for Contents {
    fn from(BeatRecord { entry, phase }: BeatRecord) -> Self {
        let written = Self {
            pid: std::process::id(),
            entry,
            over: false,
            scheduled: false,
            announced: false,
            before: None,
            data_dir: None,
        };
        match phase {
            Phase::Announced { before } => Self { scheduled: true, announced: true, before, ..written },
            Phase::Running { pid, scheduled, data_dir } => Self { pid, scheduled, data_dir, ..written },
            Phase::Over => Self { over: true, ..written },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// The phase in a record with `members`, and the record as it would be written again.
    fn read(members: Value) -> (Phase, Value) {
        let entry =
            json!({ "ts": "2026-02-03T10:00:00Z", "workspace": "/w", "outcome": "ok", "durationMs": 0 });
        let mut record = json!({ "pid": 7, "entry": entry, "over": false });
        record.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let begun: BeatRecord = serde_json::from_value(record).unwrap();
        let written = serde_json::to_value(&begun).unwrap();
        (begun.phase, written)
    }

    #[test]
    fn records_of_every_version_have_one_phase() {
        let running = |scheduled, data_dir| Phase::Running { pid: 7, scheduled, data_dir };
        assert_eq!(read(json!({})).0, running(false, None));
        assert_eq!(read(json!({ "scheduled": true, "dataDir": "/d" })).0, running(true, Some("/d".into())));
        assert_eq!(read(json!({ "over": true, "scheduled": true })).0, Phase::Over);
        let before = "2026-02-03T09:00:00Z";
        let announced = json!({ "scheduled": true, "announced": true, "before": before });
        assert_eq!(read(announced).0, Phase::Announced { before: Some(before.parse().unwrap()) });
    }

    #[test]
    fn a_record_is_written_with_the_members_that_every_version_reads() {
        let (_, written) = read(json!({ "scheduled": true, "dataDir": "/d" }));
        assert_eq!(
            (&written["pid"], &written["over"], &written["scheduled"], &written["dataDir"]),
            (&json!(7), &json!(false), &json!(true), &json!("/d"))
        );
        let (_, written) = read(json!({ "announced": true }));
        assert_eq!((&written["announced"], &written["scheduled"]), (&json!(true), &json!(true)));
        assert_eq!(read(json!({ "over": true })).1["over"], json!(true));
    }
}
