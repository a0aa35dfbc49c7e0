//! `approvals/`: deferred calls, one file each, so that their answers survive a restart or a reboot.

use jiff::Timestamp;
use murmur_core::permit::request::{Answer, Request, RequestId};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use sys::{atomic, clock, file};

/// The version of the file format.
const VERSION: u32 = 1;

/// A call that waits for an answer while its agent does not run.
#[derive(Debug, Clone, PartialEq)]
pub struct DeferredCall {
    /// The call.
    pub request: Request,
    /// When it was asked.
    pub asked: Timestamp,
    /// Its state.
    pub state: DeferredState,
}

/// The state of a deferred call.
#[derive(Debug, Clone, PartialEq)]
pub enum DeferredState {
    /// Nobody has answered.
    Deferred {
        /// When the request expires; `None` for never.
        until: Option<Timestamp>,
    },
    /// Answered; the resumed agent gets the answer.
    Answered(Answer),
    /// The answer was given to a hook.
    Given {
        /// The answer.
        answer: Answer,
        /// The hook that got it.
        hook: String,
    },
}

/// One file (docs/reference/journal.md).
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Form {
    version: u32,
    request: Request,
    /// RFC 3339.
    asked_at: String,
    #[serde(flatten)]
    state: StateForm,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "standing", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum StateForm {
    Deferred {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<String>,
    },
    Answered {
        answer: Answer,
    },
    Given {
        answer: Answer,
        hook: String,
    },
}

/// The folder or a file in it can't be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}", .path.display())]
pub struct DeferredCallError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// The folder of deferred calls.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder at `path`, which is created when the first call is stored.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Stores `call`; returns when it would survive a power failure.
    pub fn put(&self, id: &RequestId, call: &DeferredCall) -> Result<(), DeferredCallError> {
        let form = Form {
            version: VERSION,
            request: call.request.clone(),
            asked_at: clock::rfc3339(call.asked),
            state: match call.state.clone() {
                DeferredState::Deferred { until } => {
                    StateForm::Deferred { expires_at: until.map(clock::rfc3339) }
                }
                DeferredState::Answered(answer) => StateForm::Answered { answer },
                DeferredState::Given { answer, hook } => StateForm::Given { answer, hook },
            },
        };
        let path = self.path(id);
        let failed = |source| DeferredCallError { action: "write", path: path.clone(), source };
        let mut text = serde_json::to_vec_pretty(&form).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        atomic::create_private_subfolder(&self.0).map_err(failed)?;
        atomic::write(&path, &text).map_err(failed)
    }

    /// Removes the call, if it is there.
    pub fn remove(&self, id: &RequestId) -> Result<(), DeferredCallError> {
        let path = self.path(id);
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(DeferredCallError { action: "remove", path, source })
            }
            _ => Ok(()),
        }
    }

    /// Whether the call is there.
    #[must_use]
    pub fn has(&self, id: &RequestId) -> bool {
        self.path(id).exists()
    }

    /// Returns all deferred calls. Ignores files of other programs; calls `wrong` for each file that is not readable.
    pub fn all(&self, mut wrong: impl FnMut(DeferredCallError)) -> Vec<(RequestId, DeferredCall)> {
        let mut all = Vec::new();
        let entries = match std::fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(source) => {
                if source.kind() != io::ErrorKind::NotFound {
                    wrong(DeferredCallError { action: "read", path: self.0.clone(), source });
                }
                return all;
            }
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_name().and_then(|name| name.to_str());
            let id = name.and_then(|name| RequestId::parse(name.strip_suffix(".json")?).ok());
            let Some(id) = id else { continue };
            match read(&path) {
                Ok(call) => all.push((id, call)),
                Err(source) => wrong(DeferredCallError { action: "read", path, source }),
            }
        }
        all
    }

    fn path(&self, id: &RequestId) -> PathBuf {
        self.0.join(format!("{id}.json"))
    }
}

