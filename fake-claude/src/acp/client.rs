//! Calls of the client's own methods, `fs/…` and `terminal/…`, as a script has them. OpenCode itself makes none but the
//! one after a permission for a change.
//!
//! Input: a block such as `{"type":"client","method":"fs/read_text_file","params":{"path":"/w/a"}}`. Output: the
//! request, and the response as a line of text. `TERMINAL` in a parameter is the last terminal's id. With `"call"`, an
//! update announces the block's calls as one of the agent's own first, and another one ends it. A list of methods and
//! parameters in `"then"` follows, if the first is a result.

use serde_json::{Value, json};

use super::Acp;
use crate::rpc::Halt;

impl Acp<'_> {
    /// Makes the calls of `block`. Returns what to say.
    pub(super) fn ask_client(&mut self, block: &Value) -> Result<String, Halt> {
        let call = &block["call"];
        if call.is_object() {
            let mut begun = call.clone();
            begun["status"] = "in_progress".into();
            self.update("tool_call", begun)?;
        }
        let mut said = Vec::new();
        let more = block["then"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut is_error = false;
        for one in std::iter::once(block).chain(more) {
            let method = one["method"].as_str().unwrap_or_default();
            if !self.is_offered(method) {
                said.push(format!("{method} is not offered"));
                continue;
            }
            let reply = self.client_call(method, &one["params"])?;
            is_error |= reply["error"].is_object();
            let shown =
                if reply["error"].is_object() { &reply["error"]["message"] } else { &reply["result"] };
            said.push(shown.as_str().map_or_else(|| shown.to_string(), str::to_owned));
            if is_error {
                break;
            }
        }
        if call.is_object() {
            let status = if is_error && block["swallows"] != true { "failed" } else { "completed" };
            let end = json!({"toolCallId": call["toolCallId"], "status": status});
            self.update("tool_call_update", end)?;
        }
        said.push(String::new());
        Ok(said.join("\n"))
    }

    fn is_offered(&self, method: &str) -> bool {
        let capability = match method {
            "fs/read_text_file" => &self.client["fs"]["readTextFile"],
            "fs/write_text_file" => &self.client["fs"]["writeTextFile"],
            _ => &self.client["terminal"],
        };
        *capability == true
    }

    fn client_call(&mut self, method: &str, params: &Value) -> Result<Value, Halt> {
        let id = self.asked;
        self.asked += 1;
        let mut params = params.clone();
        if params["terminalId"] == "TERMINAL" {
            params["terminalId"] = self.terminal.clone();
        }
        params["sessionId"] = self.running.clone().into();
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let reply = self.reply_to(id)?;
        if let Some(terminal) = reply["result"].get("terminalId") {
            self.terminal = terminal.clone();
        }
        Ok(reply)
    }
}
