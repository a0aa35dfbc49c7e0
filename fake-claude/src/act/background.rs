//! Work that outlives its turn: background commands and subagents. The model is notified when they end.
//!
//! Input: calls. Output: `task_*` lines, and turns without a prompt. Only a timer runs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sys::error::Failure;
use sys::failure;

use super::actor::Actor;
use super::lines;
use super::turn::Turn;
use crate::live::inbox::Halt;

/// How long Claude Code waits for background work when nothing else is left to do.
const TASK_WAIT_LIMIT: Duration = Duration::from_secs(10 * 60);
/// The same before 2.1.300.
const OLD_TASK_WAIT_LIMIT: Duration = Duration::from_secs(5);

/// A piece of background work.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) run: String,
    pub(super) call: Value,
    pub(super) work: Work,
}

/// The kind of work.
#[derive(Debug, Clone)]
pub(super) enum Work {
    /// A command that ends at this time, or never, with this exit code.
    Command {
        ends: Option<Instant>,
        code: i32,
    },
    Subagent,
}

/// How a task ended.
struct Ended {
    status: &'static str,
    summary: String,
    /// More lines for the model.
    more: String,
}

impl Task {
    pub(super) fn is_subagent(&self) -> bool {
        matches!(self.work, Work::Subagent)
    }

    pub(super) fn description(&self) -> &str {
        let command = self.call["input"]["command"].as_str().unwrap_or_default();
        self.call["input"]["description"].as_str().unwrap_or(command)
    }

    pub(super) fn kind(&self) -> &'static str {
        if self.is_subagent() { "local_agent" } else { "local_bash" }
    }

    /// The form in `background_tasks_changed`.
    fn listed(&self) -> Value {
        let mut listed = json!({"task_id": self.id, "run_id": self.run, "task_type": self.kind(),
            "description": self.description()});
        if self.is_subagent() {
            listed["subagent_type"] = super::subagent::kind(&self.call).into();
        }
        listed
    }

    /// The form in the input of `Stop` hooks.
    fn hook_form(&self) -> Value {
        let mut form = json!({"id": self.id, "status": "running", "description": self.description()});
        if self.is_subagent() {
            form["type"] = "subagent".into();
            form["agent_type"] = super::subagent::kind(&self.call).into();
        } else {
            form["type"] = "shell".into();
            form["command"] = self.call["input"]["command"].clone();
        }
        form
    }

    /// The path of its output file.
    pub(super) fn output(&self, transcript: &Path, session: &str) -> PathBuf {
        let temporary = std::env::var_os("CLAUDE_CODE_TMPDIR").map_or_else(|| "/tmp".into(), PathBuf::from);
        let user = rustix::process::geteuid().as_raw();
        let project = transcript.parent().and_then(Path::file_name).unwrap_or_default();
        let tasks = temporary.join(format!("claude-{user}")).join(project).join(session).join("tasks");
        tasks.join(format!("{}.output", self.id))
    }
}

/// Whether a call is for a background command.
pub(super) fn is_background(call: &Value) -> bool {
    call["name"] == "Bash" && call["input"]["run_in_background"] == true
}

/// Whether background work is disabled.
pub(super) fn is_off() -> bool {
    std::env::var_os("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS").is_some_and(|value| value == "1")
}

