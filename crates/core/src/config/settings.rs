//! config.toml: the settings for all agents of a user, unless a workspace or a heartbeat overrides them.
//!
//! Parsed strictly: on an error, callers deny, because a fallback could allow what the file was meant to forbid. Errors in
//! the tables `captures`, `quiet` and `notify`, on which no decision about a call depends, only affect these.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use sys::error::{Failure, Hinted};
use sys::failure;

use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;

use super::acp_program::{self, AcpKeys, AcpProgram};
use super::approval::{Approval, ApprovalSettings, Checker, Questions, Word};
use super::backend::{Backend, Command, built_in_names};
use super::captures::Captures;
use super::checked::Check;
use super::interval::Interval;
use super::notify::{Notify, NotifyKeys};
use super::problem::Problem;
use super::quiet::Quiet;
use super::spelling::nearest;
use super::toml_text;
use sys::file;
use sys::unreadable::uncommon;

/// The contents of config.toml.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Who decides on an agent's calls.
    pub asking: ApprovalSettings,
    /// The model that decides, if one is configured.
    pub llm: Option<LlmAuth>,
    /// How to reach the providers of models.
    pub providers: BTreeMap<Provider, Access>,
    /// When a quiet agent counts as stuck.
    pub quiet: Quiet,
    /// The program that runs agents for which nothing else is set.
    pub agent: Option<Backend>,
    /// Programs that speak the Agent Client Protocol, by name.
    pub acp: BTreeMap<String, AcpProgram>,
    /// How long captures of beats are kept.
    pub captures: Captures,
    /// What is wrong with the table `captures`, if anything: until it is fixed, all captures are kept.
    captures_problem: Option<Problem>,
    /// What murmur tells a person, and how.
    pub notify: Notify,
    /// What is wrong with the table `quiet`, if anything: until it is fixed, the defaults apply.
    quiet_problem: Option<Problem>,
    /// What is wrong with the table `notify`, if anything: until it is fixed, there are no channels.
    notify_problem: Option<Problem>,
}

/// A program that is neither built in nor in config.toml.
#[derive(Debug, thiserror::Error)]
#[error("agent {0} is not configured")]
pub struct UnknownProgram(Backend);

impl Hinted for UnknownProgram {
    fn hint(&self) -> Option<String> {
        let name = self.0.to_string();
        let name = name.strip_prefix("acp:").unwrap_or(&name);
        let add = format!("add [acp.{name}] with its command to config.toml");
        let built_in: Vec<&str> = built_in_names().collect();
        Some(match nearest(name, &built_in) {
            Some(meant) => format!("did you mean acp:{meant}? Otherwise, {add}"),
            None => add,
        })
    }
}

/// The table `llm_auth`: the model that decides if the checker is `llm`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LlmAuth {
    /// The provider.
    pub provider: Provider,
    /// The model's name at the provider.
    pub model: String,
}

/// A provider of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Anthropic, or any service with its Messages API.
    Anthropic,
    /// OpenAI, or any service with its Chat Completions API.
    Openai,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Anthropic, Self::Openai];

    /// Its name, as in config.toml.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
        }
    }

    /// The environment variable with its key, if config.toml has none.
    #[must_use]
    pub fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Openai => "OPENAI_API_KEY",
        }
    }
}

/// The table `providers.<name>`: how to reach a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Access {
    /// The API key.
    pub api_key: Option<Secret>,
    /// A file with the API key. Can't be combined with `api_key`.
    pub api_key_file: Option<PathBuf>,
    /// The address to use instead of the provider's own.
    pub base_url: Option<String>,
}

/// A text that must not be displayed.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text` so that it isn't displayed.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(...)")
    }
}

/// Why config.toml is not usable.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file is not readable.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file has an error.
    #[error(transparent)]
    Wrong(#[from] Problem),
}

impl Hinted for SettingsError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Read { path, source } => {
                uncommon(path, source).unwrap_or_else(|| file::read_hint(source).to_owned())
            }
            Self::Wrong(problem) => return problem.hint(),
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    #[serde(rename = "permissions-checker")]
    checker: Given<Word<Checker>>,
    approval: Given<Word<Approval>>,
    #[serde(rename = "approval-wait")]
    approval_wait: Given<Interval>,
    #[serde(rename = "approval-expiry")]
    approval_expiry: Given<Interval>,
    questions: Given<Word<Questions>>,
    llm_auth: Option<LlmAuth>,
    #[serde(default)]
    providers: BTreeMap<Provider, Access>,
    /// Read by [`quiet`].
    #[serde(default, rename = "quiet")]
    _quiet: IgnoredAny,
    agent: Given<Backend>,
    #[serde(default)]
    acp: BTreeMap<String, Spanned<AcpKeys>>,
    /// Read by [`Captures::read`].
    #[serde(default, rename = "captures")]
    _captures: IgnoredAny,
    /// Read by [`notify`].
    #[serde(default, rename = "notify")]
    _notify: IgnoredAny,
}

/// An optional value of a type with rules of its own, and its position.
type Given<T> = Option<Spanned<<T as Check>::Raw>>;

/// The table `quiet`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table of time spans, such as [quiet]")]
struct QuietKeys {
    stale: Given<Interval>,
    warning: Given<Interval>,
    stuck: Given<Interval>,
}

