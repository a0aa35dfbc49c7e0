//! The program that runs as an agent, and what it can do.
//!
//! Only Claude Code has every capability. A heartbeat that asks for something its backend lacks is not run.

mod acp;
mod claude;
mod codex;
mod lacking;
#[cfg(test)]
mod tests;

pub use acp::built_in_names;
pub use lacking::BothPlaces;
pub(super) use lacking::{KeyPlaces, check as check_keys, problem_at_key};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use sys::error::{Failure, Hinted};
use sys::failure;

use super::acp_program::Offers;
use super::checked::{Check, Texts, short};
use serde::{Deserialize, Serialize};

/// A kind of agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Backend {
    /// Claude Code.
    #[default]
    Claude,
    /// Codex.
    Codex,
    /// A program that speaks the Agent Client Protocol, by its name in config.toml or a built-in one.
    Acp(Arc<str>),
}

/// Something that not every backend can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// Every call is passed to murmur's hook before it runs.
    Hooks,
    /// murmur decides on every call, as far as was measured: with hooks, or because the agent asks about all of them.
    Asks,
    /// A call can wait for an answer without a process.
    Defer,
    /// The agent can ask a person questions.
    Questions,
    /// The number of turns can be limited.
    MaxTurns,
    /// The cost of a run can be limited.
    Budget,
    /// A run reports its cost.
    Cost,
    /// A run reports all of its tokens.
    Tokens,
    /// A run reports the usage limits of its account.
    Limits,
    /// A turn can be interrupted.
    Interrupt,
    /// A conversation can be resumed.
    Resume,
    /// Background tasks can start another turn.
    Background,
    /// A failed run reports what the model's API answered.
    Errors,
    /// The MCP servers of a run can be chosen.
    McpServers,
    /// A repository's own settings apply only if its user trusts them.
    Trust,
}

impl Capability {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 15] = [
        Self::Hooks,
        Self::Asks,
        Self::Defer,
        Self::Questions,
        Self::MaxTurns,
        Self::Budget,
        Self::Cost,
        Self::Tokens,
        Self::Limits,
        Self::Interrupt,
        Self::Resume,
        Self::Background,
        Self::Errors,
        Self::McpServers,
        Self::Trust,
    ];

    /// Its name, as in the documentation and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hooks => "hooks",
            Self::Asks => "asks",
            Self::Defer => "defer",
            Self::Questions => "questions",
            Self::MaxTurns => "maxTurns",
            Self::Budget => "costLimit",
            Self::Cost => "cost",
            Self::Tokens => "tokens",
            Self::Limits => "limits",
            Self::Interrupt => "interrupt",
            Self::Resume => "resume",
            Self::Background => "background",
            Self::Errors => "errors",
            Self::McpServers => "mcpServers",
            Self::Trust => "trust",
        }
    }

    /// What it is, for messages such as `maxTurns needs a turn limit, which codex doesn't have`.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Hooks => "hooks",
            Self::Asks => "guaranteed approval requests",
            Self::Defer => "deferred calls",
            Self::Questions => "user questions",
            Self::MaxTurns => "a turn limit",
            Self::Budget => "cost reporting",
            Self::Cost => "cost reporting",
            Self::Tokens => "token reporting",
            Self::Limits => "usage limits",
            Self::Interrupt => "interrupts",
            Self::Resume => "resumable conversations",
            Self::Background => "background tasks",
            Self::Errors => "API error codes",
            Self::McpServers => "a choice of MCP servers",
            Self::Trust => "protection from settings in repositories",
        }
    }
}

/// The facts about a backend that configuration needs.
#[derive(Debug, Clone, Copy)]
struct Description {
    /// Its name; a prefix for the programs that speak the Agent Client Protocol.
    name: &'static str,
    capabilities: &'static [Capability],
}

/// The program of a backend: how to find and start it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// A name to search on PATH, or an absolute path.
    pub program: String,
    /// Its first arguments.
    pub args: Vec<String>,
    /// Variables to add to its environment.
    pub env: Vec<(String, String)>,
    /// What murmur offers it.
    #[serde(default)]
    pub offers: Offers,
}

impl Command {
    fn named(program: &str, args: &[&str]) -> Self {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        Self { program: program.to_owned(), args, env: Vec::new(), offers: Offers::default() }
    }
}

/// A text that names no backend.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown agent {0:?}")]
pub struct UnknownBackend(String);

impl Hinted for UnknownBackend {
    fn hint(&self) -> Option<String> {
        let plain = self.0.to_lowercase();
        let meant = [plain.clone(), format!("acp:{plain}")]
            .into_iter()
            .find(|name| name.parse::<Backend>().is_ok_and(|backend| backend.built_in().is_some()));
        let all = "use claude, codex, or acp:NAME, such as acp:opencode";
        Some(meant.map_or_else(|| all.to_owned(), |meant| format!("did you mean {meant}? Otherwise, {all}")))
    }
}

