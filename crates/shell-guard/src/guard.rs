//! The guard: refuses catastrophic commands, however they are spelled. That covers privilege escalation, destruction of
//! the root, home or system trees, formatting and partitioning disks, raw writes to devices, secure deletion and
//! shutdown.
//!
//! A command line and its place go in, a [`Finding`] comes out. [`super::shell`] determines what would run; [`TABLE`]
//! lists what is refused. Anything less than a catastrophe is left to permission rules.

mod access;
mod container;
mod control;
mod control_commands;
mod device;
mod disk;
mod escalation;
mod invocation;
mod kill;
mod path;
mod power;
mod readers;
mod script_access;
mod table;
mod tool;
mod tree;
mod unpack;

pub use control::pattern_names_entry;
pub use table::{Danger, TABLE};

use super::call::{Call, CallPlace, ProtectedPaths};
use super::line::Doubt;
use super::links::LinkReader;
use super::shell::{self, Field, Run, Scope, Visitor};
use access::{Access, AccessKind};
use control::Change;
use control_commands::ControlCommand;
use invocation::Invocation;

/// The guard's finding on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Nothing is refused.
    Clear,
    /// The call is refused, and no rule can allow it.
    Refused {
        /// The entry in the table of dangers.
        entry: &'static str,
        /// What is refused, why, and what to do instead: a sentence for an agent.
        why: String,
    },
    /// The call is refused unless a rule names the entry: it would change what runs next, or run something outside
    /// murmur.
    Controlled {
        /// The entry that a rule has to name; see [`pattern_names_entry`].
        entry: &'static str,
        /// What is refused, why, and what to do instead: a sentence for an agent.
        why: String,
    },
    /// What the call would do can't be known. A person or a rule has to decide.
    Doubt {
        /// What can't be known and what to do instead: a sentence for an agent.
        why: String,
    },
}

/// The result of checking one command against one danger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Assessment {
    /// Nothing is refused.
    Clear,
    /// Refused; the text names what.
    Refused(String),
    /// Possibly refused; the text says what can't be known.
    Doubt(String),
}

/// Checks a command line.
#[must_use]
pub fn inspect(command: &str, place: &CallPlace) -> Finding {
    inspect_counting_steps(command, place).0
}

/// Checks a command line and also returns the number of steps that took. The number is bounded for any input.
#[must_use]
pub fn inspect_counting_steps(command: &str, place: &CallPlace) -> (Finding, u32) {
    check_command(command, place, None)
}

fn check_command(command: &str, place: &CallPlace, links: Option<LinkReader>) -> (Finding, u32) {
    let mut guard = Guard { finding: Finding::Clear, own: &place.own };
    let steps = shell::walk(command, Scope::new(Some(place)).with_links(links), &mut guard);
    (guard.finding, steps)
}

/// Checks a tool call: the command of a shell tool, the paths of a tool that writes.
#[must_use]
pub fn inspect_call(call: &Call) -> Finding {
    check_call(call, None)
}

/// Checks a tool call, following symbolic links with `links`.
#[must_use]
pub fn inspect_call_with_links(call: &Call, links: LinkReader) -> Finding {
    check_call(call, Some(links))
}

fn check_call(call: &Call, links: Option<LinkReader>) -> Finding {
    if let Some(command) = tool::command(call) {
        let found = check_command(command, &call.place, links).0;
        // Other tools take commands that aren't shell; failing to parse those means nothing.
        let is_doubt = matches!(found, Finding::Doubt { .. });
        return if is_doubt && !tool::is_shell(call) { Finding::Clear } else { found };
    }
    if tool::is_hidden(call) {
        let why = "the request does not say what would be run or written".to_owned();
        return Finding::Doubt { why };
    }
    if let found @ Finding::Doubt { .. } = inspect_request(call) {
        return found;
    }
    let mut guard = Guard { finding: Finding::Clear, own: &call.place.own };
    let scope = Scope::new(Some(&call.place)).with_links(links);
    for path in written_paths(call) {
        let path = Field::from(path.as_str());
        guard.write(&path, &scope);
        if let Some(words) = tool::equivalent_command(call) {
            let words: Vec<Field> = words.iter().map(|word| Field::from(*word)).chain([path]).collect();
            guard.enter(&Run { words: &words, writes: &[], scope: &scope });
        }
    }
    guard.finding
}

/// Checks only whether an agent asks for more than a call. Only a person may allow that, even if the guard is off.
#[must_use]
pub fn inspect_request(call: &Call) -> Finding {
    tool::for_people(call).map_or(Finding::Clear, |why| Finding::Doubt { why: why.to_owned() })
}

