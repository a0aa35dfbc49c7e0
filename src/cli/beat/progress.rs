//! The progress line of a beat on a terminal: how long it has run, its turn, its tokens, and what its agent is doing.

use super::super::reported;
use derun::cli::fitted::cut;
use derun::cli::screen::{Footer, Lines};
use derun::cli::span::span;
use jiff::Timestamp;
use murmur_agent::event::{Event, Tokens};
use murmur_agent::message_tokens::MessageTokens;
use murmur_agent::turn_count::TurnCount;
use sys::clock;
use unicode_width::UnicodeWidthStr;

/// How many calls without a result to remember.
const CALLS: usize = 64;

/// Narrower terminals show what the agent does rather than turn and tokens.
const NARROW: usize = 60;

/// What a beat has done so far.
#[derive(Debug)]
pub(super) struct Progress {
    started: Timestamp,
    turns: TurnCount,
    /// The calls without a result: id, and what they do.
    calls: Vec<(String, String)>,
    /// The tokens of messages.
    messages: MessageTokens,
    /// The tokens of requests to the model.
    tokens: Tokens,
    /// What the agent does while no call runs.
    state: String,
    /// The requests that wait for a person, and how to answer them.
    waits: Vec<(String, String)>,
}

impl Progress {
    pub(super) fn new(started: Timestamp) -> Self {
        Self {
            started,
            turns: TurnCount::default(),
            calls: Vec::new(),
            messages: MessageTokens::default(),
            tokens: Tokens::default(),
            state: "starting".to_owned(),
            waits: Vec::new(),
        }
    }

    /// Handles an event. Returns whether the line may have changed.
    pub(super) fn see(&mut self, event: &Event<'_>) -> bool {
        self.turns.see(event);
        match event {
            Event::Session { .. } => "waiting for the model".clone_into(&mut self.state),
            Event::Text { parent, .. } if parent.is_empty() => "writing".clone_into(&mut self.state),
            Event::ToolUse { id, name, input, .. } => {
                let call = reported::call(name, input.0.get());
                self.calls.retain(|(known, _)| *known != **id);
                if self.calls.len() < CALLS {
                    self.calls.push((id.clone().into_owned(), call));
                }
            }
            Event::ToolResult { id, .. } | Event::Blocked { id, .. } => {
                self.calls.retain(|(known, _)| *known != **id);
                "waiting for the model".clone_into(&mut self.state);
            }
            Event::MessageTokens { message, tokens } => self.messages.report(message, *tokens),
            Event::Usage(tokens) => self.tokens = self.tokens + *tokens,
            Event::Retry { attempt, of, .. } => {
                self.state = format!("retrying the model ({attempt} of {of})")
            }
            Event::Result(_) => "ending".clone_into(&mut self.state),
            _ => return false,
        }
        true
    }

    /// The request `id`, which people call `name`, waits for a person.
    pub(super) fn waits(&mut self, id: &str, name: &str, tool: &str) {
        self.waits.push((id.to_owned(), format!("waiting {}", reported::waiting_briefly(name, tool))));
    }

    /// The request no longer waits.
    pub(super) fn waits_no_more(&mut self, id: &str) {
        self.waits.retain(|(known, _)| known != id);
    }

    /// The line, for the bottom of the screen.
    pub(super) fn bottom(&self) -> Footer {
        let doing = self.waits.first().or(self.calls.last()).map_or(&self.state, |(_, doing)| doing);
        let Tokens { input, output, cache_read, cache_write } = self.tokens + self.messages.total();
        let tokens = input.saturating_add(output).saturating_add(cache_read).saturating_add(cache_write);
        let mut facts = String::new();
        match self.turns.so_far() {
            0 => {}
            turn => facts.push_str(&format!("  turn {turn}")),
        }
        if tokens > 0 {
            facts.push_str(&format!("  {} tokens", short(tokens)));
        }
        let (started, doing) = (self.started, doing.clone());
        Footer::Counting(Box::new(move |columns| {
            let lasted = span(clock::now().duration_since(started));
            // A full line would move the cursor to the next one.
            let room = columns.saturating_sub(1);
            let whole = format!("{lasted}{facts}  {doing}");
            // What it does says more than the numbers.
            let is_tight = columns < NARROW && whole.width() > room;
            let line = if is_tight { format!("{lasted}  {doing}") } else { whole };
            Lines::one(cut(&line, room))
        }))
    }
}

/// A count in few characters: `950`, `1.2k`, `12k` or `3.4M`.
fn short(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_agent::parser::Parser;

    #[test]
    fn the_line_names_the_turn_the_tokens_and_the_latest_call() {
        let stream = concat!(
            r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#,
            "\n",
            r#"{"type":"assistant","message":{"id":"a","usage":{"input_tokens":900,"output_tokens":50},"content":[{"type":"text","text":"Looking."}]}}"#,
            "\n",
            r#"{"type":"assistant","message":{"id":"a","usage":{"input_tokens":900,"output_tokens":60},"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cargo\ntest"}}]}}"#,
            "\n",
            r#"{"type":"user","message":{"content":[{"tool_use_id":"t1","type":"tool_result","content":"ok"}]}}"#,
            "\n",
            r#"{"type":"assistant","message":{"id":"b","usage":{"input_tokens":1000,"cache_read_input_tokens":20000,"output_tokens":1},"content":[{"type":"text","text":"Done."}]}}"#,
            "\n",
        );
        let mut progress = Progress::new(clock::now());
        let mut shown = vec![line(&progress, 80)];
        Parser::default().feed(stream.as_bytes(), &mut |event| {
            if progress.see(&event) {
                shown.push(line(&progress, 80));
            }
        });
        shown.dedup();
        let expected = [
            "0s  starting",
            "0s  waiting for the model",
            "0s  950 tokens  waiting for the model",
            "0s  turn 1  950 tokens  writing",
            "0s  turn 1  960 tokens  writing",
            "0s  turn 1  960 tokens  Bash(cargo\\ntest)",
            "0s  turn 1  960 tokens  waiting for the model",
            "0s  turn 1  21k tokens  waiting for the model",
            "0s  turn 2  21k tokens  writing",
        ];
        assert_eq!(shown, expected);
        progress.waits("7ggs733k", "1", "Bash");
        assert_eq!(
            line(&progress, 150),
            "0s  turn 2  21k tokens  waiting for your approval of Bash; run: murmur allow 1"
        );
        assert_eq!(line(&progress, 40), "0s  waiting for your approval of Bash;…");
        progress.waits_no_more("7ggs733k");
        assert_eq!(line(&progress, 40), "0s  turn 2  21k tokens  writing");
        assert_eq!(line(&progress, 20), "0s  writing");
        assert_eq!(line(&progress, 1), "");
        assert_eq!([950, 1_234, 12_345, 1_234_567].map(short), ["950", "1.2k", "12k", "1.2M"]);
    }

    fn line(progress: &Progress, columns: usize) -> String {
        match progress.bottom() {
            Footer::Counting(draw) => draw(columns).rows.concat(),
            _ => String::new(),
        }
    }
}
