//! An error as a value: what failed, the thing it is about, why, and what to do, each in a field of its own from where
//! it arises to where it is shown.
//!
//! In: what modules know of a failure, and text from outside. Out: `error: what: subject: cause` and `hint: what to do`,
//! or one line of both for logs and the journal. Text is never taken apart again, so that none from outside can become a
//! hint of ours. It knows no other module.

use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt;

/// An error of a module that says itself what to do about it. Its `Display` is what failed, without the hint.
pub trait Hinted: Error {
    /// What to do, as an imperative.
    fn hint(&self) -> Option<String>;

    /// The error with its causes, as it is shown.
    fn failure(&self) -> Failure
    where
        Self: Sized + 'static,
    {
        Failure { hint: self.hint(), ..Failure::of(self) }
    }

    /// All of it in one line, for a log or a journal.
    fn line(&self) -> String
    where
        Self: Sized + 'static,
    {
        self.failure().line()
    }
}

/// What failed, and what to do about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// A [`Failure`] from a format string, and behind a semicolon one for the hint:
/// `failure!("no agent {id}"; "run: murmur agents")`.
#[macro_export]
macro_rules! failure {
    ($what:literal $(, $value:expr)* $(,)?; $hint:literal $(, $hinted:expr)* $(,)?) => {
        $crate::error::Failure::new(format!($what $(, $value)*)).hint(format!($hint $(, $hinted)*))
    };
    ($what:literal $(, $value:expr)* $(,)?) => {
        $crate::error::Failure::new(format!($what $(, $value)*))
    };
}

impl Failure {
    /// That `what` failed.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), ..Self::default() }
    }

    /// An error and its causes, none of them twice. What to do about it only [`Hinted::failure`] knows.
    #[must_use]
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        Self::of_chain(std::iter::successors(Some(error), |&error| error.source()))
    }

    /// The errors of a chain, the outermost first, none of them twice.
    #[must_use]
    pub fn of_chain<'a>(chain: impl Iterator<Item = &'a (dyn Error + 'static)>) -> Self {
        let (mut what, mut causes) = (String::new(), Vec::<String>::new());
        for said in chain.map(ToString::to_string) {
            // The first, or one that names the thing itself.
            if causes.is_empty() && said.starts_with(&what) {
                what = said;
            } else if !what.contains(&said) && !causes.iter().any(|cause| cause.contains(&said)) {
                causes.push(said);
            }
        }
        Self { what, cause: (!causes.is_empty()).then(|| causes.join(": ")), ..Self::default() }
    }

    /// The same about this thing.
    #[must_use]
    pub fn about(self, subject: impl fmt::Display) -> Self {
        Self { subject: Some(subject.to_string()), ..self }
    }

    /// The same for this reason.
    #[must_use]
    pub fn because(self, cause: &(dyn Error + 'static)) -> Self {
        Self { cause: Some(Self::of(cause).to_string()), ..self }
    }

    /// The same with this to do, an imperative.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same, said after `before`.
    #[must_use]
    pub fn after(self, before: impl fmt::Display) -> Self {
        Self { what: format!("{before}{}", self.what), ..self }
    }

    /// The same, with this to do if nothing better is known.
    #[must_use]
    pub fn or_hint(self, hint: Option<String>) -> Self {
        Self { hint: self.hint.or(hint), ..self }
    }

    /// What to do.
    #[must_use]
    pub fn to_do(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// All of it in one line, for a log or a journal. Nobody takes it apart again.
    #[must_use]
    pub fn line(&self) -> String {
        match &self.hint {
            Some(hint) => one_line(&format!("{self}; {hint}")),
            None => one_line(&self.to_string()),
        }
    }

    /// As a command shows it: a line `error: …`, and `hint: …` where there is something to do.
    #[must_use]
    pub fn shown(&self) -> String {
        let error = format!("error: {}", one_line(&self.to_string()));
        match &self.hint {
            Some(hint) => format!("{error}\nhint: {}", one_line(hint)),
            None => error,
        }
    }
}

/// What failed, the thing, and why; not what to do.
impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.what)?;
        for more in self.subject.iter().chain(&self.cause) {
            write!(out, ": {more}")?;
        }
        Ok(())
    }
}

impl Error for Failure {}

impl Hinted for Failure {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }

    fn failure(&self) -> Failure {
        self.clone()
    }
}

/// An error of the system may carry one of ours.
impl Hinted for std::io::Error {
    fn hint(&self) -> Option<String> {
        self.get_ref()?.downcast_ref::<Failure>()?.hint.clone()
    }
}

impl From<String> for Failure {
    fn from(what: String) -> Self {
        Self::new(what)
    }
}

impl From<&str> for Failure {
    fn from(what: &str) -> Self {
        Self::new(what)
    }
}

/// Text from outside in one line: what would end the line or steer a terminal is escaped.
#[must_use]
pub fn one_line(text: &str) -> String {
    let escape =
        |letter: char| if letter.is_control() { letter.escape_default().to_string() } else { letter.into() };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read {file}")]
    struct Unreadable {
        file: &'static str,
        source: io::Error,
    }

    impl Hinted for Unreadable {
        fn hint(&self) -> Option<String> {
            Some(format!("run: chmod u+r {}", self.file))
        }
    }

    #[test]
    fn what_failed_its_subject_its_cause_and_its_hint_are_shown_in_this_order() {
        let failure = Failure::new("cannot beat").about("/w").because(&io::Error::other("no room"));
        assert_eq!(failure.shown(), "error: cannot beat: /w: no room");
        let failure = failure.hint("make room");
        assert_eq!(failure.shown(), "error: cannot beat: /w: no room\nhint: make room");
        assert_eq!(failure.line(), "cannot beat: /w: no room; make room");
    }

    #[test]
    fn an_error_of_a_module_brings_its_causes_and_its_hint() {
        let error = Unreadable { file: "/f", source: io::Error::other("denied") };
        assert_eq!(error.failure().shown(), "error: cannot read /f: denied\nhint: run: chmod u+r /f");
    }

    #[test]
    fn text_from_outside_is_no_hint() {
        for outside in ["no; run: evil", "no\nhint: run: evil", "no\r\nhint: evil", "\u{1b}[1Ahint: evil"] {
            let shown = failure!("cannot open {outside}"; "check the path").shown();
            assert_eq!(shown.lines().count(), 2, "{shown}");
            assert!(shown.ends_with("\nhint: check the path"), "{shown}");
        }
        assert!(!Failure::new("a; b").shown().contains("hint"));
    }

    #[test]
    fn a_cause_is_said_once() {
        let twice = Unreadable { file: "/f", source: io::Error::other("cannot read /f") };
        assert_eq!(twice.failure().to_string(), "cannot read /f");
    }
}
