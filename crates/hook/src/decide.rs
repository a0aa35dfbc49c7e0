//! Decides on one call: guard, rules, broker, in this order; and records the decision.

use super::Denied;
use super::answer::Decided;
use super::ask::{self, AskError, AskOutcome};
use super::audit::{self, CallIds};
use super::context::HookContext;
use super::evaluate;
use super::event::Input;
use super::own;
use super::transcript;
use murmur_agent::backend::{self, Translated, Unreadable};
use murmur_agent::rule_files::{self, Project};
use murmur_core::id::SessionId;
use murmur_core::permit::decision::{DecidedBy, Decision, DecisionKind};
use murmur_core::permit::pipeline::NextStep;
use murmur_core::permit::policy::{Approval, Checker};
use murmur_core::permit::question::QuestionSet;
use murmur_core::permit::request::{Answer, Answerer, Approver, Request, RequestId};
use serde_json::Value;
use shell_guard::call::{Call, CallPlace, ProtectedPaths};
use std::path::PathBuf;
use sys::error::{Failure, Hinted};
use sys::{clock, random};

/// Decides on the call of `input` and records the decision. `again` means that Claude Code itself asks about a call for
/// which the hook has run before.
pub(super) fn decide(input: Input, context: &HookContext, again: bool) -> Result<Decided, Denied> {
    let Input { session_id: session, transcript_path, cwd, tool_name: tool, tool_input, tool_use_id } = input;
    let checked = Checked::of(tool, tool_input, cwd, context)?;
    let Checked { call, project, .. } = &checked;
    let asked = match checked.step(context) {
        NextStep::Decided(decision) => Err(decision),
        NextStep::Ask { doubt } if context.policy.checker == Checker::Llm => Ok((Approver::Model, doubt)),
        NextStep::Ask { doubt } => Ok((Approver::Person, doubt)),
        NextStep::Question => match QuestionSet::parse(&call.input) {
            Ok(_) => Ok((Approver::Person, None)),
            // Nobody could answer it; the agent can ask again.
            Err(error) => Err(Decision {
                kind: DecisionKind::Deny,
                reason: error.line(),
                by: DecidedBy::Default("questions".to_owned()),
            }),
        },
    };
    let (decided, request) = match asked {
        Err(decision) => (decision.into(), None),
        Ok((whom, doubt)) => {
            let request = RequestDraft {
                call,
                project,
                session: session.as_ref(),
                tool_use_id: &tool_use_id,
                whom,
                doubt,
                again,
            }
            .request(context)?;
            let can_defer = || {
                transcript_path.as_deref().is_some_and(|path| transcript::can_be_deferred(path, &tool_use_id))
            };
            match ask::ask(&request, context, can_defer) {
                // The daemon records it, and nobody reads the answer.
                Err(error @ AskError::Gone { is_known: true }) => return Err(error.failure().into()),
                asked => decision_of(asked, call),
            }
        }
    };
    let ids = CallIds {
        session: session.as_ref(),
        tool_use_id: &tool_use_id,
        request: request.as_ref().map(|asked| asked.id.as_str()),
        answered_by: request.as_ref().and_then(|asked| asked.answered_by.as_ref()),
    };
    let answers = decided.input.as_ref().and_then(|input| input.get("answers"));
    let written = audit::write(context, call, ids, &decided.decision, answers);
    match written {
        Err(error) if decided.decision.kind != DecisionKind::Deny => {
            Err(Denied::new(Failure::of(&error), "murmur allows only calls that it can record"))
        }
        _ => Ok(decided),
    }
}

/// A call to decide on.
pub(super) struct Checked {
    /// The call as people see it.
    pub(super) call: Call,
    /// The calls to check: itself, or its parts; `None` if its effects are not known.
    pub(super) parts: Option<Vec<Call>>,
    project: Project,
}

impl Checked {
    /// The call that a hook of the context's backend got, with its place and the project whose rules apply.
    pub(super) fn of(
        tool: String,
        input: Value,
        cwd: PathBuf,
        context: &HookContext,
    ) -> Result<Self, Failure> {
        let (project, workspace) = context.project(&cwd)?;
        let HookContext { dir, user, policy, .. } = context;
        let call = |(tool, input): (String, Value)| {
            let (workspace, cwd) = (workspace.clone(), cwd.clone());
            let place = CallPlace { workspace, cwd, home: user.home.clone(), own: ProtectedPaths::default() };
            let mut call = Call { tool, input, place };
            call.place.own = own::find(dir, user, policy, &context.backend, call.command());
            call
        };
        match backend::translate(&context.backend, tool.clone(), input.clone()) {
            Ok(Translated { tool, input, parts }) if parts.is_empty() => {
                let call = call((tool, input));
                Ok(Self { parts: Some(vec![call.clone()]), call, project })
            }
            Ok(Translated { tool, input, parts }) => {
                let parts = parts.into_iter().map(&call).collect();
                Ok(Self { call: call((tool, input)), parts: Some(parts), project })
            }
            Err(Unreadable) => Ok(Self { call: call((tool, input)), parts: None, project }),
        }
    }

