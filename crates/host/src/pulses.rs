//! The pulses that no hook of an agent's backend writes: its host writes them, from its events. Best effort, as in a
//! hook.

use super::audit::REJECTED;
use super::event::Progress;
use super::protocol::{AgentInfo, Wait};
use murmur_agent::backend;
use murmur_agent::event::Event;
use murmur_core::config::backend::Capability;
use murmur_core::id::SessionId;
use murmur_store::pulse::write::{put, put_over};
use murmur_store::pulse::{ACTION, Pulse, State, action, branch, brief, task};
use secrets::mask;
use sys::paths::DataDir;

/// How many calls without a result to remember; the oldest is forgotten first.
const CALLS: usize = 64;

/// The most characters of an error.
const ERROR: usize = 200;

/// How much of a message to remember, in characters; it may be a little more.
const SAID: usize = 4 << 10;

/// Which pulses no hook writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unwritten {
    All,
    /// Those of calls and turns that fail.
    Failures,
    /// Those of turns that are interrupted while a call waits for a person.
    Waits,
}

/// Writes the pulses of one agent.
#[derive(Debug)]
pub struct Pulses {
    dir: DataDir,
    unwritten: Unwritten,
    /// What all of them have in common.
    common: Pulse,
    /// Calls without a result: id, tool and action.
    calls: Vec<[String; 3]>,
    /// The beginning of the last message of the turn.
    said: String,
    /// The first line of a message that was sent before the session began.
    message: Option<String>,
}

impl Pulses {
    /// The pulses of the agent with this `info`.
    #[must_use]
    pub fn of(dir: &DataDir, info: &AgentInfo) -> Self {
        let common = Pulse {
            agent_id: info.agent_id.to_string(),
            workspace: info.worktree.clone(),
            backend: info.backend.to_string(),
            ..Pulse::default()
        };
        let unwritten = match info.backend.has(Capability::Hooks) {
            true if backend::hooks_report_failures(&info.backend) => Unwritten::Waits,
            true => Unwritten::Failures,
            false => Unwritten::All,
        };
        Self { dir: dir.clone(), unwritten, common, calls: Vec::new(), said: String::new(), message: None }
    }

