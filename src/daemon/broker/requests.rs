//! The open requests, pure: requests, answers and the time go in; who to notify comes out.
//!
//! `D` is where an answer goes: a hook's connection.

use super::body::Body;
use jiff::{SignedDuration, Timestamp};
use murmur_core::permit::decision::DecisionKind;
use murmur_core::permit::request::{Answer, Request, RequestId};
use murmur_store::journal::deferred::{self, DeferredCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use sys::error::Hinted;

/// How many ended requests are remembered.
const REMEMBERED: usize = 1000;
/// How many allowed calls are remembered.
const ALLOWED: usize = 64;

/// All open requests.
#[derive(Debug)]
pub struct Requests<D> {
    open: BTreeMap<RequestId, OpenRequest<D>>,
    /// The last requests that ended, and how.
    ended: VecDeque<(RequestId, RequestEnd)>,
    /// The last allowed calls of hosted agents: Claude Code may ask about them again before it runs them.
    allowed: VecDeque<Allowed>,
}

/// An allowed call.
#[derive(Debug)]
struct Allowed {
    /// Without its input, which may be long.
    request: Request,
    /// The hash of its input.
    input: [u8; 32],
    answer: Answer,
}

/// An open request.
#[derive(Debug)]
pub struct OpenRequest<D> {
    /// The request, without its input.
    pub request: Request,
    /// The call's input.
    pub input: Body,
    /// When it was sent.
    pub asked: Timestamp,
    /// Its state.
    pub state: OpenState<D>,
}

/// A hook that waits for an answer.
#[derive(Debug)]
pub struct WaitingHook<D> {
    /// Its id.
    pub hook: String,
    /// Where the answer goes.
    pub sender: D,
}

/// The state of a request.
#[derive(Debug)]
pub enum OpenState<D> {
    /// Hooks wait for the answer.
    Waiting {
        /// When they stop waiting, if ever.
        until: Option<Timestamp>,
        /// The hooks.
        hooks: Vec<WaitingHook<D>>,
    },
    /// The call is deferred: no process waits.
    Deferred(deferred::DeferredState),
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "lowercase")]
pub enum RequestEnd {
    /// It was answered.
    #[error("was already answered")]
    Answered,
    /// It was not answered in time.
    #[error("has expired")]
    Expired,
    /// The agent that asked is gone.
    #[error("is closed: its agent has ended or was interrupted")]
    Gone,
}

/// The result of sending a request.
#[derive(Debug)]
pub enum SendResult<D> {
    /// It waits, with this id.
    Waiting(RequestId),
    /// It was already answered.
    Answered(RequestId, Answer, D),
}

/// What happens to a request whose time is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Timeout {
    /// It is denied.
    Expired,
    /// It is deferred until then, or until it is answered.
    Deferred(Option<Timestamp>),
    /// It keeps waiting.
    Waits,
    /// It was answered, but the hook has not received the answer yet.
    Answered,
}

/// What to do after an answer.
#[derive(Debug)]
pub enum AnswerEffect<D> {
    /// Notify these hooks.
    Notify(Vec<D>),
    /// Resume the agent.
    Resume,
}

/// Why an answer is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The request has ended.
    #[error("request {id} {how}")]
    Over {
        /// The request.
        id: RequestId,
        /// How it ended.
        how: RequestEnd,
    },
    /// There is no request with that id.
    #[error("no request {0}")]
    Unknown(RequestId),
    /// The request is about a different input than the one that was answered.
    #[error("request {0} is about a different call than the one that was answered")]
    Changed(RequestId),
}

impl Hinted for AnswerError {
    fn hint(&self) -> Option<String> {
        Some("see: murmur inbox".to_owned())
    }
}

impl<D> Default for Requests<D> {
    fn default() -> Self {
        Self { open: BTreeMap::new(), ended: VecDeque::new(), allowed: VecDeque::new() }
    }
}

