//! Starts the host of an agent, a process of its own that outlives its parent (spec 3, Spawn Flow).
//!
//! A host answers with a single line, so it is read with `read_until` rather than `sys::lines::LineBuffer`.

use murmur_agent::invocation::HOST_VARIABLE;
use murmur_core::config::backend::Backend;
use murmur_core::id::AgentId;
use murmur_rpc::caller::MANAGER;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use sys::error::{Failure, Hinted};
use sys::file::open_regular;
use sys::{notify, paths, random, spelling};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How long a host may take until it listens and its agent runs.
pub const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);

/// How much of a host's stderr to report, in bytes.
const STDERR: usize = 2000;

/// A fully specified launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The agent.
    pub agent_id: AgentId,
    /// Its project.
    pub project: String,
    /// Its role.
    pub role: String,
    /// The program that runs it; the host reads the default from config.toml.
    #[serde(default)]
    pub backend: Option<Backend>,
    /// Its working folder, absolute.
    pub worktree: PathBuf,
    /// The issue it works on.
    #[serde(default)]
    pub issue: Option<String>,
    /// The model; the user's default if unset.
    #[serde(default)]
    pub model: Option<String>,
    /// The first message to it.
    #[serde(default)]
    pub message: Option<String>,
    /// More arguments to the agent's program.
    #[serde(default)]
    pub args: Vec<String>,
    /// The backend's id of a conversation to resume.
    #[serde(default)]
    pub resume: Option<String>,
}

/// Options of a launch; anything unset has a default.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchOptions {
    /// The agent; by default the project and eight random hex digits.
    #[serde(default)]
    pub agent_id: Option<AgentId>,
    /// Its project; by default the folder's name.
    #[serde(default)]
    pub project: Option<String>,
    /// Its role; by default [`ROLE`].
    #[serde(default)]
    pub role: Option<String>,
    /// Its working folder, absolute.
    pub worktree: PathBuf,
    /// The program that runs it; by default that of config.toml, or else Claude Code.
    #[serde(default)]
    pub backend: Option<Backend>,
    /// The backend's id of a conversation to resume.
    #[serde(default)]
    pub resume: Option<String>,
    /// The issue it works on, as `42` or `#42`.
    #[serde(default)]
    pub issue: Option<String>,
    /// The model; by default the user's.
    #[serde(default)]
    pub model: Option<String>,
    /// The first message to it.
    #[serde(default)]
    pub message: Option<String>,
    /// More arguments to the agent's program.
    #[serde(default)]
    pub args: Vec<String>,
}

/// The default role.
pub const ROLE: &str = "agent";

impl LaunchOptions {
    /// Validates the options and fills in defaults.
    pub fn launch(self) -> Result<Launch, LaunchOptionsError> {
        if let Some(role) = self.role.as_ref().filter(|role| role.as_str() != MANAGER)
            && spelling::nearest(role, &[MANAGER]).is_some()
        {
            return Err(LaunchOptionsError::Role { role: role.clone() });
        }
        if !self.worktree.is_absolute() {
            return Err(LaunchOptionsError::Relative { path: self.worktree });
        }
        let failed = |source| LaunchOptionsError::Worktree { path: self.worktree.clone(), source };
        let worktree = self.worktree.canonicalize().map_err(failed)?;
        if !worktree.is_dir() {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
        let folder = worktree.file_name().unwrap_or_default().to_string_lossy();
        let project = self.project.unwrap_or_else(|| paths::readable(&folder));
        let agent_id = match self.agent_id {
            Some(agent_id) => agent_id,
            None => {
                let tail = u32::from_le_bytes(random::bytes().map_err(LaunchOptionsError::Random)?);
                AgentId::readable(&[&project], &format!("{tail:08x}"))
            }
        };
        Ok(Launch {
            agent_id,
            project,
            role: self.role.unwrap_or_else(|| ROLE.to_owned()),
            backend: self.backend,
            worktree,
            issue: self.issue.map(|issue| issue.trim_start_matches('#').to_owned()),
            model: self.model,
            message: self.message,
            args: self.args,
            resume: self.resume,
        })
    }
}

/// Why options are invalid.
#[derive(Debug, thiserror::Error)]
pub enum LaunchOptionsError {
    /// A relative path would depend on the process that resolves it.
    #[error("{} is not an absolute path", .path.display())]
    Relative {
        /// The path.
        path: PathBuf,
    },
    /// The folder does not exist or is not usable.
    #[error("cannot work in {}", .path.display())]
    Worktree {
        /// The path.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// No id can be generated.
    #[error("cannot make an id")]
    Random(#[source] io::Error),
    /// A likely misspelling of `manager`; the agent would get no rights.
    #[error("role {role:?} is not known")]
    Role {
        /// The role.
        role: String,
    },
}

impl Hinted for LaunchOptionsError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Relative { .. } => "use an absolute path for the worktree".to_owned(),
            Self::Role { .. } => format!("did you mean {MANAGER:?}?"),
            Self::Worktree { .. } | Self::Random(_) => return None,
        })
    }
}

/// A host's single line on stdout: it is up, or it failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StartReport {
    /// It listens, and its agent runs.
    Ready {
        /// The host's process.
        pid: u32,
    },
    /// It failed.
    Error(Failure),
}

