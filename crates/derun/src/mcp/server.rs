//! The server: dispatches requests to tools and formats their answers for the client's protocol version.

use super::answer::{Answer, Failed};
use super::arguments::Arguments;
use super::fail::{ToolError, shown};
use super::input::{GetInput, ListInput, ReadInput, WaitInput};
use super::message::{Request, RpcError};
use super::protocol::{VERSIONS, Version};
use super::state_root::StateRoot;
use super::tool::{self, Tool};
use super::{grep, read, sessions, wait};
use crate::record::SCHEMA_VERSION;
use serde::Serialize;
use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::Arc;
use sys::error::Hinted;
use tokio::sync::{Semaphore, watch};

/// The maximum number of concurrent long calls, each of which uses a thread. Others wait.
const LONG_CALLS: usize = 2;
/// Room for 64 KiB of output with escaped line breaks, in bytes.
const USUAL: usize = 80 * 1024;

/// The server.
pub(super) struct Server {
    tools: Vec<Tool>,
    work: Work,
}

/// The answer to a request.
pub(super) enum Reply {
    /// The result, as JSON.
    Result(Vec<u8>),
    /// A tool call in progress; dropping it cancels it.
    Call(Pin<Box<dyn Future<Output = Vec<u8>> + Send>>),
}

impl Server {
    /// Waiting calls end when the sender of `ending` is dropped.
    pub(super) fn new(root: StateRoot, ending: watch::Receiver<()>) -> Self {
        let turns = Arc::new(Semaphore::new(LONG_CALLS));
        Self { tools: tool::all(), work: Work { root: Arc::new(root), turns, ending } }
    }

    /// Answers `request` according to `version` of the protocol.
    pub(super) fn reply(&self, request: &Request, version: Version) -> Result<Reply, RpcError> {
        let mut result = match &request.method[..] {
            "initialize" => json!({
                "protocolVersion": version.name(),
                "capabilities": { "tools": {} },
                "serverInfo": ourselves(),
                "instructions": tool::INSTRUCTIONS,
            }),
            "ping" if version.has_handshake() => json!({}),
            "server/discover" => json!({
                "supportedVersions": VERSIONS,
                "capabilities": { "tools": {} },
                "instructions": tool::INSTRUCTIONS,
                "_meta": { "io.modelcontextprotocol/serverInfo": ourselves() },
                "resultType": "complete",
                "ttlMs": 0,
                "cacheScope": "private",
            }),
            "tools/list" => {
                let tools: Vec<Value> = self.tools.iter().map(|tool| tool.definition(version)).collect();
                json!({ "tools": tools })
            }
            "tools/call" => return self.call(&request.params, version),
            method => return Err(RpcError::method(format!("unknown method: {}", shown(method)))),
        };
        if request.method == "tools/list" && !version.has_handshake() {
            result["resultType"] = json!("complete");
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
        }
        Ok(Reply::Result(serialized(&result)))
    }

    fn call(&self, params: &Value, version: Version) -> Result<Reply, RpcError> {
        let no_call = |problem: String| {
            RpcError::params(problem).with_data(json!({ "schema_version": SCHEMA_VERSION }))
        };
        let (Some(name), Some(arguments)) = (params["name"].as_str(), Arguments::new(&params["arguments"]))
        else {
            return Err(no_call("tools/call takes a name and an object of arguments".to_owned()));
        };
        let Some(name) = self.tools.iter().map(|tool| tool.name).find(|known| *known == name) else {
            return Err(no_call(format!("unknown tool: {}", shown(name))));
        };
        let work = self.work.clone();
        Ok(Reply::Call(Box::pin(async move {
            let done = work.call(name, arguments, version).await;
            done.unwrap_or_else(|error| failed(&error.line(), version))
        })))
    }
}

fn ourselves() -> Value {
    json!({ "name": "derun", "version": env!("CARGO_PKG_VERSION") })
}

/// The context of calls.
#[derive(Clone)]
struct Work {
    root: Arc<StateRoot>,
    turns: Arc<Semaphore>,
    ending: watch::Receiver<()>,
}

impl Work {
    /// Runs a long call on another thread, so that it doesn't block others.
    async fn apart<T: Send + 'static>(
        self,
        work: impl FnOnce(&StateRoot) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let Ok(turn) = self.turns.acquire_owned().await else { return Err(ToolError::Ending) };
        let done = tokio::task::spawn_blocking(move || {
            // A canceled call keeps its permit until its thread is done.
            let _turn = turn;
            work(&self.root)
        });
        done.await.unwrap_or(Err(ToolError::Ending))
    }

    async fn call(
        mut self,
        name: &str,
        arguments: Arguments,
        version: Version,
    ) -> Result<Vec<u8>, ToolError> {
        Ok(match name {
            tool::LIST => {
                let input = ListInput::take(arguments)?;
                answered(&self.apart(move |root| sessions::list(root, &input)).await?, version)
            }
            tool::GET => {
                let input = GetInput::take(arguments)?;
                answered(&self.apart(move |root| sessions::get(root, &input)).await?, version)
            }
            tool::READ => {
                let input = ReadInput::take(arguments)?;
                match input.pattern.clone() {
                    Some(pattern) => {
                        answered(&self.apart(move |root| grep::read(root, &input, &pattern)).await?, version)
                    }
                    None if input.is_short() => answered(&read::read(&self.root, &input)?, version),
                    None => answered(&self.apart(move |root| read::read(root, &input)).await?, version),
                }
            }
            _ => {
                let input = WaitInput::take(arguments)?;
                let stop = async { while self.ending.changed().await.is_ok() {} };
                answered(&wait::wait(&self.root, &input, stop).await?, version)
            }
        })
    }
}

/// The result of a successful call.
fn answered<A: Answer>(answer: &A, version: Version) -> Vec<u8> {
    result(answer, answer.summary(), false, version)
}

/// The result of a failed call.
fn failed(error: &str, version: Version) -> Vec<u8> {
    let failed = Failed { schema_version: SCHEMA_VERSION, error: error.to_owned() };
    result(&failed, error.to_owned(), true, version)
}

/// The result of a tool call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult<'a, T> {
    content: [Content; 1],
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'a T>,
}

#[derive(Serialize)]
struct Content {
    text: String,
    r#type: &'static str,
}

/// `value` as structured content with its `summary` as text, or as JSON text for older versions. It is serialized at
/// once: output is large, and a tree of it would be another copy.
fn result(value: &impl Serialize, summary: String, is_error: bool, version: Version) -> Vec<u8> {
    let structured = version.is_structured();
    let text = if structured { summary } else { serde_json::to_string(value).unwrap_or_default() };
    serialized(&ToolResult {
        content: [Content { text, r#type: "text" }],
        is_error,
        result_type: (!version.has_handshake()).then_some("complete"),
        structured_content: structured.then_some(value),
    })
}

/// `value` as JSON.
fn serialized(value: &impl Serialize) -> Vec<u8> {
    let mut json = Vec::with_capacity(USUAL);
    // Only maps with non-string keys fail to serialize, and answers have none.
    _ = serde_json::to_writer(&mut json, value);
    json
}
