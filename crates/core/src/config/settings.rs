//! config.toml: the settings for all agents of a user, unless a workspace or a heartbeat overrides them.
//!
//! Parsed strictly: on an error, callers deny, because a fallback could allow what the file was meant to forbid.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use sys::error::Hinted;
use sys::failure;

use serde::Deserialize;
use toml::Spanned;

use super::approval::{Approval, ApprovalSettings, Checker, Questions, Word};
use super::backend::{Backend, Command};
use super::checked::Checked;
use super::interval::Interval;
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
}

/// The table `acp.<name>`: a program that speaks the Agent Client Protocol.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcpProgram {
    /// A name to search on PATH, or an absolute path.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables to add to its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// A program that is neither built in nor in config.toml.
#[derive(Debug, thiserror::Error)]
#[error("agent {0} is not configured")]
pub struct UnknownProgram(Backend);

impl Hinted for UnknownProgram {
    fn hint(&self) -> Option<String> {
        let name = self.0.to_string();
        let name = name.strip_prefix("acp:").unwrap_or(&name);
        Some(format!("add [acp.{name}] with its command to config.toml"))
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
    #[serde(default)]
    quiet: QuietKeys,
    agent: Given<Backend>,
    #[serde(default)]
    acp: BTreeMap<String, AcpProgram>,
}

/// An optional value of a type with rules of its own, and its position.
type Given<T> = Option<Spanned<Checked<T>>>;

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
        let span = |given: Given<Interval>| toml_text::checked(given, bytes, path);
        let asking = ApprovalSettings {
            checker: toml_text::checked(keys.checker, bytes, path)?.map(|word| word.0),
            approval: toml_text::checked(keys.approval, bytes, path)?.map(|word| word.0),
            approval_wait: span(keys.approval_wait)?,
            approval_expiry: span(keys.approval_expiry)?,
            questions: toml_text::checked(keys.questions, bytes, path)?.map(|word| word.0),
        };
        let default = Quiet::default();
        let quiet = Quiet {
            stale: span(keys.quiet.stale)?.unwrap_or(default.stale),
            warning: span(keys.quiet.warning)?.unwrap_or(default.warning),
            stuck: span(keys.quiet.stuck)?.unwrap_or(default.stuck),
        };
        if !quiet.is_ordered() {
            let what = failure!(
                "the times in \"quiet\" do not increase";
                "make \"stale\" shorter than \"warning\", and \"warning\" shorter than \"stuck\""
            );
            return Err(Problem::with(path, what));
        }
        let agent = toml_text::checked(keys.agent, bytes, path)?;
        Ok(Self { asking, llm: keys.llm_auth, providers: keys.providers, quiet, agent, acp: keys.acp })
    }

    /// How to start `backend`: as config.toml says, or else as built in.
    pub fn command(&self, backend: &Backend) -> Result<Command, UnknownProgram> {
        let own = match backend {
            Backend::Acp(name) => self.acp.get(&**name).map(|own| Command {
                program: own.command.clone(),
                args: own.args.clone(),
                env: own.env.clone().into_iter().collect(),
            }),
            Backend::Claude | Backend::Codex => None,
        };
        own.or_else(|| backend.built_in()).ok_or_else(|| UnknownProgram(backend.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::error::Hinted;

    fn parse(text: &str) -> Result<Settings, String> {
        Settings::parse(text.as_bytes(), Path::new("/c/config.toml")).map_err(|problem| problem.line())
    }

    #[test]
    fn every_key_is_read() {
        let settings = parse(
            r#"
            permissions-checker = "llm"
            approval = "defer"
            approval-wait = "90s"
            approval-expiry = "2d"
            questions = "deny"
            [quiet]
            stuck = "1h"
            [llm_auth]
            provider = "openai"
            model = "small"
            [providers.openai]
            api-key = "sk-very-secret"
            base-url = "http://127.0.0.1:1/v1"
            [providers.anthropic]
            api-key-file = "/run/secrets/anthropic"
            "#,
        )
        .unwrap();
        assert_eq!(
            settings.asking,
            ApprovalSettings {
                checker: Some(Checker::Llm),
                approval: Some(Approval::Defer),
                approval_wait: Interval::from_secs(90),
                approval_expiry: Interval::from_secs(2 * 86_400),
                questions: Some(Questions::Deny),
            }
        );
        assert_eq!(settings.llm, Some(LlmAuth { provider: Provider::Openai, model: "small".to_owned() }));
        assert_eq!(settings.quiet.steps().map(|step| step.as_secs()), [300, 900, 3600]);
        let openai = &settings.providers[&Provider::Openai];
        assert_eq!(openai.api_key.as_ref().unwrap().reveal(), "sk-very-secret");
        assert_eq!(openai.base_url.as_deref(), Some("http://127.0.0.1:1/v1"));
        let file = settings.providers[&Provider::Anthropic].api_key_file.as_deref();
        assert_eq!(file, Some(Path::new("/run/secrets/anthropic")));
        assert!(!format!("{settings:?}").contains("very-secret"));
    }

    #[test]
    fn a_missing_file_and_an_empty_one_set_nothing() {
        assert_eq!(Settings::read(Path::new("/nowhere/config.toml")).unwrap(), Settings::default());
        assert_eq!(parse("# nothing\n").unwrap(), Settings::default());
        let folder = tempfile::tempdir().unwrap();
        let error = Settings::read(folder.path()).unwrap_err().line();
        assert_eq!(
            error,
            format!(
                "cannot read {}: it is not a regular file; put a file in its place",
                folder.path().display()
            )
        );
    }

    #[test]
    fn quiet_thresholds_must_be_in_order() {
        let expected = "/c/config.toml: the times in \"quiet\" do not increase; make \"stale\" shorter than \"warning\", and \"warning\" \
                        shorter than \"stuck\"";
        assert_eq!(parse("[quiet]\nstuck = \"10m\"").unwrap_err(), expected);
    }

    #[test]
    fn anything_unknown_is_an_error_with_its_position() {
        for (text, expected) in [
            (
                "\npermissions-checker = \"of\"",
                "2:23: \"of\" is not known; write \"off\", \"manual\", \"llm\" or \"deny\"",
            ),
            (
                "permission-checker = \"deny\"",
                "1:1: key \"permission-checker\" is not known; did you mean \"permissions-checker\"?",
            ),
            ("approval = \"later\"", "1:12: \"later\" is not known; write \"wait\" or \"defer\""),
            ("questions = true", "1:13: boolean \"true\" is not a string"),
            ("approval-wait = \"0s\"", "1:17: \"0s\" is too short; write at least \"1s\""),
            ("approval-wait = 5", "1:17: integer \"5\" is not"),
            ("[quiet]\nstuk = \"1h\"", "2:1: key \"stuk\" is not known; did you mean \"stuck\"?"),
            ("[llm_auth]\nprovider = \"other\"\nmodel = \"x\"", "2:12: \"other\" is not known"),
            ("[llm_auth]\nprovider = \"openai\"", "1:1: \"model\" is missing"),
            ("[providers.other]\napi-key = \"x\"", "1:12: \"other\" is not known"),
            (
                "[providers.openai]\napikey = \"x\"",
                "2:1: key \"apikey\" is not known; did you mean \"api-key\"?",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(&format!("/c/config.toml:{expected}")), "{text}: {error}");
        }
        let both = "[providers.openai]\napi-key = \"sk-x\"\napi-key-file = \"/k\"";
        let error = parse(both).unwrap_err();
        assert!(error.contains("remove one of them") && !error.contains("sk-x"), "{error}");
    }
}
