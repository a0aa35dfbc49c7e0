//! The facts that murmur reads from a run; they must be the same in every version of Claude Code.
//!
//! Input: the lines of a run and what its hooks were told. Output: facts, one per line, and other properties of the run
//! that show a capability. Texts of Claude Code itself, keys, ids and the order of independent lines are not facts.

use std::collections::{BTreeMap, BTreeSet};

use fake_claude::replay::End;
use murmur_agent::event::{Event, RunResult};
use murmur_agent::parser::Parser;
use murmur_core::outcome::StopReason;
use murmur_outcome::Outcome;
use murmur_outcome::run::RunEnd;
use serde_json::Value;

/// How many levels of objects are shown with their keys.
const DEPTH: usize = 3;

/// A run as murmur reads it.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    parts: Vec<(&'static str, Vec<String>)>,
    shown: BTreeSet<String>,
    /// What murmur doesn't know of the lines, and how often it came.
    pub(crate) unknown: BTreeMap<String, u64>,
}

impl Facts {
    /// The facts of a run, from its stdout and stderr, how it ended, and what its hooks were told, one payload per
    /// line.
    pub(crate) fn of(lines: &[Value], stderr: &str, end: End, told: &str) -> Self {
        let mut read = Read::default();
        let mut parser = Parser::default();
        for line in lines {
            parser.feed(format!("{line}\n").as_bytes(), &mut |event| read.event(event));
        }
        parser.finish(&mut |event| read.event(event));
        // Concurrent calls are answered in any order.
        read.answers.sort();
        let ending = match end {
            End::Code(code) => RunEnd::Exited(code),
            End::Signal(signal) => RunEnd::Signaled(signal),
        };
        let outcome = match murmur_outcome::decide(&ending, StopReason::Asked, &read.outcomes, stderr, None) {
            Outcome::Ok => "ok",
            Outcome::Attention(_) => "attention",
            Outcome::Waiting(_) => "waiting",
            Outcome::Error(_) => "error",
            Outcome::Limited(_) => "limited",
            Outcome::Skipped(_) => "skipped",
        };
        let mut facts = Self {
            parts: vec![
                ("end", vec![format!("{end:?}")]),
                ("outcome", vec![outcome.to_owned()]),
                ("result", read.results),
                ("says", read.says),
                ("call", read.calls),
                ("answer", read.answers),
                ("request", read.requests),
                ("retry", read.retries),
                ("failure", read.failures),
                ("limit", read.limits),
                ("subagent", read.subagent),
                ("hook", hooks(told)),
            ],
            shown: BTreeSet::new(),
            unknown: parser.unknown().iter().map(|(name, count)| (name.to_owned(), count)).collect(),
        };
        for (what, said) in &facts.parts {
            facts.shown.extend(said.iter().map(|one| format!("{what} {one}")));
        }
        for line in told.lines() {
            let told: Value = serde_json::from_str(line).unwrap_or_default();
            keys(
                &mut facts.shown,
                &format!("hook.{}", told["hook_event_name"].as_str().unwrap_or_default()),
                &told,
                1,
            );
        }
        let events = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let events = events.filter_map(|told| Some(format!("told {}", told["hook_event_name"].as_str()?)));
        facts.shown.extend(events);
        for line in lines {
            let kind = line["type"].as_str().unwrap_or_default();
            facts.shown.insert(format!("line {kind}/{}", line["subtype"].as_str().unwrap_or_default()));
            keys(&mut facts.shown, kind, line, DEPTH);
            let tools = line["tools"].as_array().into_iter().flatten().filter_map(Value::as_str);
            facts.shown.extend(tools.map(|tool| format!("tool {tool}")));
        }
        facts
    }

    /// The facts in which the real run differs from fake-claude's.
    pub(crate) fn differences(&self, fake: &Self) -> Vec<String> {
        let both = self.parts.iter().zip(&fake.parts).filter(|((_, real), (_, fake))| real != fake);
        both.map(|((what, real), (_, fake))| {
            format!("{what}: the real one has {real:?}, fake-claude {fake:?}")
        })
        .collect()
    }

