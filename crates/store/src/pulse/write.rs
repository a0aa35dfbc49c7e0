//! Writes pulses; no other code does.
//!
//! It writes two files: the pulse, atomically by rename, and the agent's last actions. At the end of a turn or session,
//! the pulse keeps the last call, and the last actions get the final message. Neither is synced: after a system crash
//! both are out of date anyway.

use super::activity::{self, Activity};
use super::folder;
use super::{Pulse, State};
use std::io;
use std::path::{Path, PathBuf};
use sys::atomic;
use sys::clock;
use sys::paths::DataDir;

/// A pulse that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", .path.display())]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

/// Writes `pulse` with the current time as its agent's newest. Concurrent writers are ordered by the lock of the
/// agent's last actions, unless others hold it for too long. If one of the two files cannot be written, the other one
/// still is.
pub fn put(dir: &DataDir, mut pulse: Pulse) -> Result<(), WriteError> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| WriteError { path, source }
    };
    let zone = clock::local_zone();
    let activity = dir.agent(&pulse.agent_id).join("activity.jsonl");
    let opened = Activity::open(dir, &pulse.agent_id);
    // Taken under the lock, so that the next holder's time is later.
    pulse.timestamp = clock::local(clock::now(), &zone);
    let path = dir.pulse(&pulse.agent_id);
    let line = line(&pulse).map_err(failed(&path))?;
    let mut opened = opened.map_err(failed(&activity));
    // One that was interrupted is the last call itself.
    let ends = matches!(pulse.state, State::Idle | State::Exited) && pulse.tool_name.is_empty();
    let before = ends.then(|| folder::read(&path)).flatten().map(|found| found.pulse);
    let before = before.filter(|before| before.session_id == pulse.session_id);
    let last_call = match &before {
        Some(before) if !before.tool_name.is_empty() => Some(before.clone()),
        _ if ends => opened.as_ref().ok().and_then(|all| all.last_call(pulse.session_id.as_ref())),
        _ => None,
    };
    let appended = match &mut opened {
        Ok(activities) => activities.append(&line).map_err(failed(&activity)),
        Err(_) => Ok(()),
    };
    let written = match is_overtaken(&pulse, before.as_ref()) {
        true => Ok(()),
        false => match kept(&pulse, before, last_call) {
            None => Ok(line),
            Some(kept) => self::line(&kept),
        }
        .and_then(|line| replace(&path, &line))
        .map_err(failed(&path)),
    };
    // The slow part comes last.
    let cut = opened.and_then(|mut activities| activities.cut_if_long().map_err(failed(&activity)));
    written.and(appended).and(cut)
}

/// Marks the session of `agent` as exited, unless it already is: a killed agent runs no hook.
pub fn put_over(dir: &DataDir, agent: &str) -> Result<(), WriteError> {
    match folder::read(&dir.pulse(agent)) {
        Some(found) if found.pulse.state != State::Exited => {
            put(dir, Pulse { state: State::Exited, ..found.pulse })
        }
        _ => Ok(()),
    }
}

/// Removes the pulse and the last actions of `agent`, which has ended and has nothing left to say. Best effort.
pub fn remove(dir: &DataDir, agent: &str) {
    let folder = dir.agent(agent);
    for file in [dir.pulse(agent), folder.join("activity.jsonl")] {
        let _was_none = std::fs::remove_file(file);
    }
    let _not_empty = std::fs::remove_dir(folder);
}

/// Whether `pulse` reports a session as idle that has already exited according to `before`. Claude Code does not wait
/// for the hooks of a failed turn: they may run after those of the session's end.
fn is_overtaken(pulse: &Pulse, before: Option<&Pulse>) -> bool {
    pulse.state == State::Idle && before.is_some_and(|before| before.state == State::Exited)
}

/// `pulse`, the end of a turn or session, with the last call. At the end of a session without calls it keeps the last
/// message. `None` if there is nothing to keep. `before` is the session's previous pulse.
fn kept(pulse: &Pulse, before: Option<Pulse>, last_call: Option<Pulse>) -> Option<Pulse> {
    let has_action = |before: &Pulse| before.state != State::Starting && !before.last_action.is_empty();
    let last = before.filter(|before| pulse.state == State::Exited && has_action(before));
    let Pulse { tool_name, last_action, tool_use_id, duration_ms, .. } = last_call.or(last)?;
    Some(Pulse { tool_name, last_action, tool_use_id, duration_ms, ..pulse.clone() })
}

fn line(pulse: &Pulse) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(pulse)?;
    line.push(b'\n');
    Ok(line)
}

