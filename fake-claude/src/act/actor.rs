//! The actor: a script, a session, its settings, and its connections to the outside.

use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use sys::error::Failure;

use super::background::Task;
use super::decision::{HookExit, Ran};
use super::hooks::{self, Job, Outcome};
use super::lines;
use super::session::{Session, unique};
use super::settings::Settings;
use crate::argv::Asked;
use crate::live::inbox::{Halt, Inbox};
use crate::player::Player;
use crate::script::Script;

/// One process's part of a conversation.
pub(crate) struct Actor<'a> {
    pub(super) asked: &'a Asked,
    pub(super) script: &'a Script,
    pub(super) session: Session,
    pub(super) settings: Settings,
    pub(super) player: Player,
    pub(super) inbox: Inbox,
    /// Set by `--permission-prompt-tool stdio`.
    pub(super) asks: bool,
    /// The number of messages from the model so far.
    pub(super) done: usize,
    pub(super) begun: bool,
    /// The current message from the model, if it is not complete yet.
    pub(super) kept: Option<JoinHandle<Result<(), Failure>>>,
    /// The cost of each message from the model, and of all so far, in US dollars.
    pub(super) cost: f64,
    pub(super) spent: f64,
    /// Whether there is a credential.
    pub(super) logged_in: bool,
    /// The duration of one second of Claude Code's waiting time, in seconds.
    pub(super) scale: f64,
    /// Background work.
    pub(super) tasks: Vec<Task>,
    pub(super) begun_tasks: usize,
    pub(super) subagent_messages: usize,
    /// Results to print once the background subagents have ended.
    pub(super) held: Vec<Value>,
}

impl Actor<'_> {
    /// Prints a line when it is due.
    pub(super) fn print(&mut self, line: &Value) -> Result<(), Halt> {
        let mut line = line.clone();
        if let (Some(within), true) = (&self.session.within, line["message"].is_object()) {
            line["parent_tool_use_id"] = within.call.as_str().into();
            line["agent_id"] = within.agent.as_str().into();
            line["subagent_type"] = within.kind.as_str().into();
            line["task_description"] = within.description.as_str().into();
        }
        self.player.line(format!("{line}\n").as_bytes(), &mut self.inbox)
    }

    /// Runs the hooks of an event, with `more` added to their input.
    pub(super) fn run_hooks(&mut self, event: &str, of: Option<&str>, more: &Value) -> Result<Outcome, Halt> {
        let jobs = self.jobs(event, of, more);
        hooks::run(jobs, self.session.version.is_new(), &mut self.inbox)
    }

    /// Returns the hook runs for an event.
    pub(super) fn jobs(&self, event: &str, of: Option<&str>, more: &Value) -> Vec<Job> {
        let mut env: Vec<(String, String)> =
            self.settings.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        env.push(("CLAUDE_PROJECT_DIR".into(), self.session.cwd.to_string_lossy().into_owned()));
        env.push(("CLAUDE_CODE_SESSION_ID".into(), self.session.id.clone()));
        let input = self.session.hook_input(event, more);
        let hooks = self.settings.hooks(event, of).into_iter();
        hooks.map(|hook| Job { hook, input: input.clone(), env: env.clone() }).collect()
    }

    /// Runs the SessionStart hooks, which appear in the stream before `init`.
    pub(super) fn begin(&mut self) -> Result<(), Halt> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let source = if self.session.before.is_empty() { "startup" } else { "resume" };
        let name = format!("SessionStart:{source}");
        let mut told = json!({"source": source});
        if source == "resume" && self.session.version.is_new() {
            told["context_tokens"] = 30.into();
            told["estimated_cache_write_usd"] = 0.0002.into();
            told["prompt_cache_likely_expired"] = false.into();
            told["seconds_since_last_response"] = 0.into();
        }
        for job in self.jobs("SessionStart", Some(source), &told) {
            let id = unique()?;
            let mut told = json!({"hook_id": id, "hook_name": name, "hook_event": "SessionStart"});
            self.print(&lines::system(&self.session, "hook_started", &told))?;
            if let Outcome::Ran(ran) = hooks::run(vec![job], self.session.version.is_new(), &mut self.inbox)?
            {
                let Some((_, Ran { stdout, stderr, how })) = ran.into_iter().next() else { continue };
                let code = match how {
                    HookExit::Exited(code) => code,
                    HookExit::Killed | HookExit::TimedOut => 1,
                };
                told["output"] = format!("{stdout}{stderr}").into();
                told["stdout"] = stdout.into();
                told["stderr"] = stderr.into();
                told["exit_code"] = code.into();
                told["outcome"] = if code == 0 { "success" } else { "error" }.into();
                self.print(&lines::system(&self.session, "hook_response", &told))?;
            }
        }
        Ok(())
    }

    /// Runs the SessionEnd hooks.
    pub(super) fn finish(&mut self) -> Result<(), Halt> {
        let ran = self.run_hooks("SessionEnd", Some("other"), &json!({"reason": "other"}))?;
        if let Outcome::Ran(ran) = ran {
            for (hook, Ran { stderr, .. }) in ran.iter().filter(|(_, ran)| ran.how != HookExit::Exited(0)) {
                crate::print_error(&format!("SessionEnd hook [{}] failed: {stderr}", hook.command));
            }
        }
        Ok(())
    }

    /// Waits while the model thinks.
    pub(super) fn think(&mut self, delay: Duration) -> Result<(), Halt> {
        self.player.pass(delay, &mut self.inbox)
    }
}