    /// Whether the run shows something that begins with these words.
    pub(crate) fn shows(&self, words: &str) -> bool {
        self.shown.iter().any(|shown| shown.starts_with(words))
    }
}

/// What murmur's parser returned for the lines.
#[derive(Default)]
struct Read {
    results: Vec<String>,
    says: Vec<String>,
    calls: Vec<String>,
    answers: Vec<String>,
    requests: Vec<String>,
    retries: Vec<String>,
    failures: Vec<String>,
    limits: Vec<String>,
    subagent: Vec<String>,
    outcomes: Vec<RunResult>,
    /// The next text is Claude Code's own, about a failed request.
    failed: bool,
}

impl Read {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text { parent, text, .. } => {
                let is_own = std::mem::take(&mut self.failed);
                let said = if parent.is_empty() { &mut self.says } else { &mut self.subagent };
                said.extend((!is_own).then(|| text.into_owned()));
            }
            Event::ToolUse { parent, id, name, input, .. } => {
                let call = format!("{id} {name} {}", input.0.get());
                let calls = if parent.is_empty() { &mut self.calls } else { &mut self.subagent };
                calls.push(call);
            }
            Event::ToolResult { parent, id, is_error, .. } => {
                let answer = format!("{id} {}", if is_error { "error" } else { "ok" });
                let answers = if parent.is_empty() { &mut self.answers } else { &mut self.subagent };
                answers.push(answer);
            }
            Event::Retry { attempt, of, status, .. } => {
                self.retries.push(format!("{attempt} of {of} after {status:?}"));
            }
            Event::ApiError(error) => {
                self.failed = true;
                self.failures.push(format!("{} {:?}", error.error, error.status));
            }
            Event::RateLimit(limit) => {
                self.limits.push(format!("{} {} {:?}", limit.status, limit.window, limit.resets_at));
            }
            Event::PermissionRequest(request) => {
                self.requests.push(format!("{} {} {}", request.tool_use_id, request.tool, request.input));
            }
            Event::Result(result) => {
                self.results.push(ended(&result));
                self.outcomes.push(*result);
            }
            Event::Garbled | Event::Oversized { .. } => self.failures.push("a line that is not JSON".into()),
            Event::Session { .. }
            | Event::Task(_)
            | Event::Background { .. }
            | Event::Compaction(_)
            | Event::PermissionMode { .. }
            // Only for the progress line.
            | Event::MessageTokens { .. }
            // Of other agents.
            | Event::Cost { .. }
            | Event::Usage(_)
            | Event::Warning { .. }
            | Event::Blocked { .. }
            | Event::PermissionRequestCancelled { .. } => {}
        }
    }
}

/// A result without costs, times, and texts about errors.
fn ended(result: &RunResult) -> String {
    let text = result.text.as_ref().filter(|_| !result.is_error);
    format!(
        "{} error {} denied {:?} deferred {:?} status {:?} text {text:?}",
        result.subtype, result.is_error, result.denials, result.deferred_tool, result.api_error_status
    )
}

/// The hooks that ran, and for which call. Those that Claude Code doesn't wait for may be missing.
fn hooks(told: &str) -> Vec<String> {
    let payload = |line: &str| -> Option<String> {
        let told: Value = serde_json::from_str(line).ok()?;
        let event = told["hook_event_name"].as_str().filter(|event| *event != "StopFailure")?;
        Some(format!("{event} {}", told["tool_use_id"].as_str().unwrap_or_default()))
    };
    let mut asked: Vec<String> = told.lines().filter_map(payload).collect();
    asked.sort();
    asked
}

fn keys(shown: &mut BTreeSet<String>, path: &str, value: &Value, depth: usize) {
    for (name, inner) in value.as_object().into_iter().flatten().filter(|_| depth > 0) {
        let path = format!("{path}.{name}");
        keys(shown, &path, inner, depth - 1);
        shown.insert(format!("key {path}"));
    }
}
