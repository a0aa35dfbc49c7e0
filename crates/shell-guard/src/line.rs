//! The commands of a shell command line, as permission rules see them.

/// One command of a command line. Commands in subshells, functions, conditions and substitutions count too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The words, unquoted and joined by single spaces, without assignments or redirections. A part that is only known
    /// at run time stays as written.
    pub text: String,
    /// Whether all of [`Self::text`] is known. False if the program's name contains whitespace, which the text would
    /// hide.
    pub is_known: bool,
    /// The variables set for the command by an assignment prefix or by a wrapper such as `env`. They can change what
    /// runs (`PATH=. git status`). A command that only assigns has an empty text.
    pub sets: Vec<String>,
    /// The files written by redirection, unquoted; `None` for a file that is only known at run time. Duplicated
    /// descriptors and /dev/null are left out.
    pub writes: Vec<Option<String>>,
    /// The commands that this one would run, if it is a wrapper such as `env`, `timeout` or `bash -c`.
    pub inner: Vec<Self>,
}

/// Why a command line can't be fully understood, in words for an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Doubt(pub String);
