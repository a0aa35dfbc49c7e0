//! Formats a single event for people.

use super::super::pieces::Pieces;
use super::super::reported;
use super::super::show::{NOTHING, took, turns};
use super::super::style::{Style, plain_line, plain_text, shortened, with_local_times};
use derun::plain::plain;
use murmur_agent::event::RunResult;
use murmur_core::usage_limit::spoken;
use murmur_rpc::envelope::Event;
use serde_json::Value;
use std::io::{self, Write};

/// How many characters of a tool's input or result to show.
const SHORT: usize = 120;

/// Writes an event, after `pieces` of others: one line, or the full text of a message.
pub(super) fn event(
    out: &mut impl Write,
    style: Style,
    pieces: &mut Pieces,
    event: &Event,
) -> io::Result<()> {
    let payload = &event.payload;
    let value = |key: &str| reported::value(payload, key);
    let text = |key: &str| value(key).and_then(Value::as_str).unwrap_or_default();
    let number = |key: &str| value(key).and_then(Value::as_u64);
    let indent = if text("parent").is_empty() { "" } else { "  " };
    let is_set = |key: &str| value(key) == Some(&Value::Bool(true));
    if event.event_type == "chat" && is_set("chunk") {
        if let Some(lines) = pieces.add(text("text")) {
            writeln!(out, "{indent}{}", indented(&plain_text(&lines), indent))?;
        }
        return Ok(());
    }
    if let Some(rest) = pieces.end() {
        writeln!(out, "{}", plain_text(&rest))?;
    }
    let mut tagged = |tag: &str, rest: String| {
        let line = format!("{indent}{} {rest}", style.dim(format_args!("[{tag}]")));
        writeln!(out, "{}", line.trim_end())
    };
    match &*event.event_type {
        "chat" if text("role") == "user" => tagged("user", prompt(&plain_text(text("text")), indent)),
        "chat" => writeln!(out, "{indent}{}", indented(&plain_text(text("text")), indent)),
        "tool_use" => {
            let input = payload.get("input").map(Value::to_string).unwrap_or_default();
            let call = reported::call(text("name"), &input);
            if pieces.is_new(text("id"), &call) { tagged("tool", call) } else { Ok(()) }
        }
        "tool_result" => {
            let tag = if is_set("isError") { "failed" } else { "result" };
            let output = text("output");
            tagged(tag, if output.trim() == NOTHING { "no output".to_owned() } else { short(output) })
        }
        "result" => {
            let is_error = is_set("isError");
            let errors =
                payload.get("errors").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let errors: Vec<&str> = errors.iter().filter_map(Value::as_str).collect();
            let answer = Some(text("text").to_owned()).filter(|text| !text.is_empty());
            let answer = || answer.unwrap_or_else(|| errors.join("; "));
            let how = match is_error {
                true if RunResult::is_interruption(text("subtype"), &errors) => {
                    Some("interrupted".to_owned())
                }
                true => Some(format!("error: {}", short(&answer()))),
                false => None,
            };
            let mut facts: Vec<String> = how.into_iter().collect();
            facts.extend(number("numTurns").map(turns));
            facts.extend(value("costUsd").and_then(Value::as_f64).map(|cost| format!("${cost:.4}")));
            facts.extend(number("durationMs").map(took));
            tagged("turn over", facts.join(", "))
        }
        "state" => tagged("state", state(payload)),
        "session" => {
            tagged("session", format!("{} {}", plain_line(text("model")), plain_line(text("sessionId"))))
        }
        "stderr" => tagged("stderr", plain_line(&plain(text("text").as_bytes()))),
        "retry" => tagged(
            "retry",
            format!(
                "{} of {} in {} ms ({})",
                number("attempt").unwrap_or(0),
                number("of").unwrap_or(0),
                number("delayMs").unwrap_or(0),
                number("status").map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"))
            ),
        ),
        "gap" => tagged(
            "gap",
            format!(
                "events {} to {} are no longer available",
                event.offset,
                number("to").unwrap_or(0).saturating_sub(1)
            ),
        ),
        "lost" => tagged("lost", format!("output is no longer captured: {}", plain_line(text("reason")))),
        "hold" => {
            let limit = format!("the {} limit is reached", spoken(text("window")));
            tagged(
                "hold",
                plain_line(&format!(
                    "{limit}; the account is on hold until {}",
                    with_local_times(text("until"))
                )),
            )
        }
        "hold_over" => tagged("hold", "the account is no longer on hold".to_owned()),
        "problem" => tagged("problem", plain_line(text("text"))),
        "oversized" => tagged("note", format!("skipped a line of {} bytes", number("bytes").unwrap_or(0))),
        "cost" => Ok(()),
        "garbled" => tagged("note", "skipped a line that is not JSON".to_owned()),
        other => match reported::words(event) {
            Some((tag, text)) => tagged(tag, text),
            // The tasks themselves were shown when they began and ended.
            None if reported::is_known(other) => Ok(()),
            None => tagged(other, short(&payload.to_string())),
        },
    }
}

/// A message to an agent, after its tag: its other lines are indented, so that they don't look like the agent's own.
pub(super) fn prompt(text: &str, indent: &str) -> String {
    indented(text, &format!("{indent}  "))
}

fn indented(text: &str, indent: &str) -> String {
    text.replace('\n', &format!("\n{indent}"))
}

/// An agent's state, from the payload of its event.
pub(super) fn state(payload: &Value) -> String {
    let word = payload.get("state").and_then(Value::as_str).unwrap_or("?");
    let number = |key: &str| payload.get(key).and_then(Value::as_u64);
    let more = match word {
        "running" => {
            let queued = number("queued").filter(|queued| *queued > 0);
            let queued = queued.map(|queued| format!(", {queued} queued")).unwrap_or_default();
            format!(" (turn {}{queued})", number("turn").unwrap_or(0))
        }
        "idle" => format!(" ({})", turns(number("turns").unwrap_or(0))),
        "exited" => match payload.get("exit") {
            Some(exit) => exit
                .get("code")
                .map(|code| format!(" (code {code})"))
                .or_else(|| exit.get("signal").map(|signal| format!(" (signal {signal})")))
                .unwrap_or_default(),
            None => String::new(),
        },
        _ => String::new(),
    };
    let background = reported::in_background(number("background").unwrap_or(0));
    format!("{}{more}{background}", plain_line(word))
}

fn short(text: &str) -> String {
    shortened(text, SHORT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_line_of_a_text_is_indented() {
        let shown = |payload: Value| {
            let mut out = Vec::new();
            let event_type = "chat".to_owned();
            let chat = Event { event_type, agent_id: "fixer".to_owned(), offset: 0, payload };
            event(&mut out, Style::none(), &mut Pieces::default(), &chat).unwrap();
            String::from_utf8(out).unwrap()
        };
        let own = json!({ "role": "assistant", "text": "one\ntwo" });
        assert_eq!(shown(own), "one\ntwo\n");
        let subagent = json!({ "role": "assistant", "parent": "t1", "text": "one\ntwo" });
        assert_eq!(shown(subagent), "  one\n  two\n");
        assert_eq!(shown(json!({ "role": "user", "text": "one\ntwo" })), "[user] one\n  two\n");
        let prompt = json!({ "role": "user", "parent": "t1", "text": "one\ntwo" });
        assert_eq!(shown(prompt), "  [user] one\n    two\n");
    }
}
