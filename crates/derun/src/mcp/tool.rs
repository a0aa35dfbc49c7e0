//! The four tools as a client sees them: names, descriptions and schemas.

use super::answer::{OneSession, Read, Sessions, Waited};
use super::input::{GetInput, ListInput, ReadInput, WaitInput};
use super::message::Object;
use super::protocol::Version;
use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Value, json};

pub(super) const LIST: &str = "derun_list_sessions";
pub(super) const GET: &str = "derun_get_session";
pub(super) const READ: &str = "derun_read_output";
pub(super) const WAIT: &str = "derun_wait_output";

/// How to combine the tools, for clients that pass this on to their model.
pub(super) const INSTRUCTIONS: &str = "\
Output of commands run with `derun run`, during and after the run. derun_list_sessions lists the sessions. \
derun_read_output reads from a cursor (a decimal string, from \"0\") and returns next_cursor; continue from there \
until eof. tail_lines returns the end, grep the matching lines. When a running session has no more output yet, \
derun_wait_output waits for more.";

/// A tool.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tool {
    pub(super) name: &'static str,
    title: &'static str,
    description: &'static str,
    pub(super) input_schema: Object,
    pub(super) output_schema: Object,
    annotations: Value,
}

impl Tool {
    fn new<I: JsonSchema, O: JsonSchema>(
        name: &'static str,
        title: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            title,
            description,
            input_schema: schema::<I>(Contract::Deserialize),
            output_schema: or_error(schema::<O>(Contract::Serialize)),
            annotations: json!({
                "title": title,
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": false,
            }),
        }
    }

    /// The tool's definition for clients that use `version`.
    pub(super) fn definition(&self, version: Version) -> Value {
        let mut definition = json!(self);
        if let (false, Some(definition)) = (version.is_structured(), definition.as_object_mut()) {
            definition.remove("outputSchema");
        }
        definition
    }
}

/// All tools.
pub(super) fn all() -> Vec<Tool> {
    vec![
        Tool::new::<ListInput, Sessions>(
            LIST,
            "List captured sessions",
            "Lists commands run with `derun run`, newest first, both running and ended: ids, states, \
             times and commands.",
        ),
        Tool::new::<GetInput, OneSession>(
            GET,
            "Describe a captured session",
            "Returns the details of a session: its command, working directory, state, exit code or signal, size of its \
             output, and when it expires.",
        ),
        Tool::new::<ReadInput, Read>(
            READ,
            "Read a session's output",
            "Reads a session's output from a cursor on, its last bytes or lines, or only the lines that match a \
             regular expression. Never waits. Continue from next_cursor until eof.",
        ),
        Tool::new::<WaitInput, Waited>(
            WAIT,
            "Wait for a session's output",
            "Waits until there is output after a cursor, the session ends, or the time is up, and returns the \
             output. Returns at once if there is some already.",
        ),
    ]
}

/// The schema of `T` without references, which some clients don't support.
fn schema<T: JsonSchema>(contract: Contract) -> Object {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.contract = contract;
    let mut schema: Schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(without_width).transform(&mut schema);
    // Missing fields are omitted from answers, and models needn't know that arguments may be null, so the
    // schemas don't mention null. It is accepted anyway.
    RecursiveTransform(without_null).transform(&mut schema);
    schema.remove("title");
    schema.remove("description");
    match schema.to_value() {
        Value::Object(object) => object,
        _ => Object::default(),
    }
}

/// The schema of an answer or an error: clients check errors against a tool's schema too.
fn or_error(mut answer: Object) -> Object {
    let required = answer.insert("required".to_owned(), json!(["schema_version"]));
    answer.insert("oneOf".to_owned(), json!([{ "required": required }, { "required": ["error"] }]));
    if let Some(Value::Object(properties)) = answer.get_mut("properties") {
        let about = "The error. If present, schema_version is the only other property.";
        properties.insert("error".to_owned(), json!({ "type": "string", "description": about }));
    }
    answer
}

/// Removes `null` from the possible types.
fn without_null(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if object.get("default") == Some(&Value::Null) {
        object.remove("default");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [kind] = &types[..] {
            object["type"] = kind.clone();
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(mut kinds)) = object.remove("anyOf") else { return };
    kinds.retain(|kind| kind.get("type").is_none_or(|kind| kind != "null"));
    match (kinds.pop(), kinds.is_empty()) {
        (Some(Value::Object(only)), true) => {
            for (name, value) in only {
                // A property's description takes precedence over its type's.
                object.entry(name).or_insert(value);
            }
        }
        (Some(last), _) => {
            kinds.push(last);
            object.insert("anyOf".to_owned(), Value::Array(kinds));
        }
        (None, _) => {}
    }
}

/// Removes Rust-specific number formats, which JSON Schema doesn't define and some clients reject.
fn without_width(schema: &mut Schema) {
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| format.contains("int")) {
        schema.remove("format");
    }
}