fn read(path: &Path) -> io::Result<DeferredCall> {
    let invalid = |error: String| io::Error::new(io::ErrorKind::InvalidData, error);
    let text = file::read_regular(path)?.ok_or(io::ErrorKind::NotFound)?;
    let form: Form = serde_json::from_slice(&text)?;
    if form.version != VERSION {
        return Err(invalid(format!("unsupported version {}; expected {VERSION}", form.version)));
    }
    let time = |text: &str| text.parse::<Timestamp>().map_err(|error| invalid(error.to_string()));
    let state = match form.state {
        StateForm::Deferred { expires_at } => {
            DeferredState::Deferred { until: expires_at.as_deref().map(time).transpose()? }
        }
        StateForm::Answered { answer } => DeferredState::Answered(answer),
        StateForm::Given { answer, hook } => DeferredState::Given { answer, hook },
    };
    Ok(DeferredCall { request: form.request, asked: time(&form.asked_at)?, state })
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_core::permit::decision::{DecidedBy, DecisionKind};
    use murmur_core::permit::request::Approver;

    const NOW: Timestamp = Timestamp::constant(1_767_225_600, 0);

    #[test]
    fn a_deferred_call_round_trips() {
        let top = tempfile::tempdir().unwrap();
        let folder = Folder::new(top.path().join("approvals"));
        let request = Request {
            agent: "site-1".to_owned(),
            session: Some(murmur_core::id::SessionId::new("s")),
            tool_use_id: "t1".to_owned(),
            tool: "Bash".to_owned(),
            input: serde_json::json!({ "command": "git push" }),
            cwd: "/w".into(),
            workspace: "/w".into(),
            project: "site".to_owned(),
            whom: Approver::Person,
            doubt: Some("why".to_owned()),
            wait: Some(120),
            defer: true,
            expiry: Some(60),
            beat: None,
            again: false,
            asked_at: None,
            hook: "h1".to_owned(),
        };
        let id = request.id(0);
        let answer = Answer {
            decision: DecisionKind::Allow,
            reason: None,
            answers: None,
            by: DecidedBy::Person,
            id: id.clone(),
            answered_by: None,
        };
        for state in [
            DeferredState::Deferred { until: Some(NOW) },
            DeferredState::Deferred { until: None },
            DeferredState::Answered(answer.clone()),
            DeferredState::Given { answer: answer.clone(), hook: "h1".to_owned() },
        ] {
            let call = DeferredCall { request: request.clone(), asked: NOW, state };
            folder.put(&id, &call).unwrap();
            assert_eq!(folder.all(|error| panic!("{error}")), [(id.clone(), call)]);
        }
        folder.remove(&id).unwrap();
        folder.remove(&id).unwrap();
        assert!(folder.all(|error| panic!("{error}")).is_empty());
    }

    #[test]
    fn a_file_of_an_earlier_version_is_read() {
        let top = tempfile::tempdir().unwrap();
        let folder = Folder::new(top.path().to_path_buf());
        let text = r#"{"version":1,"request":{"agent":"site-1","session":"s","tool_use_id":"t1","tool":"Bash",
            "input":{},"cwd":"/w","workspace":"/w","project":"site","whom":"person","asked_at":"2026-01-01T00:00:00Z",
            "hook":"h1"},"askedAt":"2026-01-01T00:00:00Z","standing":"answered","answer":{"verdict":"allow",
            "by":{"kind":"person"},"id":"00000000","answered_by":{"pid":7}}}"#;
        std::fs::write(top.path().join("00000000.json"), text).unwrap();
        let (_, call) = folder.all(|error| panic!("{error}")).remove(0);
        assert_eq!((&*call.request.tool_use_id, call.request.asked(NOW)), ("t1", NOW));
        let DeferredState::Answered(answer) = call.state else { panic!("{:?}", call.state) };
        assert_eq!(answer.answered_by.map(|process| process.pid), Some(7));
    }

    #[test]
    fn a_file_that_is_not_readable_is_reported_and_kept() {
        let top = tempfile::tempdir().unwrap();
        std::fs::write(top.path().join("00000000.json"), "{").unwrap();
        std::fs::write(top.path().join("notes.txt"), "mine").unwrap();
        let mut wrong = Vec::new();
        let all = Folder::new(top.path().to_path_buf()).all(|error| wrong.push(error.to_string()));
        assert!(all.is_empty());
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].contains("00000000.json"), "{wrong:?}");
        assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 2);
    }
}
