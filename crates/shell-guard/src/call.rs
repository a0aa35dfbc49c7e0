//! A tool call and the place it would run in.

use serde_json::Value;
use std::path::PathBuf;

/// A tool call by an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool's name: `Bash`, `Edit`, `mcp__server__tool`.
    pub tool: String,
    /// The tool's input.
    pub input: Value,
    /// Where the call would run.
    pub place: CallPlace,
}

/// Where a call would run. Relative paths, `~` and `$HOME` resolve against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPlace {
    /// The working folder, absolute.
    pub cwd: PathBuf,
    /// The agent's workspace, absolute. A rule's `/path` is relative to it.
    pub workspace: PathBuf,
    /// The user's home folder, absolute.
    pub home: PathBuf,
    /// What belongs to murmur here.
    pub own: ProtectedPaths,
}

/// What no agent may change and no rule can allow: murmur, its data, and the agent's program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProtectedPaths {
    /// Absolute paths of programs and folders, both as written and with symbolic links resolved.
    pub paths: Vec<PathBuf>,
    /// The agent's process and the processes that supervise it.
    pub processes: Vec<u32>,
    /// Whether the agent manages other agents with `murmur agent`.
    pub is_manager: bool,
    /// Programs that the user has run before or after the agent, without a guard: absolute paths. The agent may read
    /// them.
    pub gates: Vec<PathBuf>,
    /// Variables that murmur sets for each agent, with the folders they name.
    pub variables: Vec<(&'static str, PathBuf)>,
}

impl Call {
    /// Returns the command that a shell would run: the input `command` of a built-in tool. MCP tools are excluded,
    /// because `command` can mean anything there.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        if self.tool.starts_with("mcp__") { None } else { self.input.get("command")?.as_str() }
    }
}