impl Settings {
    /// Reads the file at `path`. A missing file is an empty one.
    ///
    /// Fails if the file is not readable, or as [`Settings::parse`] does.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        match file::read_regular(path) {
            Ok(Some(bytes)) => Ok(Self::parse(&bytes, path)?),
            Ok(None) => Ok(Self::default()),
            Err(source) => Err(SettingsError::Read { path: path.to_owned(), source }),
        }
    }

    /// Parses the bytes of a file; `path` is for messages.
    ///
    /// Fails on unknown keys and values, and on a key together with a key file for one provider.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, Problem> {
        let keys: Keys = toml_text::read(bytes, path)?;
        for (provider, access) in &keys.providers {
            if access.api_key.is_some() && access.api_key_file.is_some() {
                let what = failure!(
                    "both \"api-key\" and \"api-key-file\" are given for {provider:?}"; "remove one of them"
                );
                return Err(Problem::with(path, what));
            }
        }
        let span = |given: Given<Interval>| toml_text::checked::<Interval>(given, bytes, path);
        let asking = ApprovalSettings {
            checker: toml_text::checked::<Word<_>>(keys.checker, bytes, path)?.map(|word| word.0),
            approval: toml_text::checked::<Word<_>>(keys.approval, bytes, path)?.map(|word| word.0),
            approval_wait: span(keys.approval_wait)?,
            approval_expiry: span(keys.approval_expiry)?,
            questions: toml_text::checked::<Word<_>>(keys.questions, bytes, path)?.map(|word| word.0),
        };
        let agent_start = keys.agent.as_ref().map_or(0, |agent| agent.span().start);
        let agent = toml_text::checked(keys.agent, bytes, path)?;
        let (captures, captures_problem) = Captures::read(bytes, path);
        let (quiet, quiet_problem) = or_default(quiet(bytes, path));
        let (notify, notify_problem) = or_default(notify(bytes, path));
        let acp = acp_program::checked(keys.acp, bytes, path)?;
        let (llm, providers) = (keys.llm_auth, keys.providers);
        let settings = Self {
            asking,
            llm,
            providers,
            quiet,
            agent,
            acp,
            captures,
            captures_problem,
            notify,
            quiet_problem,
            notify_problem,
        };
        match settings.agent.as_ref().map_or(Ok(()), |agent| settings.command(agent).map(drop)) {
            Ok(()) => Ok(settings),
            Err(unknown) => Err(toml_text::problem_at(bytes, path, agent_start, unknown.failure())),
        }
    }

    /// What is wrong in parts on which no decision about a call depends, and what that means.
    #[must_use]
    pub fn problems(&self) -> Vec<Failure> {
        [
            self.captures_problem(),
            self.quiet_problem().map(|problem| problem.failure().after("the default times apply: ")),
            self.notify_problem().map(|problem| problem.failure().after("notifications don't change: ")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// What is wrong with the table `captures`, and what that means.
    #[must_use]
    pub fn captures_problem(&self) -> Option<Failure> {
        let problem = self.captures_problem.as_ref()?;
        Some(problem.failure().after("no capture is removed: "))
    }

    /// What is wrong with the table `quiet`.
    #[must_use]
    pub fn quiet_problem(&self) -> Option<&Problem> {
        self.quiet_problem.as_ref()
    }

    /// What is wrong with the table `notify`.
    #[must_use]
    pub fn notify_problem(&self) -> Option<&Problem> {
        self.notify_problem.as_ref()
    }

    /// How to start `backend`: as config.toml says, or else as built in.
    pub fn command(&self, backend: &Backend) -> Result<Command, UnknownProgram> {
        let built_in = backend.built_in();
        let command = match backend {
            Backend::Acp(name) => match self.acp.get(&**name) {
                Some(own) => own.command(built_in),
                None => built_in,
            },
            Backend::Claude | Backend::Codex => built_in,
        };
        command.ok_or_else(|| UnknownProgram(backend.clone()))
    }
}

/// The table `quiet` in the file's `text`; `path` is for messages.
fn quiet(text: &[u8], path: &Path) -> Result<Quiet, Problem> {
    #[derive(Deserialize)]
    struct Table {
        quiet: Option<QuietKeys>,
    }
    let keys = toml_text::read::<Table>(text, path)?.quiet.unwrap_or_default();
    let span = |given: Given<Interval>| toml_text::checked::<Interval>(given, text, path);
    let default = Quiet::default();
    let quiet = Quiet {
        stale: span(keys.stale)?.unwrap_or(default.stale),
        warning: span(keys.warning)?.unwrap_or(default.warning),
        stuck: span(keys.stuck)?.unwrap_or(default.stuck),
    };
    if !quiet.is_ordered() {
        let what = failure!(
            "the times in \"quiet\" do not increase";
            "make \"stale\" shorter than \"warning\", and \"warning\" shorter than \"stuck\""
        );
        return Err(Problem::with(path, what));
    }
    Ok(quiet)
}

/// The table `notify` in the file's `text`; `path` is for messages.
fn notify(text: &[u8], path: &Path) -> Result<Notify, Problem> {
    #[derive(Deserialize)]
    struct Table {
        notify: Option<NotifyKeys>,
    }
    toml_text::read::<Table>(text, path)?.notify.unwrap_or_default().checked(text, path)
}

fn or_default<T: Default>(read: Result<T, Problem>) -> (T, Option<Problem>) {
    read.map_or_else(|problem| (T::default(), Some(problem)), |value| (value, None))
}

#[cfg(test)]
mod tests;
