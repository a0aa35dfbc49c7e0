//! What a shell command line would run. The text is parsed into a tree; a walk over the tree expands words, unwraps
//! commands such as `env` and `xargs`, and reads code given to interpreters. Nothing is run and no file is read.
//!
//! A command line and the place it would run in go in; every command that would run is shown to a [`Visitor`]. This
//! module doesn't know whether a command is dangerous or allowed.

mod brace;
mod brush;
pub mod budget;
mod builtin;
mod byte_set;
mod command;
mod commands;
mod environment;
mod escape;
mod expand;
pub(crate) mod field;
pub(crate) mod git;
mod heredoc;
mod interpreter;
mod language;
mod output;
mod prescan;
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

/// A shell grammar.
pub trait Parser {
    /// Returns the approximate number of tokens in `text`, in time linear in its length.
    ///
    /// # Errors
    /// If `text` is nested too deeply for [`Self::parse`].
    fn count_tokens(&self, text: &str) -> Result<u32, Doubt>;

    /// Parses `text`.
    fn parse(&self, text: &str) -> Result<tree::List, Doubt>;
}

/// Shows `visitor` every command that `line` would run, starting from the state in `scope`. Returns the number of steps
/// taken.
pub fn walk(line: &str, scope: Scope, visitor: &mut dyn Visitor) -> u32 {
    let mut walk = walk::Walk::new(&brush::BrushParser, visitor, scope);
    walk.source(line, &walk::Stream::External);
    walk.budget.spent()
}
