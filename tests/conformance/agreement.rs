//! The result of a check on one version. Pure.

use std::collections::BTreeSet;
use std::fmt;

/// The agreement on a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// All facts are the same as those of fake-claude.
    Ok,
    /// Some differ because the version lacks these capabilities.
    Lacks(BTreeSet<String>),
    /// Some differ for an unknown reason.
    Differs,
}

impl Agreement {
    /// The agreement on a part, given whether its run differs from fake-claude's. `needs` are the capabilities that it
    /// needs; `lacks` says whether the version lacks one.
    pub(crate) fn of(differs: bool, needs: &[String], lacks: impl Fn(&str) -> bool) -> Self {
        let missing: BTreeSet<String> = needs.iter().filter(|need| lacks(need)).cloned().collect();
        match (differs, missing.is_empty()) {
            (false, _) => Self::Ok,
            (true, true) => Self::Differs,
            (true, false) => Self::Lacks(missing),
        }
    }

    /// The result of two parts.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Differs, _) | (_, Self::Differs) => Self::Differs,
            (Self::Lacks(one), Self::Lacks(other)) => Self::Lacks(one.union(&other).cloned().collect()),
            (Self::Ok, other) => other,
            (one, Self::Ok) => one,
        }
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => to.write_str("ok"),
            Self::Lacks(what) => {
                let what: Vec<&str> = what.iter().map(String::as_str).collect();
                write!(to, "can't: {}", what.join(", "))
            }
            Self::Differs => to.write_str("differs"),
        }
    }
}
