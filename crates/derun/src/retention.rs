//! Removing sessions whose time is over (spec 4, "Retention contract").
//!
//! A session expires its own `retention_seconds` after its end. One without a readable `meta.json` expires the
//! sweep's default after the newest change in it. One that is being written is never touched.

use super::log::{CleanupReason, CleanupResult, Event, Log};
use super::record::{State, file};
use super::session::Session;
use super::store::Store;
use jiff::{SignedDuration, Timestamp};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::time::Duration;
use sys::clock;
use sys::folder::Folder;
use sys::lock::{self, Lock};

/// How often sessions are swept: by `derun mcp`, and at most by `derun run`.
pub const INTERVAL: Duration = Duration::from_secs(10 * 60);

/// The file whose lock a sweep holds. Its age says when the last one came to its end; its name beside, [`NEXT`],
/// says when a session expires next.
const SWEPT: &str = "swept";

/// The file that has the second, since 1970, at which the next session expires, as far as is known.
const NEXT: &str = "next-expiry";

/// The file that has how far a sweep came that was cut short: a session's name, and what [`NEXT`] would say of those
/// up to it.
const REACHED: &str = "sweep-reached";

/// After so many sessions it is written down how far a sweep is.
const STEP: usize = 64;

/// What a sweep saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many sessions it looked at.
    pub checked: usize,
    /// How many it removed.
    pub removed: usize,
    /// When the first of those that stay expires, in seconds since 1970.
    pub next: Option<i64>,
}

/// The right to sweep.
#[derive(Debug)]
pub struct Turn {
    root: Folder,
    /// The time of its file is that of the last sweep that came to its end.
    lock: Lock,
}

/// Takes the right to sweep, if nobody sweeps now, and a session has expired or the last sweep ended [`INTERVAL`] ago.
#[must_use]
pub fn turn(store: &Store, now: Timestamp) -> Option<Turn> {
    let root = Folder::open(store.root()).ok()?;
    let is_old = match root.look(SWEPT) {
        // A clock that was set back must not put it off for long.
        Ok(seen) => now.as_second().abs_diff(seen.modified) >= INTERVAL.as_secs(),
        Err(_) => true,
    };
    if !is_old && next_expiry(&root).is_none_or(|next| next > now.as_second()) {
        return None;
    }
    let is_first = root.look(SWEPT).is_err();
    let file = root.append_file(SWEPT).ok()?;
    let lock = lock::try_take(file).ok()??;
    if is_first {
        // No sweep has come to its end yet.
        lock.file().set_modified(std::time::UNIX_EPOCH).ok()?;
    }
    Some(Turn { root, lock })
}

/// The second at which the next session expires, as far as somebody wrote it down.
fn next_expiry(root: &Folder) -> Option<i64> {
    let mut text = String::new();
    root.open_file(NEXT).ok()?.take(32).read_to_string(&mut text).ok()?;
    text.trim_end().parse().ok()
}

/// Sees to it that a session that ended `now` is swept when `retention` is over, and not only with the next sweep.
pub fn expect(store: &Store, retention: Duration, now: Timestamp) {
    let expires = now.as_second().saturating_add(i64::try_from(retention.as_secs()).unwrap_or(i64::MAX));
    let Ok(root) = Folder::open(store.root()) else { return };
    if next_expiry(&root).is_none_or(|next| expires < next) {
        // A hint: without it, the session goes with a later sweep.
        let _later = root.write(NEXT, format!("{expires}\n").as_bytes(), false);
    }
}

/// Looks at every session and removes those whose time is over, until `go_on` says to stop. `default` stands in
/// where a session does not say how long it is kept.
///
/// # Errors
/// What the system says of listing them; trouble with one is logged and stops nothing.
pub fn sweep(
    store: &Store,
    default: Duration,
    now: Timestamp,
    log: &mut Log,
    go_on: impl FnMut() -> ControlFlow<()>,
) -> io::Result<Swept> {
    let mut names = store.sessions().names()?;
    names.sort_unstable();
    Ok(sweep_these(&names, store, default, now, log, go_on))
}

