//! How an agent is started in a workspace, as far as trust and `mcp` go: the switches of Claude Code, and the private file
//! with the MCP servers that are left.
//!
//! A workspace without any files has the switches as well: an agent could write some, and Claude Code reads settings anew
//! while it runs.

use super::servers::Servers;
use super::{Claude, Standing, Store};
use crate::config::mcp::Mcp;
use crate::error::{Failure, Hinted};
use crate::failure;
use crate::sys::paths::DataDir;
use crate::sys::{atomic, shell};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Whether the workspace's files are trusted.
    pub standing: Standing,
    /// The switches.
    pub args: Vec<String>,
    /// The file that they name.
    pub file: Option<PrivateFile>,
    /// The MCP servers that the agent does not get.
    pub left_out: Vec<LeftOut>,
}

/// An MCP server that an agent does not get, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// Why, as `is left out: …`.
    pub why: String,
}

/// A file that only its user can read, for one run: secrets may be in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateFile {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// It, on disk until this is dropped.
#[derive(Debug)]
pub struct Kept(PathBuf);

/// The start of `agent` in `workspace`, from the files as they are now. `home` is the user's.
///
/// # Errors
/// That the workspace, or the file for the agent's MCP servers, cannot be named.
pub fn start(dir: &DataDir, home: &Path, agent: &str, workspace: &Path, mcp: &Mcp) -> Result<Start, Failure> {
    let claude = Claude::find(home);
    let real = workspace.canonicalize().map_err(
        |error| failure!("cannot open workspace {}: {error}", workspace.display(); "check the path"),
    )?;
    let standing = Standing::look(&Store::read(dir), &claude, &real);
    let is_trusted = standing == Standing::Trusted;
    if is_trusted && mcp.is_all() {
        return Ok(Start { standing, args: Vec::new(), file: None, left_out: Vec::new() });
    }
    let servers = Servers::of(&real, &claude);
    let wanted = servers.wanted(mcp, is_trusted);
    let why = |name: &str| {
        if !is_trusted && servers.is_of_project(name) && mcp.has_name(name) {
            format!(
                "is left out because repository settings are not trusted; run: murmur trust {}",
                shell::path(&real)
            )
        } else {
            "is left out by \"mcp\"".to_owned()
        }
    };
    let left_out = servers.names().filter(|name| !wanted.contains_key(*name));
    let left_out = left_out.map(|name| LeftOut { name: name.to_owned(), why: why(name) }).collect();
    let mut args: Vec<String> = Vec::new();
    if !is_trusted {
        args.extend(["--setting-sources", "user"].map(str::to_owned));
    }
    args.push("--strict-mcp-config".to_owned());
    let mut file = None;
    if !wanted.is_empty() {
        let path = dir.agent(agent).join("mcp.json");
        let text = path.to_str().ok_or_else(|| {
            failure!("{} is not UTF-8, and Claude Code's arguments are", path.display(); "use another data folder")
        })?;
        args.extend(["--mcp-config".to_owned(), text.to_owned()]);
        let bytes = serde_json::json!({ "mcpServers": wanted }).to_string().into_bytes();
        file = Some(PrivateFile { path, bytes });
    }
    Ok(Start { standing, args, file, left_out })
}

impl PrivateFile {
    /// Writes it.
    ///
    /// # Errors
    /// What names it.
    pub fn keep(&self) -> Result<Kept, Failure> {
        let Self { path, bytes } = self;
        let written = || {
            if let Some(folder) = path.parent() {
                atomic::create_private_folder(folder)?;
            }
            // Of a run that was killed, or somebody else's.
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(bytes)?;
            Ok(Kept(path.clone()))
        };
        written().map_err(|error: io::Error| {
            let hint = Hinted::hint(&error);
            failure!("cannot write {}: {error}", path.display()).or_hint(hint)
        })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.0);
        if let Some(folder) = self.0.parent() {
            let _not_empty = std::fs::remove_dir(folder);
        }
    }
}
