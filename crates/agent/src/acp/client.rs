//! Calls that the agent delegates to murmur (ACP client methods): files and terminals (`fs/…`, `terminal/…`), as far
//! as they are offered.
//!
//! A call that reads, writes or runs something waits for a decision; what concerns a terminal that already runs
//! doesn't.

use super::message::{encode, text_at};
use crate::client_call::{
    ClientCall, ClientError, ClientErrorKind, ClientReply, ClientStep, CommandLine, TerminalAction,
};
use crate::dialog::CallDecision;
use crate::event::PermissionRequest;
use murmur_core::config::acp_program::Offers;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use sys::error::Failure;
use sys::process::Exit;
use sys::{failure, signals};

/// How many calls may be without a reply; further ones fail.
const MAX_CALLS: usize = 64;

/// JSON-RPC's code for wrong parameters.
const INVALID: i64 = -32602;

/// The code for a failed call.
const FAILED: i64 = -32603;

/// The protocol's code for a file that doesn't exist.
const NOT_FOUND: i64 = -32002;

/// The code for a call that was refused, from the range that JSON-RPC leaves to programs; the protocol doesn't use it.
const REFUSED: i64 = -32001;

/// The protocol's code for a call that was canceled.
const CANCELLED: i64 = -32800;

/// What the agent is told if its turn has ended or was interrupted.
const TURN_ENDED: &str = "the turn has ended";

/// The agent's calls.
#[derive(Debug)]
pub(super) struct Client {
    offers: Offers,
    /// The number of calls so far.
    calls: u64,
    /// Calls that wait for a decision, by the agent's request.
    asked: BTreeMap<String, (Value, ClientCall)>,
    /// The ids of the requests for calls that are being performed, as the agent wrote them.
    performed: BTreeMap<String, Value>,
    steps: Vec<ClientStep>,
}

impl Client {
    pub(super) fn new(offers: Offers) -> Self {
        Self { offers, calls: 0, asked: BTreeMap::new(), performed: BTreeMap::new(), steps: Vec::new() }
    }

    /// Takes the request `id`. Returns the reply if there is one at once; `None` if nothing like that is offered.
    pub(super) fn take(&mut self, id: &Value, method: &str, params: &Map<String, Value>) -> Option<Vec<u8>> {
        let call = match read(self.offers, method, params)? {
            Ok(call) => call,
            Err(why) => return Some(error(id, INVALID, &why.to_string())),
        };
        let key = id.to_string();
        let is_known = self.asked.contains_key(&key) || self.performed.contains_key(&key);
        if is_known || self.asked.len() + self.performed.len() >= MAX_CALLS {
            return Some(error(id, FAILED, "too many calls at once; wait for their results"));
        }
        let Some((tool, input)) = call.tool() else {
            self.performed.insert(key.clone(), id.clone());
            self.steps.push(ClientStep::Perform(key, call));
            return Some(Vec::new());
        };
        self.calls += 1;
        let cwd = match &call {
            ClientCall::Run(command) => command.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned()),
            _ => None,
        };
        let tool_use_id = format!("client-{}", self.calls);
        let request =
            PermissionRequest { request_id: key.clone(), tool: tool.to_owned(), input, tool_use_id, cwd };
        self.asked.insert(key, (id.clone(), call.clone()));
        self.steps.push(ClientStep::Ask { request, call });
        Some(Vec::new())
    }

    /// Takes the decision on the call of the request `key`. Returns the reply to a call that was refused; `None` if
    /// there is no such call.
    pub(super) fn decided(
        &mut self,
        request: &PermissionRequest,
        decision: &CallDecision,
    ) -> Option<Vec<u8>> {
        let key = &request.request_id;
        let (id, call) = self.asked.remove(key)?;
        let reason = match decision {
            // Only the call itself was approved.
            CallDecision::Allow { input: Some(input) } if *input != request.input => "it was changed",
            CallDecision::Allow { .. } => {
                self.performed.insert(key.clone(), id);
                self.steps.push(ClientStep::Perform(key.clone(), call));
                return Some(Vec::new());
            }
            CallDecision::Deny { reason } => reason,
        };
        Some(error(&id, REFUSED, reason))
    }

    /// The agent no longer waits for a reply to its request `key`.
    pub(super) fn withdraw(&mut self, key: &str) {
        if self.asked.remove(key).is_some() {
            self.steps.push(ClientStep::Withdraw(key.to_owned()));
        }
    }

    /// Ends all calls that wait for a decision. Returns the replies.
    pub(super) fn interrupt(&mut self) -> Vec<u8> {
        let mut replies = Vec::new();
        for (key, (id, _)) in std::mem::take(&mut self.asked) {
            replies.extend(error(&id, CANCELLED, TURN_ENDED));
            self.steps.push(ClientStep::Withdraw(key));
        }
        replies
    }

    /// The next steps of the calls.
    pub(super) fn steps(&mut self) -> Vec<ClientStep> {
        std::mem::take(&mut self.steps)
    }

    /// The reply to a call that was performed.
    pub(super) fn reply(&mut self, key: &str, result: Result<ClientReply, ClientError>) -> Vec<u8> {
        let Some(id) = self.performed.remove(key) else { return Vec::new() };
        let result = match result {
            Ok(reply) => of_reply(reply),
            Err(ClientError { kind, message }) => {
                let code = match kind {
                    ClientErrorKind::Invalid => INVALID,
                    ClientErrorKind::NotFound => NOT_FOUND,
                    ClientErrorKind::Failed => FAILED,
                };
                return error(&id, code, &message);
            }
        };
        encode(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }
}

