//! Whether everything murmur needs is there and as it should be: one finding a check, each with what to do about it.
//!
//! In comes what the environment says, out go findings; nothing is changed. Doubt is a finding too: what could not be
//! looked at is never called well.

mod agent;
mod config;
mod credentials;
mod files;
mod finding;
mod folders;
mod guard;
mod hint;
mod processes;
mod settings;
mod trust;

use crate::config::heartbeat::Cache;
use crate::config::settings::{Provider, Secret};
pub use agent::SANDBOX_VARIABLES;
pub use credentials::VARIABLES as CREDENTIAL_VARIABLES;
pub use finding::{Check, Finding, Level};
pub use hint::Hint;
use jiff::tz::TimeZone;
pub use processes::ServiceFile;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use sys::clock;
use sys::paths::{DataDir, User};

/// What the environment says.
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
    /// The time zone of cron expressions that name none.
    pub time_zone: TimeZone,
    /// Whether a variable holds credentials for Claude Code; their values are not known here.
    pub has_credentials: bool,
    /// Our user id.
    pub uid: u32,
    /// What this environment has of [`SANDBOX_VARIABLES`].
    pub sandbox: BTreeMap<&'static str, String>,
    /// The keys of models' providers that this environment has.
    pub keys: BTreeMap<Provider, Secret>,
    /// Claude Code's own folder.
    pub claude: PathBuf,
    /// Where captures are kept, if the environment says so.
    pub captures: Option<PathBuf>,
    /// The service; `None` where none can be written.
    pub service: Option<ServiceFile>,
}

/// Examines everything. Starts the login shell, `claude --version` and the hook, and waits for them and for those that run
/// at once: for about a second, and for less than a minute if all of them hang.
pub async fn examine(environment: &Environment) -> Vec<Finding> {
    let config = Cache::new(environment.time_zone.clone()).load(&environment.dir.config(), clock::now());
    let (agent, processes, guard) = tokio::join!(
        agent::examine(environment),
        processes::examine(environment),
        guard::examine(environment)
    );
    let mut findings = agent;
    findings.push(credentials::examine(environment));
    findings.extend(settings::examine(environment, config.as_ref().ok()));
    findings.extend(config.as_ref().ok().and_then(|config| trust::examine(environment, config)));
    findings.extend(files::examine(environment, &config));
    findings.extend(processes);
    findings.extend(guard);
    findings
}
