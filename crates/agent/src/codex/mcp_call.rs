//! Calls of MCP tools, which a request for approval names only by their contents.

use super::line::CodexMessage;
use serde::Deserialize;
use serde_json::Value;

/// How many calls to remember; the oldest is forgotten first.
const MAX_CALLS: usize = 256;

/// A call that Codex has announced.
#[derive(Debug)]
struct McpCall {
    item: String,
    /// Where its server is registered. Servers of several environments may have the same name.
    environment: Value,
    server: String,
    tool: String,
    arguments: Value,
}

/// The calls of a turn that Codex has not asked about.
#[derive(Debug, Default)]
pub(super) struct McpCalls(Vec<McpCall>);

impl McpCalls {
    /// Remembers the call that an item begins, if it is one.
    pub(super) fn begin(&mut self, line: &CodexMessage<'_>) {
        if let Some(call) = McpCall::read(line) {
            if self.0.len() == MAX_CALLS {
                self.0.remove(0);
            }
            self.0.push(call);
        }
    }

    /// Takes the call that a request for approval is about, and returns its item.
    pub(super) fn take(&mut self, params: &Value) -> Option<String> {
        let meta = &params["_meta"];
        let is_meant = |call: &McpCall| {
            call.server == params["serverName"]
                && call.environment == params["environmentId"]
                && call.tool == meta["tool_name"]
                && call.arguments == meta["tool_params"]
        };
        let at = self.0.iter().position(is_meant)?;
        Some(self.0.remove(at).item)
    }

    /// Forgets all calls: the turn is over.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl McpCall {
    fn read(line: &CodexMessage<'_>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Params {
            item: Value,
        }
        let Params { item } = line.params()?;
        let text = |name: &str| Some(item.get(name)?.as_str()?.to_owned());
        (item["type"] == "mcpToolCall").then_some(())?;
        Some(Self {
            item: text("id")?,
            environment: item["environmentId"].clone(),
            server: text("server")?,
            tool: text("tool")?,
            arguments: item.get("arguments").cloned().unwrap_or_default(),
        })
    }
}
