//! The commands of a line, for rules.

use super::walk::{Run, Visitor};
use super::{Field, Scope, walk};
use crate::permit::line::{Command, Doubt};

/// The commands that `line` would run, in order, those that another would run in its turn within it.
///
/// # Errors
/// When it cannot be read, or what it runs is only known when it does.
pub fn commands(line: &str) -> Result<Vec<Command>, Doubt> {
    let mut gathered = Gathered { open: vec![Vec::new()], started: Vec::new(), doubt: None };
    walk(line, Scope::new(None), &mut gathered);
    match gathered.doubt {
        Some(doubt) => Err(doubt),
        None => Ok(gathered.open.pop().unwrap_or_default()),
    }
}

struct Gathered {
    /// The commands that are done, of each that has begun, and of the line.
    open: Vec<Vec<Command>>,
    /// Those that have begun.
    started: Vec<Command>,
    doubt: Option<Doubt>,
}

impl Visitor for Gathered {
    fn enter(&mut self, run: &Run<'_>) {
        let is_none = |file: &&Field| {
            let file = file.marked();
            file != "/dev/null" && !file.starts_with("/dev/std") && !file.starts_with("/dev/fd/")
        };
        self.started.push(Command {
            text: run.words.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            is_known: run.words.iter().all(Field::is_known)
                && !run.words.first().is_some_and(|program| program.marked().contains(char::is_whitespace)),
            sets: run.scope.names(),
            writes: run
                .writes
                .iter()
                .filter(is_none)
                .map(|file| (file.is_known() && !file.is_pattern()).then(|| file.to_string()))
                .collect(),
            inner: Vec::new(),
        });
        self.open.push(Vec::new());
    }

    fn leave(&mut self) {
        let inner = self.open.pop().unwrap_or_default();
        if let (Some(command), Some(outer)) = (self.started.pop(), self.open.last_mut()) {
            let command = Command { inner, ..command };
            // A line that says the same twice, as a loop does, says it once.
            if !outer.contains(&command) {
                outer.push(command);
            }
        }
    }

    fn doubt(&mut self, doubt: Doubt) {
        self.doubt.get_or_insert(doubt);
    }

    fn programs(&self, _: &Field) -> Vec<&'static str> {
        Vec::new()
    }
}
