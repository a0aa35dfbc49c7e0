//! config.toml's table `notify`: what murmur tells a person, how, and when.

mod channel;

use super::active_hours::ActiveHours;
use super::checked::{Check, short};
use super::interval::Interval;
use super::members::Members;
use super::problem::Problem;
use super::toml_text;
pub use channel::{Address, Channel, Destination, Format, Token};
use channel::{ChannelKeys, ChannelType};
use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use sys::error::Failure;
use sys::failure;
use toml::Spanned;

/// What a notification is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// A beat needs attention.
    Attention,
    /// A beat failed.
    Error,
    /// A request waits for a person.
    Waiting,
    /// A usage limit holds an account's heartbeats.
    Limited,
    /// An agent has been quiet for so long that it will hardly continue.
    Stuck,
    /// A heartbeat keeps failing, so that it runs less often.
    Breaker,
    /// A budget is used up.
    Budget,
    /// The first `ok` after trouble.
    Recovered,
    /// The daily digest.
    Digest,
    /// What `murmur notify test` sends.
    Test,
}

impl EventKind {
    /// What `when` may list. The digest has a key of its own.
    pub const CHOICES: [Self; 8] = [
        Self::Attention,
        Self::Error,
        Self::Waiting,
        Self::Limited,
        Self::Stuck,
        Self::Breaker,
        Self::Budget,
        Self::Recovered,
    ];

    /// Its word, as in config.toml.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Error => "error",
            Self::Waiting => "waiting",
            Self::Limited => "limited",
            Self::Stuck => "stuck",
            Self::Breaker => "breaker",
            Self::Budget => "budget",
            Self::Recovered => "recovered",
            Self::Digest => "digest",
            Self::Test => "test",
        }
    }
}

/// The table `notify`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notify {
    /// The kinds of events to report.
    pub when: BTreeSet<EventKind>,
    /// The shortest time between two messages of a kind about one heartbeat; those about its beats are one kind.
    pub cooldown: Interval,
    /// When nothing is sent; what happens meanwhile is sent afterward.
    pub quiet_hours: Option<ActiveHours>,
    /// The local time of the daily digest, if there is one.
    pub digest: Option<Time>,
    /// A URL to call when a beat starts, succeeds and fails.
    pub ping: Option<Address>,
    /// Where messages go, by name.
    pub channels: BTreeMap<String, Channel>,
    /// What differs for some heartbeats, by name.
    pub heartbeats: BTreeMap<String, HeartbeatNotify>,
}

/// The table `notify.heartbeats.<name>`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeartbeatNotify {
    /// The kinds of events to report; empty means none.
    pub when: Option<BTreeSet<EventKind>>,
    /// The channels to use.
    pub channels: Option<BTreeSet<String>>,
    /// The URL to call for its beats.
    pub ping: Option<Address>,
}

impl Default for Notify {
    fn default() -> Self {
        Self {
            when: EventKind::CHOICES.into(),
            cooldown: Interval::from_secs(600).unwrap_or(Interval::MAX),
            quiet_hours: None,
            digest: None,
            ping: None,
            channels: BTreeMap::new(),
            heartbeats: BTreeMap::new(),
        }
    }
}

impl Notify {
    /// Reads the table in config.toml's `text`; `path` is for messages.
    pub(super) fn read(text: &[u8], path: &Path) -> Result<Self, Problem> {
        #[derive(Deserialize)]
        struct Table {
            notify: Option<Members<NotifyKeys>>,
        }
        toml_text::every(text, path, |part, path| {
            toml_text::read::<Table>(part, path)?.notify.unwrap_or_default().0.checked(part, path, text)
        })
    }

    /// Whether there is anything to do.
    #[must_use]
    pub fn is_used(&self) -> bool {
        let pings = self.heartbeats.values().any(|heartbeat| heartbeat.ping.is_some());
        !self.channels.is_empty() || self.ping.is_some() || pings
    }

    /// The channels that get an event of this `kind` about `heartbeat`.
    pub fn channels_for(&self, kind: EventKind, heartbeat: Option<&str>) -> impl Iterator<Item = &str> {
        let own = heartbeat.and_then(|name| self.heartbeats.get(name));
        let always = matches!(kind, EventKind::Digest | EventKind::Test);
        let when = own.and_then(|own| own.when.as_ref()).unwrap_or(&self.when);
        let is_wanted = always || when.contains(&kind);
        let chosen = own.and_then(|own| own.channels.as_ref());
        let fits = move |(name, channel): &(&String, &Channel)| {
            is_wanted
                && (always || channel.when.as_ref().is_none_or(|when| when.contains(&kind)))
                && chosen.is_none_or(|chosen| chosen.contains(*name))
        };
        self.channels.iter().filter(fits).map(|(name, _)| name.as_str())
    }

    /// The URL to call for the beats of `heartbeat`.
    #[must_use]
    pub fn ping_for(&self, heartbeat: &str) -> Option<&Address> {
        self.heartbeats.get(heartbeat).and_then(|own| own.ping.as_ref()).or(self.ping.as_ref())
    }
}