fn sweep_these(
    names: &[OsString],
    store: &Store,
    default: Duration,
    now: Timestamp,
    log: &mut Log,
    mut go_on: impl FnMut() -> ControlFlow<()>,
) -> Swept {
    let mut swept = Swept::default();
    for name in names {
        if go_on().is_break() {
            break;
        }
        if !store.sessions().look(name).is_ok_and(|seen| seen.is_folder) {
            continue;
        }
        let verdict = judge(store, name, default, now);
        let (cleanup_result, cleanup_reason, error) = match verdict {
            Verdict::Keep(reason, until) => {
                swept.next = [swept.next, until].into_iter().flatten().min();
                (CleanupResult::Skipped, reason, None)
            }
            Verdict::Unknown(error) => {
                (CleanupResult::Error, CleanupReason::UnreadableStatError, Some(error.to_string()))
            }
            Verdict::Remove(reason) => match remove(store, name, reason, now) {
                Ok(true) => (CleanupResult::Removed, reason, None),
                Ok(false) => (CleanupResult::Skipped, CleanupReason::ActiveSession, None),
                Err(error) => (CleanupResult::Error, CleanupReason::RemoveError, Some(error.to_string())),
            },
        };
        swept.checked += 1;
        swept.removed += usize::from(cleanup_result == CleanupResult::Removed);
        let session_id = &*name.to_string_lossy();
        log.note(&Event::CleanupResult { session_id, cleanup_result, cleanup_reason, error });
    }
    swept
}

/// Sweeps to the end, and writes down that and when it did. One that is cut short is due again at once, and goes on
/// where it was. `is_long` is told first if there are so many sessions left that nobody should wait for the end.
pub fn sweep_all(store: &Store, turn: &Turn, is_long: impl FnOnce()) {
    let now = clock::now();
    let Ok(mut names) = store.sessions().names() else { return };
    names.sort_unstable();
    let (mut reached, mut next) = turn.reached();
    let begin = names.partition_point(|name| *name <= reached);
    if names.len() - begin > LONG {
        is_long();
    }
    let mut log = Log::open(store.root());
    for names in names[begin..].chunks(STEP) {
        let go_on = || ControlFlow::Continue(());
        let swept = sweep_these(names, store, super::store::DEFAULT_RETENTION, now, &mut log, go_on);
        next = [next, swept.next].into_iter().flatten().min();
        if let Some(last) = names.last() {
            reached.clone_from(last);
            turn.note(&reached, next);
        }
    }
    turn.end(next.unwrap_or(i64::MAX), now);
}

/// A sweep of more sessions than this takes longer than the end of a command should.
const LONG: usize = 256;

impl Turn {
    /// Behind which name the last sweep was cut short, and what it knew of the next expiry.
    fn reached(&self) -> (OsString, Option<i64>) {
        let mut text = String::new();
        let read = self.root.open_file(REACHED).and_then(|file| file.take(4096).read_to_string(&mut text));
        match text.split_once('\n') {
            Some((next, name)) if read.is_ok() => (name.trim_end_matches('\n').into(), next.parse().ok()),
            _ => (OsString::new(), None),
        }
    }

    /// Writes down how far it is. A name that is no text is not written down: what is before it is looked at again.
    fn note(&self, reached: &OsStr, next: Option<i64>) {
        if let Some(name) = reached.to_str() {
            let next = next.map(|next| next.to_string()).unwrap_or_default();
            let _from_the_beginning_then =
                self.root.write(REACHED, format!("{next}\n{name}\n").as_bytes(), false);
        }
    }

    /// Writes down that it came to the end.
    fn end(&self, next: i64, now: Timestamp) {
        let _gone = self.root.remove_file(REACHED);
        let written = self.root.write(NEXT, format!("{next}\n").as_bytes(), false);
        let _due_again = written.and_then(|()| self.lock.file().set_modified(now.into()));
    }
}

/// Sweeps to the end, if it is time for it.
pub fn sweep_if_due(store: &Store) {
    if let Some(turn) = turn(store, clock::now()) {
        sweep_all(store, &turn, || ());
    }
}

