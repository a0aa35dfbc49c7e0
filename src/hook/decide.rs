//! One call, decided: guard, rules, broker, in this order; and written down.

use super::Refused;
use super::answer::Decided;
use super::ask::{self, AskError, Asked};
use super::audit::{self, Names};
use super::event::Input;
use super::judge;
use super::own;
use super::surroundings::Surroundings;
use super::transcript;
use crate::agent::rule_files::{self, Project};
use crate::error::{Failure, Hinted};
use crate::permit::call::{Call, Own, Place};
use crate::permit::decision::{By, Decision, Verdict};
use crate::permit::pipeline::Step;
use crate::permit::policy::{Approval, Checker};
use crate::permit::question::Asked as Questions;
use crate::permit::request::{Answer, Answerer, Request, RequestId, Whom};
use crate::sys::random;
use serde_json::Value;
use std::path::PathBuf;

/// Decides on the call of `input`, and writes that down. `again` says that Claude Code asks about a call that it has run the
/// hook for before.
///
/// # Errors
/// Why nothing could be decided or written down; the call is to be refused.
pub(super) fn decide(input: Input, surroundings: &Surroundings, again: bool) -> Result<Decided, Refused> {
    let Input { session_id: session, transcript_path, cwd, tool_name: tool, tool_input, tool_use_id } = input;
    let (call, project) = call(tool, tool_input, cwd, surroundings)?;
    let asked = match step(&call, &project, surroundings) {
        Step::Decided(decision) => Err(decision),
        Step::Ask { doubt } if surroundings.policy.checker == Checker::Llm => Ok((Whom::Model, doubt)),
        Step::Ask { doubt } => Ok((Whom::Person, doubt)),
        Step::Question => match Questions::parse(&call.input) {
            Ok(_) => Ok((Whom::Person, None)),
            // Nobody could answer it, and the agent can ask again.
            Err(error) => Err(Decision {
                verdict: Verdict::Deny,
                reason: error.line(),
                by: By::Default("questions".to_owned()),
            }),
        },
    };
    let (decided, request) = match asked {
        Err(decision) => (decision.into(), None),
        Ok((whom, doubt)) => {
            let request = Asking {
                call: &call,
                project: &project,
                session: &session,
                tool_use_id: &tool_use_id,
                whom,
                doubt,
                again,
            }
            .request(surroundings)?;
            let can_defer = || {
                transcript_path.as_deref().is_some_and(|path| transcript::can_be_put_off(path, &tool_use_id))
            };
            match ask::ask(&request, surroundings, can_defer) {
                // The daemon writes it down, and nobody hears the answer.
                Err(error @ AskError::Gone { is_known: true }) => return Err(error.failure().into()),
                asked => came_of(asked, &call),
            }
        }
    };
    let (request, answered_by) = request.unzip();
    let request = request.as_ref().map(RequestId::as_str);
    let answered_by = answered_by.flatten();
    let names =
        Names { session: &session, tool_use_id: &tool_use_id, request, answered_by: answered_by.as_ref() };
    let answers = decided.input.as_ref().and_then(|input| input.get("answers"));
    let written = audit::write(surroundings, &call, names, &decided.decision, answers);
    match written {
        Err(error) if decided.decision.verdict != Verdict::Deny => {
            Err(Refused::new(Failure::of(&error), "murmur allows nothing that it cannot write down"))
        }
        _ => Ok(decided),
    }
}

/// The call, where it is made, and the project whose rules hold.
///
/// # Errors
/// The project cannot be told.
pub(super) fn call(
    tool: String,
    input: Value,
    cwd: PathBuf,
    surroundings: &Surroundings,
) -> Result<(Call, Project), Failure> {
    let (project, workspace) = surroundings.project(&cwd)?;
    let place = Place { workspace, cwd, home: surroundings.user.home.clone(), own: Own::default() };
    let mut call = Call { tool, input, place };
    let Surroundings { dir, user, policy, .. } = surroundings;
    call.place.own = own::find(dir, user, policy, call.command());
    Ok((call, project))
}