/// The capabilities to declare.
pub(super) fn capabilities(offers: Offers) -> Value {
    let mut capabilities = Map::new();
    if offers.fs {
        capabilities.insert("fs".to_owned(), json!({ "readTextFile": true, "writeTextFile": true }));
    }
    if offers.terminal {
        capabilities.insert("terminal".to_owned(), true.into());
    }
    capabilities.into()
}

/// Reads a call, if it is offered, or what is wrong with its parameters.
fn read(offers: Offers, method: &str, params: &Map<String, Value>) -> Option<Result<ClientCall, Failure>> {
    let (kind, action) = method.split_once('/')?;
    let terminal = |action| {
        let id = text_at(params.get("terminalId"), &[]).to_owned();
        let known = (!id.is_empty()).then_some(ClientCall::Terminal { id, action });
        Some(known.ok_or_else(|| Failure::new("terminalId is missing")))
    };
    match (kind, action) {
        ("fs", "read_text_file") if offers.fs => Some(read_file(params)),
        ("fs", "write_text_file") if offers.fs => Some(write_file(params)),
        ("terminal", action) if offers.terminal => match action {
            "create" => Some(command(params).map(ClientCall::Run)),
            "output" => terminal(TerminalAction::Output),
            "wait_for_exit" => terminal(TerminalAction::Wait),
            "kill" => terminal(TerminalAction::Kill),
            "release" => terminal(TerminalAction::Release),
            _ => None,
        },
        _ => None,
    }
}

fn read_file(params: &Map<String, Value>) -> Result<ClientCall, Failure> {
    let path = path(params, "path")?.ok_or("path is missing")?;
    let line = number(params, "line")?;
    Ok(ClientCall::Read { path, line, limit: number(params, "limit")? })
}

fn write_file(params: &Map<String, Value>) -> Result<ClientCall, Failure> {
    let path = path(params, "path")?.ok_or("path is missing")?;
    let content = params.get("content").and_then(Value::as_str).ok_or("content is not a string")?;
    Ok(ClientCall::Write { path, content: content.to_owned() })
}

fn command(params: &Map<String, Value>) -> Result<CommandLine, Failure> {
    let program = text_at(params.get("command"), &[]).to_owned();
    if program.is_empty() {
        return Err(Failure::new("command is missing"));
    }
    let list = |key: &str| match params.get(key) {
        None | Some(Value::Null) => Ok(&[][..]),
        Some(Value::Array(items)) => Ok(&items[..]),
        Some(_) => Err(failure!("{key} is not a list")),
    };
    let args = list("args")?.iter().map(|arg| arg.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
    let args = args.ok_or("args has an element that is not a string")?;
    let mut env = Vec::new();
    for variable in list("env")? {
        let name = text_at(Some(variable), &["name"]);
        let value =
            variable.get("value").and_then(Value::as_str).ok_or("env has a value that is not a string")?;
        if !is_variable(name) {
            return Err(failure!("env has {name:?}, which is not the name of a variable"));
        }
        env.push((name.to_owned(), value.to_owned()));
    }
    let cwd = path(params, "cwd")?;
    Ok(CommandLine { program, args, env, cwd, output_limit: number(params, "outputByteLimit")? })
}

/// Whether `name` is one that a shell can assign to.
fn is_variable(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(is_plain) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

/// The absolute path at `key`, if there is one.
fn path(params: &Map<String, Value>, key: &str) -> Result<Option<PathBuf>, Failure> {
    match params.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(path)) if Path::new(path).is_absolute() => Ok(Some(path.into())),
        Some(other) => Err(failure!("{key} is not an absolute path").about(other)),
    }
}

/// The number at `key`, if there is one.
fn number(params: &Map<String, Value>, key: &str) -> Result<Option<u64>, Failure> {
    match params.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            value.as_u64().map(Some).ok_or_else(|| failure!("{key} is not a whole number").about(value))
        }
    }
}

fn of_reply(reply: ClientReply) -> Value {
    match reply {
        ClientReply::Done => json!({}),
        ClientReply::Text(content) => json!({ "content": content }),
        ClientReply::Started(terminal) => json!({ "terminalId": terminal }),
        ClientReply::Output { text, is_truncated, exit } => {
            let mut result = json!({ "output": text, "truncated": is_truncated });
            if let Some(exit) = exit {
                result["exitStatus"] = of_exit(exit);
            }
            result
        }
        ClientReply::Exited(exit) => of_exit(exit),
    }
}

fn of_exit(exit: Exit) -> Value {
    match exit {
        Exit::Code(code) => json!({ "exitCode": code, "signal": null }),
        Exit::Signal(number) => json!({ "exitCode": null, "signal": signals::name(number) }),
    }
}

fn error(id: &Value, code: i64, message: &str) -> Vec<u8> {
    encode(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
}
