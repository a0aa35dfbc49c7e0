//! A tool call that is to be decided on, and where it would happen.

use serde_json::Value;
use std::path::PathBuf;

/// One call of a tool by an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool's name, as `Bash`, `Edit` or `mcp__server__tool`.
    pub tool: String,
    /// What it is called with.
    pub input: Value,
    /// Where it happens.
    pub place: Place,
}

/// Where a call happens: what a relative path, `~` and `$HOME` in it mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The folder it runs in, absolute.
    pub cwd: PathBuf,
    /// The agent's workspace, absolute: what a rule's `/path` counts from.
    pub workspace: PathBuf,
    /// The user's home folder, absolute.
    pub home: PathBuf,
    /// What is murmur's own there.
    pub own: Own,
}

/// What no agent may change and no rule can allow: murmur itself, its data, and the agent's program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Own {
    /// Programs and folders, absolute, each as it is called and as it is where links are followed.
    pub paths: Vec<PathBuf>,
    /// The processes that watch over the agent, and its own.
    pub processes: Vec<u32>,
    /// Whether the agent directs others, by `murmur host`.
    pub is_manager: bool,
    /// Folders that variables name, which murmur sets for each agent.
    pub variables: Vec<(&'static str, PathBuf)>,
}

impl Call {
    /// The shell command, where it is one that a shell runs: every tool of Claude Code's that has an input `command`.
    /// Tools of MCP servers may mean something else by that.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        if self.tool.starts_with("mcp__") { None } else { self.input.get("command")?.as_str() }
    }
}