/// Why a host did not start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Its process could not be started.
    #[error("cannot start a host for {agent}")]
    Start {
        /// The agent.
        agent: AgentId,
        /// The underlying error.
        source: io::Error,
    },
    /// The host reported an error.
    #[error(transparent)]
    Refused(Failure),
    /// It exited without reporting anything.
    #[error("the host of {agent} ended before it listened ({status}){}", and_said(.stderr))]
    Ended {
        /// The agent.
        agent: AgentId,
        /// Its exit status.
        status: ExitStatus,
        /// Its stderr.
        stderr: String,
    },
    /// It took too long and was killed.
    #[error("the host of {agent} did not listen within {} and was ended{}", humantime::format_duration(LISTEN_TIMEOUT), and_said(.stderr))]
    Late {
        /// The agent.
        agent: AgentId,
        /// Its stderr.
        stderr: String,
    },
}

impl Hinted for LaunchError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Refused(failure) => failure.to_do().map(str::to_owned),
            Self::Start { .. } | Self::Ended { .. } | Self::Late { .. } => None,
        }
    }
}

fn and_said(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!(", and said: {stderr}") }
}

impl Launch {
    /// The arguments of `murmur-host` for this launch.
    #[must_use]
    pub fn args(&self, data_dir: &Path) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["--data-dir".into(), data_dir.into()];
        let mut option = |name: &str, value: OsString| args.extend([format!("--{name}").into(), value]);
        option("agent-id", self.agent_id.as_str().into());
        option("project", self.project.clone().into());
        option("role", self.role.clone().into());
        option("worktree", self.worktree.clone().into());
        let backend = self.backend.as_ref().map(Backend::to_string);
        for (name, value) in
            [("backend", &backend), ("issue", &self.issue), ("model", &self.model), ("resume", &self.resume)]
        {
            if let Some(value) = value {
                option(name, value.into());
            }
        }
        args.push("--announce".into());
        if !self.args.is_empty() {
            args.push("--".into());
            args.extend(self.args.iter().map(OsString::from));
        }
        args
    }

    /// Starts the host and waits until it is up. `path` is the agent's `PATH`. Returns the host's PID.
    pub async fn start(&self, data_dir: &Path, path: &OsStr) -> Result<u32, LaunchError> {
        let agent = &self.agent_id;
        let failed = |source| LaunchError::Start { agent: agent.clone(), source };
        let folder = data_dir.join("hosts");
        sys::atomic::create_private_subfolder(&folder).map_err(failed)?;
        let log_path = folder.join(agent.log());
        let mut options = std::fs::OpenOptions::new();
        options.append(true).mode(0o600);
        // An existing log may belong to another, running host with this id.
        let (log, is_ours) = match options.clone().create_new(true).open(&log_path) {
            Ok(log) => (log, true),
            Err(_) => (open_regular(&log_path, options.create(true).read(true)).map_err(failed)?, false),
        };
        let begin = log.metadata().map_or(0, |found| found.len());
        let mut command = std::process::Command::new(program().map_err(failed)?);
        command.arg0("murmur-host").args(self.args(data_dir)).env("PATH", path);
        command.env(HOST_VARIABLE, agent.as_str());
        notify::keep_from(&mut command);
        let mut command = Command::from(command);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn().map_err(failed)?;
        let report = timeout(LISTEN_TIMEOUT, self.converse(&mut child)).await;
        let stderr = || tail(&log_path, begin);
        let up = match report {
            Ok(Ok(Some(StartReport::Ready { pid }))) => Ok(pid),
            Ok(Ok(Some(StartReport::Error(error)))) => Err(LaunchError::Refused(error)),
            Ok(Ok(None)) => {
                let status = child.wait().await.map_err(failed)?;
                Err(LaunchError::Ended { agent: agent.clone(), status, stderr: stderr() })
            }
            Ok(Err(source)) => Err(failed(source)),
            Err(_) => {
                let _ended = child.kill().await;
                Err(LaunchError::Late { agent: agent.clone(), stderr: stderr() })
            }
        };
        if up.is_err() && is_ours {
            // Its content was just reported, and another host's record of the agent doesn't mention it.
            let _stays = std::fs::remove_file(&log_path);
        }
        up
    }

    /// Sends the first message and reads the host's report.
    async fn converse(&self, child: &mut Child) -> io::Result<Option<StartReport>> {
        if let Some(mut stdin) = child.stdin.take() {
            // A host that died early is reported by its exit.
            let _died_early = stdin.write_all(self.message.as_deref().unwrap_or_default().as_bytes()).await;
        }
        let mut line = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_until(b'\n', &mut line).await?;
        }
        Ok(serde_json::from_slice(&line).ok())
    }
}

/// The running executable, even if its file has since been replaced.
pub fn program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

/// The end of the file at `path`, from byte `begin` on.
fn tail(path: &Path, begin: u64) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    let begin = usize::try_from(begin).unwrap_or(usize::MAX).max(text.len().saturating_sub(STDERR));
    String::from_utf8_lossy(text.get(begin..).unwrap_or_default()).trim().to_owned()
}
