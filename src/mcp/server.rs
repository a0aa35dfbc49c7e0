//! The server: takes calls apart, has the tools do their work, and puts answers into what the client speaks.

use super::answer::{Answer, Failed};
use super::arguments::Arguments;
use super::fail::{ToolError, shown};
use super::input::{GetInput, ListInput, ReadInput, WaitInput};
use super::place::Place;
use super::transport::{self, Ending};
use super::{grep, read, sessions, tool, wait};
use crate::capture::record::SCHEMA_VERSION;
use crate::error::Hinted;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode, ErrorData, Implementation, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// How many calls that take long, and a thread each, are worked on at once. Others wait for their turn.
const LONG_CALLS: usize = 2;

/// The server.
pub(super) struct Server {
    place: Arc<Place>,
    tools: Vec<Tool>,
    ending: Ending,
    turns: Semaphore,
}

impl Server {
    pub(super) fn new(place: Place, ending: Ending) -> Self {
        Self { place: Arc::new(place), tools: tool::all(), ending, turns: Semaphore::new(LONG_CALLS) }
    }

    /// Does on another thread what takes long, so that others are answered meanwhile.
    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Place) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let Ok(_turn) = self.turns.acquire().await else { return Err(ToolError::Ending) };
        let place = Arc::clone(&self.place);
        tokio::task::spawn_blocking(move || work(&place)).await.unwrap_or(Err(ToolError::Ending))
    }

    async fn call(
        &self,
        name: &str,
        arguments: Arguments,
        shape: Shape,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ToolError> {
        Ok(match name {
            tool::LIST => {
                let input = ListInput::take(arguments)?;
                shape.answer(&self.apart(move |place| sessions::list(place, &input)).await?)
            }
            tool::GET => {
                let input = GetInput::take(arguments)?;
                shape.answer(&self.apart(move |place| sessions::get(place, &input)).await?)
            }
            tool::READ => {
                let input = ReadInput::take(arguments)?;
                match input.pattern.clone() {
                    Some(pattern) => {
                        shape.answer(&self.apart(move |place| grep::read(place, &input, &pattern)).await?)
                    }
                    None if input.is_short() => shape.answer(&read::read(&self.place, &input)?),
                    None => shape.answer(&self.apart(move |place| read::read(place, &input)).await?),
                }
            }
            _ => {
                let input = WaitInput::take(arguments)?;
                let stop = async {
                    tokio::select! {
                        () = self.ending.reached() => {}
                        () = context.ct.cancelled() => {}
                    }
                };
                shape.answer(&wait::wait(&self.place, &input, stop).await?)
            }
        })
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let ourselves = Implementation::new("derun", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(ourselves).with_instructions(tool::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = self.tools.clone();
        if Shape::of(&context) == Shape::Text {
            tools.iter_mut().for_each(|tool| tool.output_schema = None);
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.tools.iter().any(|tool| tool.name == request.name) {
            return Err(no_call(format!("unknown tool: {}", shown(&request.name))));
        }
        let (arguments, shape) = (Arguments::new(request.arguments), Shape::of(&context));
        let called = self.call(&request.name, arguments, shape, &context).await;
        Ok(called.unwrap_or_else(|error| shape.error(&error.line())).into())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A call that is of no shape that calls have arrives here.
        Err(match &request.method[..] {
            "tools/call" => no_call("tools/call takes a name and an object of arguments".to_owned()),
            "initialize" => transport::no_handshake(),
            method => {
                let problem = format!("unknown method: {}", shown(method));
                ErrorData::new(ErrorCode::METHOD_NOT_FOUND, problem, None)
            }
        })
    }
}

/// What a call is answered with that is no call of a tool.
fn no_call(problem: String) -> ErrorData {
    ErrorData::invalid_params(problem, Some(json!({ "schema_version": SCHEMA_VERSION })))
}

/// How an answer is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// As JSON in the text: all that protocols before 2025-06-18 know.
    Text,
    /// As structured content, with a line of text that says it in short.
    Structured,
}

impl Shape {
    fn of(context: &RequestContext<RoleServer>) -> Self {
        match context.protocol_version() {
            Some(version) if version.as_str() < ProtocolVersion::V_2025_06_18.as_str() => Self::Text,
            _ => Self::Structured,
        }
    }

    fn answer<A: Answer>(self, answer: &A) -> CallToolResult {
        match self.put(answer, answer.summary()) {
            Ok((content, structured)) => {
                let mut result = CallToolResult::success(content);
                result.structured_content = structured;
                result
            }
            Err(error) => self.error(&error.to_string()),
        }
    }

    fn error(self, error: &str) -> CallToolResult {
        let failed = Failed { schema_version: SCHEMA_VERSION, error: error.to_owned() };
        let put = self.put(&failed, error.to_owned());
        let (content, structured) = put.unwrap_or_else(|_| (vec![ContentBlock::text(error)], None));
        let mut result = CallToolResult::error(content);
        result.structured_content = structured;
        result
    }

    /// The content and the structured content that say `value`, of which `summary` is the short form.
    fn put(
        self,
        value: &impl Serialize,
        summary: String,
    ) -> serde_json::Result<(Vec<ContentBlock>, Option<Value>)> {
        Ok(match self {
            Self::Text => (vec![ContentBlock::text(serde_json::to_string(value)?)], None),
            Self::Structured => (vec![ContentBlock::text(summary)], Some(serde_json::to_value(value)?)),
        })
    }
}
