//! What a run and the agent's reports about its session add to the journal line: cost, model, tokens, API error status,
//! MCP servers, limits.

use murmur_agent::event::{ApiError, Event, Tokens};
use murmur_agent::message_tokens::MessageTokens;
use murmur_outcome::Required;
use murmur_outcome::retryable::FailedCall;
use murmur_outcome::run::{Run, RunEnd};
use murmur_outcome::servers::Servers;
use murmur_store::journal::entry::JournalEntry;
use murmur_store::limits::Reports;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use sys::clock;

/// The tools that edit files.
const EDITORS: [&str; 5] = ["Write", "Edit", "MultiEdit", "NotebookEdit", "apply_patch"];
/// Tools that change no files in the workspace.
const READERS: [&str; 8] =
    ["Read", "NotebookRead", "Glob", "Grep", "LS", "TodoWrite", "WebFetch", "WebSearch"];

/// What the agent has reported so far.
#[derive(Debug, Default)]
pub(super) struct Session {
    model: Option<String>,
    servers: Servers,
    /// The tokens of finished turns.
    usage: Option<Tokens>,
    /// The total as the agent reports it, subagents included.
    total_usage: Option<Tokens>,
    /// The tokens of messages that no result covers yet, without subagents.
    messages: MessageTokens,
    api_error_status: Option<u64>,
    /// The last call of the API, if it failed and was repeated, or got no answer.
    retried: Option<FailedCall>,
    has_begun: bool,
    limits: Reports,
    /// The files that its edit tools wrote, or tried to.
    edited: BTreeSet<PathBuf>,
    /// Whether another tool may have written files.
    ran_others: bool,
}

impl Session {
    /// Records one of the agent's events.
    pub(super) fn observe(&mut self, event: &Event<'_>) {
        self.limits.observe(event, clock::now());
        match event {
            Event::Session { model, mcp_servers, .. } => {
                self.has_begun = true;
                if !model.is_empty() {
                    self.model = Some(model.clone().into_owned());
                }
                self.servers.add(mcp_servers);
            }
            Event::Usage(usage) => self.add(*usage),
            Event::MessageTokens { message, tokens } => self.messages.report(message, *tokens),
            Event::Retry { status, .. } => self.retried = Some(FailedCall(*status)),
            Event::ToolUse { name, input, .. } => {
                // The model has answered.
                self.retried = None;
                self.ran_others |= !EDITORS.contains(&&**name) && !READERS.contains(&&**name);
                if EDITORS.contains(&&**name)
                    && let Ok(input) = serde_json::from_str(input.0.get())
                {
                    self.edited.extend(targets(&input));
                }
            }
            Event::ApiError(refusal) if refusal.error == ApiError::UNREACHABLE => {
                self.retried = Some(FailedCall(None));
            }
            Event::ApiError(refusal) => self.api_error_status = refusal.status.or(self.api_error_status),
            Event::Result(result) => {
                if self.model.is_none() {
                    self.model = result.models.first().cloned();
                }
                self.api_error_status = result.api_error_status.or(self.api_error_status);
                if let Some(usage) = result.usage {
                    self.add(usage);
                }
                if result.usage.or(result.total_usage).is_some() {
                    self.messages = MessageTokens::default();
                }
                self.total_usage = result.total_usage.or(self.total_usage);
            }
            _ => {}
        }
    }

    fn add(&mut self, usage: Tokens) {
        self.usage = Some(self.usage.unwrap_or_default() + usage);
    }

    /// The agent's servers and the required ones; `None` if the agent never listed its servers and none is required.
    /// `why` returns why a server was left out.
    pub(super) fn required<'a>(
        &'a self,
        names: &'a [String],
        why: &'a dyn Fn(&str) -> Option<String>,
    ) -> Option<Required<'a>> {
        (self.has_begun || !names.is_empty()).then_some(Required { servers: &self.servers, names, why })
    }

    /// The last call of the API, if it failed.
    pub(super) fn failed_call(&self) -> Option<FailedCall> {
        self.api_error_status.map(|status| FailedCall(Some(status))).or(self.retried)
    }

    /// The files that its edit tools wrote, and whether other tools may have written some, too.
    pub(super) fn take_edited(&mut self) -> (BTreeSet<PathBuf>, bool) {
        (std::mem::take(&mut self.edited), self.ran_others)
    }

    /// The usage limits of its account.
    pub(super) fn limits(&self) -> &Reports {
        &self.limits
    }

    /// Fills in `entry`.
    pub(super) fn fill_in(self, entry: &mut JournalEntry) {
        entry.model = self.model;
        let messages = Some(self.messages.total()).filter(|tokens| *tokens != Tokens::default());
        entry.tokens = match (self.total_usage.or(self.usage), messages) {
            (Some(results), Some(messages)) => Some(results + messages),
            (results, messages) => results.or(messages),
        };
        entry.api_error_status = self.api_error_status;
    }
}

