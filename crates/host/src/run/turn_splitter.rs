//! Splits an agent's output at turn boundaries. A single read may hold the end of a turn and the start of the
//! next one, which the agent starts by itself: its state must change in between, before the events of the new turn
//! get their numbers.
//!
//! Not `sys::lines::LineBuffer`: it would copy the output, in which this only looks for boundaries.

use super::Host;
use crate::event::Progress;
use crate::state::Input;
use derun::record::Channel;
use memchr::{memchr, memmem};
use murmur_agent::event::Event;
use murmur_agent::parser::{Dialect, Parser};
use std::time::Duration;

/// What to do with pending output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Handle this many bytes.
    Take(usize),
    /// The first line starts a turn.
    Turn,
}

/// State of the unfinished line.
#[derive(Debug, Default)]
pub(super) struct TurnSplitter {
    dialect: Dialect,
    /// Parses an idle agent's output before it is handled.
    ahead: Parser,
    /// Whether an unfinished line has not been parsed ahead.
    is_unread: bool,
    /// Whether the unfinished line contains [`Dialect::end_of_turn`].
    has_result: bool,
    /// The end of a busy agent's previous output.
    previous_end: Vec<u8>,
}

impl<S: FnMut(Progress<'_>, Duration)> Host<'_, S> {
    /// Handles an agent's output, changing the state before each turn. Output that belongs to no turn starts none.
    pub(super) fn take_in_turns(&mut self, mut bytes: &[u8], is_turn: bool) {
        while !bytes.is_empty() {
            let next = match self.machine.turns_between().filter(|_| is_turn) {
                Some(turns) => self.turn_splitter.while_idle(bytes, turns),
                None => Next::Take(self.turn_splitter.at_work(bytes)),
            };
            let length = match next {
                Next::Take(length) => length,
                Next::Turn => {
                    self.take(Input::Acted);
                    self.turn_splitter.at_work(bytes)
                }
            };
            self.handle_output(Channel::Stdout, &bytes[..length]);
            bytes = &bytes[length..];
        }
    }
}

impl TurnSplitter {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, ahead: Parser::new(dialect), ..Self::default() }
    }

    /// Decides on `bytes` of an agent that is idle after `turns` turns. It reads line by line: there is little
    /// output.
    fn while_idle(&mut self, bytes: &[u8], turns: u64) -> Next {
        self.has_result = false;
        self.previous_end.clear();
        let mut at = 0;
        while let Some(end) = memchr(b'\n', &bytes[at..]) {
            let line = &bytes[at..=at + end];
            let (mut begins, mut ends) = (false, false);
            if !std::mem::take(&mut self.is_unread) {
                self.ahead.feed(line, &mut |event| {
                    begins |= begins_turn(&event, turns);
                    ends |= matches!(event, Event::Result(_));
                });
            }
            match (begins, at) {
                (true, 0) => {
                    self.has_result = ends;
                    return Next::Turn;
                }
                (true, _) => return Next::Take(at),
                (false, _) => at += line.len(),
            }
        }
        if !self.is_unread {
            self.ahead.feed(&bytes[at..], &mut |_| {});
        }
        Next::Take(bytes.len())
    }

    /// How many of `bytes` of a busy agent to handle: up to the end of a turn.
    fn at_work(&mut self, bytes: &[u8]) -> usize {
        self.ahead = Parser::new(self.dialect);
        let marker = self.dialect.end_of_turn();
        let found = if self.has_result || self.spans_end_of_turn(bytes) {
            Some(0)
        } else {
            memmem::find(bytes, marker).map(|begin| begin + marker.len())
        };
        let newline = found.and_then(|from| Some(from + memchr(b'\n', &bytes[from..])?));
        let length = newline.map_or(bytes.len(), |newline| newline + 1);
        self.has_result = found.is_some() && newline.is_none();
        self.is_unread = bytes[..length].last().is_some_and(|last| *last != b'\n');
        if newline.is_some() {
            self.previous_end.clear();
        } else {
            let most = marker.len() - 1;
            self.previous_end.extend_from_slice(&bytes[bytes.len().saturating_sub(most)..]);
            self.previous_end.drain(..self.previous_end.len().saturating_sub(most));
        }
        length
    }

    /// Whether the end of a turn started before `bytes`.
    fn spans_end_of_turn(&self, bytes: &[u8]) -> bool {
        let marker = self.dialect.end_of_turn();
        let mut around = self.previous_end.clone();
        around.extend_from_slice(&bytes[..bytes.len().min(marker.len() - 1)]);
        memmem::find(&around, marker).is_some_and(|begin| begin < self.previous_end.len())
    }
}

