//! The differences between a run of the real CLI and one of fake-claude, as far as murmur can see them.
//!
//! Input: two recordings. Output: differences, each a line for people: how they ended, what they wrote to stderr,
//! the shapes of their lines, the events that murmur derives from them, and the outcome it decides on.

use std::fmt;

use fake_claude::replay::{End, Fixture, lines};
use murmur_agent::event::{Event, RunResult};
use murmur_agent::parser::Parser;
use murmur_outcome::StopReason;
use murmur_outcome::run::RunEnd;
use serde_json::Value;

/// One difference between the two runs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    what: &'static str,
    real: String,
    fake: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}: the real one has {}, fake-claude {}", self.what, self.real, self.fake)
    }
}

pub(crate) fn compare(real: &Fixture, fake: &Fixture) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut differ = |what, real: String, fake: String| {
        if real != fake {
            found.push(Difference { what, real, fake });
        }
    };
    differ("end", format!("{:?}", real.run.end), format!("{:?}", fake.run.end));
    let stderr = |run: &Fixture| String::from_utf8_lossy(&run.stderr).into_owned();
    differ("stderr", stderr(real), stderr(fake));
    // A subagent runs concurrently with the main agent: only the order within each is certain.
    for (what, wanted) in
        [("system lines", Stream::System), ("main lines", Stream::Main), ("subagent lines", Stream::Subagent)]
    {
        let shapes = |run: &Fixture| shapes(run, wanted).join(" ");
        differ(what, shapes(real), shapes(fake));
    }
    let (real, fake) = (Seen::of(real), Seen::of(fake));
    differ("main events", real.main.join("\n  "), fake.main.join("\n  "));
    differ("task events", real.tasks.join("\n  "), fake.tasks.join("\n  "));
    differ("subagent events", real.subagent.join("\n  "), fake.subagent.join("\n  "));
    differ("outcome", real.outcome, fake.outcome);
    found
}

/// What murmur sees of a run.
struct Seen {
    main: Vec<String>,
    /// Reports about concurrent tasks: they may come between any two events of the main agent.
    tasks: Vec<String>,
    subagent: Vec<String>,
    outcome: String,
}

impl Seen {
    fn of(run: &Fixture) -> Self {
        let (mut main, mut tasks, mut subagent) = (Vec::new(), Vec::new(), Vec::new());
        let mut results = Vec::new();
        let mut sink = |event: Event<'_>| {
            if let Event::Result(result) = &event {
                results.push((**result).clone());
            }
            let of_subagent = matches!(&event, Event::Text { parent, .. } | Event::ToolUse { parent, .. }
                | Event::ToolResult { parent, .. } if !parent.is_empty());
            let events = match &event {
                _ if of_subagent => &mut subagent,
                Event::Task(_) | Event::Background { .. } => &mut tasks,
                _ => &mut main,
            };
            events.push(normalized(event));
        };
        let mut parser = Parser::default();
        parser.feed(&run.stdout, &mut sink);
        parser.finish(&mut sink);
        for events in [&mut main, &mut subagent] {
            number_messages(events);
            sort_results(events);
        }
        let ending = match run.run.end {
            End::Code(code) => RunEnd::Exited(code),
            End::Signal(signal) => RunEnd::Signaled(signal),
        };
        let outcome = murmur_outcome::decide(
            &ending,
            StopReason::Asked,
            &results,
            &String::from_utf8_lossy(&run.stderr),
            None,
        );
        Self { main, tasks, subagent, outcome: estimated(&format!("{outcome:?}")) }
    }
}

/// An event without values that depend on the clock (delays are random, durations measured), and without the version,
/// which is that of the recording.
fn normalized(event: Event<'_>) -> String {
    match event {
        Event::Session { id, model, permission_mode, mcp_servers, .. } => {
            let version = "".into();
            format!("{:?}", Event::Session { id, model, version, permission_mode, mcp_servers })
        }
        Event::Retry { attempt, of, status, error, .. } => {
            format!("{:?}", Event::Retry { attempt, of, delay_ms: 0, status, error })
        }
        Event::Result(result) => {
            let (usage, total_usage, models) = (None, None, Vec::new());
            let text = result.text.map(|text| estimated(&text));
            let result = RunResult { duration_ms: None, text, usage, total_usage, models, ..*result };
            format!("{:?}", Event::Result(Box::new(result)))
        }
        Event::Text { message, parent, text, is_chunk } => {
            format!("{:?}", Event::Text { message, parent, text: estimated(&text).into(), is_chunk })
        }
        // Ids are random.
        Event::Task(task) => format!("Task {:?} {} {}", task.stage, task.kind, task.status),
        Event::Background { tasks } => format!("Background {}", tasks.len()),
        event => format!("{event:?}"),
    }
}

/// A text without how much of a prompt is the conversation: the rest of the prompt differs from version to version.
fn estimated(text: &str) -> String {
    const BEFORE: &str = "this conversation is only ~";
    match text.split_once(BEFORE) {
        Some((before, after)) => {
            let after = after.trim_start_matches(|character: char| character.is_ascii_digit());
            format!("{before}{BEFORE}…{after}")
        }
        None => text.to_owned(),
    }
}

/// Messages are numbered by the order of their requests to the model, and an agent and its subagent ask concurrently:
/// within each stream they are renumbered in order.
fn number_messages(events: &mut [String]) {
    let mut known: Vec<String> = Vec::new();
    for event in events {
        let Some((before, rest)) = event.split_once("message: \"") else { continue };
        let Some((message, after)) = rest.split_once('"') else { continue };
        let number = known.iter().position(|other| other == message).unwrap_or_else(|| {
            known.push(message.to_owned());
            known.len() - 1
        });
        *event = format!("{before}message: \"{number}\"{after}");
    }
}

/// Concurrent tools answer in any order: each series of answers is sorted.
fn sort_results(events: &mut [String]) {
    for group in
        events.chunk_by_mut(|one, other| [one, other].iter().all(|event| event.starts_with("ToolResult")))
    {
        group.sort_unstable();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    System,
    Main,
    Subagent,
}

/// The lines of one stream, each as its type, subtype and blocks.
fn shapes(run: &Fixture, wanted: Stream) -> Vec<String> {
    let read = |line: &[u8]| serde_json::from_slice::<Value>(line).unwrap_or_default();
    lines(&run.stdout)
        .map(read)
        .filter(|line| stream(line) == Some(wanted))
        .map(|line| {
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let blocks = line["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default();
            let blocks: Vec<String> = blocks.iter().map(|block| word(&block["type"])).collect();
            format!("{}/{}[{}]", word(&line["type"]), word(&line["subtype"]), blocks.join(","))
        })
        .collect()
}

/// Which stream a line belongs to; `None` for the progress of tasks, which depends on the clock.
fn stream(line: &Value) -> Option<Stream> {
    let subtype = line["subtype"].as_str().unwrap_or_default();
    match line["type"].as_str() {
        Some("system") if subtype.starts_with("task_") || subtype.starts_with("background_") => None,
        Some("system") => Some(Stream::System),
        _ if line["parent_tool_use_id"].is_string() => Some(Stream::Subagent),
        _ => Some(Stream::Main),
    }
}
