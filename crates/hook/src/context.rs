//! The context of a hook: what the environment says about its agent, read once.

use murmur_agent::invocation::{AGENT_VARIABLE, DIR_VARIABLE};
use murmur_agent::rule_files::{self, Project};
use murmur_agent::settings::{
    BACKEND_VARIABLE, BEAT_VARIABLE, DENY_VARIABLE, FURTHER_SETTINGS_VARIABLE, HEARTBEAT_VARIABLE,
    HOME_VARIABLE, POLICY_VARIABLE, PROJECT_VARIABLE, SETTINGS_VARIABLE, SOCKET_VARIABLE, WORKSPACE_VARIABLE,
};
use murmur_core::config::approval::ApprovalSettings;
use murmur_core::config::backend::{Backend, UnknownBackend};
use murmur_core::config::settings::{Settings, SettingsError};
use murmur_core::id::BeatId;
use murmur_core::permit::policy::{Policy, Role};
use murmur_core::permit::request::BeatOf;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sys::error::{Failure, Hinted};
use sys::paths::{DataDir, PathsError, SettingsDir, User};
use sys::process;

/// The variable in which Claude Code names its project.
const CLAUDE_PROJECT: &str = "CLAUDE_PROJECT_DIR";

/// Where a socket is.
#[derive(Debug)]
pub(super) struct SocketPath {
    /// Its folder.
    pub(super) folder: PathBuf,
    /// Its name in the folder.
    pub(super) name: String,
}

/// The environment of a hook.
#[derive(Debug)]
pub(super) struct HookContext {
    /// The agent's id; empty if murmur did not start it. Any text: it comes from the environment.
    pub(super) agent: String,
    /// Whether murmur started it.
    pub(super) is_hosted: bool,
    /// murmur's data folder.
    pub(super) dir: DataDir,
    /// The user that the agent runs for.
    pub(super) user: User,
    /// The name of the project whose rules apply, if it is set.
    pub(super) project: Option<String>,
    /// The project's folder according to Claude Code.
    claude_project: Option<PathBuf>,
    /// The daemon's socket.
    pub(super) socket: SocketPath,
    /// The agent's workspace, if it is known.
    pub(super) workspace: Option<PathBuf>,
    /// The beat, if the agent runs one.
    pub(super) beat: Option<BeatOf>,
    /// The policy for calls that neither guard nor rules decide.
    pub(super) policy: Policy,
    /// The deny list, for backends that have none.
    pub(super) deny: Vec<String>,
    /// The backend whose hook this is.
    pub(super) backend: Backend,
    /// When the hook started.
    pub(super) begun: Instant,
}

/// Why the environment is not usable.
#[derive(Debug, thiserror::Error)]
pub(super) enum ContextError {
    /// There is no data folder.
    #[error(transparent)]
    Dir(#[from] PathsError),
    /// The settings are not readable.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The policy is not valid.
    #[error("invalid {POLICY_VARIABLE}")]
    Policy(#[source] serde_json::Error),
    /// The deny list is not valid.
    #[error("invalid {DENY_VARIABLE}")]
    Deny(#[source] serde_json::Error),
    /// The backend is not known.
    #[error("invalid {BACKEND_VARIABLE}")]
    Backend(#[source] UnknownBackend),
    /// The project's name is not valid.
    #[error("{PROJECT_VARIABLE} is not a valid project name: {0:?}")]
    Project(String),
}

impl Hinted for ContextError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Dir(error) => error.hint(),
            Self::Settings(error) => error.hint(),
            Self::Policy(_) | Self::Deny(_) | Self::Backend(_) | Self::Project(_) => None,
        }
    }
}

impl HookContext {
    /// Reads the environment.
    pub(super) fn read() -> Result<Self, ContextError> {
        let text = |name: &str| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty());
            value.map(|value| value.to_string_lossy().into_owned())
        };
        let path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = path(HOME_VARIABLE).or_else(|| path("HOME"));
        let named = path(DIR_VARIABLE);
        let os = |path: &Option<PathBuf>| path.as_ref().map(|path| path.clone().into_os_string());
        let dir = DataDir::find(None, os(&named).as_deref(), os(&home).as_deref())?;
        let settings = match path(SETTINGS_VARIABLE) {
            Some(root) => SettingsDir::at(root, path(FURTHER_SETTINGS_VARIABLE)),
            None => {
                let xdg = std::env::var_os("XDG_CONFIG_HOME");
                SettingsDir::find(None, os(&named).as_deref(), xdg.as_deref(), os(&home).as_deref())?
            }
        };
        let policy = match text(POLICY_VARIABLE) {
            Some(policy) => serde_json::from_str(&policy).map_err(ContextError::Policy)?,
            // An agent that murmur did not start.
            None => {
                let settings = Settings::read(&settings.settings())?;
                let nothing = ApprovalSettings::default();
                Policy::resolve(Role::Hosted, &settings.asking, &nothing, &nothing, true)
            }
        };
        let socket = path(SOCKET_VARIABLE).and_then(|socket| {
            let (folder, name) = (socket.parent()?.to_path_buf(), socket.file_name()?.to_str()?.to_owned());
            Some(SocketPath { folder, name })
        });
        let project = text(PROJECT_VARIABLE);
        if let Some(name) = &project
            && (name.contains(['/', '@']) || name.starts_with('.'))
        {
            return Err(ContextError::Project(name.clone()));
        }
        let deny = match text(DENY_VARIABLE) {
            Some(patterns) => serde_json::from_str(&patterns).map_err(ContextError::Deny)?,
            None => Vec::new(),
        };
        let beat = text(BEAT_VARIABLE).map(BeatId::new);
        let beat = beat.map(|beat| BeatOf { beat, heartbeat: text(HEARTBEAT_VARIABLE) });
        Ok(Self {
            is_hosted: text(POLICY_VARIABLE).is_some(),
            agent: text(AGENT_VARIABLE).unwrap_or_default(),
            socket: socket.unwrap_or_else(|| SocketPath {
                folder: dir.root().to_path_buf(),
                name: dir.socket_name().to_owned(),
            }),
            dir,
            user: User { home: home.unwrap_or_else(|| "/".into()), settings },
            project,
            workspace: path(WORKSPACE_VARIABLE),
            claude_project: path(CLAUDE_PROJECT),
            beat,
            policy,
            deny,
            backend: match text(BACKEND_VARIABLE) {
                Some(name) => name.parse().map_err(ContextError::Backend)?,
                None => Backend::default(),
            },
            begun: Instant::now(),
        })
    }

    /// Returns the project of an agent in `cwd`, and its folder: the agent's workspace if it is set, or else the
    /// workspace around the folder, as `murmur rules check` finds it.
    pub(super) fn project(&self, cwd: &Path) -> Result<(Project, PathBuf), Failure> {
        let folder = match &self.workspace {
            Some(workspace) => workspace.clone(),
            None => rule_files::project_folder(&self.dir, self.claude_project.as_deref().unwrap_or(cwd))
                .map_err(|error| error.failure().after("cannot determine whose rules apply: "))?,
        };
        Ok((Project::of(&folder).with_name(self.project.as_deref()), folder))
    }

    /// Kills this process, which blocks the call, a little after its deadline, in case it hangs where no timeout
    /// applies, such as on a disk that does not respond.
    pub(super) fn limit_time(&self) {
        process::end_after(Duration::from_secs(u64::from(self.policy.deadline()) + 5));
    }

    /// The time until the hook's deadline.
    pub(super) fn left(&self) -> Duration {
        Duration::from_secs(self.policy.deadline().into()).saturating_sub(self.begun.elapsed())
    }
}
