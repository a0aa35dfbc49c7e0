//! The commands of a command line, for permission rules.

use super::walk::{Run, Visitor};
use super::{Field, Scope, walk};
use crate::line::{Command, Doubt};

/// Returns the commands that `line` would run, in order; commands run by another are nested in it.
///
/// # Errors
/// If `line` can't be parsed, or runs something that is only known at run time.
pub fn commands(line: &str) -> Result<Vec<Command>, Doubt> {
    let mut gathered = Collector { open: vec![Vec::new()], started: Vec::new(), doubt: None };
    walk(line, Scope::new(None), &mut gathered);
    match gathered.doubt {
        Some(doubt) => Err(doubt),
        None => Ok(gathered.open.pop().unwrap_or_default()),
    }
}

struct Collector {
    /// Finished commands: of the line, then of each command in progress.
    open: Vec<Vec<Command>>,
    /// Commands in progress.
    started: Vec<Command>,
    doubt: Option<Doubt>,
}

impl Visitor for Collector {
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
            // Loops repeat their commands; one is enough.
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
