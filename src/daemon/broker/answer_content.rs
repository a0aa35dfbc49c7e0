//! Turns what a person answered into the answer to a request.

use super::AnswerContent;
use murmur_core::permit::decision::{DecidedBy, DecisionKind};
use murmur_core::permit::question::QuestionSet;
use murmur_core::permit::request::{Answer, Request, RequestId};
use std::io;
use sys::error::{Failure, Hinted};
use sys::failure;

/// The failure to read a request's input.
pub(super) fn unreadable(id: &RequestId, error: &io::Error) -> Failure {
    failure!("cannot read the input of request {id}").because(error)
}

/// Returns the answer that `content` gives to `request`.
pub(super) fn answer(id: &RequestId, request: &Request, content: AnswerContent) -> Result<Answer, Failure> {
    match (content, request.is_question()) {
        (AnswerContent::Decision { decision: DecisionKind::Defer, .. }, _) => {
            Err("answer allow or deny".into())
        }
        (AnswerContent::Decision { decision: DecisionKind::Allow, .. }, true) => Err(failure!(
            "request {id} is a question"; "answer it: murmur answer {id} ANSWER, or deny it: murmur deny {id}"
        )),
        (AnswerContent::Decision { decision, reason, .. }, _) => Ok(Answer {
            decision,
            reason,
            answers: None,
            by: DecidedBy::Person,
            id: id.clone(),
            answered_by: None,
        }),
        (AnswerContent::Answers { .. }, false) => Err(failure!(
            "request {id} is not a question"; "answer it: murmur allow {id}, or: murmur deny {id}"
        )),
        (AnswerContent::Answers { answers }, true) => {
            let asked = QuestionSet::parse(&request.input).map_err(|error| {
                error.failure().hint(format!("deny request {id}, so that the agent asks again"))
            })?;
            let answers = asked.answers(&answers).map_err(|error| error.failure())?;
            let answers = answers.into_iter().map(|(question, answer)| (question, answer.into())).collect();
            Ok(Answer {
                decision: DecisionKind::Allow,
                reason: None,
                answers: Some(answers),
                by: DecidedBy::Person,
                id: id.clone(),
                answered_by: None,
            })
        }
    }
}