/// The table as written.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case", expecting = "a table such as [notify]")]
pub(super) struct NotifyKeys {
    /// The kinds of events to report. Default: all.
    when: Option<BTreeSet<Choice>>,
    /// The shortest time between two messages of a kind about one heartbeat; those about its beats are one kind.
    /// Default: 10m.
    #[schemars(with = "Option<Interval>")]
    cooldown: Option<Spanned<<Interval as Check>::Raw>>,
    /// When nothing is sent. What happens meanwhile is sent afterward.
    #[schemars(with = "Option<ActiveHours>")]
    quiet_hours: Option<Spanned<<QuietHours as Check>::Raw>>,
    /// The local time of a daily digest, such as "08:00".
    #[schemars(with = "Option<String>")]
    digest: Option<Spanned<String>>,
    /// A URL to call when a beat starts, succeeds and fails.
    #[schemars(with = "Option<String>")]
    ping: Option<Spanned<String>>,
    /// Where messages go, by name.
    #[schemars(with = "BTreeMap<String, ChannelKeys>")]
    channels: BTreeMap<Spanned<String>, Members<ChannelType>>,
    /// What differs for some heartbeats, by name.
    #[schemars(with = "BTreeMap<String, HeartbeatKeys>")]
    heartbeats: BTreeMap<Spanned<String>, Members<HeartbeatKeys>>,
}

/// The table `notify.heartbeats.<name>` as written.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table such as [notify.heartbeats.site]")]
struct HeartbeatKeys {
    /// The kinds of events to report.
    when: Option<BTreeSet<Choice>>,
    /// The channels to use.
    #[schemars(with = "Option<BTreeSet<String>>")]
    channels: Option<BTreeSet<Spanned<String>>>,
    /// The URL to call for its beats.
    #[schemars(with = "Option<String>")]
    ping: Option<Spanned<String>>,
}

/// What `when` may list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Choice {
    Attention,
    Error,
    Waiting,
    Limited,
    Stuck,
    Breaker,
    Budget,
    Recovered,
}

impl From<Choice> for EventKind {
    fn from(choice: Choice) -> Self {
        Self::CHOICES[choice as usize]
    }
}

fn kinds(choices: BTreeSet<Choice>) -> BTreeSet<EventKind> {
    choices.into_iter().map(EventKind::from).collect()
}

/// Hours that end.
struct QuietHours(ActiveHours);

impl Check for QuietHours {
    type Raw = <ActiveHours as Check>::Raw;

    fn check(raw: Self::Raw) -> Result<Self, Failure> {
        let hours = ActiveHours::check(raw)?;
        let any = hours.clone().in_zone(&TimeZone::UTC).until(Timestamp::UNIX_EPOCH);
        match any == Timestamp::MAX {
            true => {
                Err(failure!("these hours never end"; "write a part of the day, such as \"22:00-07:00\""))
            }
            false => Ok(Self(hours)),
        }
    }
}

/// A time of day, such as `08:00`.
struct Daily(Time);

impl Check for Daily {
    type Raw = String;

    fn check(text: String) -> Result<Self, Failure> {
        let is_plain = text.len() == 5 && text.as_bytes()[2] == b':';
        let time = Time::strptime("%H:%M", &text).ok().filter(|_| is_plain);
        time.map(Self).ok_or_else(|| {
            failure!("{:?} is not a time of day", short(&text); "write hours and minutes, such as \"08:00\"")
        })
    }
}

impl NotifyKeys {
    /// Checks the values in the `text` of those parts of the `whole` file that may be readable; `path` is for messages.
    fn checked(self, text: &[u8], path: &Path, whole: &[u8]) -> Result<Notify, Problem> {
        let default = Notify::default();
        let names = match self.heartbeats.is_empty() {
            true => BTreeSet::new(),
            false => toml_text::names(whole, &["notify", "channels"]),
        };
        let mut channels: BTreeMap<String, Channel> = BTreeMap::new();
        for (name, Members(kind)) in self.channels {
            let problem = |wrong| toml_text::problem_in(text, path, name.span().start, wrong);
            let keys = ChannelKeys::read(&kind, name.get_ref(), text, path)?;
            let channel = keys.checked().map_err(problem)?;
            let folder = path.parent().unwrap_or(path);
            let is_same = |other: &Channel| {
                let bots = channel.answering_bot().zip(other.answering_bot());
                bots.is_some_and(|(one, other)| one.is_same(other, folder))
            };
            if let Some((other, _)) = channels.iter().find(|(_, other)| is_same(other)) {
                return Err(problem(failure!(
                    "\"senders\": channel {other:?} takes answers with the same bot";
                    "remove \"senders\" from one of them, or use another bot"
                )));
            }
            channels.insert(name.into_inner(), channel);
        }
        let heartbeats = self.heartbeats.into_iter().map(|(name, Members(keys))| {
            let HeartbeatKeys { when, channels, ping } = keys;
            for channel in channels.iter().flatten() {
                if !names.contains(channel.get_ref()) {
                    let wrong = failure!(
                        "there is no channel {:?}", channel.get_ref();
                        "add [notify.channels.{}], or use the name of another one", channel.get_ref()
                    );
                    return Err(toml_text::problem_at(text, path, channel.span().start, wrong));
                }
            }
            let own = HeartbeatNotify {
                when: when.map(kinds),
                channels: channels.map(|all| all.into_iter().map(Spanned::into_inner).collect()),
                ping: toml_text::checked(ping, text, path)?,
            };
            Ok((name.into_inner(), own))
        });
        Ok(Notify {
            when: self.when.map_or(default.when, kinds),
            cooldown: toml_text::checked(self.cooldown, text, path)?.unwrap_or(default.cooldown),
            quiet_hours: toml_text::checked(self.quiet_hours, text, path)?
                .map(|QuietHours(hours)| hours.in_zone(&sys::clock::local_zone())),
            digest: toml_text::checked(self.digest, text, path)?.map(|Daily(time)| time),
            ping: toml_text::checked(self.ping, text, path)?,
            channels,
            heartbeats: heartbeats.collect::<Result<_, Problem>>()?,
        })
    }
}

#[cfg(test)]
mod tests;
