//! The YAML between `---` lines at the very start of HEARTBEAT.md.
//!
//! Bytes in; settings and the body, which alone is sent to the agent, out. Whatever is not understood is an error:
//! the author thought it had an effect.

mod keys;
#[cfg(test)]
mod tests;

use crate::error::{Failure, Hinted};
use std::num::NonZeroU32;

use super::asking::Asking;
use super::cron::Crons;
use super::interval::Interval;
use super::mcp::Mcp;
use super::permissions::Permissions;
use super::problem::Place;
use super::requires::Requires;
use super::timing::Schedule;

/// How long the YAML may be, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;

/// What a HEARTBEAT.md says about its own heartbeat. What is none is not said there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frontmatter {
    /// What people call it.
    pub name: Option<Box<str>>,
    /// What it is for, one line.
    pub description: Option<Box<str>>,
    /// When it runs. Replaces the workspace's schedule as a whole.
    pub schedule: Option<Schedule>,
    /// How many turns a beat may take.
    pub max_turns: Option<NonZeroU32>,
    /// How long a beat may take.
    pub timeout: Option<Interval>,
    /// How long a beat is let be when its turn is over.
    pub background_wait: Option<Interval>,
    /// The model.
    pub model: Option<Box<str>>,
    /// What the agent may not do: added to what config.json says, or `skip`.
    pub permissions: Option<Permissions>,
    /// Who is asked before the agent acts.
    pub asking: Asking,
    /// The MCP servers that it can't do without.
    pub requires: Option<Requires>,
    /// The MCP servers that it may have, of those that config.json lets in.
    pub mcp: Option<Mcp>,
}

/// Why a HEARTBEAT.md has no readable frontmatter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrontmatterError {
    /// The file is not text.
    #[error("byte {offset} is not UTF-8")]
    NotUtf8 {
        /// Where, counted from 0.
        offset: usize,
    },
    /// There is a first `---` and no second.
    #[error("the frontmatter has no end")]
    Unclosed,
    /// It is too long to be one.
    #[error("the frontmatter is longer than {MAX_BYTES} bytes")]
    TooLong,
    /// A place in it is wrong.
    #[error("{what}")]
    Wrong {
        /// Where in HEARTBEAT.md.
        place: Place,
        /// What is wrong and what to do.
        what: Failure,
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
    /// Where in HEARTBEAT.md, when it is about a place.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::NotUtf8 { .. } => None,
            Self::Unclosed | Self::TooLong => Some(Place { line: 1, column: 1 }),
            Self::Wrong { place, .. } => Some(*place),
        }
    }
}

/// Takes frontmatter and body apart. A byte order mark belongs to neither.
///
/// Frontmatter is there where the very first line is `---`. Without a second such line it is not closed, which is
/// an error when the line after the first looks like a key, and else just a document that begins with a rule.
///
/// # Errors
/// When the file is not UTF-8, or has frontmatter that is not closed, too long, or wrong.
pub fn split<'a>(bytes: &'a [u8], crons: &Crons) -> Result<(Option<Frontmatter>, &'a str), FrontmatterError> {
    let (yaml, body) = parts(bytes)?;
    let Some(yaml) = yaml else { return Ok((None, body)) };
    if yaml.len() > MAX_BYTES {
        return Err(FrontmatterError::TooLong);
    }
    keys::read(yaml, crons).map(|read| (Some(read), body))
}

/// The body alone, without a look at what the frontmatter says.
///
/// # Errors
/// When the file is not UTF-8, or its frontmatter is not closed.
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