impl Backend {
    fn description(&self) -> Description {
        match self {
            Self::Claude => claude::DESCRIPTION,
            Self::Codex => codex::DESCRIPTION,
            Self::Acp(_) => acp::DESCRIPTION,
        }
    }

    /// The program that runs it, if nothing else is configured; `None` for an unknown name.
    #[must_use]
    pub fn built_in(&self) -> Option<Command> {
        match self {
            Self::Claude | Self::Codex => Some(Command::named(self.description().name, &[])),
            Self::Acp(name) => acp::built_in(name),
        }
    }

    /// Whether it is Claude Code, which needs no mention.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it follows a repository's Claude files. Whether these are trusted means nothing to others.
    #[must_use]
    pub fn reads_claude_files(&self) -> bool {
        match self {
            Self::Claude => true,
            Self::Codex => false,
            Self::Acp(name) => &**name == "claude-agent-acp",
        }
    }

    /// What it lacks, for people, and which calls run without a decision; nothing for Claude Code.
    #[must_use]
    pub fn lacks(&self) -> String {
        let undecided = match self {
            Self::Claude => return String::new(),
            Self::Codex => {
                "its sandboxed calls and read-only MCP calls run without a decision if a hook's shell is killed"
            }
            Self::Acp(_) => {
                "calls that it does not ask about run without a decision, and murmur only reports them"
            }
        };
        let lacking = Capability::ALL.into_iter().filter(|capability| !self.has(*capability));
        let mut nouns: Vec<String> = lacking.map(|capability| self.noun(capability).to_owned()).collect();
        nouns.dedup();
        format!("{}; {undecided}", lacking::list(&nouns))
    }

    /// What `capability` is, for messages about this backend.
    pub(super) fn noun(&self, capability: Capability) -> &'static str {
        match capability {
            // It reports what a run has cost, but can't end it at a cost.
            Capability::Budget if self.has(Capability::Cost) => "a cost limit",
            _ => capability.noun(),
        }
    }

    /// Whether it has `capability`.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        match self {
            Self::Acp(name) => acp::has(name, capability),
            Self::Claude | Self::Codex => self.description().capabilities.contains(&capability),
        }
    }
}

impl FromStr for Backend {
    type Err = UnknownBackend;

    fn from_str(text: &str) -> Result<Self, UnknownBackend> {
        if [claude::DESCRIPTION.name, claude::LONG_NAME].contains(&text) {
            return Ok(Self::Claude);
        }
        if text == codex::DESCRIPTION.name {
            return Ok(Self::Codex);
        }
        match text.strip_prefix(acp::DESCRIPTION.name).and_then(|rest| rest.strip_prefix(':')) {
            Some(name) if acp::is_name(name) => Ok(Self::Acp(name.into())),
            _ => Err(UnknownBackend(short(text))),
        }
    }
}

/// The backends that a workspace allows; the first is its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backends(Box<[Backend]>);

impl Backends {
    /// The accepted values, for hints.
    pub(super) const ACCEPTED: &str = "write \"claude\", \"codex\", a name such as \"acp:opencode\", or a list of them, whose first is the default";

    /// The one to use where nothing else is asked for.
    #[must_use]
    pub fn first(&self) -> &Backend {
        &self.0[0]
    }

    /// Whether a HEARTBEAT.md may ask for `backend`. Claude Code has every guarantee, so it always may.
    #[must_use]
    pub fn allow(&self, backend: &Backend) -> bool {
        backend.is_default() || self.0.contains(backend)
    }
}

impl Check for Backends {
    type Raw = Texts;

    fn check(names: Texts) -> Result<Self, Failure> {
        let read: Result<Box<[Backend]>, UnknownBackend> =
            names.list().iter().map(|name| name.parse()).collect();
        match read {
            Ok(backends) if backends.is_empty() => Err(failure!("the list is empty"; "{}", Self::ACCEPTED)),
            Ok(backends) => Ok(Self(backends)),
            Err(unknown) => Err(unknown.failure()),
        }
    }
}

impl JsonSchema for Backends {
    fn schema_name() -> Cow<'static, str> {
        "Agents".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = Backend::json_schema(generator);
        json_schema!({ "anyOf": [name, { "type": "array", "items": name, "minItems": 1 }] })
    }
}

impl JsonSchema for Backend {
    fn schema_name() -> Cow<'static, str> {
        "Agent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(claude|claude-code|codex|acp:[A-Za-z0-9][A-Za-z0-9_-]*)$" })
    }
}

impl Check for Backend {
    type Raw = String;

    fn check(text: String) -> Result<Self, Failure> {
        text.parse().map_err(|error: UnknownBackend| error.failure())
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.description().name;
        match self {
            Self::Acp(program) => formatter.pad(&format!("{name}:{program}")),
            Self::Claude | Self::Codex => formatter.pad(name),
        }
    }
}

impl TryFrom<String> for Backend {
    type Error = UnknownBackend;

    fn try_from(text: String) -> Result<Self, UnknownBackend> {
        text.parse()
    }
}

impl From<Backend> for String {
    fn from(backend: Backend) -> Self {
        backend.to_string()
    }
}
