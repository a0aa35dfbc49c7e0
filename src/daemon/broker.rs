//! The broker: the requests and questions that wait for a person or a model, and their answers.
//!
//! [`requests`] is the pure state, [`hook_connection`] serves one hook, and [`model`] asks a model, without the loop.
//! The broker, owned by the daemon's loop, keeps deferred calls on disk and collects events.

mod always;
mod answer_content;
pub mod body;
mod capacity;
pub mod hook_connection;
mod messages;
pub mod model;
pub mod requests;
mod waiting;

use super::heartbeats::DeferredBeat;
use answer_content::{answer, unreadable};
use body::Body;
use jiff::{SignedDuration, Timestamp};
use murmur_core::id::AgentId;
use murmur_core::permit::decision::{DecidedBy, DecisionKind};
use murmur_core::permit::request::{Answer, Answerer, Approver, Request, RequestId};
use murmur_core::permit::rules::Action;
use murmur_store::journal::decisions;
use murmur_store::journal::deferred::{self, DeferredCall, Folder};
use requests::{
    AnswerEffect, AnswerError, OpenRequest, OpenState, RequestEnd, Requests, SendResult, Timeout,
};
use std::path::PathBuf;
use sys::error::{Failure, Hinted};
use sys::paths::DataDir;
use tokio::sync::oneshot;

pub use messages::{
    AnswerCommand, AnswerContent, AnswerTo, BrokerCommand, Cursor, Page, RequestKind, RequestRow,
};
use messages::{AskedRequest, PAGE};

/// An event of the broker.
#[derive(Debug)]
pub enum BrokerEvent {
    /// A request was opened.
    Opened(Box<RequestRow>),
    /// A request was closed, and how.
    Closed(Box<RequestRow>, &'static str),
    /// Something went wrong.
    Error(Failure),
}

/// The broker.
#[derive(Debug)]
pub struct Broker {
    requests: Requests<AnswerTo>,
    dir: DataDir,
    home: PathBuf,
    folder: Folder,
    events: Vec<BrokerEvent>,
    /// When to retry denials that could not be written.
    retry_at: Option<Timestamp>,
}

/// How long to wait before retrying a failed write.
const RETRY: SignedDuration = SignedDuration::from_secs(60);

impl Broker {
    /// Loads the deferred requests in `dir`, except those for which `is_over` is true. `home` is the user's.
    #[must_use]
    pub fn load(dir: &DataDir, home: PathBuf, is_over: impl Fn(&RequestId) -> bool) -> Self {
        let folder = Folder::new(dir.approvals());
        let mut broker = Self {
            requests: Requests::default(),
            dir: dir.clone(),
            home,
            folder,
            events: Vec::new(),
            retry_at: None,
        };
        let mut events = Vec::new();
        for (id, call) in broker.folder.all(|error| events.push(BrokerEvent::Error(Failure::of(&error)))) {
            let answered = !matches!(call.state, deferred::DeferredState::Deferred { .. });
            if answered && is_over(&id) {
                let error = broker.folder.remove(&id).err();
                events.extend(error.map(|error| BrokerEvent::Error(Failure::of(&error))));
            } else {
                let input = Body::on_disk(&call.request.input, dir.root());
                broker.requests.restore(id, call, input);
            }
        }
        broker.events = events;
        broker
    }

    /// Executes a command.
    pub fn handle(&mut self, command: BrokerCommand, now: Timestamp) {
        match command {
            BrokerCommand::Ask(request, sender, to) => self.ask(*request, sender, to, now),
            BrokerCommand::TimedOut { id, hook, may_defer, waits, to } => {
                let late = self.late(&id, &hook, may_defer, waits, now);
                // A disconnected hook is handled when its connection closes.
                let _gone = to.send(late);
            }
            BrokerCommand::Disconnected { id, hook } => {
                let row = self.row(&id);
                let request = self.asked(&id);
                if self.requests.disconnect(&id, &hook) {
                    self.close(row, "gone");
                    self.record(&id, request, decisions::WITHDRAWN, now);
                }
            }
            BrokerCommand::List(after, to) => {
                let _gone = to.send(self.page(after));
            }
            BrokerCommand::Respond(response, to) => {
                let _gone = to.send(self.respond(response));
            }
        }
    }

