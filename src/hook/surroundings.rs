//! What a hook knows of its agent: its environment, read once.

use crate::agent::invocation::{AGENT_VARIABLE, DIR_VARIABLE};
use crate::agent::rule_files::{self, Project};
use crate::agent::settings::{
    BEAT_VARIABLE, FURTHER_SETTINGS_VARIABLE, HEARTBEAT_VARIABLE, HOME_VARIABLE, POLICY_VARIABLE,
    PROJECT_VARIABLE, SETTINGS_VARIABLE, SOCKET_VARIABLE, WORKSPACE_VARIABLE,
};
use crate::config::asking::Asking;
use crate::config::settings::{Settings, SettingsError};
use crate::error::{Failure, Hinted};
use crate::permit::policy::{Policy, Role};
use crate::permit::request::BeatOf;
use crate::sys::paths::{DataDir, PathsError, SettingsDir, User};
use crate::sys::process;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where Claude Code says that its project is.
const CLAUDE_PROJECT: &str = "CLAUDE_PROJECT_DIR";

/// What the environment says.
#[derive(Debug)]
pub(super) struct Surroundings {
    /// The agent's id; empty for one that murmur did not start.
    pub(super) agent: String,
    /// Whether murmur started it.
    pub(super) is_hosted: bool,
    /// murmur's data folder.
    pub(super) dir: DataDir,
    /// Whose agent it is.
    pub(super) user: User,
    /// What the project is called whose rules hold, where that is said.
    pub(super) project: Option<String>,
    /// Where Claude Code says that its project is.
    claude_project: Option<PathBuf>,
    /// The daemon's socket: its folder and its name.
    pub(super) socket: (PathBuf, String),
    /// The agent's workspace, where that is known.
    pub(super) workspace: Option<PathBuf>,
    /// Which beat it is, if it is one.
    pub(super) beat: Option<BeatOf>,
    /// What holds where neither guard nor rules decide.
    pub(super) policy: Policy,
    /// When the hook began.
    pub(super) begun: Instant,
}

/// What is wrong with the environment.
#[derive(Debug, thiserror::Error)]
pub(super) enum SurroundingsError {
    /// There is no data folder.
    #[error(transparent)]
    Dir(#[from] PathsError),
    /// The settings cannot be read.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The policy cannot be read.
    #[error("{POLICY_VARIABLE} cannot be read: {0}")]
    Policy(#[source] serde_json::Error),
    /// The project's name is none.
    #[error("{PROJECT_VARIABLE} is {0:?}, which is no project's name")]
    Project(String),
}

impl Hinted for SurroundingsError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Dir(error) => error.hint(),
            Self::Settings(error) => error.hint(),
            Self::Policy(_) | Self::Project(_) => None,
        }
    }
}

impl Surroundings {
    /// Reads it.
    ///
    /// # Errors
    /// [`SurroundingsError`].
    pub(super) fn read() -> Result<Self, SurroundingsError> {
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
            Some(policy) => serde_json::from_str(&policy).map_err(SurroundingsError::Policy)?,
            // An agent that murmur did not start.
            None => {
                let settings = Settings::read(&settings.settings())?;
                let nothing = Asking::default();
                Policy::resolve(Role::Hosted, &settings.asking, &nothing, &nothing, true)
            }
        };
        let socket = path(SOCKET_VARIABLE).and_then(|socket| {
            Some((socket.parent()?.to_path_buf(), socket.file_name()?.to_str()?.to_owned()))
        });
        let project = text(PROJECT_VARIABLE);
        if let Some(name) = &project
            && (name.contains(['/', '@']) || name.starts_with('.'))
        {
            return Err(SurroundingsError::Project(name.clone()));
        }
        let beat = text(BEAT_VARIABLE).map(|beat| BeatOf { beat, heartbeat: text(HEARTBEAT_VARIABLE) });
        Ok(Self {
            is_hosted: text(POLICY_VARIABLE).is_some(),
            agent: text(AGENT_VARIABLE).unwrap_or_default(),
            socket: socket.unwrap_or_else(|| (dir.root().to_path_buf(), dir.socket_name().to_owned())),
            dir,
            user: User { home: home.unwrap_or_else(|| "/".into()), settings },
            project,
            workspace: path(WORKSPACE_VARIABLE),
            claude_project: path(CLAUDE_PROJECT),
            beat,
            policy,
            begun: Instant::now(),
        })
    }

    /// The project of an agent in `cwd`, and its folder: the workspace that it is told, else the one around it, as `murmur
    /// permission check` finds it.
    ///
    /// # Errors
    /// It is not clear which one it is.
    pub(super) fn project(&self, cwd: &Path) -> Result<(Project, PathBuf), Failure> {
        let folder = match &self.workspace {
            Some(workspace) => workspace.clone(),
            None => rule_files::project_folder(&self.dir, self.claude_project.as_deref().unwrap_or(cwd))
                .map_err(|error| error.failure().after("murmur cannot tell whose rules hold: "))?,
        };
        Ok((Project::of(&folder).called(self.project.as_deref()), folder))
    }

    /// Has this process be killed, which blocks the call, if it is not done a little after its deadline: for what cannot
    /// be waited for with one, as a disk that does not answer.
    pub(super) fn limit_time(&self) {
        process::end_after(Duration::from_secs(u64::from(self.policy.deadline()) + 5));
    }

    /// How long the hook may still take.
    pub(super) fn left(&self) -> Duration {
        Duration::from_secs(self.policy.deadline().into()).saturating_sub(self.begun.elapsed())
    }
}
