//! What Codex asks a person besides the calls that its hooks see: access that its sandbox refuses, parts of a command,
//! and what MCP servers ask. Each is decided on like a call. What murmur can't answer is refused, with a reason.

use super::dialog::{answer, decision, outside};
use super::environment::elsewhere;
use crate::client_call::{ClientCall, ClientStep};
use crate::event::PermissionRequest;
use murmur_core::permit::decision::DecidedBy;
use murmur_core::permit::pipeline::ASK;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// How many requests may wait for a decision; further ones are refused.
const MAX_ASKED: usize = 64;

/// The tool that access beyond the sandbox is shown as.
const ACCESS: &str = "SandboxAccess";

/// The form of an answer.
#[derive(Debug)]
enum Form {
    Decision,
    /// An MCP elicitation, and whether its answer has content, as that of a form.
    Elicitation {
        has_content: bool,
    },
    /// The permissions that are asked for.
    Permissions(Value),
    /// An error: murmur can't answer it.
    Error,
}

impl Form {
    fn answer(&self, id: &str, is_allowed: bool) -> Vec<u8> {
        match self {
            Self::Decision => decision(id, false, is_allowed),
            Self::Elicitation { has_content: false } if is_allowed => {
                answer(id, "result", &json!({ "action": "accept" }))
            }
            Self::Elicitation { .. } => decision(id, true, is_allowed),
            Self::Permissions(asked) => {
                let granted = if is_allowed { asked.clone() } else { json!({}) };
                answer(id, "result", &json!({ "permissions": granted, "scope": "turn" }))
            }
            Self::Error => {
                answer(id, "error", &json!({ "code": -32603, "message": "nobody can answer questions here" }))
            }
        }
    }
}

/// A request, and why it is refused without a decision.
struct Asked {
    form: Form,
    tool: String,
    input: Value,
    refusal: Option<(String, DecidedBy)>,
}

/// The requests.
#[derive(Debug, Default)]
pub(super) struct Consents {
    /// Those that wait for a decision, by their ids as JSON.
    waiting: BTreeMap<String, Form>,
    steps: Vec<ClientStep>,
}

impl Consents {
    /// Takes the request `id`. Returns the answer if there is one at once; `None` if it asks about a call.
    pub(super) fn take(
        &mut self,
        method: &str,
        id: &str,
        params: &Value,
        sandbox: Option<&str>,
    ) -> Option<Vec<u8>> {
        let Asked { form, tool, input, mut refusal } = read(method, params, sandbox)?;
        if let Some(reason) = elsewhere(&params["environmentId"]) {
            refusal = Some((reason, DecidedBy::Backend));
        }
        if self.waiting.len() >= MAX_ASKED {
            refusal =
                refusal.or_else(|| Some(("too many requests are waiting".to_owned(), DecidedBy::Nobody)));
        }
        let request = request(id, tool, input);
        if let Some((reason, by)) = refusal {
            self.steps.push(ClientStep::Refuse { request, reason, by });
            return Some(form.answer(id, false));
        }
        self.waiting.insert(id.to_owned(), form);
        self.steps.push(ClientStep::Ask { request, call: ClientCall::Consent });
        Some(Vec::new())
    }

    /// Notes that the request `id`, about a call of a server's tool that Codex has not announced, is refused.
    pub(super) fn refuse_unknown(&mut self, id: &str, params: &Value) {
        let meta = &params["_meta"];
        let tool = format!("mcp__{}__{}", text(&params["serverName"]), text(&meta["tool_name"]));
        let request = request(id, tool, meta["tool_params"].clone());
        let reason = "Codex asks about a call that it has not announced".to_owned();
        self.steps.push(ClientStep::Refuse { request, reason, by: DecidedBy::Backend });
    }

    /// Takes the decision on the request `id`. Returns the answer.
    pub(super) fn decided(&mut self, id: &str, is_allowed: bool) -> Vec<u8> {
        self.waiting.remove(id).map(|form| form.answer(id, is_allowed)).unwrap_or_default()
    }