/// Whether this event makes an idle agent busy. An agent may report that it is up before its first turn, and
/// background work of subagents belongs to no turn.
fn begins_turn(event: &Event<'_>, turns: u64) -> bool {
    match event {
        Event::Session { .. } => turns > 0,
        Event::Text { parent, .. } | Event::ToolUse { parent, .. } => parent.is_empty(),
        Event::Result(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INIT: &str = "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n";
    const TASK: &str = "{\"type\":\"system\",\"subtype\":\"task_notification\",\"task_id\":\"b1\"}\n";
    const SAID: &str = "{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"content\":[{\"type\":\"text\",\"text\":\"\\\"result\\\"\"}]}}\n";
    const RESULT: &str = "{\"subtype\":\"success\",\"type\": \"result\"}\n";

    /// Splits an agent's output that arrives in chunks of `size`, and marks the pieces that start a turn. The agent
    /// has had one turn, and is idle after a piece that ends with a result.
    fn pieces(output: &str, size: usize) -> Vec<(bool, String)> {
        let (mut turns, mut is_idle, mut pieces) =
            (TurnSplitter::default(), false, Vec::<(bool, String)>::new());
        let mut is_new = true;
        for mut bytes in output.as_bytes().chunks(size) {
            while !bytes.is_empty() {
                let next =
                    if is_idle { turns.while_idle(bytes, 1) } else { Next::Take(turns.at_work(bytes)) };
                let (begins, length) = match next {
                    Next::Take(length) => (false, length),
                    Next::Turn => (true, turns.at_work(bytes)),
                };
                let piece = std::str::from_utf8(&bytes[..length]).unwrap();
                if begins || is_new {
                    pieces.push((begins, String::new()));
                }
                pieces.last_mut().unwrap().1.push_str(piece);
                is_new = pieces.last().unwrap().1.ends_with(RESULT);
                is_idle = is_new || (is_idle && !begins);
                bytes = &bytes[length..];
            }
        }
        pieces
    }

    #[test]
    fn an_unprompted_turn_is_split_off_for_any_chunking() {
        let output = [INIT, SAID, RESULT, TASK, INIT, SAID, RESULT, RESULT, TASK].concat();
        let whole = [
            (false, [INIT, SAID, RESULT].concat()),
            (false, TASK.to_owned()),
            (true, [INIT, SAID, RESULT].concat()),
            (true, RESULT.to_owned()),
            (false, TASK.to_owned()),
        ];
        assert_eq!(pieces(&output, output.len()), whole);
        // The start of a line that is not yet known to start a turn is handled with the previous piece.
        for size in 1..output.len() {
            let cut = pieces(&output, size);
            assert_eq!(cut.iter().map(|(_, piece)| &**piece).collect::<String>(), output, "{size}");
            assert_eq!(cut.iter().filter(|(begins, _)| *begins).count(), 2, "{size}: {cut:#?}");
        }
    }

    #[test]
    fn a_line_started_while_busy_is_not_parsed_ahead() {
        let mut turns = TurnSplitter::default();
        assert_eq!(turns.at_work(&INIT.as_bytes()[..9]), 9);
        let rest = [&INIT[9..], SAID].concat();
        assert_eq!(turns.while_idle(rest.as_bytes(), 1), Next::Take(INIT.len() - 9));
        assert_eq!(turns.while_idle(SAID.as_bytes(), 1), Next::Turn);
    }

    #[test]
    fn output_outside_turns_starts_none() {
        let within =
            SAID.replace("{\"type\":\"assistant\"", "{\"type\":\"assistant\",\"parent_tool_use_id\":\"t1\"");
        assert_eq!(TurnSplitter::default().while_idle(within.as_bytes(), 1), Next::Take(within.len()));
        assert_eq!(TurnSplitter::default().while_idle(INIT.as_bytes(), 0), Next::Take(INIT.len()));
        assert_eq!(TurnSplitter::default().while_idle(RESULT.as_bytes(), 0), Next::Turn);
    }
}
