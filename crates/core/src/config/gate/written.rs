//! `when` and `verify` as people write them, and their part of the schema.

use super::{Argv, Condition, GATE_TIMEOUT, Gate, Patterns, VERIFIER_TIMEOUT, Verifier, Verify, When};
use crate::config::checked::Check;
use crate::config::interval::{Interval, IntervalError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use std::collections::BTreeMap;
use sys::error::{Failure, Hinted};
use sys::failure;

impl When {
    /// The accepted values, for hints.
    pub(in crate::config) const ACCEPTED: &str = "write a program such as \"./changed.sh\", a list of a program and its arguments, or {\"run\": …}, {\"changed\": [\"src/**\"]}, {\"git\": \"new-commits\"}, {\"url\": \"https://…\"}, or a list of these objects";
}

impl Verify {
    /// The accepted values, for hints.
    pub(in crate::config) const ACCEPTED: &str = "write a program such as \"./check.sh\", a list of a program and its arguments, {\"run\": …, \"timeout\": \"10m\"}, or a list of these objects";
}

/// Any value that can be part of a gate.
#[derive(Debug, serde::Deserialize)]
#[serde(untagged)]
pub(in crate::config) enum Written {
    Text(String),
    List(Vec<Written>),
    Object(BTreeMap<String, Written>),
}

impl Check for When {
    type Raw = Written;

    fn check(written: Written) -> Result<Self, Failure> {
        let gate = |written| {
            let (condition, timeout) = one(written, Self::ACCEPTED)?;
            Ok(Gate { condition, timeout: timeout.unwrap_or(GATE_TIMEOUT) })
        };
        all(written, Self::ACCEPTED, gate).map(Self)
    }
}

impl Check for Verify {
    type Raw = Written;

    fn check(written: Written) -> Result<Self, Failure> {
        let verifier = |written| match one(written, Self::ACCEPTED)? {
            (Condition::Run(argv), timeout) => {
                Ok(Verifier { argv, timeout: timeout.unwrap_or(VERIFIER_TIMEOUT) })
            }
            (other, _) => Err(failure!("{:?} verifies nothing", other.to_string(); "{}", Self::ACCEPTED)),
        };
        all(written, Self::ACCEPTED, verifier).map(Self)
    }
}

/// One value, or a list of objects.
fn all<T>(
    written: Written,
    accepted: &str,
    one: impl Fn(Written) -> Result<T, Failure>,
) -> Result<Box<[T]>, Failure> {
    match written {
        Written::List(items) if items.is_empty() => Err(failure!("the list is empty"; "{accepted}")),
        Written::List(items) if items.iter().all(|item| matches!(item, Written::Object(_))) => {
            items.into_iter().map(one).collect()
        }
        Written::List(items) if !items.iter().all(|item| matches!(item, Written::Text(_))) => Err(failure!(
            "a list has either a program and its arguments, or objects";
            "write {{\"run\": …}} for each program in a list of several"
        )),
        single => {
            check_one_program(&single)?;
            Ok(Box::new([one(single)?]))
        }
    }
}

/// Refuses a bare list of paths, which could also mean several programs: only the first would run.
fn check_one_program(written: &Written) -> Result<(), Failure> {
    let Written::List(items) = written else { return Ok(()) };
    let path = |item: &Written| match item {
        Written::Text(text) => {
            ["./", "../", "/"].iter().any(|start| text.starts_with(start)).then(|| text.clone())
        }
        Written::List(_) | Written::Object(_) => None,
    };
    let paths: Option<Vec<String>> = items.iter().map(path).collect();
    let Some(paths) = paths.filter(|paths| paths.len() > 1) else { return Ok(()) };
    let several: Vec<String> = paths.iter().map(|path| format!("{{\"run\": {path:?}}}")).collect();
    Err(failure!(
        "{paths:?} may be one program with arguments, or several programs";
        "write {{\"run\": {paths:?}}} for one, or [{}] for several", several.join(", ")
    ))
}

/// The keys of an object besides `timeout`, of which it has one.
const CONDITIONS: [&str; 4] = ["run", "changed", "git", "url"];

/// One gate.
fn one(written: Written, accepted: &str) -> Result<(Condition, Option<Interval>), Failure> {
    let Written::Object(mut keys) = written else {
        return Ok((Condition::Run(argv(written, accepted)?), None));
    };
    let timeout = match keys.remove("timeout") {
        Some(Written::Text(text)) => Some(text.parse().map_err(|error: IntervalError| error.failure())?),
        Some(_) => return Err(failure!("\"timeout\" is not a time"; "write a string such as \"30s\"")),
        None => None,
    };
    if let Some(unknown) = keys.keys().find(|key| !CONDITIONS.contains(&key.as_str())) {
        return Err(failure!("unknown key {unknown:?}"; "{accepted}"));
    }
    let mut keys = keys.into_iter();
    let (Some((key, value)), None) = (keys.next(), keys.next()) else {
        return Err(failure!("an object needs exactly one of run, changed, git and url"; "{accepted}"));
    };
    let condition = match key.as_str() {
        "run" => Condition::Run(argv(value, accepted)?),
        "changed" => Condition::Changed(paths(value)?),
        "git" => match value {
            Written::Text(what) if what == "new-commits" => Condition::NewCommits,
            _ => return Err(failure!("\"git\" has a wrong value"; "write \"new-commits\"")),
        },
        _ => Condition::Url(url(value)?),
    };
    Ok((condition, timeout))
}

/// A program, or a list of a program and its arguments.
fn argv(written: Written, accepted: &str) -> Result<Argv, Failure> {
    let words = match written {
        Written::Text(text) if text.trim().contains(char::is_whitespace) => {
            return Err(failure!(
                "{text:?} has spaces, and no shell splits it";
                "write a list, such as [\"./changed.sh\", \"--since\", \"1d\"]"
            ));
        }
        Written::Text(text) => vec![text],
        Written::List(items) => {
            let word = |item| match item {
                Written::Text(text) => Some(text),
                Written::List(_) | Written::Object(_) => None,
            };
            let words: Option<Vec<String>> = items.into_iter().map(word).collect();
            words.ok_or_else(|| failure!("an argument is not a string"; "{accepted}"))?
        }
        Written::Object(_) => return Err(failure!("an object is not a program"; "{accepted}")),
    };
    let Some(program) = words.first() else { return Err(failure!("the list is empty"; "{accepted}")) };
    if program.starts_with('~') {
        return Err(
            failure!("{program:?} is not expanded"; "write your home folder's absolute path instead"),
        );
    }
    if program.trim().is_empty() || program.starts_with('-') || program.chars().any(char::is_control) {
        return Err(failure!("{program:?} is not a program"; "{accepted}"));
    }
    if words.iter().any(|word| word.contains('\0')) {
        return Err(failure!("an argument has a NUL character"; "remove it"));
    }
    Ok(Argv(words.into_iter().map(Into::into).collect()))
}

fn paths(written: Written) -> Result<Box<[Box<str>]>, Failure> {
    let accepted = "write a list of paths or globs in the workspace, such as [\"src/**\", \"docs\"]";
    let items = match written {
        Written::Text(text) => vec![Written::Text(text)],
        Written::List(items) if !items.is_empty() => items,
        Written::List(_) | Written::Object(_) => {
            return Err(failure!("\"changed\" names no path"; "{accepted}"));
        }
    };
    let path = |item| match item {
        Written::Text(text) => Ok(text.into()),
        Written::List(_) | Written::Object(_) => Err(failure!("\"changed\" has a wrong value"; "{accepted}")),
    };
    let paths: Box<[Box<str>]> = items.into_iter().map(path).collect::<Result<_, _>>()?;
    Patterns::new(&paths)?;
    Ok(paths)
}

fn url(written: Written) -> Result<Box<str>, Failure> {
    let accepted = "write a URL such as \"https://example.org/feed.xml\"";
    let Written::Text(url) = written else { return Err(failure!("\"url\" is not a string"; "{accepted}")) };
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let is_wrong = |letter: char| letter.is_whitespace() || letter.is_control();
    if host.is_none_or(|host| host.is_empty() || host.starts_with('/')) || url.contains(is_wrong) {
        return Err(failure!("{url:?} is not the URL of a page"; "{accepted}"));
    }
    Ok(url.into())
}

/// The schema of an object with `key` and a time limit.
fn object(key: &str, value: serde_json::Value) -> serde_json::Value {
    let mut properties = serde_json::json!({ "timeout": { "type": "string" } });
    properties[key] = value;
    serde_json::json!({ "type": "object", "properties": properties, "required": [key], "additionalProperties": false })
}

fn program() -> serde_json::Value {
    let word = serde_json::json!({ "type": "string", "pattern": "^[^-~\\s]\\S*$" });
    serde_json::json!({ "anyOf": [word, { "type": "array", "items": { "type": "string" }, "minItems": 1 }] })
}

/// One program, one of `objects`, or several of these.
fn schema(objects: &[serde_json::Value]) -> Schema {
    let object = serde_json::json!({ "anyOf": objects });
    json_schema!({ "anyOf": [program(), object, { "type": "array", "items": object, "minItems": 1 }] })
}

impl JsonSchema for When {
    fn schema_name() -> Cow<'static, str> {
        "When".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let texts = serde_json::json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 });
        schema(&[
            object("run", program()),
            object("changed", serde_json::json!({ "anyOf": [{ "type": "string" }, texts] })),
            object("git", serde_json::json!({ "const": "new-commits" })),
            object("url", serde_json::json!({ "type": "string", "pattern": "^https?://" })),
        ])
    }
}

impl JsonSchema for Verify {
    fn schema_name() -> Cow<'static, str> {
        "Verify".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema(&[object("run", program())])
    }
}