    fn ask(&mut self, request: Request, sender: AnswerTo, to: oneshot::Sender<RequestId>, now: Timestamp) {
        let is_shown = request.whom == Approver::Person;
        // A known request already counts toward the limits.
        let is_known = self.requests.is_known(&request);
        let refusal = if is_known { None } else { capacity::over_count(&self.requests, &request) };
        let input = match refusal {
            Some(reason) => Err(reason),
            None => {
                let input = Body::on_disk(&request.input, self.dir.root());
                let over = || capacity::over_memory(&self.requests, &request, &input);
                if is_known { None } else { over() }.map_or(Ok(input), Err)
            }
        };
        let input = match input {
            Ok(input) => input,
            Err(reason) => {
                let id = request.id(0);
                let _gone = to.send(id.clone());
                let _gone = sender.send(Answer {
                    decision: DecisionKind::Deny,
                    reason: Some(reason),
                    answers: None,
                    by: DecidedBy::Failure,
                    id,
                    answered_by: None,
                });
                return;
            }
        };
        match self.requests.ask(request, input, sender, now) {
            SendResult::Waiting(id) => {
                if is_shown && let Some(row) = self.row(&id) {
                    self.events.push(BrokerEvent::Opened(Box::new(row)));
                }
                self.sync(&id);
                let _gone = to.send(id);
            }
            SendResult::Answered(id, answer, sender) => {
                // An answer is delivered only once, so this is recorded first.
                let kept = self.sync(&id);
                let _gone = to.send(id.clone());
                let answer = match kept {
                    true => answer,
                    false => Answer {
                        decision: DecisionKind::Deny,
                        reason: Some("the answer could not be marked as given".to_owned()),
                        answers: None,
                        by: DecidedBy::Failure,
                        id,
                        answered_by: None,
                    },
                };
                let _gone = sender.send(answer);
            }
        }
    }

    fn late(&mut self, id: &RequestId, hook: &str, may_defer: bool, waits: bool, now: Timestamp) -> Timeout {
        let mut late = self.requests.timeout_outcome(id, may_defer, waits, now);
        let row = self.row(id);
        if let Timeout::Deferred(until) = late
            && let Some(open) = self.requests.get(id)
        {
            // On disk first: a call that cannot be stored cannot be deferred.
            let state = deferred::DeferredState::Deferred { until };
            let kept = match open.whole() {
                Ok(request) => {
                    let call = DeferredCall { request, asked: open.asked, state };
                    self.folder.put(id, &call).map_err(|error| Failure::of(&error))
                }
                Err(error) => Err(unreadable(id, &error)),
            };
            if let Err(error) = kept {
                self.events.push(BrokerEvent::Error(error));
                late = if waits { Timeout::Waits } else { Timeout::Expired };
            }
        }
        self.requests.apply_timeout(id, hook, &late);
        if late == Timeout::Expired && self.requests.get(id).is_none() {
            self.close(row, "expired");
        }
        late
    }

