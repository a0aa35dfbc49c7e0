//! config.toml: the settings for all agents of a user, unless a workspace or a heartbeat overrides them.
//!
//! Parsed strictly: on an error, callers deny, because a fallback could allow what the file was meant to forbid. Errors
//! in the tables `captures`, `quiet` and `notify`, on which no decision about a call depends, only affect these.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use sys::error::{Failure, Hinted};
use sys::failure;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;

use super::acp_program::{self, AcpKeys, AcpProgram, UnknownProgram};
use super::approval::{Approval, ApprovalSettings, Checker, Questions, Word};
use super::backend::{Backend, Command};
use super::captures::Captures;
use super::checked::Check;
use super::interval::Interval;
use super::members::Members;
use super::notify::Notify;
use super::problem::Problem;
use super::quiet::Quiet;
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
    /// What murmur tells a person, and how.
    pub notify: Notify,
    /// What is wrong with the last three.
    pub wrong: WrongTables,
}

/// What is wrong with the tables on which no decision about a call depends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrongTables {
    /// With `captures`: until it is fixed, all captures are kept.
    pub captures: Option<Problem>,
    /// With `quiet`: until it is fixed, the defaults apply.
    pub quiet: Option<Problem>,
    /// With `notify`: until it is fixed, there are no channels here, and a running notifier keeps those it has.
    pub notify: Option<Problem>,
}

impl WrongTables {
    /// Every mistake, and what it means.
    #[must_use]
    pub fn failures(&self) -> Vec<Failure> {
        let tables = [
            (&self.captures, "no capture is removed: "),
            (&self.quiet, "the default times apply: "),
            (&self.notify, "notifications do not change: "),
        ];
        let failures = |(problem, means): (&Option<Problem>, &'static str)| {
            let failures = problem.as_ref().map(Problem::failures).unwrap_or_default();
            failures.into_iter().map(move |failure| failure.after(means))
        };
        tables.into_iter().flat_map(failures).collect()
    }

    /// Without a problem that the file has as a whole.
    fn without(self, whole: &Problem) -> Self {
        let own = |problem: Option<Problem>| problem.filter(|problem| problem != whole);
        Self { captures: own(self.captures), quiet: own(self.quiet), notify: own(self.notify) }
    }

    /// Every mistake in these tables of a file, even if it could not be `read` as a whole.
    #[must_use]
    pub fn of(read: &Result<Settings, SettingsError>) -> Vec<Failure> {
        match read {
            Ok(settings) => settings.wrong.failures(),
            Err(SettingsError::Wrong(_, tables)) => tables.failures(),
            Err(SettingsError::Read { .. }) => Vec::new(),
        }
    }
}

/// The table `llm_auth`: the model that decides if the checker is `llm`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as [llm_auth]")]
pub struct LlmAuth {
    /// The provider.
    pub provider: Provider,
    /// The model's name at the provider.
    pub model: String,
}

/// A provider of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    rename_all = "kebab-case",
    default,
    expecting = "a table such as [providers.openai]"
)]
pub struct Access {
    /// The API key.
    pub api_key: Option<Secret>,
    /// A file with the API key. Can't be combined with `api-key`.
    pub api_key_file: Option<PathBuf>,
    /// The address to use instead of the provider's own.
    pub base_url: Option<String>,
}

/// A text that must not be displayed.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
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
    /// The file has errors; those in the tables on which no decision depends are separate.
    #[error("{0}")]
    Wrong(Problem, Box<WrongTables>),
}

impl SettingsError {
    /// Every mistake because of which calls are denied.
    #[must_use]
    pub fn all(&self) -> Vec<Failure> {
        match self {
            Self::Read { .. } => vec![self.failure()],
            Self::Wrong(problem, _) => problem.failures(),
        }
    }
}

impl Hinted for SettingsError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Read { path, source } => {
                uncommon(path, source).unwrap_or_else(|| file::read_hint(source).to_owned())
            }
            Self::Wrong(problem, _) => return problem.hint(),
        })
    }
}

