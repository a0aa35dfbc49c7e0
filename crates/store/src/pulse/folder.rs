//! Reads the folder of pulses, skipping other files.

use super::Pulse;
use jiff::Timestamp;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::paths::DataDir;
use sys::unreadable::unreadable;
use sys::{clock, file};

/// The most bytes of a pulse's file; longer ones are ignored.
const MAX_PULSE: u64 = 64 << 10;

/// How far a pulse's time may be ahead of its file's.
const AHEAD: Duration = Duration::from_secs(60);

/// A pulse and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPulse {
    /// The file.
    pub path: PathBuf,
    /// Its content.
    pub pulse: Pulse,
}

/// Reads the pulse at `path`, if there is one. A time later than the file's own is replaced with that; otherwise
/// the pulse would stay the newest forever.
#[must_use]
pub fn read(path: &Path) -> Option<FoundPulse> {
    let stem = path.file_stem()?;
    if path.extension() != Some(OsStr::new("json")) || stem.as_encoded_bytes().starts_with(b".") {
        return None;
    }
    let (open, found) = file::open_existing(path).ok()??;
    if found.len() > MAX_PULSE {
        return None;
    }
    let mut pulse = Pulse::parse(&file::read_most(&open, found.len(), MAX_PULSE).ok()?)?;
    if pulse.agent_id.is_empty() {
        pulse.agent_id = stem.to_string_lossy().into_owned();
    }
    let written: Timestamp = found.modified().ok()?.try_into().ok()?;
    if pulse.at()? > written.checked_add(AHEAD).ok()? {
        pulse.timestamp = clock::rfc3339(written);
    }
    Some(FoundPulse { path: path.to_path_buf(), pulse })
}

/// Returns every pulse, sorted by agent id. A missing folder has none.
pub fn all(dir: &DataDir) -> io::Result<Vec<FoundPulse>> {
    let entries = match std::fs::read_dir(dir.pulses()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(&dir.pulses(), error)),
    };
    let mut found: Vec<FoundPulse> = Vec::new();
    for entry in entries {
        found.extend(read(&entry?.path()));
    }
    found.sort_by(|one, other| one.pulse.agent_id.cmp(&other.pulse.agent_id));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulses_are_found_and_other_files_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        assert_eq!(all(&dir).unwrap(), []);
        std::fs::create_dir(dir.pulses()).unwrap();
        let pulse = r#"{"timestamp":"2026-01-21T10:30:45Z","agent_id":"#;
        for (name, text) in [
            ("b.json", format!("{pulse}\"b\"}}")),
            ("odd-00000000.json", format!("{pulse}\"../a\"}}")),
            ("nameless.json", format!("{pulse}\"\"}}")),
            ("torn.json", pulse.to_owned()),
            (".new.json", format!("{pulse}\"new\"}}")),
            ("other.txt", format!("{pulse}\"other\"}}")),
        ] {
            std::fs::write(dir.pulses().join(name), text).unwrap();
        }
        std::fs::create_dir(dir.pulses().join("folder.json")).unwrap();
        sys::fifo::make(&dir.pulses().join("pipe.json")).unwrap();
        let long = format!("{pulse}\"long\"}}{}", " ".repeat(64 << 10));
        std::fs::write(dir.pulses().join("long.json"), long).unwrap();
        let found = all(&dir).unwrap();
        let ids: Vec<&str> = found.iter().map(|found| found.pulse.agent_id.as_str()).collect();
        assert_eq!(ids, ["../a", "b", "nameless"]);
    }

    #[test]
    fn no_pulse_is_newer_than_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        for (timestamp, at) in [
            ("2026-01-21T10:30:45+01:00", "2026-01-21T09:30:45Z"),
            ("2026-01-21T10:00:59Z", "2026-01-21T10:00:59Z"),
            ("2026-01-21T10:01:01Z", "2026-01-21T10:00:00Z"),
            ("2999-01-01T00:00:00Z", "2026-01-21T10:00:00Z"),
        ] {
            std::fs::write(&path, format!("{{\"timestamp\":\"{timestamp}\"}}")).unwrap();
            let written: Timestamp = "2026-01-21T10:00:00Z".parse().unwrap();
            std::fs::File::open(&path).unwrap().set_modified(written.into()).unwrap();
            assert_eq!(read(&path).unwrap().pulse.at(), Some(at.parse().unwrap()), "{timestamp}");
        }
    }
}
