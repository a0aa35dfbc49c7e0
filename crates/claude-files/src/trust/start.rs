//! How an agent starts in a workspace, given its trust and `mcp`: options for Claude Code, and a private file with the
//! remaining MCP servers.
//!
//! The options are needed without any files, too: an agent could write some, and Claude Code rereads settings while it
//! runs.

use super::servers::Servers;
use super::{Claude, Store, TrustState, collect};
use murmur_core::config::mcp::Mcp;
use murmur_core::id::AgentId;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use sys::error::{Failure, Hinted};
use sys::failure;
use sys::paths::DataDir;
use sys::{atomic, shell};

/// How an agent starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The workspace's trust.
    pub trust_state: TrustState,
    /// The options for Claude Code.
    pub args: Vec<String>,
    /// The file that the options name.
    pub file: Option<PrivateFile>,
    /// The MCP servers that the agent is not given.
    pub left_out: Vec<OmittedServer>,
}

/// An MCP server that an agent is not given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedServer {
    /// Its name.
    pub name: String,
    /// Why; begins with `is left out`.
    pub why: String,
}

/// A file that only its user can read, since it may contain secrets; written for one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateFile {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// A private file on disk; removed when dropped.
#[derive(Debug)]
pub struct WrittenFile(PathBuf);

/// Returns how `agent` starts in the workspace at `real`, a path without links, given the current files. `home` is the
/// user's home folder. Fails if the path of the file for MCP servers is not UTF-8.
pub fn start(dir: &DataDir, home: &Path, agent: &AgentId, real: &Path, mcp: &Mcp) -> Result<Start, Failure> {
    let claude = Claude::find(home);
    let found = collect(real, &claude);
    let trust_state = TrustState::of(&Store::read(dir), real, found.as_deref());
    let is_trusted = trust_state == TrustState::Trusted;
    if is_trusted && mcp.is_all() {
        return Ok(Start { trust_state, args: Vec::new(), file: None, left_out: Vec::new() });
    }
    let servers = Servers::of(real, &claude, found.as_deref().ok());
    let wanted = servers.wanted(mcp, is_trusted);
    let why = |name: &str| {
        if !is_trusted && servers.is_of_project(name) && mcp.has_name(name) {
            format!(
                "is left out because repository settings are not trusted; run: murmur trust {}",
                shell::path(real)
            )
        } else {
            "is left out by \"mcp\"".to_owned()
        }
    };
    let left_out = servers.names().filter(|name| !wanted.contains_key(*name));
    let left_out = left_out.map(|name| OmittedServer { name: name.to_owned(), why: why(name) }).collect();
    let mut args: Vec<String> = Vec::new();
    if !is_trusted {
        args.extend(["--setting-sources", "user"].map(str::to_owned));
    }
    args.push("--strict-mcp-config".to_owned());
    let mut file = None;
    if !wanted.is_empty() {
        let path = dir.agent(agent.as_str()).join("mcp.json");
        let text = path.to_str().ok_or_else(|| {
            failure!("{} is not UTF-8, which Claude Code's arguments require", path.display(); "use another data folder")
        })?;
        args.extend(["--mcp-config".to_owned(), text.to_owned()]);
        let bytes = serde_json::json!({ "mcpServers": wanted }).to_string().into_bytes();
        file = Some(PrivateFile { path, bytes });
    }
    Ok(Start { trust_state, args, file, left_out })
}

impl PrivateFile {
    /// Writes the file.
    pub fn write(&self) -> Result<WrittenFile, Failure> {
        let Self { path, bytes } = self;
        let written = || {
            if let Some(folder) = path.parent() {
                atomic::create_private_folder(folder)?;
            }
            // Left by a run that was killed, or created by somebody else.
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(bytes)?;
            Ok(WrittenFile(path.clone()))
        };
        written().map_err(|error: io::Error| {
            let hint = Hinted::hint(&error);
            failure!("cannot write {}", path.display()).because(&error).or_hint(hint)
        })
    }
}

impl Drop for WrittenFile {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.0);
        if let Some(folder) = self.0.parent() {
            let _not_empty = std::fs::remove_dir(folder);
        }
    }
}