/// Returns the files that a tool call would write. For an MCP tool whose name suggests writing, these are all paths in
/// its input.
#[must_use]
pub fn written_paths(call: &Call) -> Vec<String> {
    tool::written(call)
}

/// Keeps the first refusal, or else the first doubt.
struct Guard<'a> {
    finding: Finding,
    own: &'a ProtectedPaths,
}

impl Guard<'_> {
    fn note(&mut self, assessment: Assessment, danger: &Danger) {
        match assessment {
            Assessment::Clear => {}
            Assessment::Refused(what) => {
                if !matches!(self.finding, Finding::Refused { .. }) {
                    let why = format!("{what} is refused: {}", danger.advice);
                    self.finding = Finding::Refused { entry: danger.entry, why };
                }
            }
            Assessment::Doubt(what) => self.doubt(Doubt(what)),
        }
    }

    /// Checks a write to `path`. `how` is one of the pseudo program names in the table.
    fn note_path(&mut self, how: &'static str, path: &Field, scope: &Scope) {
        for danger in table::about(how) {
            let words = [Field::from(how), path.clone()];
            self.note((danger.check)(&Invocation::new(&words, scope)), danger);
        }
    }

    fn write(&mut self, file: &Field, scope: &Scope) {
        self.note_path(table::WRITE, file, scope);
        self.note_path(table::OVER, file, scope);
        let accesses = Access { path: file.clone(), kind: AccessKind::Write };
        self.control(&Invocation::new(&[Field::from(table::WRITE), file.clone()], scope), &[accesses]);
    }

    /// Checks for changes to murmur itself and to what controls the next run.
    fn control(&mut self, invocation: &Invocation<'_>, accesses: &[Access]) {
        if matches!(self.finding, Finding::Refused { .. }) {
            return;
        }
        match control_commands::find(invocation, self.own) {
            Some(ControlCommand::Murmur) => self.refuse_own(&invocation.quoted()),
            Some(ControlCommand::Later(entry)) => self.controlled(entry, &invocation.quoted()),
            None => {}
        }
        match control::find_change(accesses, invocation.scope, self.own) {
            Some(Change::Own(path)) => self.refuse_own(&format!("changing {path}")),
            Some(Change::Control(path, entry)) => self.controlled(entry, &format!("changing {path}")),
            None => {}
        }
    }

    fn refuse_own(&mut self, what: &str) {
        if !matches!(self.finding, Finding::Refused { .. }) {
            let why = format!(
                "{what} is refused: agents may not change murmur, its data or other agents; \
                 continue without it, and say in your answer what you need"
            );
            self.finding = Finding::Refused { entry: "murmur", why };
        }
    }

    fn controlled(&mut self, entry: &'static str, what: &str) {
        if !matches!(self.finding, Finding::Refused { .. } | Finding::Controlled { .. }) {
            let why = format!(
                "{what} is refused: it changes what runs next, or runs outside murmur; \
                 leave it unchanged, and say in your answer what the user should change"
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
            for danger in table::about(table::REMOTE) {
                let what = format!("{} with a network connection", invocation.quoted());
                self.note(Assessment::Refused(what), danger);
            }
        }
        if invocation.asks_for_help() {
            return;
        }
        for danger in table::about(&name) {
            self.note((danger.check)(&invocation), danger);
        }
        for path in readers::possible_writes(&invocation) {
            let is_refused = device::is_critical(&path, run.scope) || device::is_disk(&path, run.scope);
            if is_refused {
                self.note_path(table::WRITE, &path, run.scope);
            } else if control::is_own_path(&path, run.scope, self.own) {
                self.refuse_own(&format!("passing {path} to {name}"));
            }
        }
        let mut accesses = access::of(&invocation);
        accesses.extend(script_access::of(&invocation));
        for Access { path, kind } in
            accesses.iter().filter(|access| !path::is_ordinary(&access.path, run.scope))
        {
            if kind.writes() {
                self.note_path(table::WRITE, path, run.scope);
            }
            if ["tee", "truncate", "sponge", "fallocate", "dd"].contains(&name.as_str()) {
                self.note_path(table::OVER, path, run.scope);
            }
            if *kind == AccessKind::Tree {
                self.note_path(table::INTO, path, run.scope);
            }
        }
        self.control(&invocation, &accesses);
    }

    fn leave(&mut self) {}

    fn doubt(&mut self, doubt: Doubt) {
        if self.finding == Finding::Clear {
            self.finding = Finding::Doubt { why: doubt.0 };
        }
    }

    fn programs(&self, pattern: &Field) -> Vec<&'static str> {
        let names = TABLE.iter().flat_map(|danger| danger.names.iter().copied());
        names.filter(|name| !name.starts_with('>') && pattern.matches_name(name)).collect()
    }
}

#[cfg(test)]
mod tests;