    fn respond(&mut self, command: AnswerCommand) -> Result<RequestRow, Failure> {
        let AnswerCommand { id, content, channel, input_sha256, answerer } = command;
        let request = self.requests.unanswered(&id).map_err(|error| error.failure())?;
        if request.whom == Approver::Model {
            return Err(AnswerError::Unknown(id).failure());
        }
        // A request that cannot be shown cannot be answered.
        let request = match self.requests.get(&id).map(OpenRequest::whole) {
            Some(request) => request.map_err(|error| unreadable(&id, &error))?,
            None => return Err(AnswerError::Unknown(id).failure()),
        };
        let shown = ::notify::tokens::hash(request.input.to_string().as_bytes());
        if input_sha256.is_some_and(|answered| answered != shown) {
            return Err(AnswerError::Changed(id).failure());
        }
        let answerer = answerer.map(|answerer| Answerer { channel, ..answerer });
        let rule = match content {
            AnswerContent::Decision { decision: DecisionKind::Allow, always: true, ref patterns, .. } => {
                Some((Action::Allow, patterns.clone()))
            }
            AnswerContent::Decision { decision: DecisionKind::Deny, always: true, ref patterns, .. } => {
                Some((Action::Deny, patterns.clone()))
            }
            _ => None,
        };
        let answer = Answer { answered_by: answerer, ..answer(&id, &request, content)? };
        // Before the answer: without the rule, the answer is not given either.
        if let Some((action, patterns)) = rule {
            always::add(&self.dir, &self.home, &request, action, patterns)?;
        }
        let row = self.row(&id).ok_or_else(|| AnswerError::Unknown(id.clone()).failure())?;
        self.answer_request(&id, answer)?;
        Ok(row)
    }

    /// Answers `id` with `answer`.
    fn answer_request(&mut self, id: &RequestId, answer: Answer) -> Result<(), Failure> {
        let row = self.row(id);
        let word = if answer.decision == DecisionKind::Allow { "allowed" } else { "denied" };
        let kept = self.requests.get(id).map(OpenRequest::deferred_call);
        if let Some(mut call) = kept.transpose().map_err(|error| unreadable(id, &error))?.flatten() {
            // On disk first, so that an accepted answer is not lost.
            call.state = deferred::DeferredState::Answered(answer.clone());
            self.folder.put(id, &call).map_err(|error| Failure::of(&error))?;
        }
        match self.requests.answer(id, answer.clone()).map_err(|error| error.failure())? {
            AnswerEffect::Notify(hooks) => {
                for sender in hooks {
                    let _gone = sender.send(answer.clone());
                }
            }
            AnswerEffect::Resume => {}
        }
        self.close(row, word);
        Ok(())
    }

    /// Denies requests that were not answered in time.
    pub fn expire(&mut self, now: Timestamp) {
        for id in self.requests.expired(now) {
            let reason =
                "nobody answered in time; continue without it, or say what you need and why".to_owned();
            let answer = Answer {
                decision: DecisionKind::Deny,
                reason: Some(reason),
                answers: None,
                by: DecidedBy::Nobody,
                id: id.clone(),
                answered_by: None,
            };
            let request = self.asked(&id);
            if let Err(error) = self.answer_request(&id, answer) {
                self.events.push(BrokerEvent::Error(error.failure()));
                self.retry_at = now.checked_add(RETRY).ok();
                return;
            }
            self.record(&id, request, "nobody answered in time", now);
        }
        self.retry_at = None;
    }

    /// Records an undecided call whose hook is no longer there to do so.
    fn record(&mut self, id: &RequestId, request: Option<AskedRequest>, reason: &str, now: Timestamp) {
        let Some(AskedRequest { request, asked }) = request else { return };
        let time = now.duration_since(asked).unsigned_abs();
        let unwritten = decisions::record_undecided(&self.dir, id, &request, reason, time).err();
        self.events.extend(unwritten.map(|error| BrokerEvent::Error(Failure::of(&error))));
    }

    /// The request `id`, with its input if readable, and when it was sent.
    fn asked(&self, id: &RequestId) -> Option<AskedRequest> {
        let open = self.requests.get(id)?;
        let request = open.whole().unwrap_or_else(|_| open.request.clone());
        Some(AskedRequest { request, asked: open.asked })
    }

    /// When [`Self::expire`] has something to do.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        let next = self.requests.next_expiry()?;
        Some(self.retry_at.map_or(next, |again| next.max(again)))
    }

