//! Claude Code's session files, `sessions/<pid>.json` in its folder: a foreign format, read leniently (tested with
//! 2.1.197 and 2.1.329).

use jiff::Timestamp;
use murmur_core::id::SessionId;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use sys::{file, identity};

/// The longest folder name that Claude Code uses for conversations; longer ones are cut and get a hash.
const MAX_FOLDER_NAME: usize = 200;

/// The most bytes of a session file; longer ones are ignored.
const MAX_FILE_SIZE: u64 = 64 << 10;

/// A session with a live process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The id of its conversation.
    pub session_id: SessionId,
    /// Its process id.
    pub pid: u32,
    /// The folder it works in.
    pub cwd: PathBuf,
    /// Whether it is busy; `None` if its version does not say.
    pub is_busy: Option<bool>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it said so.
    pub updated_at: Timestamp,
    /// Its last sign of life.
    pub at: Timestamp,
}

/// The folder of session files in Claude Code's folder.
#[must_use]
pub fn folder(claude: &Path) -> PathBuf {
    claude.join("sessions")
}

/// Reads the session at `path`; `None` if there is none with a live process.
#[must_use]
pub fn read(path: &Path, claude: &Path) -> Option<Session> {
    if path.extension()? != "json" {
        return None;
    }
    let found: Value = serde_json::from_slice(&file::read_short(path, MAX_FILE_SIZE).ok()??).ok()?;
    let session_id = found.get("sessionId")?.as_str().filter(|id| !id.is_empty()).map(SessionId::new)?;
    let pid = found.get("pid")?.as_u64().and_then(|pid| u32::try_from(pid).ok())?;
    let time = |key: &str| Timestamp::from_millisecond(found.get(key)?.as_i64()?).ok();
    let started_at = time("startedAt").or_else(|| changed(path))?;
    // A leftover file whose PID was reused is not a session.
    if !identity::was_alive_at(pid, started_at) {
        return None;
    }
    let cwd = PathBuf::from(found.get("cwd").and_then(Value::as_str).unwrap_or_default());
    let updated_at = time("updatedAt").unwrap_or(started_at);
    let at = conversation(claude, &cwd, &session_id).unwrap_or(updated_at);
    let is_busy = found.get("status").and_then(Value::as_str).map(|status| status == "busy");
    Some(Session { session_id, pid, cwd, is_busy, started_at, updated_at, at })
}

/// Returns every session with its file. A missing folder has none.
pub fn all(claude: &Path) -> io::Result<Vec<(PathBuf, Session)>> {
    let entries = match std::fs::read_dir(folder(claude)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut sessions = Vec::new();
    for entry in entries {
        let path = entry?.path();
        sessions.extend(read(&path, claude).map(|session| (path, session)));
    }
    Ok(sessions)
}

/// When the conversation `session_id` in `cwd` was last written to.
#[must_use]
pub fn conversation(claude: &Path, cwd: &Path, session_id: &SessionId) -> Option<Timestamp> {
    // Ids must be plain file names.
    if session_id.as_str().contains('/') {
        return None;
    }
    let name = slug(cwd)?;
    changed(&claude.join("projects").join(name).join(format!("{session_id}.jsonl")))
}

/// The name of Claude Code's folder for conversations in `cwd`; `None` if it contains a hash.
fn slug(cwd: &Path) -> Option<String> {
    // Counted in UTF-16 code units, as in JavaScript.
    let units = cwd.to_str()?.chars().flat_map(|c| std::iter::repeat_n(c, c.len_utf16()));
    let slug: String = units.map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    (slug.len() <= MAX_FOLDER_NAME).then_some(slug)
}

fn changed(path: &Path) -> Option<Timestamp> {
    path.metadata().ok()?.modified().ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn conversation_folders_are_named_as_in_claude_code() {
        let slug = |path: &str| slug(Path::new(path));
        assert_eq!(slug("/home/me/my.site_2").unwrap(), "-home-me-my-site-2");
        assert_eq!(slug("/ü/😀").unwrap(), "-----");
        assert_eq!(slug(&"x".repeat(201)), None);
    }

    #[test]
    fn sessions_with_a_live_process_are_read_and_other_files_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let claude = folder.path();
        std::fs::create_dir_all(claude.join("projects/-srv-site")).unwrap();
        std::fs::create_dir(claude.join("sessions")).unwrap();
        let (pid, now) = (std::process::id(), sys::clock::now().as_millisecond());
        let write =
            |name: &str, text: String| std::fs::write(claude.join("sessions").join(name), text).unwrap();
        let mut whole = json!({ "pid": pid, "sessionId": "s-1", "cwd": "/srv/site", "startedAt": now,
            "version": "2.1.329", "status": "busy", "updatedAt": now + 5, "new": [] });
        write("1.json", whole.to_string());
        whole["status"] = json!(7);
        write("2.json", whole.to_string());
        whole["startedAt"] = json!(1000);
        write("another-process.json", whole.to_string());
        write("torn.json", "{".to_owned());
        whole["startedAt"] = json!(now);
        write("long.json", format!("{whole}{}", " ".repeat(64 << 10)));
        write("no.json", json!({ "pid": -1, "sessionId": "s-1" }).to_string());
        write("other.txt", whole.to_string());
        let mut found = all(claude).unwrap();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        let brief: Vec<_> =
            found.iter().map(|(_, session)| (session.session_id.as_str(), session.is_busy)).collect();
        assert_eq!(brief, [("s-1", Some(true)), ("s-1", None)]);
        assert_eq!(found[0].1.at.as_millisecond(), now + 5);
        let conversation = claude.join("projects/-srv-site/s-1.jsonl");
        std::fs::write(&conversation, "").unwrap();
        let session = read(&claude.join("sessions/1.json"), claude).unwrap();
        assert_eq!(session.at, changed(&conversation).unwrap());
        assert_eq!(all(&claude.join("nowhere")).unwrap(), []);
    }
}
