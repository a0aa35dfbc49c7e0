//! JSON-RPC 2.0: parses messages and formats answers.

use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;

/// A JSON object.
pub(super) type Object = Map<String, Value>;

/// A parsed line.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// A request, which needs an answer.
    Request(Request),
    /// Cancels the request with this id.
    Cancelled(Value),
    /// Needs no action: another notification, a response, or an empty line.
    Ignored,
}

/// A method call.
#[derive(Debug, PartialEq)]
pub(super) struct Request {
    /// A string or a whole number.
    pub(super) id: Value,
    pub(super) method: String,
    /// An object, or `null` if there are none.
    pub(super) params: Value,
}

/// An error.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct RpcError {
    code: i32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl RpcError {
    const fn new(code: i32, message: String) -> Self {
        Self { code, message, data: None }
    }

    /// The line is not JSON, or is too long.
    pub(super) fn parse(message: impl Into<String>) -> Self {
        Self::new(-32700, message.into())
    }

    /// The line is not a valid message, or not valid now.
    pub(super) fn request(message: impl Into<String>) -> Self {
        Self::new(-32600, message.into())
    }

    /// The method does not exist.
    pub(super) fn method(message: impl Into<String>) -> Self {
        Self::new(-32601, message.into())
    }

    /// The parameters are invalid.
    pub(super) fn params(message: impl Into<String>) -> Self {
        Self::new(-32602, message.into())
    }

    /// MCP: the request uses an unsupported protocol version.
    pub(super) fn version(message: impl Into<String>) -> Self {
        Self::new(-32022, message.into())
    }

    pub(super) fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

/// Parses a line. The error is the answer to a request with an unknown id.
pub(super) fn parse(line: &[u8]) -> Result<Message, RpcError> {
    if line.trim_ascii().is_empty() {
        return Ok(Message::Ignored);
    }
    let value =
        serde_json::from_slice(line).map_err(|error| RpcError::parse(format!("not JSON: {error}")))?;
    let mut object = match value {
        Value::Object(object) => object,
        Value::Array(_) => {
            return Err(RpcError::request("batches are not supported; send one message per line"));
        }
        _ => return Err(not_a_message()),
    };
    let is_ours = object.get("jsonrpc").is_some_and(|version| version == "2.0");
    let params = object.remove("params").unwrap_or_default();
    match (object.remove("method"), object.remove("id")) {
        (Some(Value::String(method)), None) if method == "notifications/cancelled" => {
            Ok(params.get("requestId").map_or(Message::Ignored, |id| Message::Cancelled(id.clone())))
        }
        // A notification is never answered, even if it is invalid.
        (Some(Value::String(_)), None) => Ok(Message::Ignored),
        (Some(Value::String(method)), Some(id))
            if is_ours && (id.is_string() || id.is_i64()) && (params.is_object() || params.is_null()) =>
        {
            Ok(Message::Request(Request { id, method, params }))
        }
        // An unsolicited response.
        (None, Some(_)) if is_ours && (object.contains_key("result") || object.contains_key("error")) => {
            Ok(Message::Ignored)
        }
        _ => Err(not_a_message()),
    }
}

fn not_a_message() -> RpcError {
    RpcError::request("not a JSON-RPC 2.0 message")
}

/// Appends the answer to the request `id`, which is `null` if it could not be parsed. A result is JSON.
pub(super) fn answer(answers: &mut VecDeque<u8>, id: &Value, answer: Result<Vec<u8>, RpcError>) {
    let (key, answer) = match answer {
        Ok(result) => ("result", result),
        Err(error) => ("error", json!(error).to_string().into_bytes()),
    };
    answers.extend(format!(r#"{{"id":{id},"jsonrpc":"2.0","{key}":"#).as_bytes());
    answers.extend(&answer);
    answers.extend(b"}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_and_invalid_lines_are_answered() {
        let request =
            |id: Value| Ok(Message::Request(Request { id, method: "m".to_owned(), params: json!({}) }));
        for (line, expected) in [
            ("", Ok(Message::Ignored)),
            (r#"{"jsonrpc":"2.0","id":"1","method":"m","params":{}}"#, request(json!("1"))),
            (r#"{"jsonrpc":"2.0","id":-7,"method":"m","params":{}}"#, request(json!(-7))),
            (r#"{"jsonrpc":"2.0","id":-7.5,"method":"m"}"#, Err(not_a_message())),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#, Err(not_a_message())),
            (r#"{"jsonrpc":"2.0","id":[],"method":"m"}"#, Err(not_a_message())),
            (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, Err(not_a_message())),
            (r#"{"jsonrpc":"2.0","id":1}"#, Err(not_a_message())),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Ok(Message::Ignored)),
            (r#"{"method":5}"#, Err(not_a_message())),
            (r#"{"method":"m"}"#, Ok(Message::Ignored)),
            (r#"{"method":"notifications/cancelled"}"#, Ok(Message::Ignored)),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#,
                Ok(Message::Cancelled(json!(3))),
            ),
        ] {
            assert_eq!(parse(line.as_bytes()), expected, "{line}");
        }
    }
}
