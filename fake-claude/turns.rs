//! A recorded run, cut into its turns.
//!
//! In comes a fixture; out goes one for each turn, that ends as the process would have ended after it.

use murmur::replay::{End, Fixture, lines};
use serde::Deserialize;

/// As much of a line as says where it stands in its turn.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    subtype: String,
    state: String,
    is_error: bool,
}

impl Line {
    /// A line that is none of ours is like any other.
    fn read(line: &[u8]) -> Self {
        serde_json::from_slice(line).unwrap_or_default()
    }

    fn is_result(&self) -> bool {
        self.kind == "result"
    }

    fn is_init(&self) -> bool {
        self.kind == "system" && self.subtype == "init"
    }

    /// Whether a turn can begin with it: a message that has an id is announced before `init`.
    fn begins(&self) -> bool {
        self.is_init()
            || self.kind == "command_lifecycle" && matches!(self.state.as_str(), "queued" | "started")
    }
}

/// Whether this is the line that says a turn has begun.
pub(crate) fn is_init(line: &[u8]) -> bool {
    Line::read(line).is_init()
}

/// The number of the last line that is a result, or of the line after all.
pub(crate) fn before_result(turn: &Fixture) -> usize {
    let all: Vec<&[u8]> = lines(&turn.stdout).collect();
    all.iter().rposition(|line| Line::read(line).is_result()).unwrap_or(all.len())
}

/// The turns of `fixture`, at least one. A turn's times count from its first line, but in the first turn.
pub(crate) fn cut(fixture: &Fixture) -> Vec<Fixture> {
    let part = || Fixture { stdin: vec![], stdout: vec![], stderr: vec![], times: vec![], ..fixture.clone() };
    let (mut turns, mut turn, mut ended, mut from) = (Vec::new(), part(), false, 0);
    for (text, time) in lines(&fixture.stdout).zip(&fixture.times) {
        let line = Line::read(text);
        if ended && line.begins() {
            turns.push(std::mem::replace(&mut turn, part()));
            (ended, from) = (false, *time);
        }
        if line.is_result() {
            ended = true;
            turn.run.end = End::Code(line.is_error.into());
        }
        turn.stdout.extend_from_slice(text);
        turn.times.push(time.saturating_sub(from));
    }
    turn.run.end = fixture.run.end;
    turns.push(turn);
    turns
}
