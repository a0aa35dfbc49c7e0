//! An entry of the inbox: a request, or something else that waits for a person, with the command that answers or solves
//! it.

use super::super::reported::how_to_answer;
use super::super::requests::paragraph;
use super::super::style::{Style, plain_line};
use super::numbers::{Given, Other, Subject};
use crate::daemon::broker::{RequestKind, RequestRow};
use derun::cli::span::span;
use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};
use std::io::{self, Write};
use sys::clock;
use sys::text::shown_line;

/// A time too short to mention.
const BRIEF: SignedDuration = SignedDuration::from_mins(1);

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct Kind {
    pub(in crate::cli) name: &'static str,
    /// The same with an article, for errors.
    what: &'static str,
    /// Whether its command acts; otherwise it only shows more.
    acts: bool,
}

impl Kind {
    const APPROVAL: Self = Self { name: "approval", what: "a request", acts: true };
    const QUESTION: Self = Self { name: "question", what: "a question", acts: true };
    pub(super) const LIMIT: Self = Self { name: "limit", what: "a reached limit", acts: false };
    pub(super) const RESERVE: Self = Self { name: "reserve", what: "a reached reserve", acts: false };
    pub(super) const BUDGET: Self = Self { name: "budget", what: "a used-up budget", acts: false };
    pub(super) const BREAKER: Self = Self { name: "breaker", what: "a failing heartbeat", acts: true };
    pub(super) const RULES: Self = Self { name: "rules", what: "an unreadable rules file", acts: false };
    pub(super) const UNTRUSTED: Self =
        Self { name: "untrusted", what: "an untrusted repository", acts: true };
    pub(super) const STUCK: Self = Self { name: "stuck", what: "a stuck agent", acts: false };
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name)
    }
}

/// The form that every other time of murmur has.
fn as_rfc3339<S: Serializer>(at: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
    at.map(clock::rfc3339).serialize(to)
}

/// Something that waits for a person.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct InboxEntry {
    pub(in crate::cli) kind: Kind,
    /// Its number, which names a request in `murmur allow`, `deny` and `answer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) number: Option<u32>,
    /// The request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<RequestRow>,
    /// What it is about, if it isn't a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) text: Option<String>,
    /// Since when it waits, if it isn't a request, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_rfc3339")]
    pub(in crate::cli) since: Option<Timestamp>,
    /// When it ends by itself, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_rfc3339")]
    pub(in crate::cli) deadline: Option<Timestamp>,
    /// The command that answers it or solves it.
    pub(in crate::cli) command: String,
    /// What it is about, which stays the same while its text changes.
    #[serde(skip)]
    about: String,
}

impl InboxEntry {
    pub(super) fn request(row: RequestRow) -> Self {
        let kind = if row.kind == RequestKind::Question { Kind::QUESTION } else { Kind::APPROVAL };
        let deadline = row.expires_at.as_deref().and_then(|at| at.parse().ok());
        let entry = Self {
            kind,
            number: None,
            about: row.id.to_string(),
            request: Some(row),
            text: None,
            since: None,
            deadline,
            command: String::new(),
        };
        entry.numbered(None)
    }

    pub(super) fn other(kind: Kind, about: &str, text: String, command: String) -> Self {
        Self {
            kind,
            number: None,
            request: None,
            text: Some(text),
            since: None,
            deadline: None,
            command,
            about: about.to_owned(),
        }
    }

    /// Sets when it ends by itself, RFC 3339.
    pub(super) fn until(self, deadline: &str) -> Self {
        Self { deadline: deadline.parse().ok(), ..self }
    }

    /// Sets since when it waits.
    pub(super) fn since(self, since: Timestamp) -> Self {
        Self { since: Some(since), ..self }
    }

    /// Sets its number, and since when it waits: since it was first seen, unless a better time is known.
    pub(super) fn given(mut self, given: Option<Given>) -> Self {
        if self.request.is_none() {
            self.since = self.since.or(given.map(|given| given.since));
        }
        self.numbered(given.map(|given| given.number))
    }

    /// Sets its number.
    pub(super) fn numbered(mut self, number: Option<u32>) -> Self {
        self.number = number;
        if let Some(name) = self.name() {
            self.command = format!("murmur {} {name}", self.verb());
        }
        self
    }

    /// What gets a number.
    pub(super) fn subject(&self) -> Subject {
        match &self.request {
            Some(row) => Subject::Request(row.id.clone()),
            None => {
                Subject::Other(Other { key: self.key(), what: self.kind.what.to_owned(), hint: self.hint() })
            }
        }
    }

    /// Sorts entries: nearest deadline first.
    pub(in crate::cli) fn order(&self) -> (bool, Option<Timestamp>) {
        (self.deadline.is_none(), self.deadline)
    }

    /// Tells entries apart.
    pub(in crate::cli) fn key(&self) -> String {
        format!("{} {}", self.kind.name, self.about)
    }

    /// What names the request in commands.
    fn name(&self) -> Option<String> {
        let row = self.request.as_ref()?;
        Some(self.number.map_or_else(|| row.id.to_string(), |number| number.to_string()))
    }

    fn verb(&self) -> &'static str {
        if self.kind == Kind::QUESTION { "answer" } else { "allow" }
    }

    /// What to do about it.
    fn hint(&self) -> String {
        match self.name() {
            Some(name) => how_to_answer(self.verb(), &name),
            None => format!("{}: {}", if self.kind.acts { "run" } else { "see" }, self.command),
        }
    }

    /// Prints it with the command that answers or solves it.
    pub(super) fn print(&self, out: &mut impl Write, style: Style, now: Timestamp) -> io::Result<()> {
        if let Some(number) = self.number {
            write!(out, "{}  ", style.bold(number))?;
        }
        if let Some(row) = &self.request {
            paragraph(out, style, row, now)?;
        } else {
            let text = plain_line(self.text.as_deref().unwrap_or_default());
            writeln!(out, "{}  {text}", style.bold(self.kind.name))?;
            // The text of a stuck agent has its time.
            let since =
                self.since.filter(|_| self.kind != Kind::STUCK).map(|since| now.duration_since(since));
            let lasted =
                since.filter(|lasted| *lasted >= BRIEF).map(|lasted| format!("for {}", span(lasted)));
            let deadline = self.deadline.filter(|deadline| *deadline > now);
            let left = deadline.map(|deadline| format!("ends in {}", span(deadline.duration_since(now))));
            let times: Vec<String> = lasted.into_iter().chain(left).collect();
            if !times.is_empty() {
                writeln!(out, "  {}", style.dim(times.join(", ")))?;
            }
        }
        writeln!(out, "  {}", self.hint())
    }

    /// Prints that it no longer waits. `how` is how a request ended, as the daemon reports it.
    pub(super) fn print_closed(
        &self,
        out: &mut impl Write,
        style: Style,
        how: Option<&str>,
    ) -> io::Result<()> {
        if let Some(number) = self.number {
            write!(out, "{}  ", style.bold(number))?;
        }
        let Some(row) = &self.request else {
            let text = plain_line(self.text.as_deref().unwrap_or_default());
            return writeln!(out, "no longer waits for you: {}  {text}", self.kind.name);
        };
        let what = format!("{} for {}", shown_line(&row.tool), shown_line(&row.agent));
        match how {
            Some("allowed") if row.kind == RequestKind::Question => writeln!(out, "answered {what}"),
            Some(word @ ("allowed" | "denied")) => writeln!(out, "{word} {what}"),
            Some("expired") => writeln!(out, "expired: {what}"),
            _ => writeln!(out, "no longer open: {what}"),
        }
    }
}
