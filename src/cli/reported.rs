//! Formats an agent's session reports for people: tasks, compaction, limits, refusals and permission modes.
//!
//! Takes an event of a host, from its socket or created here, and returns a tag and a line.

use super::style::{local_time, plain_line, shortened};
use jiff::Timestamp;
use murmur_core::permit::pipeline::ASK;
use murmur_core::usage_limit::spoken;
use murmur_rpc::envelope::Event;
use murmur_store::pulse::action;
use serde_json::Value;
use sys::text::shown_line;

/// How many characters of a description or summary to show.
const SHORT: usize = 120;

/// Whether events of this type are reports. Some have no text.
pub(super) fn is_known(event_type: &str) -> bool {
    matches!(
        event_type,
        "task"
            | "background_tasks"
            | "compaction"
            | "rate_limit"
            | "permission_mode"
            | "permission_asked"
            | "permission_withdrawn"
            | "api_error"
            | "waiting"
            | "waited"
            | "usage"
            | "blocked"
            | "warning"
    )
}

/// The value of `key` in an event's payload. Hosts of earlier versions write it in `snake_case`.
pub(super) fn value<'a>(payload: &'a Value, key: &str) -> Option<&'a Value> {
    payload.get(key).or_else(|| {
        let snake = key.chars().fold(String::new(), |mut snake, letter| {
            if letter.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(letter.to_ascii_lowercase());
            snake
        });
        payload.get(snake)
    })
}

/// A call in one line: the tool, and what it does.
pub(super) fn call(tool: &str, input: &str) -> String {
    match action::of(tool, input) {
        subject if subject.is_empty() => shown_line(tool),
        subject => format!("{}({subject})", shown_line(tool)),
    }
}

/// The tag and text of an event; `None` if there is nothing to show.
pub(super) fn words(event: &Event) -> Option<(&'static str, String)> {
    let payload = &event.payload;
    let text = |key: &str| short(payload.get(key).and_then(Value::as_str).unwrap_or_default());
    let number = |key: &str| value(payload, key).and_then(Value::as_u64);
    let is_background = payload.get("background").and_then(Value::as_bool) == Some(true);
    Some(match (&*event.event_type, &*text("stage")) {
        ("task", "started") => {
            let place = if is_background { " in the background" } else { "" };
            ("task", format!("started{place}: {}", text("description")))
        }
        ("task", "progress") => return None,
        ("task", "updated") => return None,
        ("task", _) => {
            let (status, summary) = (text("status"), text("summary"));
            ("task", format!("{}: {summary}", if status.is_empty() { "ended" } else { &*status }))
        }
        ("compaction", "started") => ("compaction", "compacting the conversation".to_owned()),
        ("compaction", "failed") => ("compaction", format!("failed: {}", text("error"))),
        ("compaction", _) => {
            let tokens = |key| number(key).map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
            let trigger = text("trigger");
            let trigger = if trigger.is_empty() { trigger } else { format!(" ({trigger})") };
            let (before, after) = (tokens("preTokens"), tokens("postTokens"));
            ("compaction", format!("done: {before} tokens reduced to {after}{trigger}"))
        }
        ("rate_limit", _) => {
            let what = match &*text("status") {
                "allowed" => return None,
                "allowed_warning" => "nearly reached".to_owned(),
                "rejected" => "reached".to_owned(),
                other => other.to_owned(),
            };
            let used = payload.get("utilization").and_then(Value::as_f64);
            let used = used.map(|used| format!(", {:.0}% used", used * 100.0)).unwrap_or_default();
            let resets = value(payload, "resetsAt").and_then(Value::as_i64);
            let resets = resets.and_then(|at| Timestamp::from_second(at).ok());
            let resets = resets.map(|at| format!(", resets at {}", local_time(at))).unwrap_or_default();
            ("limit", format!("{} limit {what}{used}{resets}", spoken(&text("window"))))
        }
        ("permission_mode", _) => match &*text("mode") {
            "plan" => ("mode", "plan: the agent explores and changes nothing".to_owned()),
            mode => ("mode", mode.to_owned()),
        },
        // A person only answers those that become a request.
        ("permission_asked" | "permission_withdrawn", _) => return None,
        ("waiting", _) => ("waiting", waiting_for(&text("request"), &text("tool"))),
        ("waited", _) => ("waiting", format!("request {} is no longer open", text("request"))),
        ("blocked", _) => ("blocked", text("reason")),
        ("warning", _) => ("warning", text("text")),
        ("api_error", _) => {
            let status = number("status").map(|status| format!(" (status {status})")).unwrap_or_default();
            ("refused", format!("{}{status}", text("error")))
        }
        _ => return None,
    })
}