    /// The beats that wait for an answer or to be resumed.
    #[must_use]
    pub fn beats(&self) -> Vec<DeferredBeat> {
        let beat = |(id, open): (&RequestId, &OpenRequest<AnswerTo>)| {
            let (is_answered, by_person) = match &open.state {
                OpenState::Deferred(deferred::DeferredState::Deferred { .. }) => (false, false),
                OpenState::Deferred(
                    deferred::DeferredState::Answered(answer) | deferred::DeferredState::Given { answer, .. },
                ) => (true, answer.by == DecidedBy::Person),
                OpenState::Waiting { .. } => return None,
            };
            let Request { agent, session, workspace, beat, .. } = open.request.clone();
            // Beats have valid ids; another agent cannot be resumed.
            let agent = AgentId::parse(&agent).ok()?;
            let name = beat.and_then(|beat| beat.heartbeat);
            Some(DeferredBeat { id: id.clone(), agent, session, workspace, name, is_answered, by_person })
        };
        self.requests.all().into_iter().filter_map(beat).collect()
    }

    /// The request `id`, without its input.
    #[must_use]
    pub fn request(&self, id: &RequestId) -> Option<&Request> {
        self.requests.get(id).map(|open| &open.request)
    }

    /// The beat that was resumed with the answer to `id` ended.
    pub fn beat_ended(&mut self, id: &RequestId) {
        self.requests.end(id, RequestEnd::Answered);
        if let Err(error) = self.folder.remove(id) {
            self.events.push(BrokerEvent::Error(Failure::of(&error)));
        }
    }

    /// All requests that wait for a person.
    #[must_use]
    pub fn rows(&self) -> Vec<RequestRow> {
        let rows = self.requests.all().into_iter().filter(|(_, open)| open.request.whom == Approver::Person);
        rows.map(|(id, open)| RequestRow::of(id, open)).collect()
    }

    /// The page of requests after the cursor.
    fn page(&self, after: Option<Cursor>) -> Page {
        let all = self.requests.all().into_iter().filter(|(_, open)| open.request.whom == Approver::Person);
        let mut rest = all.filter(|(id, open)| {
            let at = (open.asked, *id);
            after.as_ref().is_none_or(|Cursor(asked, last)| at > (*asked, last))
        });
        let (mut page, mut bytes, mut last) = (Page::default(), 0, None);
        for (id, open) in rest.by_ref() {
            let row = RequestRow::of(id, open);
            bytes += row.input.to_string().len();
            if bytes > PAGE && !page.requests.is_empty() {
                page.next = last;
                break;
            }
            page.requests.push(row);
            last = Some(Cursor(open.asked, id.clone()));
        }
        page
    }

    /// Takes the events since the last call.
    pub fn take_events(&mut self) -> Vec<BrokerEvent> {
        std::mem::take(&mut self.events)
    }

    fn close(&mut self, row: Option<RequestRow>, how: &'static str) {
        self.events.extend(row.map(|row| BrokerEvent::Closed(Box::new(row), how)));
    }

    fn row(&self, id: &RequestId) -> Option<RequestRow> {
        self.requests
            .get(id)
            .filter(|open| open.request.whom == Approver::Person)
            .map(|open| RequestRow::of(id, open))
    }

    /// Syncs the state of `id` to disk; returns whether that worked.
    fn sync(&mut self, id: &RequestId) -> bool {
        let kept = match self.requests.get(id).map(OpenRequest::deferred_call).transpose() {
            Ok(Some(Some(call))) => self.folder.put(id, &call).map_err(|error| Failure::of(&error)),
            Ok(_) => self.folder.remove(id).map_err(|error| Failure::of(&error)),
            Err(error) => Err(unreadable(id, &error)),
        };
        let error = kept.err().map(BrokerEvent::Error);
        let is_kept = error.is_none();
        self.events.extend(error);
        is_kept
    }
}
