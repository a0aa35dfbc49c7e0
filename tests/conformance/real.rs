//! Finds the real CLI: the one that was chosen (`choice.rs`), else the pinned version; in the cache, else from npm.
//!
//! Out goes its path, or why there is none. Other npm packages are found the same way.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::choice::Choice;

/// The version that the fixtures are recorded with.
const VERSION: &str = "2.1.329";
const PACKAGE: &str = "@anthropic-ai/claude-code";
const BINARY: &str = "node_modules/@anthropic-ai/claude-code-linux-x64/claude";

/// An older one that people still have, in which hooks and settings are not quite the same.
const OLDER: &str = "2.1.197";

/// Why there is no real CLI.
pub(crate) enum Missing {
    /// The variables that choose one make no sense.
    Wrong(String),
    /// The version that was chosen cannot be installed here.
    Chosen(String),
    /// Nobody chose one, and the pinned version cannot be installed here.
    Pinned(String),
}

/// Every version to check that can be installed: the chosen one, else the pinned and the older one.
pub(crate) fn every() -> Vec<PathBuf> {
    match choice() {
        Ok(Choice::Pinned) => {
            [VERSION, OLDER].into_iter().filter_map(|version| fetched(version).ok()).collect()
        }
        _ => find().into_iter().collect(),
    }
}

/// The real CLI to check.
pub(crate) fn find() -> Result<PathBuf, Missing> {
    match choice().map_err(Missing::Wrong)? {
        Choice::Path(path) => Ok(path),
        Choice::Version(version) => fetched(&version).map_err(Missing::Chosen),
        Choice::Pinned => fetched(VERSION).map_err(Missing::Pinned),
    }
}

fn choice() -> Result<Choice, String> {
    let path = std::env::var_os("MURMUR_REAL_CLAUDE").map(PathBuf::from);
    let version = std::env::var_os("REAL_CLAUDE_VERSION");
    Choice::parse(path, version.map(|version| version.to_string_lossy().into_owned()))
}

fn fetched(version: &str) -> Result<PathBuf, String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("the real CLI is only fetched for linux-x64; set MURMUR_REAL_CLAUDE".into());
    }
    let binary = package(PACKAGE, version)?.join(BINARY);
    if binary.is_file() { Ok(binary) } else { Err(format!("npm installed no {}", binary.display())) }
}

/// The folder in the cache that has this npm package installed.
pub(crate) fn package(name: &str, version: &str) -> Result<PathBuf, String> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = cache.or(home).ok_or("neither XDG_CACHE_HOME nor HOME is set")?;
    let short = name.rsplit('/').next().unwrap_or(name);
    let folder = cache.join("murmur").join(short).join(version);
    if !folder.join("node_modules").join(name).is_dir() {
        install(&folder, &format!("{name}@{version}"))?;
    }
    Ok(folder)
}

fn install(folder: &Path, package: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    std::fs::write(folder.join("package.json"), "{\"private\":true}\n").map_err(failed)?;
    let output = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts"])
        .arg(package)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("npm cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    // The next try begins with nothing.
    drop(std::fs::remove_dir_all(folder));
    let said = String::from_utf8_lossy(&output.stderr);
    let cause = |line: &&str| line.starts_with("npm error") && !line.starts_with("npm error code");
    let first = said.lines().find(cause).or(said.lines().next()).unwrap_or("it said nothing");
    Err(format!("npm cannot install {package}: {first}"))
}