/// What is asked, before it is a request.
struct Asking<'a> {
    call: &'a Call,
    project: &'a Project,
    session: &'a str,
    tool_use_id: &'a str,
    whom: Whom,
    doubt: Option<String>,
    /// Whether Claude Code asks itself, after the hook has decided.
    again: bool,
}

impl Asking<'_> {
    fn request(self, surroundings: &Surroundings) -> Result<Request, Failure> {
        let policy = &surroundings.policy;
        let hook: [u8; 8] =
            random::bytes().map_err(|error| format!("murmur's hook has no randomness: {error}"))?;
        // Only a beat ends and is resumed, and only what a person is asked can take that long.
        let may_defer =
            policy.approval == Approval::Defer && surroundings.beat.is_some() && self.whom == Whom::Person;
        Ok(Request {
            agent: surroundings.agent.clone(),
            session: self.session.to_owned(),
            tool_use_id: self.tool_use_id.to_owned(),
            tool: self.call.tool.clone(),
            input: self.call.input.clone(),
            cwd: self.call.place.cwd.clone(),
            workspace: self.call.place.workspace.clone(),
            project: self.project.name.clone(),
            whom: self.whom,
            doubt: self.doubt,
            // A model takes no longer than the daemon lets it.
            wait: if self.whom == Whom::Person { policy.approval_wait } else { Some(policy.model_wait()) },
            defer: may_defer,
            expiry: policy.approval_expiry.filter(|_| may_defer),
            beat: surroundings.beat.clone(),
            again: self.again,
            hook: format!("{:016x}", u64::from_le_bytes(hook)),
        })
    }
}

/// What is answered to Claude Code after `asked`; the request, and who answered it.
fn came_of(asked: Result<Asked, AskError>, call: &Call) -> (Decided, Option<(RequestId, Option<Answerer>)>) {
    let failure = |verdict, reason: String| Decided::from(Decision { verdict, reason, by: By::Failure });
    let nobody = |verdict, reason: String| Decided::from(Decision { verdict, reason, by: By::Nobody });
    match asked {
        Ok(Asked::Answered(answer)) => {
            let from = (answer.id.clone(), answer.answered_by.clone());
            (answered(answer, call), Some(from))
        }
        Ok(Asked::Expired(id)) => {
            let reason =
                "nobody answered in time, so the call is denied; go on without it, or say what is needed";
            (nobody(Verdict::Deny, reason.to_owned()), Some((id, None)))
        }
        Ok(Asked::Deferred(id)) => {
            let reason = format!("the call waits for a person's answer, as request {id}");
            (nobody(Verdict::Defer, reason), Some((id, None)))
        }
        Err(error) => (failure(Verdict::Deny, format!("{}; the call is denied", error.line())), None),
    }
}

fn answered(answer: Answer, call: &Call) -> Decided {
    let Answer { verdict, reason, answers, by, .. } = answer;
    let reason = reason.unwrap_or_else(|| match (verdict, &by) {
        (Verdict::Allow, By::Person) => "a person allowed it".to_owned(),
        (_, By::Person) => "a person denied it; do not try it in another way".to_owned(),
        (Verdict::Allow, _) => "allowed".to_owned(),
        _ => "denied".to_owned(),
    });
    let input = answers.map(|answers| Questions::answered(&call.input, answers));
    Decided { decision: Decision { verdict, reason, by }, input }
}

/// What guard and rules say.
pub(super) fn step(call: &Call, project: &Project, surroundings: &Surroundings) -> Step {
    let Surroundings { dir, user, policy, .. } = surroundings;
    match rule_files::files(dir, &user.settings, project) {
        Ok(paths) => judge::step(call, policy, rule_files::read(paths).as_deref()),
        Err(error) => judge::unreadable(&error),
    }
}
