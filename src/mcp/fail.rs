//! What a tool says when it cannot do what it was asked. The words are stable: clients may look for them.

use crate::capture::store::StoreError;

/// Why a tool has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolError {
    /// An argument that has to be there is not.
    #[error("{0} is required")]
    Missing(&'static str),
    /// An argument is not what it has to be.
    #[error("parse {name}: {problem}")]
    Argument {
        /// Which.
        name: &'static str,
        /// What it should be.
        problem: String,
    },
    /// There is no such argument.
    #[error("unknown argument: {name}; known are {known}")]
    Unknown {
        /// Its name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// No such session, no such place in it, or it cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It was let go before it was done.
    #[error("the server is ending")]
    Ending,
}

impl ToolError {
    /// An argument that is not what it has to be.
    pub(super) fn argument(name: &'static str, problem: impl Into<String>) -> Self {
        Self::Argument { name, problem: problem.into() }
    }
}
