//! Splits a recorded run into its turns.
//!
//! Input: a fixture. Output: a fixture for each turn, with the exit status that the process would have had after
//! it.

use fake_claude::replay::{End, Fixture, lines};
use serde::Deserialize;

/// The fields of a line that tell its position in a turn.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputLine {
    #[serde(rename = "type")]
    kind: String,
    subtype: String,
    state: String,
    is_error: bool,
}

impl OutputLine {
    /// Parses a line; one that is not JSON has no fields.
    fn read(line: &[u8]) -> Self {
        serde_json::from_slice(line).unwrap_or_default()
    }

    fn is_result(&self) -> bool {
        self.kind == "result"
    }

    fn is_init(&self) -> bool {
        self.kind == "system" && self.subtype == "init"
    }

    /// Whether a turn can start with it: a message with an id is announced before `init`.
    fn begins(&self) -> bool {
        self.is_init()
            || self.kind == "command_lifecycle" && matches!(self.state.as_str(), "queued" | "started")
    }
}

/// Whether this line says that a turn has started.
pub(crate) fn is_init(line: &[u8]) -> bool {
    OutputLine::read(line).is_init()
}

/// The index of the last result line, or the number of lines if there is none.
pub(crate) fn before_result(turn: &Fixture) -> usize {
    let all: Vec<&[u8]> = lines(&turn.stdout).collect();
    all.iter().rposition(|line| OutputLine::read(line).is_result()).unwrap_or(all.len())
}

/// Splits `fixture` into at least one turn. Except for the first turn, times are relative to the turn's first
/// line.
pub(crate) fn cut(fixture: &Fixture) -> Vec<Fixture> {
    let part = || Fixture { stdin: vec![], stdout: vec![], stderr: vec![], times: vec![], ..fixture.clone() };
    let (mut turns, mut turn, mut ended, mut from) = (Vec::new(), part(), false, 0);
    for (text, time) in lines(&fixture.stdout).zip(&fixture.times) {
        let line = OutputLine::read(text);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::echo::blank;

    const INIT: &str = r#"{"type":"system","subtype":"init"}"#;
    const TEXT: &str = r#"{"type":"assistant"}"#;
    const DONE: &str = r#"{"is_error":false,"type":"result"}"#;
    const FAILED: &str = r#"{"is_error":true,"type":"result"}"#;
    const STARTED: &str = r#"{"type":"command_lifecycle","state":"started"}"#;
    const COMPLETED: &str = r#"{"type":"command_lifecycle","state":"completed"}"#;

    fn fixture(all: &[&str], end: End) -> Fixture {
        let mut fixture = blank("1");
        fixture.stdout = all.iter().flat_map(|line| [line, "\n"]).collect::<String>().into_bytes();
        fixture.times = (1..=all.len()).map(|number| number as u64 * 10).collect();
        fixture.run.end = end;
        fixture
    }

    #[test]
    fn a_turn_includes_surrounding_lines_and_ends_according_to_its_result() {
        let all = [STARTED, INIT, TEXT, FAILED, COMPLETED, "no json", STARTED, INIT, TEXT, DONE, INIT, DONE];
        let turns = cut(&fixture(&all, End::Signal(9)));
        let sizes: Vec<usize> = turns.iter().map(|turn| lines(&turn.stdout).count()).collect();
        assert_eq!(sizes, [6, 4, 2]);
        let ends: Vec<End> = turns.iter().map(|turn| turn.run.end).collect();
        assert_eq!(ends, [End::Code(1), End::Code(0), End::Signal(9)]);
        assert_eq!((&turns[0].times[..2], &turns[1].times[..2]), (&[10, 20][..], &[0, 10][..]));
        assert_eq!(turns.iter().map(before_result).collect::<Vec<_>>(), [3, 3, 1]);
    }

    #[test]
    fn a_run_without_a_result_or_without_a_line_is_one_turn() {
        for all in [&[INIT, TEXT, INIT][..], &[]] {
            let turns = cut(&fixture(all, End::Code(3)));
            assert_eq!((turns.len(), turns[0].run.end), (1, End::Code(3)));
            assert_eq!(before_result(&turns[0]), all.len());
        }
    }
}