fn replace(path: &Path, line: &[u8]) -> io::Result<()> {
    match activity::replace(path, line) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            atomic::create_private_subfolder(path.parent().unwrap_or(Path::new(".")))?;
            activity::replace(path, line)
        }
        replaced => replaced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_killed_session_is_marked_as_exited_once_and_only_if_it_had_a_pulse() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        put_over(&dir, "a").unwrap();
        assert_eq!(folder::all(&dir).unwrap(), []);
        let last_action = "cargo test".to_owned();
        put(&dir, Pulse { agent_id: "a".to_owned(), last_action, ..Pulse::default() }).unwrap();
        put_over(&dir, "a").unwrap();
        let over = folder::read(&dir.pulse("a")).unwrap().pulse;
        assert_eq!((over.state, &*over.last_action), (State::Exited, "cargo test"));
        put_over(&dir, "a").unwrap();
        assert_eq!(folder::read(&dir.pulse("a")).unwrap().pulse, over);
    }

    #[test]
    fn an_agent_that_is_removed_leaves_only_files_that_are_not_its_pulse() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        remove(&dir, "a");
        for agent in ["a", "b"] {
            put(&dir, Pulse { agent_id: agent.to_owned(), ..Pulse::default() }).unwrap();
        }
        let other = dir.agent("b").join("other");
        std::fs::write(&other, "").unwrap();
        remove(&dir, "a");
        remove(&dir, "b");
        assert_eq!(folder::all(&dir).unwrap(), []);
        assert!(
            !dir.agent("a").exists() && !dir.agent("b").join("activity.jsonl").exists() && other.exists()
        );
    }

    #[test]
    fn a_late_end_of_a_turn_does_not_revive_a_session() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let state = |session: &str, state: State| {
            let session_id = Some(murmur_core::id::SessionId::new(session));
            put(&dir, Pulse { agent_id: "a".to_owned(), session_id, state, ..Pulse::default() }).unwrap();
            folder::read(&dir.pulse("a")).unwrap().pulse.state
        };
        assert_eq!(state("1", State::Idle), State::Idle);
        assert_eq!(state("1", State::Exited), State::Exited);
        assert_eq!(state("1", State::Idle), State::Exited);
        assert_eq!(state("2", State::Idle), State::Idle);
        assert_eq!(state("2", State::Exited), State::Exited);
        assert_eq!(state("2", State::Starting), State::Starting);
        assert_eq!(state("2", State::Idle), State::Idle);
    }

    #[test]
    fn a_pulse_is_written_to_its_file_and_appended_as_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let pulse = Pulse { agent_id: "../a".into(), pid: Some(7), ..Pulse::default() };
        put(&dir, pulse.clone()).unwrap();
        let found = folder::all(&dir).unwrap().remove(0);
        assert!(found.pulse.at().is_some());
        assert_eq!(found.pulse, Pulse { timestamp: found.pulse.timestamp.clone(), ..pulse.clone() });
        let line = std::fs::read(dir.agent("../a").join("activity.jsonl")).unwrap();
        assert_eq!(std::fs::read(&found.path).unwrap(), line);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&found.path), 0o600);
        for made in [dir.pulses(), dir.agents(), dir.agent("../a")] {
            assert_eq!(mode(&made), 0o700);
        }
        // A planted link is replaced, and its target stays.
        let other = folder.path().join("other");
        std::fs::write(&other, "other").unwrap();
        std::fs::remove_file(&found.path).unwrap();
        symlink(&other, &found.path).unwrap();
        put(&dir, pulse).unwrap();
        assert!(!found.path.is_symlink());
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "other");
        assert_eq!(std::fs::read_dir(dir.pulses()).unwrap().count(), 1);
    }

    #[test]
    fn if_one_file_cannot_be_written_the_other_is_and_the_error_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let pulse = Pulse { agent_id: "a".into(), ..Pulse::default() };
        std::fs::create_dir_all(dir.agent("a").join("activity.jsonl")).unwrap();
        let error = put(&dir, pulse.clone()).unwrap_err();
        assert_eq!(error.path, dir.agent("a").join("activity.jsonl"));
        assert_eq!(folder::all(&dir).unwrap().len(), 1);
        let pulse = Pulse { agent_id: "b".into(), ..pulse };
        std::fs::create_dir(dir.pulse("b")).unwrap();
        let error = put(&dir, pulse).unwrap_err();
        assert_eq!(error.path, dir.pulse("b"));
        assert_eq!(
            std::fs::read_to_string(dir.agent("b").join("activity.jsonl")).unwrap().lines().count(),
            1
        );
    }
}