    /// Codex no longer waits for the answer to the request `id`.
    pub(super) fn withdraw(&mut self, id: &str) {
        if self.waiting.remove(id).is_some() {
            self.steps.push(ClientStep::Withdraw(id.to_owned()));
        }
    }

    /// The turn is over, and with it all requests.
    pub(super) fn end_turn(&mut self) {
        let withdrawn = std::mem::take(&mut self.waiting).into_keys();
        self.steps.extend(withdrawn.map(ClientStep::Withdraw));
    }

    /// The next steps.
    pub(super) fn steps(&mut self) -> Vec<ClientStep> {
        std::mem::take(&mut self.steps)
    }
}

/// Reads a request; `None` if it asks about a call.
fn read(method: &str, params: &Value, sandbox: Option<&str>) -> Option<Asked> {
    let is_set = |name: &str| params.get(name).is_some_and(|value| !value.is_null());
    let asked = |form, tool: &str, input| Asked { form, tool: tool.to_owned(), input, refusal: None };
    match method {
        "item/commandExecution/requestApproval" if is_set("networkApprovalContext") => {
            let input = shown(&params["networkApprovalContext"], &["host", "protocol"]);
            Some(asked(Form::Decision, ACCESS, input))
        }
        "item/commandExecution/requestApproval"
            if is_set("approvalId") || params.get("kind").is_some_and(|kind| kind != "command") =>
        {
            let part = asked(Form::Decision, "Bash", shown(params, &["command"]));
            // An approved part would run outside the sandbox.
            let refusal = sandbox.map(|sandbox| (outside(sandbox), DecidedBy::Backend));
            Some(Asked { refusal, ..part })
        }
        "item/permissions/requestApproval" => {
            let form = Form::Permissions(params["permissions"].clone());
            Some(asked(form, ACCESS, shown(params, &["permissions", "reason"])))
        }
        "mcpServer/elicitation/request" if params["_meta"]["codex_approval_kind"] != "mcp_tool_call" => {
            let tool = format!("mcp__{}__elicitation", text(&params["serverName"]));
            let form = Form::Elicitation { has_content: params["mode"] == "form" };
            let has_fields =
                params["requestedSchema"]["properties"].as_object().is_some_and(|fields| !fields.is_empty());
            let names: &[&str] =
                if has_fields { &["message", "requestedSchema"] } else { &["message", "url"] };
            let elicitation = asked(form, &tool, shown(params, names));
            Some(Asked { refusal: unfillable(params), ..elicitation })
        }
        "item/tool/requestUserInput" => {
            let reason = "murmur cannot pass on Codex's questions".to_owned();
            let questions = asked(Form::Error, ASK, shown(params, &["questions"]));
            Some(Asked { refusal: Some((reason, DecidedBy::Nobody)), ..questions })
        }
        _ => None,
    }
}

/// Why an approval doesn't answer this elicitation.
fn unfillable(params: &Value) -> Option<(String, DecidedBy)> {
    let needs_fields =
        || params["requestedSchema"]["required"].as_array().is_some_and(|keys| !keys.is_empty());
    let is_answered = match params["mode"].as_str() {
        Some("form") => !needs_fields(),
        Some("url") => true,
        _ => false,
    };
    let reason =
        || format!("murmur cannot fill in the form of the MCP server {}", text(&params["serverName"]));
    (!is_answered).then(|| (reason(), DecidedBy::Nobody))
}

/// The members of `value` with these names that are set.
fn shown(value: &Value, names: &[&str]) -> Value {
    let set = names.iter().filter_map(|name| Some(((*name).to_owned(), value.get(*name)?.clone())));
    Value::Object(set.filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>())
}

fn request(id: &str, tool: String, input: Value) -> PermissionRequest {
    let tool_use_id = format!("request-{}", id.trim_matches('"'));
    PermissionRequest { request_id: id.to_owned(), tool, input, tool_use_id, cwd: None }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("unknown")
}
