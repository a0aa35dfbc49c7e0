//! Tracks an agent's background tasks: what still runs when a turn is over.
//!
//! Claude Code lists them since 2.1.250 ([`Event::Background`]). In older versions, a task is in the background if the
//! call that started it is answered before the task ends.

use crate::event::{BackgroundTask, Event, Task, TaskStage};

/// Maximum number of tracked tasks; the oldest is dropped first.
const MAX_TASKS: usize = 256;

/// An agent's tasks, in the order in which they started.
#[derive(Debug, Default)]
pub struct Background {
    open: Vec<Open>,
    /// The backend's own list, once it has sent one.
    listed: Option<Vec<BackgroundTask>>,
}

#[derive(Debug)]
struct Open {
    task: BackgroundTask,
    tool_use_id: String,
    is_background: bool,
}

impl Background {
    /// Processes one of the agent's events. Returns whether the number of background tasks changed.
    pub fn observe(&mut self, event: &Event<'_>) -> bool {
        let before = self.count();
        match event {
            Event::Background { tasks } => self.listed = Some(tasks.clone()),
            Event::Task(task) if task.stage == TaskStage::Started => self.begin(task),
            Event::Task(task) if task.stage == TaskStage::Ended => {
                self.open.retain(|open| open.task.id != task.id)
            }
            Event::Task(task) if task.is_background == Some(true) => {
                for open in self.open.iter_mut().filter(|open| open.task.id == task.id) {
                    open.is_background = true;
                }
            }
            Event::ToolResult { id, .. } => {
                for open in self.open.iter_mut().filter(|open| open.tool_use_id == **id) {
                    open.is_background = true;
                }
            }
            _ => {}
        }
        before != self.count()
    }

    /// The number of background tasks.
    #[must_use]
    pub fn count(&self) -> usize {
        self.tasks().count()
    }

    /// The background tasks, oldest first.
    pub fn tasks(&self) -> impl Iterator<Item = &BackgroundTask> {
        let own = self.open.iter().filter(|open| open.is_background && self.listed.is_none());
        self.listed.iter().flatten().chain(own.map(|open| &open.task))
    }

    fn begin(&mut self, task: &Task) {
        if self.open.len() == MAX_TASKS {
            self.open.remove(0);
        }
        let Task { id, kind, description, tool_use_id, is_background, .. } = task.clone();
        self.open.retain(|open| open.task.id != id);
        let task = BackgroundTask { id, kind, description };
        self.open.push(Open { task, tool_use_id, is_background: is_background.unwrap_or(false) });
    }
}

#[cfg(test)]
mod tests {
    use super::super::parser::Parser;
    use super::*;

    /// The number of background tasks after each line.
    fn counts(lines: &[&str]) -> Vec<usize> {
        let (mut background, mut parser) = (Background::default(), Parser::default());
        let mut count_after = |line: &&str| {
            parser.feed(format!("{line}\n").as_bytes(), &mut |event| {
                let before = background.count();
                assert_eq!(background.observe(&event), before != background.count());
            });
            background.count()
        };
        lines.iter().map(&mut count_after).collect()
    }

    const STARTED: &str = r#"{"type":"system","subtype":"task_started","task_id":"b1","tool_use_id":"t1","task_type":"local_bash"}"#;
    const ANSWERED: &str = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ID b1"}]}}"#;
    const ENDED: &str = r#"{"type":"system","subtype":"task_notification","task_id":"b1","tool_use_id":"t1","status":"completed"}"#;
    const LISTED: &str =
        r#"{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b1"}]}"#;
    const NONE: &str = r#"{"type":"system","subtype":"background_tasks_changed","tasks":[]}"#;

    #[test]
    fn a_task_is_in_the_background_if_its_call_is_answered_before_it_ends() {
        assert_eq!(counts(&[STARTED, ANSWERED, ENDED]), [0, 1, 0]);
        assert_eq!(counts(&[STARTED, ENDED, ANSWERED]), [0, 0, 0]);
        let moved =
            r#"{"type":"system","subtype":"task_updated","task_id":"b1","patch":{"is_backgrounded":true}}"#;
        assert_eq!(counts(&[STARTED, moved, ENDED]), [0, 1, 0]);
        let background = STARTED.replace("task_type", r#"is_backgrounded":true,"task_type"#);
        assert_eq!(counts(&[&background, ENDED]), [1, 0]);
    }

    #[test]
    fn the_backends_list_replaces_tracking() {
        assert_eq!(counts(&[LISTED, STARTED, ANSWERED, ENDED, NONE]), [1, 1, 1, 1, 0]);
        assert_eq!(counts(&[STARTED, ANSWERED, NONE]), [0, 1, 0]);
    }
}
