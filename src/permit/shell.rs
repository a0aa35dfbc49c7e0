//! What a line of shell would run: text → tree → a walk in which words are expanded, wrappers taken off, and what
//! interpreters are given is read in its turn. Nothing is run, no file is read.
//!
//! What comes in is a line and where it would run; what goes out is every command that would, shown to a [`Visitor`].
//! Whether a command is dangerous, or allowed, is not known here.

mod brace;
mod brush;
pub mod budget;
mod builtin;
mod command;
mod commands;
mod environment;
mod escape;
mod expand;
pub(crate) mod field;
mod gauge;
pub(crate) mod git;
mod heredoc;
mod interpreter;
mod language;
mod output;
mod scope;
pub mod tree;
mod walk;
mod word;
pub mod wrapper;

pub use commands::commands;
pub use field::Field;
pub use scope::Scope;
pub use walk::{Run, Visitor};

use super::line::Doubt;

/// Reads the grammar of shell.
pub trait Reader {
    /// About how many tokens `text` has, in time that grows with its length alone.
    ///
    /// # Errors
    /// Where it is nested too deep for [`Self::read`].
    fn tokens(&self, text: &str) -> Result<u32, Doubt>;

    /// What `text` says.
    ///
    /// # Errors
    /// Where it is no shell.
    fn read(&self, text: &str) -> Result<tree::List, Doubt>;
}

/// Shows `visitor` every command that `line` would run where `scope` is what is known, and says how many steps that took.
pub fn walk(line: &str, scope: Scope, visitor: &mut dyn Visitor) -> u32 {
    let mut walk = walk::Walk::new(&brush::Brush, visitor, scope);
    walk.source(line, &walk::Stream::Elsewhere);
    walk.budget.spent()
}
