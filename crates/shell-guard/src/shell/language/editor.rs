//! Commands of vi and similar editors.

use super::{Effect, Syntax};

/// The commands that an editor runs, and the files that it writes.
pub(super) fn effects(code: &str) -> Vec<Effect> {
    const WRITES: [&str; 11] =
        ["w", "w!", "write", "write!", "wq", "wq!", "sav", "sav!", "saveas", "saveas!", "up"];
    let mut found = Vec::new();
    for command in code.split(['|', '\n']) {
        let run = ["!", ":term ", ":terminal "].iter().find_map(|mark| command.split_once(mark));
        found.extend(run.map(|(_, command)| Effect::Shell(command.to_owned())));
        let mut words = command.trim_start_matches([':', ' ']).split_whitespace();
        if let (Some(name), Some(file)) = (words.next(), words.next())
            && WRITES.contains(&name)
            && !file.starts_with('!')
        {
            found.push(Effect::Write(file.into()));
        }
    }
    found.append(&mut super::effects(code, Syntax::CLike));
    found
}