    /// Handles what happens while the agent runs.
    pub fn note(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Spawned(pid) => self.common.pid = *pid,
            Progress::Agent(event) => self.see(event),
            Progress::Message(text) => {
                self.message = Some(brief::line(&mask(text), ACTION));
                self.put_message();
            }
            Progress::Waiting(wait) => self.waits(wait),
            Progress::Untrusted(_) | Progress::Waited(_) | Progress::Unrecorded(_) => {}
        }
    }

    /// Notes a call that waits for a person, which its agent may not have announced. If its turn is interrupted
    /// meanwhile, it was the last one.
    fn waits(&mut self, wait: &Wait) {
        if let Some(call) = &wait.call
            && self.calls.iter().all(|[known, ..]| *known != call.tool_use_id)
        {
            self.remember(&call.tool_use_id, &call.tool, action::of(&call.tool, &call.input.to_string()));
        }
    }

    fn remember(&mut self, id: &str, tool: &str, action: String) {
        self.said.clear();
        self.calls.retain(|[known, ..]| *known != id);
        if self.calls.len() == CALLS {
            self.calls.remove(0);
        }
        self.calls.push([id.to_owned(), tool.to_owned(), action]);
    }

    /// Handles one of the agent's events.
    fn see(&mut self, event: &Event<'_>) {
        match event {
            Event::Session { id, .. } => {
                // A resumed agent may have repeated its conversation.
                self.calls.clear();
                self.said.clear();
                self.common.session_id =
                    Some(SessionId::new(id.clone())).filter(|id| !id.as_str().is_empty());
                let last_action = "session began".to_owned();
                self.put_unless_hooks_do(Pulse {
                    state: State::Starting,
                    last_action,
                    ..self.common.clone()
                });
                self.put_message();
            }
            Event::Text { parent, text, .. } if parent.is_empty() => {
                let room = SAID.saturating_sub(self.said.len());
                self.said.extend(text.chars().take(room));
            }
            Event::ToolUse { id, name, input, .. } if self.unwritten != Unwritten::Waits => {
                self.remember(id, name, action::of(name, input.0.get()));
            }
            Event::Blocked { id, .. } => self.calls.retain(|[known, ..]| *known != **id),
            Event::ToolResult { output, is_error: true, .. } if output.starts_with(REJECTED) => {}
            Event::ToolResult { id, output, is_error, .. } if self.common.session_id.is_some() => {
                let Some(at) = self.calls.iter().position(|[known, ..]| *known == **id) else { return };
                let [id, tool_name, last_action] = self.calls.remove(at);
                let error = is_error.then(|| first_line(output, "failed"));
                let (state, tool_use_id) = (State::Running, Some(id));
                self.put_unless_hooks_do(Pulse {
                    tool_name,
                    last_action,
                    state,
                    tool_use_id,
                    error,
                    ..self.common.clone()
                });
            }
            Event::Result(result) => {
                // A turn that was interrupted ends without results of its calls.
                let interrupted = self.calls.drain(..).next_back().filter(|_| result.is_error);
                if self.unwritten == Unwritten::Waits && interrupted.is_none() {
                    return;
                }
                // Results of the Agent Client Protocol have no text.
                let said = std::mem::take(&mut self.said);
                let errors = Some(result.errors_for_people().collect::<Vec<_>>().join("; "))
                    .filter(|errors| !errors.is_empty());
                let text = result.text.clone().or(errors).unwrap_or(said);
                let error = result.is_error.then(|| first_line(&text, "failed"));
                let said = brief::line(&mask(&text), ACTION);
                let [tool_use_id, tool_name, last_action] =
                    interrupted.unwrap_or_else(|| [String::new(), String::new(), said]);
                let tool_use_id = Some(tool_use_id).filter(|id| !id.is_empty());
                let state = State::Idle;
                self.put_unless_hooks_do(Pulse {
                    tool_name,
                    last_action,
                    state,
                    tool_use_id,
                    error,
                    ..self.common.clone()
                });
            }
            _ => {}
        }
    }

    /// Notes the message that begins a turn, in the session.
    fn put_message(&mut self) {
        if self.unwritten == Unwritten::All
            && self.common.session_id.is_some()
            && let Some(last_action) = self.message.take()
        {
            self.put_unless_hooks_do(Pulse { state: State::Running, last_action, ..self.common.clone() });
        }
    }

    /// Marks the agent as ended.
    pub fn end(self) {
        if self.unwritten != Unwritten::All {
            return;
        }
        let _best_effort = put_over(&self.dir, &self.common.agent_id);
    }

    fn put_unless_hooks_do(&self, pulse: Pulse) {
        let is_written = match self.unwritten {
            Unwritten::All => false,
            Unwritten::Failures => pulse.error.is_none(),
            Unwritten::Waits => pulse.state != State::Idle,
        };
        if is_written {
            return;
        }
        let current_task = task::get(&self.dir, &pulse.agent_id);
        let git_branch = branch::of(&pulse.workspace);
        let _best_effort = put(&self.dir, Pulse { current_task, git_branch, ..pulse });
    }
}

