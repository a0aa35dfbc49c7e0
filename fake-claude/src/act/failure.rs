//! Requests to the model: temporary API errors are retried, others end the turn.
//!
//! Input: the script. Output: `api_retry` lines, and the model's answer or the failure.

use std::time::Duration;

use serde_json::{Value, json};

use super::actor::Actor;
use super::api::{self, ApiFailure};
use super::lines;
use super::turn::Turn;
use crate::live::inbox::Halt;
use crate::script::Play;

/// The result of a request.
pub(super) enum Answer<'a> {
    /// Blocks, and the delay between the last one and the end of the message.
    Said(&'a [Value], Duration),
    Failed(ApiFailure),
    Interrupted,
}

impl<'a> Actor<'a> {
    /// Sends the request, with retries.
    pub(super) fn request(&mut self, messages: usize, subagent: bool) -> Result<Answer<'a>, Halt> {
        if !self.logged_in {
            return Ok(Answer::Failed(ApiFailure::without_key()));
        }
        let script = self.script;
        let most = api::max_retries();
        for attempt in 1.. {
            let (delay, play) =
                if subagent { script.after_of_subagent(messages) } else { script.after(messages) };
            self.think(delay)?;
            if self.inbox.is_interrupted() {
                return Ok(Answer::Interrupted);
            }
            let error = match play {
                Play::Content(content, end_delay, _) => return Ok(Answer::Said(content, end_delay)),
                Play::Error(error) => error,
            };
            let wait = api::wait(error, attempt).filter(|_| attempt <= most);
            let Some(wait) = wait else {
                return Ok(Answer::Failed(ApiFailure::of(error, &self.session.version)));
            };
            let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            let more = json!({"attempt": attempt, "max_retries": most, "retry_delay_ms": milliseconds,
                "error_status": error.status, "error": api::label(error.status)});
            self.print(&lines::system(&self.session, "api_retry", &more))?;
            self.think(self.scaled(wait))?;
        }
        Ok(Answer::Interrupted)
    }

    /// Ends the turn with the API error.
    pub(super) fn fail(&mut self, failure: &ApiFailure, turn: &Turn) -> Result<bool, Halt> {
        if let Some(limit) = &failure.limit {
            let line = json!({"type": "rate_limit_event", "rate_limit_info": limit.info(), "session_id": self.session.id});
            self.print(&line)?;
        }
        let text = &failure.text;
        let block = json!({"type": "text", "text": text});
        let message = lines::message(self.done, &block, Some("stop_sequence"));
        let mut line = lines::assistant(&self.session, &message);
        line["message"]["model"] = "<synthetic>".into();
        for (name, value) in failure.marks().as_object().into_iter().flatten() {
            line[name] = value.clone();
        }
        self.print(&line)?;
        // The turn ends whatever these hooks return.
        let told = json!({"error": failure.kind, "last_assistant_message": text});
        self.run_hooks("StopFailure", Some(failure.kind), &told)?;
        let mut more = json!({"is_error": true, "stop_reason": "stop_sequence",
            "terminal_reason": failure.terminal_reason, "api_error_status": null, "result": text});
        if let Some((status, kind)) = &failure.cause {
            more["api_error_status"] = (*status).into();
            more["api_error_type"] = kind.clone();
        }
        self.end(turn, &more)
    }
}
