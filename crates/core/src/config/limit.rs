//! Resolves keys that several files set. The user's own files set limits; a HEARTBEAT.md, which the agent can edit,
//! can only lower them, or set what they leave open.
//!
//! Each kind of key has a rule: the lower value applies (`Notices::lower`), the higher (`Notices::higher`), the
//! stricter (`Notices::stricter`), the less frequent (`Notices::less_frequent`), or the user's own (`Notices::own`).
//! Lists are merged where they are read.

use std::fmt;

use super::approval::Choice;
use super::interval::Interval;
use super::timing::Schedule;
use std::num::NonZeroU32;

/// The most turns that a HEARTBEAT.md can set if config.json sets none.
pub const MAX_TURNS: NonZeroU32 = NonZeroU32::new(1000).unwrap();
/// The longest time that a HEARTBEAT.md can set if config.json sets none.
pub const MAX_TIME: Interval = Interval::from_secs(6 * 3600).unwrap();
/// The shortest interval that a HEARTBEAT.md can set if config.json sets none.
pub const MIN_INTERVAL: Interval = Interval::from_secs(60).unwrap();

/// Where a value is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Nowhere; it is the default.
    Default,
    /// config.toml, which applies to all of a user's agents.
    ConfigToml,
    /// The workspace's entry in config.json.
    ConfigJson,
    /// The frontmatter of a HEARTBEAT.md.
    Heartbeat,
}

impl Source {
    /// What set the value, in a sentence.
    fn in_sentence(self) -> String {
        match self {
            Self::Default => "the default".to_owned(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Default => "default",
            Self::ConfigToml => "config.toml",
            Self::ConfigJson => "config.json",
            Self::Heartbeat => "HEARTBEAT.md",
        })
    }
}

/// A value and its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it is set.
    pub source: Source,
}

impl<T> Sourced<T> {
    /// A default value.
    pub const fn default(value: T) -> Self {
        Self { value, source: Source::Default }
    }

    pub(super) const fn user(value: T) -> Self {
        Self { value, source: Source::ConfigJson }
    }

    pub(super) const fn front(value: T) -> Self {
        Self { value, source: Source::Heartbeat }
    }
}

/// The value of a key for which HEARTBEAT.md stays within its limits.
fn allowed<T: PartialEq>(user: Option<Sourced<T>>, front: Option<T>) -> Option<Sourced<T>> {
    match (user, front) {
        (Some(user), Some(asked)) if asked == user.value => Some(user),
        (_, Some(asked)) => Some(Sourced::front(asked)),
        (user, None) => user,
    }
}

/// Settings of a HEARTBEAT.md that have no effect, one line each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notices(Vec<Box<str>>);

impl Notices {
    /// The lines.
    #[must_use]
    pub fn lines(&self) -> &[Box<str>] {
        &self.0
    }

    pub(super) fn add(&mut self, line: String) {
        self.0.push(line.into());
    }

    /// The lower value; at most `most` if the user sets none.
    pub(super) fn lower<T: Copy + Ord + fmt::Display>(
        &mut self,
        key: &str,
        user: Option<Sourced<T>>,
        front: Option<T>,
        most: T,
    ) -> Option<Sourced<T>> {
        match (user, front) {
            (Some(user), Some(asked)) if asked > user.value => {
                let (source, value) = (user.source.in_sentence(), user.value);
                self.add(format!(
                    "{key}: {asked} in HEARTBEAT.md is more than {source} allows; {value} applies"
                ));
                Some(user)
            }
            (None, Some(asked)) if asked > most => {
                self.add(format!(
                    "{key}: {asked} in HEARTBEAT.md exceeds {most}, the maximum for HEARTBEAT.md; {most} applies"
                ));
                Some(Sourced::front(most))
            }
            (user, front) => allowed(user, front),
        }
    }

    /// The higher value.
    pub(super) fn higher<T: Copy + Ord + fmt::Display>(
        &mut self,
        key: &str,
        user: Option<Sourced<T>>,
        front: Option<T>,
    ) -> Option<Sourced<T>> {
        match (user, front) {
            (Some(user), Some(asked)) if asked < user.value => {
                let (source, value) = (user.source.in_sentence(), user.value);
                self.add(format!(
                    "{key}: {asked} in HEARTBEAT.md is less than {source} asks for; {value} applies"
                ));
                Some(user)
            }
            (user, front) => allowed(user, front),
        }
    }

    /// The stricter value.
    pub(super) fn stricter<T: Choice + Ord>(
        &mut self,
        key: &str,
        user: Option<Sourced<T>>,
        front: Option<T>,
    ) -> Option<Sourced<T>> {
        match (user, front) {
            (Some(user), Some(asked)) if asked < user.value => {
                let (asked, source, value) = (asked.word(), user.source, user.value.word());
                self.add(format!(
                    "{key}: {asked} in HEARTBEAT.md is less strict than {source}; {value} applies"
                ));
                Some(user)
            }
            (user, front) => allowed(user, front),
        }
    }

    /// The user's value, if there is one.
    pub(super) fn own<T: PartialEq + fmt::Display>(
        &mut self,
        key: &str,
        user: Option<Sourced<T>>,
        front: Option<T>,
    ) -> Option<Sourced<T>> {
        match (user, front) {
            (Some(user), front) => {
                if let Some(asked) = front.filter(|asked| *asked != user.value) {
                    let (source, value) = (user.source, &user.value);
                    self.add(format!(
                        "{key}: {asked} in HEARTBEAT.md differs from {source}; {value} applies"
                    ));
                }
                Some(user)
            }
            (None, front) => front.map(Sourced::front),
        }
    }

    /// The schedule with the longer gaps; at least [`MIN_INTERVAL`] if the user sets none.
    pub(super) fn less_frequent(
        &mut self,
        user: Option<Schedule>,
        front: Option<&Schedule>,
    ) -> Option<Sourced<Schedule>> {
        let asked = |schedule: &Schedule| match schedule {
            Schedule::Every(interval) => format!("interval: {interval}"),
            Schedule::Cron(cron) => format!("cron: {cron}"),
        };
        match (user, front) {
            (Some(user), Some(front)) if *front == user => Some(Sourced::user(user)),
            (Some(user), Some(front)) if front.shortest_gap() < user.shortest_gap() => {
                let asked = asked(front);
                self.add(format!(
                    "{asked} in HEARTBEAT.md is more often than config.json allows; {user} applies"
                ));
                Some(Sourced::user(user))
            }
            (None, Some(Schedule::Every(interval))) if *interval < MIN_INTERVAL => {
                self.add(format!(
                    "interval: {interval} in HEARTBEAT.md is below {MIN_INTERVAL}, the minimum for HEARTBEAT.md; {MIN_INTERVAL} applies"
                ));
                Some(Sourced::front(Schedule::Every(MIN_INTERVAL)))
            }
            (_, Some(front)) => Some(Sourced::front(front.clone())),
            (user, None) => user.map(Sourced::user),
        }
    }
}
