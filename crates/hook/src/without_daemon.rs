//! Decides on a request whose time is up while no daemon runs, as the daemon would have done: defers the call if
//! that is allowed and a daemon would resume its beat, and otherwise reports that nobody answered.

use super::ask::{AskOutcome, OUTCOME_TIMEOUT, WaitDeadlines};
use super::context::HookContext;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use murmur_core::config::cron::Crons;
use murmur_core::config::file::File;
use murmur_core::config::heartbeat;
use murmur_core::permit::request::{Request, RequestId};
use murmur_store::journal::deferred::{DeferredCall, DeferredState, Folder};
use std::fs;
use std::time::Instant;
use sys::file::open_regular;
use sys::paths::DataDir;
use sys::{clock, lock};

/// A request that waits for the daemon to come back.
#[derive(Debug)]
pub(super) struct WithoutDaemon<'a> {
    request: &'a Request,
    context: &'a HookContext,
    /// Whether it has tried to defer the call at the end of the hold.
    was_held: bool,
    /// The deferred call.
    deferred: Option<Deferred>,
}

/// A deferred call.
#[derive(Debug)]
struct Deferred {
    id: RequestId,
    /// Until when to wait for a daemon that is just starting.
    until: Instant,
}

/// The outcome so far.
#[derive(Debug)]
pub(super) enum Unattended {
    /// The request is decided.
    Decided(AskOutcome),
    /// Nothing to do before then.
    Waits(Instant),
}

impl<'a> WithoutDaemon<'a> {
    pub(super) fn new(request: &'a Request, context: &'a HookContext) -> Self {
        Self { request, context, was_held: false, deferred: None }
    }

    /// Returns the outcome so far; `may_defer` tells whether the call may be deferred.
    pub(super) fn check(&mut self, deadlines: WaitDeadlines, may_defer: &impl Fn() -> bool) -> Unattended {
        let now = Instant::now();
        if self.deferred.is_none()
            && now >= deadlines.defer_at
            && (now >= deadlines.ends_at || !self.was_held)
        {
            self.was_held = true;
            if may_defer() {
                let id = defer(self.request, self.context);
                self.deferred = id.map(|id| Deferred { id, until: now + OUTCOME_TIMEOUT });
            }
        }
        match &self.deferred {
            // A daemon that is starting may have read the deferred calls before this one was written; ask it once it
            // listens.
            Some(Deferred { until, .. }) if now < *until && is_daemon_there(&self.context.dir) => {
                Unattended::Waits(*until)
            }
            Some(Deferred { id, .. }) => Unattended::Decided(AskOutcome::Deferred(id.clone())),
            None if now >= deadlines.ends_at => Unattended::Decided(AskOutcome::Expired(self.request.id(0))),
            None if self.was_held => Unattended::Waits(deadlines.ends_at),
            None => Unattended::Waits(deadlines.defer_at),
        }
    }
}

/// Defers the call of `request` for the next daemon; `None` if that is not possible.
fn defer(request: &Request, context: &HookContext) -> Option<RequestId> {
    if !is_resumed(request, &context.dir) {
        return None;
    }
    let (id, now) = (request.id(0), clock::now());
    let after = |seconds: u32| now.checked_add(SignedDuration::from_secs(seconds.into()));
    let until = request.expiry.map(|expiry| after(expiry).unwrap_or(Timestamp::MAX));
    let call = DeferredCall {
        request: request.clone(),
        asked: request.asked(now),
        state: DeferredState::Deferred { until },
    };
    Folder::new(context.dir.approvals()).put(&id, &call).ok()?;
    Some(id)
}

/// Whether a daemon would resume the beat. It resumes no beat of a workspace that is not registered.
fn is_resumed(request: &Request, dir: &DataDir) -> bool {
    let name = request.beat.as_ref().and_then(|beat| beat.heartbeat.as_deref());
    // The schedule does not matter here.
    let crons = Crons::new(TimeZone::UTC);
    let Ok(file) = File::read(&dir.config(), &crons) else { return false };
    let known = heartbeat::resolve_registered(&file, &request.workspace, &crons).unwrap_or_default();
    known.iter().any(|heartbeat| heartbeat.name.as_deref() == name)
}

/// Whether a daemon runs or is starting. One that is starting may have read the deferred calls, and not listen yet.
fn is_daemon_there(dir: &DataDir) -> bool {
    let file = open_regular(&dir.pid(), fs::File::options().read(true));
    file.and_then(|file| lock::is_held(&file)).unwrap_or(false)
}
