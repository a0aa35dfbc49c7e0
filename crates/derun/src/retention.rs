//! Removes expired sessions (spec 4, "Retention contract").
//!
//! A session expires its own `retention_seconds` after its end; without a readable `meta.json`, the sweep's default
//! after its last change. A session that is being written is never removed, nor one of a group: see
//! [`unpacked`](super::unpacked).

#[cfg(unix)]
use super::draft;
#[cfg(unix)]
use super::id::SessionId;
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

/// The sweep interval of `derun mcp`, and the minimum interval for `derun run`.
pub const INTERVAL: Duration = Duration::from_secs(10 * 60);

/// The lock file of a sweep. Its age tells when the last sweep finished; [`NEXT`] tells when a session expires next.
const SWEPT: &str = "swept";

/// The file with the time, in seconds since 1970, when the next session expires, as far as known.
const NEXT: &str = "next-expiry";

/// The file with the progress of an interrupted sweep: a session's name, and the value of [`NEXT`] for sessions up to
/// it.
const REACHED: &str = "sweep-reached";

/// How many sessions to sweep between progress updates.
const STEP: usize = 64;

/// The result of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// The number of sessions checked.
    pub checked: usize,
    /// The number of sessions removed.
    pub removed: usize,
    /// When the first of the remaining sessions expires, in seconds since 1970.
    pub next: Option<i64>,
}

/// The exclusive right to sweep.
#[derive(Debug)]
pub struct SweepLock {
    root: Folder,
    /// The lock file, whose modification time is that of the last finished sweep.
    lock: Lock,
}

/// Acquires the right to sweep, if no other sweep is running, and a session has expired or the last sweep ended
/// [`INTERVAL`] ago.
#[must_use]
pub fn lock_sweep(store: &Store, now: Timestamp) -> Option<SweepLock> {
    let root = Folder::open(store.root()).ok()?;
    let is_old = match root.look(SWEPT) {
        // A clock that was set back must not delay it for long.
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
        // No sweep has finished yet.
        lock.file().set_modified(std::time::UNIX_EPOCH).ok()?;
    }
    Some(SweepLock { root, lock })
}

/// The recorded time of the next expiry, in seconds.
fn next_expiry(root: &Folder) -> Option<i64> {
    let mut text = String::new();
    root.open_file(NEXT).ok()?.take(32).read_to_string(&mut text).ok()?;
    text.trim_end().parse().ok()
}

/// Schedules a sweep for a session that ended `now`, when `retention` is over.
pub fn expect(store: &Store, retention: Duration, now: Timestamp) {
    let expires = now.as_second().saturating_add(i64::try_from(retention.as_secs()).unwrap_or(i64::MAX));
    let Ok(root) = Folder::open(store.root()) else { return };
    if next_expiry(&root).is_none_or(|next| expires < next) {
        // Best effort: otherwise a later sweep removes the session.
        let _later = root.write(NEXT, format!("{expires}\n").as_bytes(), false);
    }
}

/// Checks every session and removes expired ones, until `go_on` returns false. `default` is the retention of sessions
/// that don't specify theirs.
///
/// # Errors
/// If sessions cannot be listed; an error of a single session is only logged.
pub fn sweep(
    store: &Store,
    default: Duration,
    now: Timestamp,
    log: &mut Log,
    go_on: impl FnMut() -> ControlFlow<()>,
) -> io::Result<Swept> {
    let mut names = names(store)?;
    names.sort_unstable();
    Ok(sweep_these(&names, store, default, now, log, go_on))
}