/// The files that a call of one of [`EDITORS`] names.
fn targets(input: &Value) -> Vec<PathBuf> {
    let own = ["file_path", "notebook_path"].into_iter().filter_map(|key| input[key].as_str());
    let patched = input["changes"].as_array().into_iter().flatten();
    own.map(PathBuf::from).chain(patched.flat_map(|change| targets(&change["input"]))).collect()
}

/// Fills in everything about `run` except the outcome and how murmur ended it early.
pub(super) fn fill_in_run(entry: &mut JournalEntry, run: Run) {
    entry.exit = Some(run.exit);
    (entry.undecided, entry.undecided_more) = (run.refusals.undecided.calls, run.refusals.undecided.more);
    if let RunEnd::Settled { background, .. } = run.ending {
        entry.background_ended = Some(background);
    }
    entry.session_id = run.session_id;
    entry.capture = run.capture;
    entry.capture_lost = run.lost;
    // Results report the accumulated cost of the run, but count turns from 1 each.
    entry.num_turns =
        run.results.iter().map(|result| result.num_turns).reduce(|sum, turns| Some(sum? + turns?)).flatten();
    entry.cost_usd = run.results.last().and_then(|result| result.cost_usd);
    // Only some agents report them, and only with a result.
    let reported = run.results.into_iter().map(|result| result.denials).max_by_key(Vec::len);
    entry.denials = reported.filter(|denials| !denials.is_empty()).unwrap_or(run.denials);
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_agent::parser::Parser;
    use murmur_core::outcome::OutcomeKind;

    #[test]
    fn edit_tools_name_the_files_that_they_write() {
        let calls = [
            ("Write", r#"{"file_path":"/w/a","content":"x"}"#),
            ("NotebookEdit", r#"{"notebook_path":"b.ipynb"}"#),
            ("apply_patch", r#"{"changes":[{"tool":"Edit","input":{"file_path":"/w/c"}}]}"#),
            ("Read", r#"{"file_path":"/w/d"}"#),
            ("Bash", r#"{"command":"touch e","file_path":"/w/e"}"#),
        ];
        let mut session = Session::default();
        for (name, input) in calls {
            assert!(!session.ran_others, "before {name}");
            let call = format!(
                r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"tool_use","id":"t","name":"{name}","input":{input}}}]}}}}"#
            );
            Parser::default().feed(format!("{call}\n").as_bytes(), &mut |event| session.observe(&event));
        }
        let edited = ["/w/a", "/w/c", "b.ipynb"].map(PathBuf::from);
        assert_eq!(session.take_edited(), (BTreeSet::from(edited), true));
    }

    #[test]
    fn a_result_covers_the_messages_before_it_and_later_ones_add_up() {
        let says = |id: &str, output: u64| {
            format!(
                r#"{{"type":"assistant","message":{{"id":"{id}","usage":{{"input_tokens":100,"output_tokens":{output}}},"content":[]}}}}"#
            )
        };
        let subagent = says("s", 7).replace(r#""type":"#, r#""parent_tool_use_id":"t","type":"#);
        let result = r#"{"type":"result","subtype":"success","usage":{"input_tokens":5,"output_tokens":6},"modelUsage":{"m":{"inputTokens":20,"outputTokens":30}}}"#;
        let plain = r#"{"type":"result","subtype":"success","usage":{"input_tokens":5,"output_tokens":6}}"#;
        let without = r#"{"type":"result","subtype":"success"}"#;
        let (a, longer_a, b) = (says("a", 1), says("a", 9), says("b", 2));
        for (lines, expected) in [
            (vec![], None),
            (vec![without], None),
            (vec![&*a, &*longer_a], Some((100, 9))),
            (vec![&*a, &*longer_a, &*subagent, &*b], Some((200, 11))),
            (vec![&*a, &*b, plain], Some((5, 6))),
            (vec![&*a, plain, &*b, plain], Some((10, 12))),
            (vec![&*a, plain, &*b], Some((105, 8))),
            (vec![&*a, result, &*b], Some((120, 32))),
            (vec![&*a, result, &*b, result], Some((20, 30))),
            (vec![&*a, without, &*b], Some((200, 3))),
        ] {
            let mut session = Session::default();
            let stream: String = lines.iter().map(|line| format!("{line}\n")).collect();
            Parser::default().feed(stream.as_bytes(), &mut |event| session.observe(&event));
            let mut entry = JournalEntry::new(String::new(), String::new(), OutcomeKind::Ok, 0);
            session.fill_in(&mut entry);
            let expected = expected.map(|(input, output)| Tokens { input, output, ..Tokens::default() });
            assert_eq!(entry.tokens, expected, "{lines:?}");
        }
    }
}
