//! The MCP servers that Claude Code knows, by owner: the user's own in `.claude.json`, and the repository's in every
//! `.mcp.json` in and above the workspace.

use super::{Claude, ClaudeFile, git};
use murmur_core::config::mcp::Mcp;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::path::Path;
use sys::file::{self, real_path};

/// Maximum size of a file with servers, in bytes.
const MAX_BYTES: u64 = 32 << 20;

/// The MCP servers available in a workspace.
#[derive(Debug, Default)]
pub(super) struct Servers {
    user: Map<String, Value>,
    project: Map<String, Value>,
}

impl Servers {
    /// Finds the servers of `workspace`, an absolute path without links, in its collected files if they are `known`.
    /// Files that are not readable have none.
    pub(super) fn of(workspace: &Path, claude: &Claude, known: Option<&[ClaudeFile]>) -> Self {
        let state = read(&claude.state);
        let mut user = servers(&state);
        // In a repository, the user's settings for it are stored under its root (measured on 2.1.197 and 2.1.330).
        let key = || git::root(workspace, &HashSet::new()).unwrap_or(workspace).to_string_lossy();
        let local = state.get("projects").and_then(|projects| projects.get(&*key()));
        let local = local.and_then(Value::as_object).cloned().unwrap_or_default();
        user.extend(servers(&local));
        for name in local.get("disabledMcpServers").and_then(Value::as_array).into_iter().flatten() {
            user.remove(name.as_str().unwrap_or_default());
        }
        let mut project = Map::new();
        for folder in workspace.ancestors() {
            let path = folder.join(".mcp.json");
            let file = match known {
                Some(known) => {
                    known.iter().find(|file| file.is_at(&path, workspace)).map(|file| object(&file.bytes))
                }
                None => Some(read(&path)),
            };
            for (name, server) in servers(&file.unwrap_or_default()) {
                project.entry(name).or_insert(server);
            }
        }
        Self { user, project }
    }

    /// The servers for an agent with the setting `mcp`. The repository's are included only if it `is_trusted`; the
    /// user's own take precedence.
    pub(super) fn wanted(&self, mcp: &Mcp, is_trusted: bool) -> Map<String, Value> {
        let mut wanted = if is_trusted { self.project.clone() } else { Map::new() };
        if !mcp.is_project_only() {
            wanted.extend(self.user.clone());
        }
        wanted.retain(|name, _| mcp.has_name(name));
        wanted
    }

    /// The names of all servers.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.user.keys().chain(self.project.keys()).map(String::as_str)
    }

    /// Whether the repository has a server of this name.
    pub(super) fn is_of_project(&self, name: &str) -> bool {
        self.project.contains_key(name)
    }
}

/// The definitions of all servers in `workspace`, by name, whether they are trusted or not. The user's own take
/// precedence.
#[must_use]
pub fn of(home: &Path, workspace: &Path) -> Map<String, Value> {
    let real = real_path(workspace).unwrap_or_else(|_| workspace.to_path_buf());
    let Servers { user, project: mut all } = Servers::of(&real, &Claude::find(home), None);
    all.extend(user);
    all
}

fn read(path: &Path) -> Map<String, Value> {
    let bytes = file::read_short(path, MAX_BYTES).ok().flatten().unwrap_or_default();
    object(&bytes)
}

fn object(bytes: &[u8]) -> Map<String, Value> {
    serde_json::from_slice(bytes).unwrap_or_default()
}

fn servers(file: &Map<String, Value>) -> Map<String, Value> {
    file.get("mcpServers").and_then(Value::as_object).cloned().unwrap_or_default()
}
