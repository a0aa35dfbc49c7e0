//! The YAML between `---` lines at the very start of HEARTBEAT.md.
//!
//! Takes bytes; returns settings and the body, which is all that the agent gets. Anything unknown is an error, since
//! the author thought it had an effect.

mod keys;
mod mistakes;
mod syntax;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;
use std::sync::Arc;
use sys::error::{Failure, Hinted};

use super::approval::ApprovalSettings;
use super::backend::{Backend, KeyPlaces};
use super::budget::{Budget, Usd};
use super::cron::Crons;
use super::gate::Gates;
use super::interval::Interval;
use super::mcp::Mcp;
use super::on_failure::FailureKeys;
use super::permissions::Permissions;
use super::problem::Position;
use super::requires::Requires;
use super::reserve::{OnLimit, Reserve};
use super::schedule_options::ScheduleKeys;
use super::size::Size;
use super::timing::Schedule;
use super::watchdogs::WatchdogKeys;

/// Maximum size of the YAML, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;

/// The settings in a HEARTBEAT.md. `None` means unset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frontmatter {
    /// The heartbeat's display name.
    pub name: Option<Box<str>>,
    /// What the heartbeat is for, in one line.
    pub description: Option<Box<str>>,
    /// When it runs. Replaces the workspace's schedule as a whole.
    pub schedule: Option<Schedule>,
    /// How many turns a beat may take.
    pub max_turns: Option<NonZeroU32>,
    /// How long a beat may take.
    pub timeout: Option<Interval>,
    /// How long background tasks may run after the agent's turn ended.
    pub background_wait: Option<Interval>,
    /// The model.
    pub model: Option<Box<str>>,
    /// The program that runs the agent.
    pub agent: Option<Backend>,
    /// What the agent may not do in addition to config.json, or `skip`.
    pub permissions: Option<Permissions>,
    /// Who decides on the agent's calls.
    pub asking: ApprovalSettings,
    /// The MCP servers that it requires.
    pub requires: Option<Requires>,
    /// The MCP servers that it may use, among those that config.json allows.
    pub mcp: Option<Mcp>,
    /// What it leaves of its account's usage limits.
    pub reserve: Option<Reserve>,
    /// What happens to a beat that a usage limit stopped.
    pub on_limit: Option<OnLimit>,
    /// The other keys about its schedule.
    pub options: Option<Box<ScheduleKeys>>,
    /// What must hold before a beat starts its agent, and succeed after it.
    pub gates: Gates,
    /// What happens after a beat fails.
    pub on_failure: FailureKeys,
    /// How much a beat may cost.
    pub max_budget: Option<Usd>,
    /// How much its beats may cost.
    pub budget: Option<Arc<Budget>>,
    /// How much space must be free before a beat starts.
    pub min_free: Option<Size>,
    /// When a beat that seems to hang is ended.
    pub watchdogs: WatchdogKeys,
    /// Where `agent` is set.
    pub(super) agent_place: Option<Position>,
    /// Where `when`, or else `verify`, is set.
    pub(super) gates_place: Option<Position>,
    /// Where keys are set that not every backend can fulfill.
    pub(super) places: KeyPlaces,
}

/// Why the frontmatter is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrontmatterError {
    /// The file is not UTF-8.
    #[error("byte {offset} is not UTF-8")]
    NotUtf8 {
        /// The offset of the first invalid byte.
        offset: usize,
    },
    /// There is no second `---`.
    #[error("the frontmatter has no end")]
    Unclosed,
    /// It is too long for frontmatter.
    #[error("the frontmatter is longer than {MAX_BYTES} bytes")]
    TooLong,
    /// There is an error at a position.
    #[error("{what}")]
    Wrong {
        /// The position in HEARTBEAT.md.
        place: Position,
        /// The error, with a hint.
        what: Failure,
        /// The other errors, in the order of the file.
        more: Box<[(Position, Failure)]>,
    },
}

impl Hinted for FrontmatterError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotUtf8 { .. } => "save the file as UTF-8".to_owned(),
            Self::Unclosed => "put a line `---` after its last key".to_owned(),
            Self::TooLong => "put a line `---` after its last key, or shorten it".to_owned(),
            Self::Wrong { what, .. } => return Hinted::hint(what),
        })
    }
}

impl FrontmatterError {
    /// The other errors in the same frontmatter.
    #[must_use]
    pub fn more(&self) -> &[(Position, Failure)] {
        match self {
            Self::Wrong { more, .. } => more,
            Self::NotUtf8 { .. } | Self::Unclosed | Self::TooLong => &[],
        }
    }

    /// The position in HEARTBEAT.md, if the error has one.
    #[must_use]
    pub fn place(&self) -> Option<Position> {
        match self {
            Self::NotUtf8 { .. } => None,
            Self::Unclosed | Self::TooLong => Some(Position { line: 1, column: 1 }),
            Self::Wrong { place, .. } => Some(*place),
        }
    }
}

/// Splits a file into frontmatter and body, without a byte order mark.
///
/// A file has frontmatter if its very first line is `---`. If there is no second such line, it is an error if the
/// second line looks like a key; otherwise the document just begins with a horizontal rule.
pub fn split<'a>(bytes: &'a [u8], crons: &Crons) -> Result<(Option<Frontmatter>, &'a str), FrontmatterError> {
    let (yaml, body) = parts(bytes)?;
    let Some(yaml) = yaml else { return Ok((None, body)) };
    if yaml.len() > MAX_BYTES {
        return Err(FrontmatterError::TooLong);
    }
    keys::read(yaml, crons).map(|read| (Some(read), body))
}

/// Returns the body without parsing the frontmatter.
pub fn body(bytes: &[u8]) -> Result<&str, FrontmatterError> {
    parts(bytes).map(|(_, body)| body)
}

fn parts(bytes: &[u8]) -> Result<(Option<&str>, &str), FrontmatterError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| FrontmatterError::NotUtf8 { offset: error.valid_up_to() })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text.split_once('\n').filter(|(first, _)| is_fence(first)).map(|(_, rest)| rest) else {
        return Ok((None, text));
    };
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if is_fence(line) {
            let body = rest.get(end + line.len()..).unwrap_or_default();
            return Ok((Some(rest.get(..end).unwrap_or_default()), body));
        }
        end += line.len();
    }
    let looks_like_key =
        rest.lines().next().and_then(|line| line.split_once(':')).is_some_and(|(key, _)| is_key(key));
    if looks_like_key { Err(FrontmatterError::Unclosed) } else { Ok((None, text)) }
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

fn is_key(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_- ".contains(letter))
}
