//! The lines that the hook writes to decisions.jsonl.

use super::context::HookContext;
use murmur_core::id::SessionId;
use murmur_core::permit::decision::Decision;
use murmur_core::permit::request::Answerer;
use murmur_store::journal::decisions::{DecisionError, DecisionLine, append, shown};
use secrets::mask;
use serde_json::Value;
use shell_guard::call::Call;
use sys::{atomic, clock};

/// The ids of a call, as Claude Code knows it, and of its request.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallIds<'a> {
    /// The session.
    pub(super) session: Option<&'a SessionId>,
    /// The tool call.
    pub(super) tool_use_id: &'a str,
    /// The request, if somebody was asked.
    pub(super) request: Option<&'a str>,
    /// The process that sent a person's answer.
    pub(super) answered_by: Option<&'a Answerer>,
}

/// Records `decision` on `call`.
pub(super) fn write(
    context: &HookContext,
    call: &Call,
    ids: CallIds<'_>,
    decision: &Decision,
    answers: Option<&Value>,
) -> Result<(), DecisionError> {
    record(context, call, ids, decision, answers, false)
}

/// Records that `call` has run although `decision` denies it now.
pub(super) fn breach(
    context: &HookContext,
    call: &Call,
    ids: CallIds<'_>,
    decision: &Decision,
) -> Result<(), DecisionError> {
    record(context, call, ids, decision, None, true)
}

fn record(
    context: &HookContext,
    call: &Call,
    ids: CallIds<'_>,
    decision: &Decision,
    answers: Option<&Value>,
    breach: bool,
) -> Result<(), DecisionError> {
    let line = DecisionLine {
        ts: clock::rfc3339(clock::now()),
        agent: &context.agent,
        project: context.project.as_deref(),
        beat: context.beat.as_ref().map(|beat| &beat.beat),
        tool: &call.tool,
        input: shown(&call.input.to_string()),
        answers: answers.map(|answers| shown(&answers.to_string())),
        cwd: &call.place.cwd,
        session: ids.session.map_or("", SessionId::as_str),
        tool_use_id: ids.tool_use_id,
        decision: decision.kind,
        by: &decision.by,
        reason: mask(&decision.reason),
        request: ids.request,
        answered_by: ids.answered_by,
        breach,
        duration_ms: u64::try_from(context.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    };
    if !context.is_hosted {
        // For agents that murmur started, the folder existed; if it is gone, somebody deleted it on purpose.
        let path = context.dir.root().to_path_buf();
        atomic::create_private_folder(&path).map_err(|source| DecisionError { path, source })?;
    }
    append(&context.dir, &line)
}