enum Verdict {
    /// It stays, until this second if that is known.
    Keep(CleanupReason, Option<i64>),
    Remove(CleanupReason),
    Unknown(io::Error),
}

fn judge(store: &Store, name: &OsStr, default: Duration, now: Timestamp) -> Verdict {
    match session(store, name).map(|session| session.status(now)) {
        Some(Ok(status)) if status.state.is_active() => Verdict::Keep(CleanupReason::ActiveSession, None),
        Some(Ok(status)) if status.state == State::Expired => Verdict::Remove(CleanupReason::Expired),
        Some(Ok(status)) => {
            let until = status.expires_at.map(Timestamp::as_second);
            Verdict::Keep(CleanupReason::NotExpired, until)
        }
        Some(Err(_)) | None => match last_touched(store, name) {
            Err(error) => Verdict::Unknown(error),
            Ok(touched) => {
                let kept = SignedDuration::try_from(default).unwrap_or(SignedDuration::MAX);
                let expires = Timestamp::from_second(touched).and_then(|touched| touched.checked_add(kept));
                match expires {
                    Ok(expires) if expires <= now => Verdict::Remove(CleanupReason::UnreadableExpired),
                    expires => {
                        let until = expires.ok().map(Timestamp::as_second);
                        Verdict::Keep(CleanupReason::UnreadableNotExpired, until)
                    }
                }
            }
        },
    }
}

fn session(store: &Store, name: &OsStr) -> Option<Session> {
    name.to_str().and_then(|id| store.session(id).ok())
}

/// When the folder or something directly in it was last changed, in seconds since 1970.
fn last_touched(store: &Store, name: &OsStr) -> io::Result<i64> {
    let folder = store.sessions().open_folder(name)?;
    let mut newest = folder.look_at_itself()?.modified;
    for child in folder.names()? {
        newest = newest.max(folder.look(&child)?.modified);
    }
    Ok(newest)
}

/// Removes a session, or says by `false` that somebody writes it after all.
///
/// `final.json` and `meta.json` go after all else that can be read, so that a removal that fails or is cut short leaves
/// a session that is over, and is taken up again. The lock goes last: whoever makes a session here meanwhile finds
/// that it is held, or that it is gone.
fn remove(store: &Store, name: &OsStr, why: CleanupReason, now: Timestamp) -> io::Result<bool> {
    let folder = store.sessions().open_folder(name)?;
    let _lock = match folder.append_file(file::LOCK) {
        Ok(file) => match lock::try_take(file)? {
            None => return Ok(false),
            held => held,
        },
        // Where something else is in its place, nobody can make a session.
        Err(_) => None,
    };
    // One that could not be read may have been made anew before the lock was ours.
    let became_readable = || session(store, name).is_some_and(|session| session.status(now).is_ok());
    if why == CleanupReason::UnreadableExpired && became_readable() {
        return Ok(false);
    }
    let last = [file::FINAL, file::META, file::LOCK];
    for child in folder.names()?.iter().filter(|child| !last.iter().any(|last| child == last)) {
        remove_all(&folder, child, DEEPEST)?;
    }
    for child in last {
        match remove_all(&folder, OsStr::new(child), DEEPEST) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    // A Windows of some age has a name stay for as long as what had it is open.
    #[cfg(windows)]
    drop((_lock, folder));
    store.sessions().remove_folder(name)?;
    Ok(true)
}

/// Folders in a session are removed if they stand no deeper in each other than this.
const DEEPEST: usize = 64;

/// Removes whatever is under `name`, with all that is in it. Nothing is followed.
fn remove_all(folder: &Folder, name: &OsStr, deepest: usize) -> io::Result<()> {
    if !folder.look(name)?.is_folder {
        return folder.remove_file(name);
    }
    let Some(deepest) = deepest.checked_sub(1) else {
        return Err(io::Error::other("folders stand too deep in it"));
    };
    let inner = folder.open_folder(name)?;
    for child in inner.names()? {
        remove_all(&inner, &child, deepest)?;
    }
    drop(inner);
    folder.remove_folder(name)
}