impl Actor<'_> {
    /// Scales `time` according to the instructions.
    pub(super) fn scaled(&self, time: Duration) -> Duration {
        Duration::try_from_secs_f64(time.as_secs_f64() * self.scale).unwrap_or(Duration::MAX)
    }

    /// Starts a command. Returns the message for the model, and `tool_use_result`.
    pub(super) fn begin_command(&mut self, call: &Value) -> Result<(String, Value), Halt> {
        let scripted = self.script.result(&call["id"]);
        let is_error = scripted.as_ref().is_some_and(|scripted| scripted.is_error);
        let said = scripted.as_ref().and_then(|scripted| scripted.text.clone());
        let said = said.or_else(|| super::tools::failure("Bash", &call["input"]));
        let number = said.as_deref().and_then(|said| said.strip_prefix("Exit code ")?.trim().parse().ok());
        let code = number.unwrap_or(i32::from(is_error));
        let ends = match scripted.and_then(|scripted| scripted.ends) {
            None => Some(Instant::now()),
            Some(ends) => ends.map(|after| Instant::now() + after),
        };
        let task = self.begin_task(call, Work::Command { ends, code })?;
        let output = task.output(&self.session.transcript, &self.session.id);
        let told = format!(
            "Command running in background with ID: {}. Output is being written to: {}. You will be notified when it \
             completes. To check interim output, use Read on that file path.",
            task.id,
            output.display()
        );
        let result = json!({"stdout": "", "stderr": "", "interrupted": false, "isImage": false,
            "noOutputExpected": false, "backgroundTaskId": task.id});
        Ok((told, result))
    }

    /// Starts a task and prints its line.
    pub(super) fn begin_task(&mut self, call: &Value, work: Work) -> Result<Task, Halt> {
        self.begun_tasks += 1;
        let number = self.begun_tasks;
        let id = match work {
            Work::Subagent => format!("a{number:016}"),
            Work::Command { .. } => format!("b{number:08}"),
        };
        let task = Task { id, run: format!("{number:09}-00000000"), call: call.clone(), work };
        self.tasks.push(task.clone());
        self.print_tasks()?;
        self.print_started(&task, true)?;
        Ok(task)
    }

    pub(super) fn print_started(&mut self, task: &Task, background: bool) -> Result<(), Halt> {
        let mut more = json!({"task_id": task.id, "run_id": task.run, "tool_use_id": task.call["id"],
            "description": task.description(), "is_backgrounded": background, "task_type": task.kind()});
        if task.is_subagent() {
            more["subagent_type"] = super::subagent::kind(&task.call).into();
            more["spawn_depth"] = 1.into();
            more["prompt"] = task.call["input"]["prompt"].clone();
        }
        self.print(&lines::system(&self.session, "task_started", &more))
    }

    /// Prints the background tasks, if the version does so.
    fn print_tasks(&mut self) -> Result<(), Halt> {
        if !self.session.version.is_at_least(250) {
            return Ok(());
        }
        let tasks: Vec<Value> = self.tasks.iter().map(Task::listed).collect();
        self.print(&lines::system(&self.session, "background_tasks_changed", &json!({"tasks": tasks})))
    }

    /// The background tasks, for the input of `Stop` hooks.
    pub(super) fn hook_tasks(&self) -> Value {
        self.tasks.iter().map(Task::hook_form).collect()
    }

    /// The time of the next notification about an end; `None` if there will be none.
    pub(super) fn next_end(&self) -> Option<Instant> {
        let ends = self.tasks.iter().map(|task| match task.work {
            Work::Command { ends, .. } => ends,
            Work::Subagent => Some(Instant::now()),
        });
        ends.flatten().min()
    }

    /// Waits for all background work and notifies the model. Returns whether the last turn failed, if there was
    /// one.
    pub(super) fn wait_for_tasks(&mut self) -> Result<Option<bool>, Halt> {
        let mut failed = None;
        let wait = if self.session.version.is_at_least(300) { TASK_WAIT_LIMIT } else { OLD_TASK_WAIT_LIMIT };
        while !self.tasks.is_empty() {
            let ceiling = Instant::now().checked_add(self.scaled(wait));
            let until = [self.next_end(), ceiling].into_iter().flatten().min();
            let Some(until) = until else { break };
            self.think(until.saturating_duration_since(Instant::now()))?;
            if self.next_end().is_some_and(|end| end <= Instant::now()) {
                failed = self.notify_next_end()?.or(failed);
            } else if self.session.version.is_at_least(300) {
                failed = self.stop_endless_tasks()?.or(failed);
            } else {
                // Older versions end it silently when they exit.
                self.tasks.clear();
            }
        }
        Ok(failed)
    }

    /// Notifies the model about the first task that ended. Returns whether that turn failed.
    pub(super) fn notify_next_end(&mut self) -> Result<Option<bool>, Halt> {
        let ends = |task: &Task| match task.work {
            Work::Command { ends, .. } => ends,
            Work::Subagent => Some(Instant::now()),
        };
        let first = (0..self.tasks.len()).filter(|at| ends(&self.tasks[*at]).is_some());
        let Some(at) = first.min_by_key(|at| ends(&self.tasks[*at])) else { return Ok(None) };
        let task = self.tasks[at].clone();
        let name = task.description().to_owned();
        let ended = match task.work {
            Work::Command { code: 0, .. } => Ended {
                status: "completed",
                summary: format!("Background command \"{name}\" completed (exit code 0)"),
                more: String::new(),
            },
            Work::Command { code, .. } => Ended {
                status: "failed",
                summary: format!("Background command \"{name}\" failed with exit code {code}"),
                more: String::new(),
            },
            Work::Subagent => {
                let (said, calls) = self.work(&task, true)?;
                let more = super::subagent::report(&said, &calls);
                Ended { status: "completed", summary: said, more }
            }
        };
        self.tasks.retain(|other| other.id != task.id);
        self.notify(&task, &ended).map(Some)
    }

    /// Stops tasks that never end.
    fn stop_endless_tasks(&mut self) -> Result<Option<bool>, Halt> {
        let Some(task) = self.tasks.pop() else { return Ok(None) };
        let summary = format!(
            "Background command \"{}\" was stopped after reaching its background time limit",
            task.description()
        );
        self.notify(&task, &Ended { status: "stopped", summary, more: String::new() }).map(Some)
    }

    /// Prints the lines about an end and runs the resulting turn.
    fn notify(&mut self, task: &Task, ended: &Ended) -> Result<bool, Halt> {
        let Ended { status, summary, more } = ended;
        self.print_ended(task, status, summary)?;
        self.print_tasks()?;
        let output = task.output(&self.session.transcript, &self.session.id);
        let (call, told) = (task.call["id"].as_str().unwrap_or_default(), summary);
        let told =
            if task.is_subagent() { &format!("Agent \"{}\" finished", task.description()) } else { told };
        let prompt = format!(
            "<task-notification>\n<task-id>{}</task-id>\n<tool-use-id>{call}</tool-use-id>\n\
             <output-file>{}</output-file>\n<status>{status}</status>\n<summary>{told}</summary>\n{more}\
             </task-notification>",
            task.id,
            output.display()
        );
        let origin = json!({"kind": "task-notification", "producer": "session-task", "runId": task.run});
        self.begin_turn(&prompt.into(), false, Turn { origin, ..Turn::default() })
    }

    pub(super) fn print_ended(&mut self, task: &Task, status: &str, summary: &str) -> Result<(), Halt> {
        let updated = json!({"task_id": task.id, "run_id": task.run,
            "patch": {"status": if status == "stopped" { "killed" } else { status },
                "end_time": 1_767_225_600_000_u64}});
        self.print(&lines::system(&self.session, "task_updated", &updated))?;
        let output = task.output(&self.session.transcript, &self.session.id);
        let mut notified = json!({"task_id": task.id, "run_id": task.run, "tool_use_id": task.call["id"],
            "status": status, "output_file": output.to_string_lossy(), "summary": summary});
        if task.is_subagent() {
            notified["summary_is_report"] = true.into();
        }
        self.print(&lines::system(&self.session, "task_notification", &notified))
    }
}

/// Parses when a command ends according to the script; `null` means never.
pub(crate) fn ends(block: &Value) -> Result<Option<Option<Duration>>, Failure> {
    match block.get("ends_after_ms") {
        None => Ok(None),
        Some(Value::Null) => Ok(Some(None)),
        Some(after) => match after.as_u64() {
            Some(after) => Ok(Some(Some(Duration::from_millis(after)))),
            None => Err(failure!("ends_after_ms: must be a number of milliseconds or null: {after}")),
        },
    }
}