impl<D> Requests<D> {
    /// Adds `request`, whose input is `input`. Answers at once if it is a deferred call that was answered, which works
    /// once, or a repeated call that was allowed.
    pub fn ask(&mut self, request: Request, input: Body, sender: D, now: Timestamp) -> SendResult<D> {
        if let Some(Allowed { answer, .. }) = self.allowed_before(&request) {
            return SendResult::Answered(answer.id.clone(), answer.clone(), sender);
        }
        let (asked, hook) = (request.asked(now), request.hook.clone());
        let until = request.until(asked);
        let (id, same) = self.find(&request);
        let Some(open) = self.open.get_mut(&id).filter(|_| same) else {
            let state = OpenState::Waiting { until, hooks: vec![WaitingHook { hook, sender }] };
            self.ended.retain(|(ended, _)| *ended != id);
            self.open.insert(id.clone(), OpenRequest::new(request, input, asked, state));
            return SendResult::Waiting(id);
        };
        match &mut open.state {
            OpenState::Deferred(deferred::DeferredState::Answered(answer)) => {
                let answer = answer.clone();
                let given = deferred::DeferredState::Given { answer: answer.clone(), hook };
                open.state = OpenState::Deferred(given);
                SendResult::Answered(id, answer, sender)
            }
            OpenState::Deferred(deferred::DeferredState::Given { answer, hook: given }) if *given == hook => {
                SendResult::Answered(id, answer.clone(), sender)
            }
            OpenState::Waiting { hooks, .. } => {
                // A hook that lost its connection takes the place of its old one.
                hooks.retain(|other| other.hook != hook);
                hooks.push(WaitingHook { hook, sender });
                SendResult::Waiting(id)
            }
            // An answer is valid for one call: a repeated one is a new request.
            OpenState::Deferred(_) => {
                let state = OpenState::Waiting { until, hooks: vec![WaitingHook { hook, sender }] };
                *open = OpenRequest::new(request, input, asked, state);
                SendResult::Waiting(id)
            }
        }
    }

    fn allowed_before(&self, request: &Request) -> Option<&Allowed> {
        let mut repeated =
            self.allowed.iter().rev().filter(|first| request.repeats(&first.request)).peekable();
        repeated.peek()?;
        let input = Body::new(request.input.clone()).hash();
        repeated.find(|first| first.input == input)
    }

    /// Whether `request` is already waiting or answered.
    #[must_use]
    pub fn is_known(&self, request: &Request) -> bool {
        self.find(request).1 || self.allowed_before(request).is_some()
    }

    /// The id of `request`, and whether that call is already open.
    fn find(&self, request: &Request) -> (RequestId, bool) {
        let mut salt = 0;
        loop {
            let id = request.id(salt);
            match self.open.get(&id) {
                None => return (id, false),
                Some(open) if open.is(request) => return (id, true),
                Some(_) => salt += 1,
            }
        }
    }

    /// Removes a hook that left with its agent; returns whether that closes the request.
    pub fn disconnect(&mut self, id: &RequestId, hook: &str) -> bool {
        let Some(OpenRequest { state: OpenState::Waiting { hooks, .. }, .. }) = self.open.get_mut(id) else {
            return false;
        };
        hooks.retain(|other| other.hook != hook);
        let is_last = hooks.is_empty();
        if is_last {
            self.end(id, RequestEnd::Gone);
        }
        is_last
    }

    /// Decides what happens to a request whose hook stops waiting: deferred if `may_defer`, otherwise it keeps waiting
    /// if `waits`.
    #[must_use]
    pub fn timeout_outcome(&self, id: &RequestId, may_defer: bool, waits: bool, now: Timestamp) -> Timeout {
        match self.open.get(id) {
            Some(OpenRequest { state: OpenState::Waiting { hooks, .. }, request, .. }) => {
                match (may_defer && request.may_defer() && hooks.len() == 1, waits) {
                    (true, _) => Timeout::Deferred(request.expiry.map(|expiry| after(now, expiry))),
                    (false, true) => Timeout::Waits,
                    (false, false) => Timeout::Expired,
                }
            }
            Some(_) => Timeout::Answered,
            None => match self.ended.iter().rev().find(|(ended, _)| ended == id) {
                Some((_, RequestEnd::Answered)) => Timeout::Answered,
                _ => Timeout::Expired,
            },
        }
    }

    /// Applies the decision of [`Self::timeout_outcome`].
    pub fn apply_timeout(&mut self, id: &RequestId, hook: &str, late: &Timeout) {
        if *late == Timeout::Waits {
            return;
        }
        let Some(open) = self.open.get_mut(id) else { return };
        let OpenState::Waiting { hooks, .. } = &mut open.state else { return };
        hooks.retain(|other| other.hook != hook);
        match late {
            Timeout::Deferred(until) => {
                open.state = OpenState::Deferred(deferred::DeferredState::Deferred { until: *until });
            }
            Timeout::Expired if hooks.is_empty() => self.end(id, RequestEnd::Expired),
            Timeout::Expired | Timeout::Answered | Timeout::Waits => {}
        }
    }