fn first_line(text: &str, otherwise: &str) -> String {
    let text = mask(text);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or(otherwise);
    brief::line(line, ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::AgentKind;
    use murmur_agent::parser::{Dialect, Parser};
    use murmur_core::config::backend::Backend;
    use murmur_core::id::AgentId;
    use murmur_store::pulse::folder;

    fn info(backend: Backend) -> AgentInfo {
        AgentInfo {
            agent_id: AgentId::parse("site-1").unwrap(),
            kind: AgentKind::Live,
            project: "site".to_owned(),
            role: "coding".to_owned(),
            backend,
            worktree: "/site".into(),
            issue: None,
            beat: None,
            heartbeat: None,
            started_at: String::new(),
        }
    }

    #[test]
    fn the_host_of_an_agent_without_hooks_writes_its_pulses() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let mut pulses = Pulses::of(&dir, &info(Backend::Acp("x".into())));
        pulses.note(&Progress::Spawned(Some(7)));
        let mut parser = Parser::new(Dialect::Acp);
        let mut shown = Vec::new();
        for line in [
            r#"{"id":"murmur-session","result":{"sessionId":"s"}}"#,
            r#"{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"1","kind":"execute","status":"in_progress","rawInput":{"command":"ls"}}}}"#,
            r#"{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"failed","rawOutput":{"output":"no\nthing"}}}}"#,
            r#"{"id":"murmur-prompt:1","result":{"stopReason":"end_turn"}}"#,
        ] {
            parser.feed(format!("{line}\n").as_bytes(), &mut |event| pulses.see(&event));
            let Pulse { tool_name, last_action, state, error, .. } =
                folder::read(&dir.pulse("site-1")).unwrap().pulse;
            shown.push(format!("{} {tool_name} {last_action} {error:?}", state.word()));
        }
        pulses.end();
        let last = folder::read(&dir.pulse("site-1")).unwrap().pulse;
        shown.push(format!(
            "{} {} {} {:?} {:?}",
            last.state.word(),
            last.backend,
            last.tool_name,
            last.session_id,
            last.pid
        ));
        insta::assert_snapshot!(shown.join("\n"), @r#"
        starting  session began None
        starting  session began None
        running Bash ls Some("no")
        idle Bash ls None
        exited acp:x Bash Some(SessionId("s")) Some(7)
        "#);
    }

    #[test]
    fn where_hooks_report_no_failures_the_host_writes_only_these() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let mut pulses = Pulses::of(&dir, &info(Backend::Codex));
        let mut parser = Parser::new(Dialect::CodexAppServer);
        let mut see = |line: &str| {
            parser.feed(format!("{line}\n").as_bytes(), &mut |event| pulses.see(&event));
            let read = folder::read(&dir.pulse("site-1"))?.pulse;
            Some(format!("{} {} {} {:?}", read.state.word(), read.tool_name, read.last_action, read.error))
        };
        let item = |event: &str, id: &str, status: &str| {
            format!(
                r#"{{"method":"item/{event}","params":{{"item":{{"type":"commandExecution","id":"{id}","command":"/bin/bash -lc 'make {id}'","status":"{status}"}}}}}}"#
            )
        };
        let end = |status: &str| {
            format!(r#"{{"method":"turn/completed","params":{{"turn":{{"id":"t","status":"{status}"}}}}}}"#)
        };
        let session = r#"{"id":"thread","result":{"thread":{"id":"s"},"approvalPolicy":"untrusted"}}"#;
        for line in [
            session,
            &item("started", "a", "inProgress"),
            &item("completed", "a", "completed"),
            &end("completed"),
        ] {
            assert_eq!(see(line), None, "{line}");
        }
        see(&item("started", "b", "inProgress"));
        let interrupted = see(&end("interrupted")).unwrap();
        assert_eq!(interrupted, r#"idle Bash make b Some("the turn was interrupted")"#);
        see(&item("started", "c", "inProgress"));
        assert_eq!(see(&item("completed", "c", "failed")).unwrap(), r#"running Bash make c Some("failed")"#);
    }

    /// That an agent waits for an answer about `git push`.
    fn wait() -> Wait {
        let call = serde_json::json!({ "request": "22222222", "call": {
            "agent": "site-1", "session": "s", "toolUseId": "call_1", "tool": "Bash",
            "input": { "command": "git push" }, "cwd": "/", "workspace": "/", "project": "site",
            "whom": "person", "hook": "h" } });
        serde_json::from_value(call).unwrap()
    }

    #[test]
    fn a_call_that_was_interrupted_while_it_waited_is_the_last_action() {
        let [session, end] = [
            r#"{"id":"thread","result":{"thread":{"id":"s"},"approvalPolicy":"untrusted"}}"#,
            r#"{"method":"turn/completed","params":{"turn":{"id":"t","status":"interrupted"}}}"#,
        ];
        let blocked = r#"{"method":"hook/completed","params":{"run":{"id":"pre-tool-use:0:/<session-flags>/config.toml:call_1","status":"blocked","eventName":"preToolUse"}}}"#;
        let rejected = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"call_1","is_error":true,"content":"The user doesn't want to proceed with this tool use."}]}}"#;
        let ran = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"call_1","content":"done"}]}}"#;
        let failed = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["[ede_diagnostic] result_type=user x"]}"#;
        let init = r#"{"type":"system","subtype":"init","session_id":"s"}"#;
        let acp = r#"{"id":"murmur-session","result":{"sessionId":"s"}}"#;
        let cancelled = r#"{"id":"murmur-prompt:1","result":{"stopReason":"cancelled"}}"#;
        let (codex, claude) = (Dialect::CodexAppServer, Dialect::StreamJson);
        for (backend, dialect, before, after, is_last) in [
            (Backend::Codex, codex, session, &[end][..], true),
            (Backend::Codex, codex, session, &[blocked, end], false),
            (Backend::Claude, claude, init, &[rejected, failed], true),
            (Backend::Claude, claude, init, &[failed], true),
            (Backend::Claude, claude, init, &[ran, failed], false),
            (Backend::Acp("x".into()), Dialect::Acp, acp, &[cancelled], true),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
            // An earlier call of the same session, of which a hook wrote the pulse.
            let earlier = Pulse {
                agent_id: "site-1".to_owned(),
                tool_name: "Read".to_owned(),
                last_action: "a.txt".to_owned(),
                session_id: Some(SessionId::new("s".to_owned())),
                ..Pulse::default()
            };
            let mut pulses = Pulses::of(&dir, &info(backend.clone()));
            let mut parser = Parser::new(dialect);
            let mut feed = |pulses: &mut Pulses, line: &str| {
                parser.feed(format!("{line}\n").as_bytes(), &mut |event| pulses.see(&event));
            };
            feed(&mut pulses, before);
            put(&dir, earlier).unwrap();
            pulses.waits(&wait());
            after.iter().for_each(|line| feed(&mut pulses, line));
            let last = folder::read(&dir.pulse("site-1")).unwrap().pulse;
            let expected = if is_last { ("Bash", "git push") } else { ("Read", "a.txt") };
            assert_eq!((&*last.tool_name, &*last.last_action), expected, "{backend} {after:?}");
        }
    }

    #[test]
    fn the_last_action_of_a_turn_without_calls_is_its_message() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let mut pulses = Pulses::of(&dir, &info(Backend::Acp("x".into())));
        let mut parser = Parser::new(Dialect::Acp);
        let chunk = |text: &str| {
            format!(
                r#"{{"method":"session/update","params":{{"update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}}}}}"#
            )
        };
        let mut last = |pulses: &mut Pulses, lines: &[String]| {
            for line in lines {
                parser.feed(format!("{line}\n").as_bytes(), &mut |event| pulses.see(&event));
            }
            folder::read(&dir.pulse("site-1")).unwrap().pulse.last_action
        };
        let session = r#"{"id":"murmur-session","result":{"sessionId":"s"}}"#.to_owned();
        let end =
            |number: u8| format!(r#"{{"id":"murmur-prompt:{number}","result":{{"stopReason":"end_turn"}}}}"#);
        pulses.note(&Progress::Message("Look\nafter it"));
        assert_eq!(last(&mut pulses, &[session]), "Look after it");
        assert_eq!(last(&mut pulses, &[chunk("All "), chunk("is well."), end(1)]), "All is well.");
        pulses.note(&Progress::Message("Again"));
        assert_eq!(last(&mut pulses, &[]), "Again");
        assert_eq!(
            last(&mut pulses, &[chunk(&"é".repeat(3000)), chunk("Done."), end(2)]).chars().next(),
            Some('é')
        );
    }
}
