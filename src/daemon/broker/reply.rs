//! What a person's reply means to the request that it is for.

use super::Reply;
use crate::permit::decision::{By, Verdict};
use crate::permit::question::QuestionSet;
use crate::permit::request::{Answer, Request, RequestId};
use std::io;
use sys::error::{Failure, Hinted};
use sys::failure;

/// That the input of a request cannot be read.
pub(super) fn unreadable(id: &RequestId, error: &io::Error) -> String {
    format!("cannot read the input of request {id}: {error}")
}

/// What `reply` means to `request`.
pub(super) fn answer(id: &RequestId, request: &Request, reply: Reply) -> Result<Answer, Failure> {
    match (reply, request.is_question()) {
        (Reply::Verdict { verdict: Verdict::Defer, .. }, _) => Err("answer allow or deny".into()),
        (Reply::Verdict { verdict: Verdict::Allow, .. }, true) => Err(failure!(
            "request {id} is a question"; "answer it: murmur question respond {id} '{{\"q1\":\"...\"}}', or deny it"
        )),
        (Reply::Verdict { verdict, reason, always: _ }, _) => {
            Ok(Answer { verdict, reason, answers: None, by: By::Person, id: id.clone(), answered_by: None })
        }
        (Reply::Answers { .. }, false) => Err(failure!(
            "request {id} is no question"; "answer it: murmur permission respond {id} allow, or deny"
        )),
        (Reply::Answers { answers }, true) => {
            let asked = QuestionSet::parse(&request.input)
                .map_err(|error| failure!("{error}"; "deny request {id}, so that the agent asks again"))?;
            let answers = asked.answers(&answers).map_err(|error| error.failure())?;
            let answers = answers.into_iter().map(|(question, answer)| (question, answer.into())).collect();
            Ok(Answer {
                verdict: Verdict::Allow,
                reason: None,
                answers: Some(answers),
                by: By::Person,
                id: id.clone(),
                answered_by: None,
            })
        }
    }
}