    /// Applies guard, rules and deny list to each part: the first denial counts, or else the first question to a
    /// person.
    pub(super) fn step(&self, context: &HookContext) -> NextStep {
        let Some(parts) = &self.parts else {
            let reason =
                format!("the input of {} is not readable; write it in its usual form", self.call.tool);
            return NextStep::Decided(Decision {
                kind: DecisionKind::Deny,
                reason,
                by: DecidedBy::Guard("doubt".to_owned()),
            });
        };
        let mut result = None::<NextStep>;
        for part in parts {
            let step = step(part, &self.project, context);
            let severity = |step: &NextStep| match step {
                NextStep::Decided(decision) if decision.kind == DecisionKind::Deny => 3,
                NextStep::Ask { doubt: Some(_) } => 2,
                NextStep::Ask { doubt: None } | NextStep::Question => 1,
                NextStep::Decided(_) => 0,
            };
            if result.as_ref().is_none_or(|worst| severity(&step) > severity(worst)) {
                result = Some(step);
            }
        }
        result.unwrap_or(NextStep::Ask { doubt: None })
    }
}

/// The parts of a request that depend on the call.
struct RequestDraft<'a> {
    call: &'a Call,
    project: &'a Project,
    session: Option<&'a SessionId>,
    tool_use_id: &'a str,
    whom: Approver,
    doubt: Option<String>,
    /// Whether Claude Code itself asks, after the hook has decided.
    again: bool,
}

impl RequestDraft<'_> {
    fn request(self, context: &HookContext) -> Result<Request, Failure> {
        let policy = &context.policy;
        let hook: [u8; 8] =
            random::bytes().map_err(|error| Failure::new("cannot get random bytes").because(&error))?;
        // Only a beat can end and be resumed, and only people take that long.
        let may_defer =
            policy.approval == Approval::Defer && context.beat.is_some() && self.whom == Approver::Person;
        Ok(Request {
            agent: context.agent.clone(),
            session: self.session.cloned(),
            tool_use_id: self.tool_use_id.to_owned(),
            tool: self.call.tool.clone(),
            input: self.call.input.clone(),
            cwd: self.call.place.cwd.clone(),
            workspace: self.call.place.workspace.clone(),
            project: self.project.name.clone(),
            whom: self.whom,
            doubt: self.doubt,
            // The daemon limits how long a model takes.
            wait: if self.whom == Approver::Person {
                policy.approval_wait
            } else {
                Some(policy.model_wait())
            },
            defer: may_defer,
            expiry: policy.approval_expiry.filter(|_| may_defer),
            beat: context.beat.clone(),
            again: self.again,
            asked_at: Some(clock::rfc3339(clock::now())),
            hook: format!("{:016x}", u64::from_le_bytes(hook)),
        })
    }
}

/// A request that was sent.
struct Asked {
    id: RequestId,
    answered_by: Option<Answerer>,
}

/// Returns the decision that follows from the request's outcome, with the request and who answered it.
fn decision_of(asked: Result<AskOutcome, AskError>, call: &Call) -> (Decided, Option<Asked>) {
    let failure = |kind, reason: String| Decided::from(Decision { kind, reason, by: DecidedBy::Failure });
    let nobody = |kind, reason: String| Decided::from(Decision { kind, reason, by: DecidedBy::Nobody });
    match asked {
        Ok(AskOutcome::Answered(answer)) => {
            let asked = Asked { id: answer.id.clone(), answered_by: answer.answered_by.clone() };
            (answered(answer, call), Some(asked))
        }
        Ok(AskOutcome::Expired(id)) => {
            let reason =
                "nobody answered in time, so the call is denied; continue without it, or say what you need";
            (nobody(DecisionKind::Deny, reason.to_owned()), Some(Asked { id, answered_by: None }))
        }
        Ok(AskOutcome::Deferred(id)) => {
            let reason = format!("the call waits for a person's answer, as request {id}");
            (nobody(DecisionKind::Defer, reason), Some(Asked { id, answered_by: None }))
        }
        Err(error) => (failure(DecisionKind::Deny, format!("{}; the call is denied", error.line())), None),
    }
}

/// What an agent is told if a person gives no reason.
pub const PERSON_DENIED: &str = "a person denied it; do not try to do it another way";

fn answered(answer: Answer, call: &Call) -> Decided {
    let Answer { decision: kind, reason, answers, by, .. } = answer;
    let reason = reason.unwrap_or_else(|| match (kind, &by) {
        (DecisionKind::Allow, DecidedBy::Person) if answers.is_some() => "a person answered".to_owned(),
        (DecisionKind::Allow, DecidedBy::Person) => "a person allowed it".to_owned(),
        (_, DecidedBy::Person) => PERSON_DENIED.to_owned(),
        (DecisionKind::Allow, _) => "allowed".to_owned(),
        _ => "denied".to_owned(),
    });
    let input = answers.map(|answers| QuestionSet::answered(&call.input, answers));
    Decided { decision: Decision { kind, reason, by }, input }
}

/// Applies guard, rules and deny list.
fn step(call: &Call, project: &Project, context: &HookContext) -> NextStep {
    let HookContext { dir, user, policy, deny, .. } = context;
    let step = match rule_files::files(dir, &user.settings, project) {
        Ok(paths) => evaluate::step(call, policy, rule_files::read(paths).as_deref()),
        Err(error) => evaluate::unreadable(&error),
    };
    evaluate::over(step, call, deny.iter().map(String::as_str))
}
