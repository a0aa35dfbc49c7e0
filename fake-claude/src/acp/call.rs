//! A call: its updates, the permission request, and its end. Nothing is executed.
//!
//! Input: the model's call. Output: updates and requests in OpenCode's order, and how the turn continues.

use serde_json::{Value, json};

use super::Acp;
use super::config::Action;
use super::tool::{self, Shown};
use super::turn::Next;
use crate::rpc::{Halt, calls};

const REJECTED: &str = "The user rejected permission to use this specific tool call.";
const FORBIDDEN: &str =
    "The user has specified a rule which prevents you from using this specific tool call.";
/// Output beyond this many bytes is omitted.
const MOST_OUTPUT: usize = 51_200;
const ABORTED: &str = "Tool execution aborted";

impl Acp<'_> {
    /// Makes a call. Its part of the conversation for `session/load` is added to `kept`.
    pub(super) fn call(
        &mut self,
        id: &Value,
        tool: &str,
        input: &Value,
        kept: &mut Vec<Value>,
    ) -> Result<Next, Halt> {
        let cwd = self.session().map(|session| session.cwd.clone()).unwrap_or_default();
        let shown = tool::shown(tool, input, &cwd);
        let (first, place) = if tool == "bash" {
            (json!({"cwd": cwd}), json!([{"path": cwd}]))
        } else {
            (json!({}), json!([]))
        };
        let begun = json!({"toolCallId": id, "title": tool, "kind": shown.kind, "status": "pending",
            "locations": place, "rawInput": first});
        self.update("tool_call", begun)?;
        if self.config.lacks(tool) {
            return self.invalid(id, tool, kept).map(|()| Next::Model);
        }
        let running = json!({"toolCallId": id, "status": "in_progress", "kind": shown.kind, "title": shown.title,
            "locations": shown.locations, "rawInput": shown.input});
        self.update("tool_call_update", running.clone())?;
        let mut whole = running.clone();
        whole["sessionUpdate"] = "tool_call".into();
        whole["status"] = "pending".into();
        kept.push(whole);
        let allowed = self.session().is_some_and(|session| session.allowed.iter().any(|one| one == tool));
        let action = self.config.action(tool, &shown.subject);
        let refused = match action {
            Action::Deny => Some(FORBIDDEN),
            Action::Ask if !allowed => match self.permission(id, tool, &shown) {
                Ok(true) => None,
                Ok(false) => Some(REJECTED),
                Err(Halt::Interrupted) => {
                    self.failed(&running, ABORTED, &json!({"interrupted": true}), kept)?;
                    return Err(Halt::Interrupted);
                }
                Err(halt) => return Err(halt),
            },
            _ => None,
        };
        if let Some(text) = refused {
            self.failed(&running, text, &Value::Null, kept)?;
            if action == Action::Ask && crate::name() == "codex-acp" {
                return Err(Halt::Interrupted);
            }
            return Ok(if action == Action::Ask { Next::End } else { Next::Model });
        }
        if action == Action::Ask && shown.kind == "edit" {
            self.write(&shown)?;
        }
        if tool == "edit" {
            self.update("tool_call_update", running.clone())?;
        }
        if tool == "bash" {
            self.run(id, input, &running, kept)?;
        } else {
            self.finish(id, tool, &running, &shown, kept)?;
        }
        Ok(Next::Model)
    }

    /// The tool doesn't exist; in OpenCode, that is the result of another tool.
    fn invalid(&mut self, id: &Value, tool: &str, kept: &mut Vec<Value>) -> Result<(), Halt> {
        let tools = self.config.tools().join(", ");
        let error = format!("Model tried to call unavailable tool '{tool}'. Available tools: {tools}.");
        let running = json!({"toolCallId": id, "status": "in_progress", "kind": "other", "title": "invalid",
            "locations": [], "rawInput": {"error": error, "tool": tool}});
        self.update("tool_call_update", running)?;
        let said = format!("The arguments provided to the tool are invalid: {error}");
        let content = json!([{"type": "content", "content": {"type": "text", "text": said}}]);
        let end = json!({"toolCallId": id, "status": "completed", "title": "Invalid Tool", "content": content,
            "rawOutput": {"output": said, "metadata": {"truncated": false}}});
        self.report_end(end, kept)
    }

    /// After a permission request about a file, it asks the client to write it, and writes it itself.
    fn write(&mut self, shown: &Shown) -> Result<(), Halt> {
        let session = self.running.clone();
        let content = shown.asked.3.as_ref().map_or(Value::Null, |content| content[0]["newText"].clone());
        let params = json!({"sessionId": session, "path": shown.subject, "content": content});
        let id = self.asked;
        self.asked += 1;
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": "fs/write_text_file", "params": params}))
    }

    fn run(&mut self, id: &Value, input: &Value, running: &Value, kept: &mut Vec<Value>) -> Result<(), Halt> {
        let command = input["command"].as_str().unwrap_or_default();
        let scripted = calls::scripted(self.script, id);
        let yielded = calls::command(command, &scripted);
        self.update("tool_call_update", running.clone())?;
        let content = |text: &str| json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        if !yielded.text.is_empty() {
            let mut update = running.clone();
            update["content"] = content(&yielded.text);
            self.update("tool_call_update", update)?;
        }
        let waited = match scripted.ends {
            Some(Some(time)) => self.pass(time),
            Some(None) => loop {
                if let Err(halt) = self.wait(None) {
                    break Err(halt);
                }
            },
            None => Ok(()),
        };
        let (text, exit) = match &waited {
            Err(Halt::Interrupted) => {
                let aborted = "<shell_metadata>\nUser aborted the command\n</shell_metadata>";
                (format!("{}\n\n{aborted}", yielded.text), Value::Null)
            }
            _ if yielded.text.is_empty() => ("(no output)".to_owned(), yielded.exit.into()),
            _ => (yielded.text.clone(), yielded.exit.into()),
        };
        if let Err(Halt::End | Halt::Fatal(_)) = waited {
            return waited;
        }
        let truncated = text.len() > MOST_OUTPUT;
        let text = if truncated { self.truncated(&text) } else { text };
        let metadata = json!({"output": text, "exit": exit, "truncated": truncated});
        let end = json!({"toolCallId": id, "status": "completed", "title": running["title"],
            "content": content(&text), "rawOutput": {"output": text, "metadata": metadata}});
        self.report_end(end, kept)?;
        waited
    }

    /// The end of a long output.
    fn truncated(&self, text: &str) -> String {
        let from =
            (text.len() - MOST_OUTPUT..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        let file = self.home.join("tool-output/tool_1");
        format!("...output truncated...\n\nFull output saved to: {}\n\n{}", file.display(), &text[from..])
    }

    fn finish(
        &mut self,
        id: &Value,
        tool: &str,
        running: &Value,
        shown: &Shown,
        kept: &mut Vec<Value>,
    ) -> Result<(), Halt> {
        let scripted = calls::scripted(self.script, id);
        if scripted.is_error {
            let text = scripted.text.unwrap_or_else(|| format!("{tool} failed"));
            return self.failed(running, &text, &Value::Null, kept);
        }
        let said = match tool {
            "write" => "Wrote file successfully.".to_owned(),
            "edit" => "Edit applied successfully.".to_owned(),
            _ => format!("{tool} is done"),
        };
        let said = scripted.text.unwrap_or(said);
        let title = if shown.subject.starts_with('/') { shown.subject.trim_start_matches('/') } else { tool };
        let mut content = json!([{"type": "content", "content": {"type": "text", "text": said}}]);
        if let (Some(content), "edit") = (content.as_array_mut(), tool) {
            let (old, new) = (&shown.input["oldString"], &shown.input["newString"]);
            content.push(json!({"type": "diff", "path": shown.subject, "oldText": old, "newText": new}));
        }
        let end = json!({"toolCallId": id, "status": "completed", "title": title, "content": content,
            "rawOutput": {"output": said, "metadata": {"truncated": false}}});
        self.report_end(end, kept)
    }

    fn failed(
        &mut self,
        running: &Value,
        text: &str,
        metadata: &Value,
        kept: &mut Vec<Value>,
    ) -> Result<(), Halt> {
        let mut end = running.clone();
        end["status"] = "failed".into();
        end["content"] = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        end["rawOutput"] = json!({"error": text});
        if !metadata.is_null() {
            end["rawOutput"]["metadata"] = metadata.clone();
        }
        self.report_end(end, kept)
    }

    /// Reports a call's end, even if the turn was canceled.
    fn report_end(&mut self, mut end: Value, kept: &mut Vec<Value>) -> Result<(), Halt> {
        end["sessionUpdate"] = "tool_call_update".into();
        kept.push(end.clone());
        let message = super::updated(self.running.as_deref().unwrap_or_default(), "tool_call_update", end);
        if self.cancelled { self.peer.say(&message) } else { self.line(&message) }
    }
}
