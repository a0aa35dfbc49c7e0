//! The result of a check on one version. Pure.

use std::collections::BTreeSet;
use std::fmt;

use crate::report::Report;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All facts are the same as those of fake-claude.
    Ok,
    /// Some differ because the version lacks these capabilities.
    Lacks(BTreeSet<String>),
    /// Some differ for an unknown reason.
    Differs,
}

impl Verdict {
    /// The verdict on one part. `lacks` says whether the version lacks a capability; with `exactly`, other shapes count too.
    pub(crate) fn of(report: &Report, lacks: impl Fn(&str) -> bool, exactly: bool) -> Self {
        if report.facts.is_empty() && (report.shapes.is_empty() || !exactly) {
            return Self::Ok;
        }
        let missing: BTreeSet<String> = report.needs.iter().filter(|need| lacks(need)).cloned().collect();
        if missing.is_empty() { Self::Differs } else { Self::Lacks(missing) }
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

impl fmt::Display for Verdict {
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