/// murmur's settings for all agents, unless config.json sets others for a workspace.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "murmur config.toml")]
pub(super) struct Keys {
    /// Who decides on a tool call that neither the guard nor a rule decides. Default: "off" for beats, "manual" for
    /// hosted agents.
    #[serde(rename = "permissions-checker")]
    #[schemars(with = "Option<Word<Checker>>")]
    checker: Given<Word<Checker>>,
    /// What happens if a person does not answer in time. Default: "defer" for beats without `approval-wait`, otherwise
    /// "wait".
    #[schemars(with = "Option<Word<Approval>>")]
    approval: Given<Word<Approval>>,
    /// How long a person has to answer before the call is denied or deferred.
    #[serde(rename = "approval-wait")]
    #[schemars(with = "Option<Interval>")]
    approval_wait: Given<Interval>,
    /// How long a deferred call waits for its answer. Default: until it is answered.
    #[serde(rename = "approval-expiry")]
    #[schemars(with = "Option<Interval>")]
    approval_expiry: Given<Interval>,
    /// Who answers the questions of agents. Default: "broker".
    #[schemars(with = "Option<Word<Questions>>")]
    questions: Given<Word<Questions>>,
    /// The model that decides if `permissions-checker` is "llm".
    llm_auth: Option<Members<LlmAuth>>,
    /// How to reach the providers of models, by name.
    #[serde(default)]
    #[schemars(with = "BTreeMap<Provider, Access>")]
    providers: BTreeMap<Provider, Spanned<Members<Access>>>,
    /// How long an agent may be quiet before it counts as stale, as worth a look, or as stuck.
    // Read by `Quiet::read`.
    #[serde(default, rename = "quiet")]
    #[schemars(with = "super::quiet::Keys")]
    _quiet: IgnoredAny,
    /// The program that runs agents for which nothing else is set. Default: "claude".
    #[schemars(with = "Option<Backend>")]
    agent: Given<Backend>,
    /// Programs that speak the Agent Client Protocol, by name.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, AcpKeys>")]
    acp: BTreeMap<String, Spanned<Members<AcpKeys>>>,
    /// How long captures of beats are kept, and how large they may become.
    // Read by `Captures::read`.
    #[serde(default, rename = "captures")]
    #[schemars(with = "super::captures::Keys")]
    _captures: IgnoredAny,
    /// What murmur tells a person, how, and when.
    // Read by `Notify::read`.
    #[serde(default, rename = "notify")]
    #[schemars(with = "super::notify::NotifyKeys")]
    _notify: IgnoredAny,
}

/// An optional value of a type with rules of its own, and its position.
type Given<T> = Option<Spanned<<T as Check>::Raw>>;

impl Settings {
    /// Reads the file at `path`. A missing file is an empty one.
    ///
    /// Fails if the file is not readable, or as [`Settings::parse`] does.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        match file::read_regular(path) {
            Ok(Some(bytes)) => Self::parse(&bytes, path),
            Ok(None) => Ok(Self::default()),
            Err(source) => Err(SettingsError::Read { path: path.to_owned(), source }),
        }
    }

    /// Parses the bytes of a file; `path` is for messages.
    ///
    /// Fails on unknown keys and values, and on a key together with a key file for one provider.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, SettingsError> {
        let (captures, wrong_captures) = Captures::read(bytes, path);
        let (quiet, wrong_quiet) = or_default(Quiet::read(bytes, path));
        let (notify, wrong_notify) = or_default(Notify::read(bytes, path));
        let wrong = WrongTables { captures: wrong_captures, quiet: wrong_quiet, notify: wrong_notify };
        match toml_text::every(bytes, path, |part, path| Self::parse_deciding(part, path, bytes)) {
            Ok(settings) => Ok(Self { captures, quiet, notify, wrong, ..settings }),
            Err(problem) => {
                let wrong = wrong.without(&problem);
                Err(SettingsError::Wrong(problem, Box::new(wrong)))
            }
        }
    }

    /// Parses all but the tables of [`WrongTables`] from the parts of the `whole` file that may be readable.
    fn parse_deciding(bytes: &[u8], path: &Path, whole: &[u8]) -> Result<Self, Problem> {
        let keys: Keys = toml_text::read(bytes, path)?;
        let mut providers = BTreeMap::new();
        for (provider, access) in keys.providers {
            let start = access.span().start;
            let Members(access) = access.into_inner();
            if access.api_key.is_some() && access.api_key_file.is_some() {
                let what = failure!("both \"api-key\" and \"api-key-file\" are given"; "remove one of them");
                return Err(toml_text::problem_in(bytes, path, start, what));
            }
            providers.insert(provider, access);
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
        let acp = acp_program::checked(keys.acp, bytes, path)?;
        let settings = Self {
            asking,
            llm: keys.llm_auth.map(|Members(auth)| auth),
            providers,
            agent,
            acp,
            ..Self::default()
        };
        let unknown = settings.agent.as_ref().and_then(|agent| settings.command(agent).err());
        match unknown.filter(|unknown| !toml_text::names(whole, &["acp"]).contains(unknown.name())) {
            Some(unknown) => Err(toml_text::problem_at(bytes, path, agent_start, unknown.failure())),
            None => Ok(settings),
        }
    }

    /// How to start `backend`: as config.toml says, or else as built in.
    pub fn command(&self, backend: &Backend) -> Result<Command, UnknownProgram> {
        let built_in = backend.built_in();
        let program = built_in.as_ref().map(|built_in| built_in.program.clone());
        let own = match backend {
            Backend::Acp(name) => self.acp.get(&**name),
            Backend::Claude | Backend::Codex => None,
        };
        let command = match own {
            Some(own) => own.command(built_in),
            None => built_in,
        };
        let command = command.ok_or_else(|| UnknownProgram::Missing(backend.clone()))?;
        match program {
            // murmur knows how that one asks and what it can do, but nothing about others.
            Some(program) if !Path::new(&command.program).ends_with(&program) => {
                let (agent, command) = (backend.clone(), command.program);
                Err(UnknownProgram::Replaced { agent, program, command })
            }
            _ => Ok(command),
        }
    }
}

fn or_default<T: Default>(read: Result<T, Problem>) -> (T, Option<Problem>) {
    read.map_or_else(|problem| (T::default(), Some(problem)), |value| (value, None))
}

#[cfg(test)]
mod tests;
