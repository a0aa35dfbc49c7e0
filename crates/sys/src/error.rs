//! An error as a value, with separate fields for what failed, the subject, the cause and the hint, up to the place
//! where it is printed.
//!
//! Input: module errors and text from outside. Output: `error: what: subject: cause` and `hint: what to do`, or
//! one line of both for logs and the journal. That text is never parsed again, so outside text cannot become our
//! hint. Uses no other module.

use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt;

/// A module's error that may carry a hint. Its `Display` says what failed, without the hint.
pub trait Hinted: Error {
    /// The hint, an imperative.
    fn hint(&self) -> Option<String>;

    /// Converts the error and its causes into a [`Failure`].
    fn failure(&self) -> Failure
    where
        Self: Sized + 'static,
    {
        Failure { hint: self.hint(), ..Failure::of(self) }
    }

    /// Formats everything on one line, for a log or a journal.
    fn line(&self) -> String
    where
        Self: Sized + 'static,
    {
        self.failure().line()
    }
}

/// A description of what failed, with an optional hint.
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

/// Creates a [`Failure`] from a format string and, after a semicolon, one for the hint: `failure!("no agent {id}";
/// "run: murmur agent list")`.
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
    /// Creates a failure that says `what` failed.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), ..Self::default() }
    }

    /// Creates a failure from an error and its causes, without duplicates. The hint is not included; see
    /// [`Hinted::failure`].
    #[must_use]
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        Self::of_chain(std::iter::successors(Some(error), |&error| error.source()))
    }

    /// Creates a failure from a chain of errors, outermost first, without duplicates.
    #[must_use]
    pub fn of_chain<'a>(chain: impl Iterator<Item = &'a (dyn Error + 'static)>) -> Self {
        let (mut what, mut causes) = (String::new(), Vec::<String>::new());
        for message in chain.map(ToString::to_string) {
            // The first message, or a more specific version of it.
            if causes.is_empty() && message.starts_with(&what) {
                what = message;
            } else if !what.contains(&message) && !causes.iter().any(|cause| cause.contains(&message)) {
                causes.push(message);
            }
        }
        Self { what, cause: (!causes.is_empty()).then(|| causes.join(": ")), ..Self::default() }
    }

    /// Sets the subject.
    #[must_use]
    pub fn about(self, subject: impl fmt::Display) -> Self {
        Self { subject: Some(subject.to_string()), ..self }
    }

    /// Sets the cause.
    #[must_use]
    pub fn because(self, cause: &(dyn Error + 'static)) -> Self {
        Self { cause: Some(Self::of(cause).to_string()), ..self }
    }

    /// Sets the hint, an imperative.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Prefixes the message with `before`.
    #[must_use]
    pub fn after(self, before: impl fmt::Display) -> Self {
        Self { what: format!("{before}{}", self.what), ..self }
    }

    /// Sets the hint unless there is one already.
    #[must_use]
    pub fn or_hint(self, hint: Option<String>) -> Self {
        Self { hint: self.hint.or(hint), ..self }
    }

    /// Returns the hint.
    #[must_use]
    pub fn to_do(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Formats everything on one line, for a log or a journal.
    #[must_use]
    pub fn line(&self) -> String {
        match &self.hint {
            Some(hint) => one_line(&format!("{self}; {hint}")),
            None => one_line(&self.to_string()),
        }
    }

    /// Formats the failure for a terminal: a line `error: …` and, if there is a hint, a line `hint: …`.
    #[must_use]
    pub fn shown(&self) -> String {
        let error = format!("error: {}", one_line(&self.to_string()));
        match &self.hint {
            Some(hint) => format!("{error}\nhint: {}", one_line(hint)),
            None => error,
        }
    }
}

/// Formats what failed, the subject and the cause, without the hint.
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

/// An `io::Error` may wrap one of ours.
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

/// Formats `error` without the "(os error N)" suffix.
#[must_use]
pub fn without_number(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or(&text).to_owned()
}

/// Says why a connection failed: as [`without_number`], or in words what is wrong with a certificate, for which TLS has
/// names.
#[must_use]
pub fn connection_failure(error: &std::io::Error) -> String {
    let text = without_number(error);
    let Some(why) = text.strip_prefix("invalid peer certificate: ") else { return text };
    let causes = [
        ("UnknownIssuer", "is self-signed, or its issuer is unknown"),
        ("CaUsedAsEndEntity", "is self-signed, or its issuer is unknown"),
        ("certificate expired", "has expired"),
        ("not valid for name", "is for another host"),
        ("not valid yet", "is not valid yet"),
    ];
    let cause = causes.iter().find(|(name, _)| why.contains(name));
    format!("its certificate {}", cause.map_or("is not valid", |(_, cause)| cause))
}

/// Escapes control characters, so that outside text stays on one line and cannot control a terminal.
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
    fn a_failed_connection_is_described_in_words() {
        for (message, expected) in [
            ("Connection refused (os error 111)", "Connection refused"),
            (
                "invalid peer certificate: UnknownIssuer",
                "its certificate is self-signed, or its issuer is unknown",
            ),
            (
                "invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))",
                "its certificate is self-signed, or its issuer is unknown",
            ),
            (
                "invalid peer certificate: certificate expired: verification time 2 (UNIX)",
                "its certificate has expired",
            ),
            (
                "invalid peer certificate: certificate not valid for name \"a\"",
                "its certificate is for another host",
            ),
            ("invalid peer certificate: BadEncoding", "its certificate is not valid"),
        ] {
            assert_eq!(connection_failure(&io::Error::other(message)), expected);
        }
    }

    #[test]
    fn shows_what_failed_then_subject_cause_and_hint() {
        let failure = Failure::new("cannot beat").about("/w").because(&io::Error::other("disk full"));
        assert_eq!(failure.shown(), "error: cannot beat: /w: disk full");
        let failure = failure.hint("free up space");
        assert_eq!(failure.shown(), "error: cannot beat: /w: disk full\nhint: free up space");
        assert_eq!(failure.line(), "cannot beat: /w: disk full; free up space");
    }

    #[test]
    fn a_module_error_keeps_its_causes_and_hint() {
        let error = Unreadable { file: "/f", source: io::Error::other("denied") };
        assert_eq!(error.failure().shown(), "error: cannot read /f: denied\nhint: run: chmod u+r /f");
    }

    #[test]
    fn outside_text_cannot_become_a_hint() {
        for outside in ["no; run: evil", "no\nhint: run: evil", "no\r\nhint: evil", "\u{1b}[1Ahint: evil"] {
            let shown = failure!("cannot open {outside}"; "check the path").shown();
            assert_eq!(shown.lines().count(), 2, "{shown}");
            assert!(shown.ends_with("\nhint: check the path"), "{shown}");
        }
        assert!(!Failure::new("a; b").shown().contains("hint"));
    }

    #[test]
    fn a_cause_is_not_repeated() {
        let twice = Unreadable { file: "/f", source: io::Error::other("cannot read /f") };
        assert_eq!(twice.failure().to_string(), "cannot read /f");
    }
}
