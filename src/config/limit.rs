//! What counts where more than one place says something: the user's own files set the upper limit, and a HEARTBEAT.md,
//! which lies where the agent can write, can only ask for less, or for what they leave open.
//!
//! One rule for each kind of key: the lower counts (`Notices::lower`), the stricter (`Notices::stricter`), the rarer
//! (`Notices::rarer`), the user's own (`Notices::own`); lists add up, where they are read.

use std::fmt;

use super::asking::Choice;
use super::interval::Interval;
use super::timing::Schedule;
use std::num::NonZeroU32;

/// The most turns that a HEARTBEAT.md can ask for where config.json says nothing.
pub const MOST_TURNS: NonZeroU32 = NonZeroU32::new(1000).unwrap();
/// The longest time that a HEARTBEAT.md can ask for where config.json says nothing.
pub const LONGEST: Interval = Interval::from_secs(6 * 3600).unwrap();
/// The shortest interval that a HEARTBEAT.md can ask for where config.json says nothing.
pub const SHORTEST: Interval = Interval::from_secs(60).unwrap();

/// The place that says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// None does.
    Default,
    /// What holds for all of a user's agents.
    ConfigToml,
    /// The workspace's entry.
    ConfigJson,
    /// The frontmatter.
    Heartbeat,
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

/// A value and who says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Who says it.
    pub source: Source,
}

impl<T> Sourced<T> {
    /// The default.
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

/// The value of a key for which HEARTBEAT.md asks for no more than it may.
fn allowed<T: PartialEq>(user: Option<Sourced<T>>, front: Option<T>) -> Option<Sourced<T>> {
    match (user, front) {
        (Some(user), Some(asked)) if asked == user.value => Some(user),
        (_, Some(asked)) => Some(Sourced::front(asked)),
        (user, None) => user,
    }
}

/// What a HEARTBEAT.md asks for and does not get, a line each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notices(Vec<Box<str>>);

impl Notices {
    /// The lines.
    #[must_use]
    pub fn lines(&self) -> &[Box<str>] {
        &self.0
    }

    pub(super) fn say(&mut self, line: String) {
        self.0.push(line.into());
    }

    /// The lower of the two, and never more than `most` where the user says nothing.
    pub(super) fn lower<T: Copy + Ord + fmt::Display>(
        &mut self,
        key: &str,
        user: Option<Sourced<T>>,
        front: Option<T>,
        most: T,
    ) -> Option<Sourced<T>> {
        match (user, front) {
            (Some(user), Some(asked)) if asked > user.value => {
                let (source, value) = (user.source, user.value);
                self.say(format!(
                    "{key}: {asked} in HEARTBEAT.md is more than {source} allows; {value} applies"
                ));
                Some(user)
            }
            (None, Some(asked)) if asked > most => {
                self.say(format!(
                    "{key}: {asked} in HEARTBEAT.md is more than {most}, the most that HEARTBEAT.md can set; {most} applies"
                ));
                Some(Sourced::default(most))
            }
            (user, front) => allowed(user, front),
        }
    }

    /// The stricter of the two.
    pub(super) fn stricter<T: Choice + Ord>(
        &mut self,
        key: &str,
        user: Option<Sourced<T>>,
        front: Option<T>,
    ) -> Option<Sourced<T>> {
        match (user, front) {
            (Some(user), Some(asked)) if asked < user.value => {
                let (asked, source, value) = (asked.word(), user.source, user.value.word());
                self.say(format!(
                    "{key}: {asked} in HEARTBEAT.md is less strict than {source}; {value} applies"
                ));
                Some(user)
            }
            (user, front) => allowed(user, front),
        }
    }

    /// The user's, where there is one.
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
                    self.say(format!(
                        "{key}: {asked} in HEARTBEAT.md is not what {source} says; {value} applies"
                    ));
                }
                Some(user)
            }
            (None, front) => front.map(Sourced::front),
        }
    }

    /// The schedule by which it runs more rarely, and never more often than [`SHORTEST`] where the user says nothing.
    pub(super) fn rarer(
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
                self.say(format!(
                    "{asked} in HEARTBEAT.md is more often than config.json allows; {user} applies"
                ));
                Some(Sourced::user(user))
            }
            (None, Some(Schedule::Every(interval))) if *interval < SHORTEST => {
                self.say(format!(
                    "interval: {interval} in HEARTBEAT.md is less than {SHORTEST}, the least that HEARTBEAT.md can set; {SHORTEST} applies"
                ));
                Some(Sourced::default(Schedule::Every(SHORTEST)))
            }
            (_, Some(front)) => Some(Sourced::front(front.clone())),
            (user, None) => user.map(Sourced::user),
        }
    }
}
