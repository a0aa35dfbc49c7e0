//! Refuses the catastrophes, by what a command means, however it is spelled: privilege escalation, destruction of root,
//! home or system trees, formatting and partitioning of disks, raw writes to block devices, secure deletion, shutdown.
//!
//! A line and its place go in, a [`Finding`] comes out. What a line would run is found out by [`super::shell`]; which of
//! it is refused stands in one table. It refuses nothing else: what is wanted beyond that is a matter of rules.

mod container;
pub(crate) mod control;
mod device;
mod disk;
mod ending;
mod escalation;
mod invocation;
mod orders;
mod path;
mod power;
mod reach;
mod scripts;
mod table;
mod tool;
mod touch;
mod tree;
mod unpack;

pub use table::{Danger, TABLE};

use super::call::{Call, Own, Place};
use super::line::Doubt;
use super::links::ReadLink;
use super::shell::{self, Field, Run, Scope, Visitor};
use control::Found;
use invocation::Invocation;
use orders::Order;
use touch::{Kind, Touch};

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
    /// It is refused unless a rule that names it allows it: it would change what controls the next run, or have something
    /// run without murmur.
    Controlled {
        /// What a rule has to name (see `control::is_named`).
        entry: &'static str,
        /// As of a refusal.
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
    walked(command, place, None)
}

fn walked(command: &str, place: &Place, links: Option<ReadLink>) -> (Finding, u32) {
    let mut guard = Guard { finding: Finding::Clear, own: &place.own };
    let steps = shell::walk(command, Scope::new(Some(place)).following(links), &mut guard);
    (guard.finding, steps)
}

/// Looks at a call of a tool: the command of one that runs a shell, the files of one that writes.
#[must_use]
pub fn look(call: &Call) -> Finding {
    found(call, None)
}

/// The same, where links are followed as `links` finds them.
#[must_use]
pub fn look_through(call: &Call, links: ReadLink) -> Finding {
    found(call, Some(links))
}

fn found(call: &Call, links: Option<ReadLink>) -> Finding {
    if let Some(command) = tool::command(call) {
        let found = walked(command, &call.place, links).0;
        // What is no shell's is hard to read as if it were.
        let is_doubt = matches!(found, Finding::Doubt { .. });
        return if is_doubt && !tool::is_shell(call) { Finding::Clear } else { found };
    }
    let mut guard = Guard { finding: Finding::Clear, own: &call.place.own };
    let scope = Scope::new(Some(&call.place)).following(links);
    for path in written(call) {
        let path = Field::from(path.as_str());
        guard.write(&path, &scope);
        if let Some(words) = tool::acts_as(call) {
            let words: Vec<Field> = words.iter().map(|word| Field::from(*word)).chain([path]).collect();
            guard.enter(&Run { words: &words, writes: &[], scope: &scope });
        }
    }
    guard.finding
}

/// The files that a call of a tool would write: of a server's tool whose name says that it writes, all that it names.
#[must_use]
pub fn written(call: &Call) -> Vec<String> {
    tool::written(call)
}

/// Gathers the first refusal, or else the first doubt.
struct Guard<'a> {
    finding: Finding,
    own: &'a Own,
}

impl Guard<'_> {
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

    /// What comes of `path` being written as `how` says, which is an entry of the table's names.
    fn note_path(&mut self, how: &'static str, path: &Field, scope: &Scope) {
        for danger in TABLE.iter().filter(|danger| danger.names.contains(&how)) {
            let words = [Field::from(how), path.clone()];
            self.note((danger.judge)(&Invocation::new(&words, scope)), danger);
        }
    }

    fn write(&mut self, file: &Field, scope: &Scope) {
        self.note_path(table::WRITE, file, scope);
        self.note_path(table::OVER, file, scope);
        let touched = Touch { path: file.clone(), kind: Kind::Write };
        self.control(&Invocation::new(&[Field::from(table::WRITE), file.clone()], scope), &[touched]);
    }

    /// What it does to murmur itself, and to what controls the next run.
    fn control(&mut self, invocation: &Invocation<'_>, touched: &[Touch]) {
        if matches!(self.finding, Finding::Refused { .. }) {
            return;
        }
        match orders::given(invocation, self.own) {
            Some(Order::Murmur) => self.refuse_own(&invocation.written()),
            Some(Order::Later(entry)) => self.controlled(entry, &invocation.written()),
            None => {}
        }
        match control::changed(touched, invocation.scope, self.own) {
            Some(Found::Own(path)) => self.refuse_own(&format!("changing {path}")),
            Some(Found::Control(path, entry)) => self.controlled(entry, &format!("changing {path}")),
            None => {}
        }
    }

    fn refuse_own(&mut self, what: &str) {
        if !matches!(self.finding, Finding::Refused { .. }) {
            let why = format!(
                "{what} is refused: murmur, its programs, data and agents are not an agent's to change; \
                 go on without it, and say in your answer what you need"
            );
            self.finding = Finding::Refused { entry: "murmur", why };
        }
    }

    fn controlled(&mut self, entry: &'static str, what: &str) {
        if !matches!(self.finding, Finding::Refused { .. } | Finding::Controlled { .. }) {
            let why = format!(
                "{what} is refused: it decides what runs next, or runs without murmur; \
                 leave it as it is, and say in your answer what a person should change"
            );
            self.finding = Finding::Controlled { entry, why };
        }
    }
}

impl Visitor for Guard<'_> {
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
        let is_connection =
            |file: &Field| ["/dev/tcp/", "/dev/udp/"].iter().any(|start| file.marked().starts_with(start));
        if name.ends_with("sh") && run.writes.iter().any(is_connection) {
            for danger in TABLE.iter().filter(|danger| danger.names.contains(&table::REMOTE)) {
                let what = format!("{} for another machine", invocation.written());
                self.note(Judgement::Refused(what), danger);
            }
        }
        if invocation.asks_for_help() {
            return;
        }
        for danger in TABLE.iter().filter(|danger| danger.is_about(&name)) {
            self.note((danger.judge)(&invocation), danger);
        }
        for path in reach::given(&invocation) {
            let is_refused = device::is_critical(&path, run.scope) || device::is_disk(&path, run.scope);
            if is_refused {
                self.note_path(table::WRITE, &path, run.scope);
            } else if control::is_murmurs(&path, run.scope, self.own) {
                self.refuse_own(&format!("giving {path} to {name}"));
            }
        }
        let mut touched = touch::by(&invocation);
        touched.extend(scripts::by(&invocation));
        for Touch { path, kind } in touched.iter().filter(|touch| !path::is_ordinary(&touch.path, run.scope))
        {
            if kind.writes() {
                self.note_path(table::WRITE, path, run.scope);
            }
            if ["tee", "truncate", "sponge", "fallocate", "dd"].contains(&name.as_str()) {
                self.note_path(table::OVER, path, run.scope);
            }
            if *kind == Kind::Tree {
                self.note_path(table::INTO, path, run.scope);
            }
        }
        self.control(&invocation, &touched);
    }

    fn leave(&mut self) {}

    fn doubt(&mut self, doubt: Doubt) {
        if self.finding == Finding::Clear {
            self.finding = Finding::Doubt { why: doubt.0 };
        }
    }

    fn programs(&self, pattern: &Field) -> Vec<&'static str> {
        let names = TABLE.iter().flat_map(|danger| danger.names.iter().copied());
        names.filter(|name| !name.starts_with('>') && pattern.stands_for(name)).collect()
    }
}

#[cfg(test)]
mod tests;