/// The sessions that [`sweep`] would remove.
pub fn expired(store: &Store, default: Duration, now: Timestamp) -> io::Result<Vec<OsString>> {
    let mut names = names(store)?;
    names.retain(|name| matches!(decide_sweep(store, name, default, now), SweepDecision::Remove(_)));
    names.sort_unstable();
    Ok(names)
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
        // It may be gone by now.
        if !is_unpacked(store, name) {
            continue;
        }
        let decision = decide_sweep(store, name, default, now);
        let (cleanup_result, cleanup_reason, error) = match decision {
            SweepDecision::Keep(reason, until) => {
                swept.next = [swept.next, until].into_iter().flatten().min();
                (CleanupResult::Skipped, reason, None)
            }
            SweepDecision::Unknown(error) => {
                (CleanupResult::Error, CleanupReason::UnreadableStatError, Some(error.to_string()))
            }
            SweepDecision::Remove(reason) => match remove(store, name, reason, now) {
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

/// Sweeps to the end and records that. An interrupted sweep is due again at once, and continues where it stopped.
/// `is_long` is called first if many sessions remain, so that the caller needn't wait.
pub fn sweep_all(store: &Store, sweep_lock: &SweepLock, is_long: impl FnOnce()) {
    let now = clock::now();
    let Ok(mut names) = names(store) else { return };
    names.sort_unstable();
    let (mut reached, mut next) = sweep_lock.reached();
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
            sweep_lock.note(&reached, next);
        }
    }
    sweep_lock.end(next.unwrap_or(i64::MAX), now);
}

/// A sweep of more sessions takes longer than the exit of a command should.
const LONG: usize = 256;

impl SweepLock {
    /// Where the last sweep was interrupted, and the next expiry known then.
    fn reached(&self) -> (OsString, Option<i64>) {
        let mut text = String::new();
        let read = self.root.open_file(REACHED).and_then(|file| file.take(4096).read_to_string(&mut text));
        match text.split_once('\n') {
            Some((next, name)) if read.is_ok() => (name.trim_end_matches('\n').into(), next.parse().ok()),
            _ => (OsString::new(), None),
        }
    }

    /// Records the progress. A name that is not text is not recorded, so sessions before it are checked again.
    fn note(&self, reached: &OsStr, next: Option<i64>) {
        if let Some(name) = reached.to_str() {
            let next = next.map(|next| next.to_string()).unwrap_or_default();
            let _from_the_beginning_then =
                self.root.write(REACHED, format!("{next}\n{name}\n").as_bytes(), false);
        }
    }

    /// Records that the sweep finished.
    fn end(&self, next: i64, now: Timestamp) {
        let _gone = self.root.remove_file(REACHED);
        let written = self.root.write(NEXT, format!("{next}\n").as_bytes(), false);
        let _due_again = written.and_then(|()| self.lock.file().set_modified(now.into()));
    }
}

/// Sweeps to the end, if a sweep is due.
pub fn sweep_if_due(store: &Store) {
    if let Some(sweep_lock) = lock_sweep(store, clock::now()) {
        sweep_all(store, &sweep_lock, || ());
    }
}

enum SweepDecision {
    /// It stays, until this time in seconds, if known.
    Keep(CleanupReason, Option<i64>),
    Remove(CleanupReason),
    Unknown(io::Error),
}

fn decide_sweep(store: &Store, name: &OsStr, default: Duration, now: Timestamp) -> SweepDecision {
    let found = session(store, name);
    let is_in_group = found.as_ref().is_some_and(|session| session.meta().group.is_some());
    match found.map(|session| session.status(now)) {
        Some(Ok(status)) if status.state.is_active() => {
            SweepDecision::Keep(CleanupReason::ActiveSession, None)
        }
        Some(Ok(_)) if is_in_group => SweepDecision::Keep(CleanupReason::NotExpired, None),
        Some(Ok(status)) if status.state == State::Expired => SweepDecision::Remove(CleanupReason::Expired),
        Some(Ok(status)) => {
            let until = status.expires_at.map(Timestamp::as_second);
            SweepDecision::Keep(CleanupReason::NotExpired, until)
        }
        Some(Err(_)) | None => match last_touched(store, name) {
            Err(error) => SweepDecision::Unknown(error),
            Ok(touched) => {
                let kept = SignedDuration::try_from(default).unwrap_or(SignedDuration::MAX);
                let expires = Timestamp::from_second(touched).and_then(|touched| touched.checked_add(kept));
                match expires {
                    Ok(expires) if expires <= now => SweepDecision::Remove(CleanupReason::UnreadableExpired),
                    expires => {
                        let until = expires.ok().map(Timestamp::as_second);
                        SweepDecision::Keep(CleanupReason::UnreadableNotExpired, until)
                    }
                }
            }
        },
    }
}

fn session(store: &Store, name: &OsStr) -> Option<Session> {
    #[cfg(unix)]
    if let Some(id) = draft::id_of(name) {
        return store.session(id.as_str()).ok();
    }
    name.to_str().and_then(|id| store.session(id).ok())
}

/// The names of folders and drafts, in no particular order.
fn names(store: &Store) -> io::Result<Vec<OsString>> {
    #[cfg(unix)]
    let is_draft = |name: &OsStr| draft::id_of(name).is_some();
    #[cfg(windows)]
    let is_draft = |_: &OsStr| false;
    store.sessions().folders_and_files(is_draft)
}

/// Whether `name` is the folder or draft of a session.
fn is_unpacked(store: &Store, name: &OsStr) -> bool {
    let seen = store.sessions().look(name);
    #[cfg(unix)]
    if draft::id_of(name).is_some() {
        return seen.is_ok_and(|seen| !seen.is_folder);
    }
    seen.is_ok_and(|seen| seen.is_folder)
}

/// When the folder or a file directly in it was last changed, in seconds since 1970.
fn last_touched(store: &Store, name: &OsStr) -> io::Result<i64> {
    #[cfg(unix)]
    if draft::id_of(name).is_some() {
        return Ok(store.sessions().look(name)?.modified);
    }
    let folder = store.sessions().open_folder(name)?;
    let mut newest = folder.look_at_itself()?.modified;
    for child in folder.names()? {
        newest = newest.max(folder.look(&child)?.modified);
    }
    Ok(newest)
}

/// Removes the session `id`, whether it has expired or not; returns `false` if it is being written.
#[cfg(unix)]
pub(crate) fn discard(store: &Store, id: &SessionId, now: Timestamp) -> io::Result<bool> {
    let draft = draft::name(id);
    let name = if store.sessions().look(&draft).is_ok() { &draft } else { id.as_str() };
    remove(store, OsStr::new(name), CleanupReason::Expired, now)
}

/// Removes a session; returns `false` if it is being written after all.
///
/// `final.json` and `meta.json` are removed after all other readable files, so that a failed or interrupted removal
/// leaves an ended session, which a later sweep removes. The lock is removed last: a process that creates this
/// session meanwhile finds it locked or gone.
fn remove(store: &Store, name: &OsStr, why: CleanupReason, now: Timestamp) -> io::Result<bool> {
    #[cfg(unix)]
    if let Some(id) = draft::id_of(name) {
        let (file, _) = draft::open(store.sessions(), &id)?;
        let Some(_lock) = lock::try_take(file)? else { return Ok(false) };
        return store.sessions().remove_file(name).map(|()| true);
    }
    let folder = store.sessions().open_folder(name)?;
    let _lock = match folder.append_file(file::LOCK) {
        Ok(file) => match lock::try_take(file)? {
            None => return Ok(false),
            held => held,
        },
        // If something else is in its place, no session can be created there.
        Err(_) => None,
    };
    // It may have been created again before we had the lock.
    let became_readable = || session(store, name).is_some_and(|session| session.status(now).is_ok());
    if why == CleanupReason::UnreadableExpired && became_readable() {
        return Ok(false);
    }
    let last = [file::FINAL, file::META, file::LOCK];
    for child in folder.names()?.iter().filter(|child| !last.iter().any(|last| child == last)) {
        remove_all(&folder, child, MAX_DEPTH)?;
    }
    for child in last {
        match remove_all(&folder, OsStr::new(child), MAX_DEPTH) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    // Older versions of Windows keep the name while the file is open.
    #[cfg(windows)]
    drop((_lock, folder));
    store.sessions().remove_folder(name)?;
    Ok(true)
}

/// The maximum depth of folders in a session for removal.
const MAX_DEPTH: usize = 64;

/// Removes `name` recursively, without following symlinks.
fn remove_all(folder: &Folder, name: &OsStr, deepest: usize) -> io::Result<()> {
    if !folder.look(name)?.is_folder {
        return folder.remove_file(name);
    }
    let Some(deepest) = deepest.checked_sub(1) else {
        return Err(io::Error::other("its folders are nested too deeply"));
    };
    let inner = folder.open_folder(name)?;
    for child in inner.names()? {
        remove_all(&inner, &child, deepest)?;
    }
    drop(inner);
    folder.remove_folder(name)
}