    /// The unanswered request `id`, without its input.
    pub fn unanswered(&self, id: &RequestId) -> Result<&Request, AnswerError> {
        let over = |how| AnswerError::Over { id: id.clone(), how };
        match self.open.get(id) {
            Some(open) if open.is_answered() => Err(over(RequestEnd::Answered)),
            Some(open) => Ok(&open.request),
            None => match self.ended.iter().rev().find(|(ended, _)| ended == id) {
                Some((_, how)) => Err(over(*how)),
                None => Err(AnswerError::Unknown(id.clone())),
            },
        }
    }

    /// Answers a request. The first answer wins.
    pub fn answer(&mut self, id: &RequestId, answer: Answer) -> Result<AnswerEffect<D>, AnswerError> {
        self.unanswered(id)?;
        let Some(open) = self.open.get_mut(id) else { return Err(AnswerError::Unknown(id.clone())) };
        if open.request.beat.is_none() && answer.decision == DecisionKind::Allow && answer.answers.is_none() {
            if self.allowed.len() == ALLOWED {
                self.allowed.pop_front();
            }
            let (request, input) = (open.request.clone(), open.input.hash());
            self.allowed.push_back(Allowed { request, input, answer: answer.clone() });
        }
        let answered = OpenState::Deferred(deferred::DeferredState::Answered(answer));
        match std::mem::replace(&mut open.state, answered) {
            OpenState::Waiting { hooks, .. } => {
                self.end(id, RequestEnd::Answered);
                Ok(AnswerEffect::Notify(hooks.into_iter().map(|waiting| waiting.sender).collect()))
            }
            _ => Ok(AnswerEffect::Resume),
        }
    }

    /// The deferred requests whose time is up.
    #[must_use]
    pub fn expired(&self, now: Timestamp) -> Vec<RequestId> {
        let is_over = |open: &OpenRequest<D>| open.expires().is_some_and(|until| until <= now);
        self.open.iter().filter(|(_, open)| is_over(open)).map(|(id, _)| id.clone()).collect()
    }

    /// When the next deferred request expires.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Timestamp> {
        self.open.values().filter_map(OpenRequest::expires).min()
    }

    /// Ends a request.
    pub fn end(&mut self, id: &RequestId, how: RequestEnd) {
        if self.open.remove(id).is_some() {
            if self.ended.len() == REMEMBERED {
                self.ended.pop_front();
            }
            self.ended.push_back((id.clone(), how));
        }
    }

    /// Restores a call that an earlier daemon deferred; `input` is its request's.
    pub fn restore(&mut self, id: RequestId, call: DeferredCall, input: Body) {
        let DeferredCall { request, asked, state } = call;
        self.open.insert(id, OpenRequest::new(request, input, asked, OpenState::Deferred(state)));
    }

    /// All open requests, oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<(&RequestId, &OpenRequest<D>)> {
        let mut all: Vec<_> = self.open.iter().collect();
        all.sort_by_key(|(id, open)| (open.asked, *id));
        all
    }

    /// The request `id`.
    #[must_use]
    pub fn get(&self, id: &RequestId) -> Option<&OpenRequest<D>> {
        self.open.get(id)
    }
}

impl<D> OpenRequest<D> {
    pub(super) fn new(request: Request, input: Body, asked: Timestamp, state: OpenState<D>) -> Self {
        Self { request: Request { input: Value::Null, ..request }, input, asked, state }
    }

    /// Whether it is the same call as `request`.
    fn is(&self, request: &Request) -> bool {
        self.request.is_same_call(request) && self.input.is(&request.input)
    }

    /// The request with its input.
    pub fn whole(&self) -> io::Result<Request> {
        Ok(Request { input: self.input.read()?, ..self.request.clone() })
    }

    /// Whether it was answered.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        use deferred::DeferredState::{Answered, Given};
        matches!(self.state, OpenState::Deferred(Answered(_) | Given { .. }))
    }

    /// What to store on disk, if the call is deferred.
    pub fn deferred_call(&self) -> io::Result<Option<DeferredCall>> {
        match &self.state {
            OpenState::Waiting { .. } => Ok(None),
            OpenState::Deferred(state) => {
                let call = DeferredCall { request: self.whole()?, asked: self.asked, state: state.clone() };
                Ok(Some(call))
            }
        }
    }

    fn expires(&self) -> Option<Timestamp> {
        match self.state {
            OpenState::Deferred(deferred::DeferredState::Deferred { until }) => until,
            _ => None,
        }
    }
}

fn after(now: Timestamp, seconds: u32) -> Timestamp {
    now.checked_add(SignedDuration::from_secs(seconds.into())).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
