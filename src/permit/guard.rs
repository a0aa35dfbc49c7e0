//! Refuses the catastrophes, by what a command means, however it is spelled: privilege escalation, destruction of root,
//! home or system trees, formatting and partitioning of disks, raw writes to block devices, secure deletion, shutdown.
//!
//! A line and its place go in, a [`Finding`] comes out. What a line would run is found out by [`super::shell`]; which of
//! it is refused stands in one table. It refuses nothing else: what is wanted beyond that is a matter of rules.

mod device;
mod disk;
mod escalation;
mod invocation;
mod path;
mod power;
mod table;
mod tree;

pub use table::{Danger, TABLE};

use super::call::{Call, Place};
use super::line::Doubt;
use super::shell::{self, Field, Run, Scope, Visitor};
use invocation::Invocation;

/// What the guard says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Nothing in it is refused.
    Clear,
    /// It is refused.
    Refused {
        /// The entry of the table.
        entry: &'static str,
        /// What is refused and what to do instead, in a sentence for an agent.
        why: String,
    },
    /// What it would do cannot be known: somebody has to look at it.
    Doubt {
        /// What cannot be known and what to do instead, in a sentence for an agent.
        why: String,
    },
}

/// What one command would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// Nothing that is refused.
    Clear,
    /// Something that is refused, and what.
    Refused(String),
    /// Perhaps something that is refused, depending on what.
    Doubt(String),
}

/// Looks at a line of shell.
#[must_use]
pub fn inspect(command: &str, place: &Place) -> Finding {
    measured(command, place).0
}

/// Looks at a line of shell, and says how many steps that took: more on a longer line, but never more than a bound.
#[must_use]
pub fn measured(command: &str, place: &Place) -> (Finding, u32) {
    let mut guard = Guard { finding: Finding::Clear };
    let steps = shell::walk(command, Some(place), &mut guard);
    (guard.finding, steps)
}

/// Looks at a call of a tool: the command of one that runs a shell, the file of one that writes.
#[must_use]
pub fn look(call: &Call) -> Finding {
    if let Some(command) = call.command() {
        return inspect(command, &call.place);
    }
    if !["Write", "Edit", "MultiEdit", "NotebookEdit"].contains(&call.tool.as_str()) {
        return Finding::Clear;
    }
    let path = |key: &str| call.input.get(key).and_then(|path| path.as_str());
    let mut guard = Guard { finding: Finding::Clear };
    if let Some(path) = path("file_path").or(path("notebook_path")) {
        guard.write(&Field::from(path), &Scope::new(Some(&call.place)));
    }
    guard.finding
}

/// Gathers the first refusal, or else the first doubt.
struct Guard {
    finding: Finding,
}

impl Guard {
    fn note(&mut self, judgement: Judgement, danger: &Danger) {
        match judgement {
            Judgement::Clear => {}
            Judgement::Refused(what) => {
                if !matches!(self.finding, Finding::Refused { .. }) {
                    let why = format!("{what} is refused: {}", danger.advice);
                    self.finding = Finding::Refused { entry: danger.entry, why };
                }
            }
            Judgement::Doubt(what) => self.doubt(Doubt(what)),
        }
    }

    fn write(&mut self, file: &Field, scope: &Scope) {
        for danger in TABLE.iter().filter(|danger| danger.names.contains(&table::WRITE)) {
            let words = [Field::from(table::WRITE), file.clone()];
            self.note((danger.judge)(&Invocation::new(&words, scope)), danger);
        }
    }
}

impl Visitor for Guard {
    fn enter(&mut self, run: &Run<'_>) {
        for file in run.writes {
            self.write(file, run.scope);
        }
        let Some(program) = run.words.first().map(Field::base) else { return };
        if program.literal().is_none() {
            return;
        }
        let invocation = Invocation::new(run.words, run.scope);
        let name = invocation.name();
        if invocation.asks_for_help() {
            return;
        }
        for danger in TABLE.iter().filter(|danger| danger.is_about(&name)) {
            self.note((danger.judge)(&invocation), danger);
        }
    }

    fn leave(&mut self) {}

    fn doubt(&mut self, doubt: Doubt) {
        if self.finding == Finding::Clear {
            self.finding = Finding::Doubt { why: doubt.0 };
        }
    }

    fn programs(&self, pattern: &Field) -> Vec<&'static str> {
        let names = TABLE.iter().flat_map(|danger| danger.names.iter().copied());
        names.filter(|name| *name != table::WRITE && pattern.stands_for(name)).collect()
    }
}

#[cfg(test)]
mod tests;