/// Says that a call of `tool` waits for a person, and how to answer `request`.
pub(super) fn waiting(request: &str, tool: &str) -> String {
    format!("waiting {}", waiting_for(request, tool))
}

/// Likewise, without the first word.
pub(super) fn waiting_for(request: &str, tool: &str) -> String {
    format!("{}; {}", waits_for(tool), how_to_answer(verb(tool), &plain_line(request)))
}

/// Likewise, with only one of the commands.
pub(super) fn waiting_briefly(request: &str, tool: &str) -> String {
    format!("{}; run: murmur {} {}", waits_for(tool), verb(tool), plain_line(request))
}

/// The command that answers a call of `tool`.
fn verb(tool: &str) -> &'static str {
    if shown_line(tool) == ASK { "answer" } else { "allow" }
}

/// What a call of `tool` waits for.
pub(super) fn waits_for(tool: &str) -> String {
    match &*shown_line(tool) {
        ASK => "for an answer to a question".to_owned(),
        "" => "for your approval".to_owned(),
        tool => format!("for your approval of {tool}"),
    }
}

/// The commands that answer the request `name`, or deny it.
pub(super) fn how_to_answer(verb: &str, name: &str) -> String {
    format!("run: murmur {verb} {name}, or: murmur deny {name} --reason '...'")
}

/// A suffix for an agent's state: the number of its background tasks, if any.
pub(super) fn in_background(tasks: u64) -> String {
    match tasks {
        0 => String::new(),
        1 => ", 1 background task".to_owned(),
        tasks => format!(", {tasks} background tasks"),
    }
}

fn short(text: &str) -> String {
    shortened(text, SHORT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(event_type: &str, payload: Value) -> String {
        let line = json!({ "event_type": event_type, "agent_id": "a", "offset": 0, "payload": payload });
        let event: Event = serde_json::from_value(line).unwrap();
        words(&event).map(|(tag, text)| format!("[{tag}] {text}")).unwrap_or_default()
    }

    #[test]
    fn a_waiting_request_shows_the_command_to_answer_it() {
        let waiting = |tool: &str| shown("waiting", json!({ "request": "7k3v9m2x", "tool": tool }));
        assert_eq!(
            waiting("Bash"),
            "[waiting] for your approval of Bash; run: murmur allow 7k3v9m2x, or: murmur deny 7k3v9m2x --reason '...'"
        );
        assert!(waiting(ASK).starts_with(
            "[waiting] for an answer to a question; run: murmur answer 7k3v9m2x, or: murmur deny"
        ));
        let over = shown("waited", json!({ "request": "7k3v9m2x" }));
        assert_eq!(over, "[waiting] request 7k3v9m2x is no longer open");
    }

    #[test]
    fn background_tasks_are_counted() {
        assert_eq!([0, 1, 2].map(in_background), ["", ", 1 background task", ", 2 background tasks"]);
    }

    #[test]
    fn reports_are_formatted_for_people() {
        let lines = [
            shown(
                "task",
                json!({ "stage": "started", "description": "Run\n the \u{1b}tests", "background": true }),
            ),
            shown("task", json!({ "stage": "started", "description": "Look around" })),
            shown("task", json!({ "stage": "ended", "status": "failed", "summary": "exit code 1" })),
            shown("compaction", json!({ "stage": "started" })),
            shown(
                "compaction",
                json!({ "stage": "done", "trigger": "auto", "preTokens": 9, "postTokens": 3 }),
            ),
            shown("compaction", json!({ "stage": "failed", "error": "no" })),
            shown("rate_limit", json!({ "status": "allowed" })),
            shown(
                "rate_limit",
                json!({ "status": "allowed_warning", "window": "five_hour", "utilization": 0.9 }),
            ),
            shown("rate_limit", json!({ "status": "rejected", "resetsAt": 1_795_420_000 })),
            // From a host of an earlier version.
            shown("rate_limit", json!({ "status": "rejected", "resets_at": 1_795_420_000 })),
            shown("permission_mode", json!({ "mode": "plan" })),
            shown("permission_mode", json!({ "mode": "default" })),
            shown("api_error", json!({ "error": "rate_limit", "status": 429 })),
        ];
        let expected = [
            "[task] started in the background: Run the tests",
            "[task] started: Look around",
            "[task] failed: exit code 1",
            "[compaction] compacting the conversation",
            "[compaction] done: 9 tokens reduced to 3 (auto)",
            "[compaction] failed: no",
            "",
            "[limit] five-hour limit nearly reached, 90% used",
            "[limit] usage limit reached, resets at 2026-11-23 07:46:40",
            "[limit] usage limit reached, resets at 2026-11-23 07:46:40",
            "[mode] plan: the agent explores and changes nothing",
            "[mode] default",
            "[refused] rate_limit (status 429)",
        ];
        assert_eq!(lines, expected);
    }
}
