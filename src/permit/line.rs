//! The commands of a line of shell, as rules see them.

/// One command of a line: also those within subshells, functions, conditions and substitutions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its words, unquoted, with one space between them, without assignments before it and without redirections. A part
    /// that is only known when it runs stands as it was written.
    pub text: String,
    /// Whether all of [`Self::text`] is known, and its program's name has no white space, which the text would hide.
    pub is_known: bool,
    /// The variables that are set for it, by assignments before it or by a wrapper as `env` around it: they can make
    /// another thing of it (`PATH=. git status`). Where a command is nothing but assignments its text is empty.
    pub sets: Vec<String>,
    /// The files that it would write by redirection, as they were written, unquoted; `None` for one that is only known
    /// when it runs. Copies of descriptors and /dev/null are none.
    pub writes: Vec<Option<String>>,
    /// What it would run in its turn, where it is a wrapper as `env`, `timeout` or `bash -c`.
    pub inner: Vec<Self>,
}

/// Why a line could not be read, for an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Doubt(pub String);
