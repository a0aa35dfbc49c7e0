//! A call: its hooks, its approval, and the item it becomes. Nothing is executed.
//!
//! Input: the model's call. Output: notifications and requests, in Codex's order: hooks first, so that the client is
//! not asked about calls that they deny.

use serde_json::{Value, json};

use super::approval::Approval;
use super::{Codex, hooks, log_error, patch};
use crate::rpc::{Halt, calls};

/// Calls that Codex makes without asking a hook.
const UNSEEN: [&str; 2] = ["write_stdin", "web_search"];
/// Tools whose calls have no item.
const SILENT: [&str; 5] = ["view_image", "get_goal", "create_goal", "update_goal", "update_plan"];

impl Codex<'_> {
    /// Makes a call.
    pub(super) fn call(&mut self, id: &Value, tool: &str, input: &Value) -> Result<(), Halt> {
        let call = id.as_str().unwrap_or_default();
        let is_mcp = tool.starts_with("mcp__");
        let (name, told, what) = match tool {
            "exec_command" => {
                let command = input["cmd"].as_str().unwrap_or_default();
                ("Bash", json!({"command": command}), format!("Command: {command}"))
            }
            "apply_patch" => {
                (tool, json!({"command": input["input"]}), format!("Command: {}", text(&input["input"])))
            }
            _ if is_mcp || SILENT.contains(&tool) => (tool, input.clone(), format!("Tool: {tool}")),
            _ if UNSEEN.contains(&tool) => return Ok(()),
            _ => {
                log_error("codex_core::tools::router", &format!("unsupported call: {tool}"));
                return Ok(());
            }
        };
        let mut payload = self.hook_input(hooks::PRE_TOOL_USE);
        if let Some(workdir) = input["workdir"].as_str() {
            payload["cwd"] = workdir.into();
        }
        payload["tool_name"] = name.into();
        payload["tool_input"] = told;
        payload["tool_use_id"] = call.into();
        if let Some(reason) = self.run_hooks(hooks::PRE_TOOL_USE, Some((name, call)), &payload)? {
            let subject = if is_mcp { "Tool call" } else { "Command" };
            let said = format!("{subject} blocked by PreToolUse hook: {reason}. {what}");
            log_error("codex_core::tools::router", &said);
            return Ok(());
        }
        let response = match tool {
            "exec_command" => self.command(call, input)?,
            "apply_patch" => self.change(call, text(&input["input"]))?,
            _ if is_mcp => self.tool(call, tool, input)?,
            _ => None,
        };
        let Some(response) = response else { return Ok(()) };
        payload["hook_event_name"] = hooks::POST_TOOL_USE.0.into();
        payload["tool_response"] = response;
        self.run_hooks(hooks::POST_TOOL_USE, Some((name, call)), &payload)?;
        Ok(())
    }

    /// Runs a command and returns its result, if it may run.
    fn command(&mut self, call: &str, input: &Value) -> Result<Option<Value>, Halt> {
        let command = text(&input["cmd"]);
        let cwd = self.thread().map(|thread| thread.cwd.clone()).unwrap_or_default();
        let cwd = input["workdir"].as_str().map_or(cwd, str::to_owned);
        let whole = format!("/bin/bash -lc {}", quoted(command));
        let mut item = json!({"type": "commandExecution", "id": call, "pluginId": null, "scriptPath": null,
            "command": whole, "cwd": cwd, "processId": null, "source": "agent", "status": "inProgress",
            "commandActions": [{"type": "unknown", "command": command}], "aggregatedOutput": null,
            "exitCode": null, "durationMs": null});
        let asks = self.asks_about_command(command, input);
        if asks {
            let rule = match &input["prefix_rule"] {
                Value::Null => json!(command.split_whitespace().collect::<Vec<_>>()),
                rule => rule.clone(),
            };
            let mut request = json!({"kind": "command", "itemId": call, "environmentId": "local", "command": whole,
                "cwd": cwd, "commandActions": item["commandActions"], "proposedExecpolicyAmendment": rule,
                "availableDecisions": ["accept",
                    {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": rule}}, "cancel"]});
            if input["justification"].is_string() {
                request["reason"] = input["justification"].clone();
            }
            self.status(&json!({"type": "active", "activeFlags": ["waitingOnApproval"]}))?;
            self.item("started", &item)?;
            let approval = self.approval("item/commandExecution/requestApproval", request)?;
            if approval != Approval::Given {
                item["status"] = approval.status().into();
                let said =
                    if approval == Approval::Broken { "approval request failed" } else { "rejected by user" };
                log_error(
                    "codex_core::tools::router",
                    &format!(
                        "exec_command failed: CreateProcess {{ message: \"Rejected(\\\"{said}\\\")\" }}"
                    ),
                );
                return self.rejected(&item, approval).map(|()| None);
            }
            self.status(&json!({"type": "active", "activeFlags": []}))?;
        }
        item["processId"] = "10000".into();
        item["source"] = "unifiedExecStartup".into();
        if !asks {
            self.item("started", &item)?;
        }
        let scripted = calls::scripted(self.script, &call.into());
        match scripted.ends {
            Some(Some(time)) => self.pass(time)?,
            Some(None) => loop {
                self.wait(None)?;
            },
            None => {}
        }
        let yielded = calls::command(command, &scripted);
        item["status"] = if yielded.exit == 0 { "completed" } else { "failed" }.into();
        let said = Value::from(yielded.text.as_str());
        item["aggregatedOutput"] = if yielded.text.is_empty() { Value::Null } else { said.clone() };
        item["exitCode"] = yielded.exit.into();
        item["durationMs"] = 0.into();
        self.item("completed", &item)?;
        Ok(Some(said))
    }

    /// Changes files and returns the answer, if it may.
    fn change(&mut self, call: &str, text: &str) -> Result<Option<Value>, Halt> {
        let cwd = self.thread().map(|thread| thread.cwd.clone()).unwrap_or_default();
        let mut item = json!({"type": "fileChange", "id": call, "changes": patch::changes(text, &cwd),
            "status": "inProgress"});
        self.item("started", &item)?;
        if self.asks_about_change() {
            self.status(&json!({"type": "active", "activeFlags": ["waitingOnApproval"]}))?;
            let request = json!({"itemId": call, "reason": null, "grantRoot": null});
            let approval = self.approval("item/fileChange/requestApproval", request)?;
            if approval != Approval::Given {
                item["status"] = approval.status().into();
                log_error("codex_core::tools::router", "patch rejected by user");
                return self.rejected(&item, approval).map(|()| None);
            }
            self.status(&json!({"type": "active", "activeFlags": []}))?;
        }
        item["status"] = "completed".into();
        self.item("completed", &item)?;
        self.notify("turn/diff/updated", json!({"diff": text}))?;
        Ok(Some("Success.".into()))
    }

    /// Calls a server's tool and returns the result, if it may.
    fn tool(&mut self, call: &str, name: &str, input: &Value) -> Result<Option<Value>, Halt> {
        let (server, tool) =
            name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).unwrap_or_default();
        let mut item = json!({"type": "mcpToolCall", "id": call, "server": server, "tool": tool,
            "status": "inProgress", "arguments": input, "appContext": null, "mcpAppUi": null, "pluginId": null,
            "readOnlyHint": null, "result": null, "error": null, "durationMs": null});
        self.item("started", &item)?;
        item["durationMs"] = 0.into();
        let refused = match self.asks_about_tool() {
            Some(true) => {
                let meta = json!({"codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"],
                    "tool_name": tool, "tool_params": input});
                let request = json!({"serverName": server, "mode": "form", "_meta": meta,
                    "message": format!("Allow the {server} MCP server to run tool \"{tool}\"?"),
                    "requestedSchema": {"type": "object", "properties": {}}});
                let approval = self.approval("mcpServer/elicitation/request", request)?;
                (approval != Approval::Given).then_some("user rejected MCP tool call")
            }
            Some(false) => Some("MCP tool call requires approval, but approval policy is never"),
            None => None,
        };
        let scripted = calls::scripted(self.script, &call.into());
        if let Some(message) = refused {
            item["status"] = "failed".into();
            item["error"] = json!({"message": message});
        } else {
            item["status"] = if scripted.is_error { "failed" } else { "completed" }.into();
            let said = scripted.text.unwrap_or_else(|| format!("{tool} is done"));
            item["result"] = json!({"content": [{"type": "text", "text": said}], "structuredContent": null,
                "_meta": null});
        }
        self.item("completed", &item)?;
        Ok(refused.is_none().then(|| item["result"].clone()))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Quotes a command for display.
fn quoted(command: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "+-./:=@_,%^]".contains(character);
    if !command.is_empty() && command.chars().all(is_plain) {
        return command.to_owned();
    }
    if !command.contains('\'') {
        return format!("'{command}'");
    }
    let escaped = command.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`");
    format!("\"{escaped}\"")
}
