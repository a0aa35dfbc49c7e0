//! Checks the installation and configuration: one finding per check, with a hint on what to do.
//!
//! In: the environment. Out: findings; nothing is changed. What could not be checked is never reported as ok.

mod acp;
mod agent;
mod codex;
mod config;
mod credentials;
mod files;
mod finding;
mod folders;
mod guard;
mod hint;
mod notifications;
mod processes;
mod settings;
mod tested;
mod trust;
mod unknown;

pub use agent::SANDBOX_VARIABLES;
pub use credentials::VARIABLES as CREDENTIAL_VARIABLES;
pub use finding::{Check, Finding, Level};
pub use hint::Hint;
use jiff::tz::TimeZone;
use murmur_agent::find;
use murmur_core::config::backend::Backend;
use murmur_core::config::heartbeat::{Cache, Resolved};
use murmur_core::config::settings::{Provider, Secret, Settings};
pub use processes::ServiceFile;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;
use sys::clock;
use sys::paths::{DataDir, User};

/// How long the login shell may take, as for the daemon.
const LOGIN: Duration = Duration::from_secs(5);

/// The environment to check.
#[derive(Debug)]
pub struct Environment {
    /// murmur's data folder.
    pub dir: DataDir,
    /// The user.
    pub user: User,
    /// The user's login shell.
    pub shell: PathBuf,
    /// This process's PATH.
    pub path: OsString,
    /// The default time zone of cron expressions.
    pub time_zone: TimeZone,
    /// Whether a variable holds credentials for Claude Code.
    pub has_credentials: bool,
    /// Our user id.
    pub uid: u32,
    /// The values of [`SANDBOX_VARIABLES`].
    pub sandbox: BTreeMap<&'static str, String>,
    /// API keys of model providers.
    pub keys: BTreeMap<Provider, Secret>,
    /// Claude Code's folder.
    pub claude: PathBuf,
    /// The file or variable that makes Codex run calls elsewhere, if there is one.
    pub codex_elsewhere: Option<String>,
    /// The folder of captures, if set.
    pub captures: Option<PathBuf>,
    /// The service; `None` where services are not supported.
    pub service: Option<ServiceFile>,
}

/// The backends that config.toml and heartbeats name.
fn named_backends<'a>(
    settings: &'a Settings,
    config: Option<&'a Resolved>,
) -> impl Iterator<Item = &'a Backend> {
    let heartbeats = config.into_iter().flat_map(|config| &config.heartbeats);
    let named =
        heartbeats.filter_map(|heartbeat| heartbeat.settings.backend.as_ref().map(|backend| &backend.value));
    named.chain(&settings.agent)
}

/// Whether Claude Code is used: by a heartbeat or, if there are none, by default.
fn uses_claude(settings: &Settings, config: Option<&Resolved>) -> bool {
    match config.map_or(&[][..], |config| &config.heartbeats) {
        [] => settings.agent.as_ref().is_none_or(Backend::is_default),
        heartbeats => heartbeats.iter().any(|heartbeat| heartbeat.backend(settings).is_default()),
    }
}

/// Runs all checks. Starts the login shell, `claude --version`, Codex if it is used, ACP agents that are used or
/// installed, and the hook, and queries the daemon and hosts: takes about a second, and less than a minute if all of
/// them hang.
pub async fn examine(environment: &Environment) -> Vec<Finding> {
    let config = Cache::new(environment.time_zone.clone()).load(&environment.dir.config(), clock::now());
    let login = find::login_path(find::CLAUDE, &environment.shell, OsStr::new(""), LOGIN).await;
    // The check of config.toml reports what is wrong with it.
    let settings = Settings::read(&environment.user.settings.settings()).unwrap_or_default();
    let is_claude_used = uses_claude(&settings, config.as_ref().ok());
    let claude =
        async { if is_claude_used { agent::examine(environment, &login).await } else { Vec::new() } };
    let (agent, codex, acp, processes, guard) = tokio::join!(
        claude,
        codex::examine(environment, &settings, config.as_ref().ok(), &login),
        acp::examine(environment, &settings, config.as_ref().ok(), &login),
        processes::examine(environment),
        guard::examine(environment)
    );
    let mut findings = agent;
    findings.extend(unknown::examine(environment));
    findings.extend(is_claude_used.then(|| credentials::examine(environment)));
    findings.extend(codex);
    findings.extend(acp);
    findings.extend(settings::examine(environment, config.as_ref().ok()));
    findings.extend(config.as_ref().ok().and_then(|config| trust::examine(environment, &settings, config)));
    findings.extend(files::examine(environment, &config));
    findings.extend(notifications::examine(environment, &settings, &login));
    findings.extend(processes);
    findings.extend(guard);
    findings
}
