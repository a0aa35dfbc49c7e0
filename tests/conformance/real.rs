//! Finds the real CLI: `MURMUR_REAL_CLAUDE`, else the pinned version in the cache, else from npm.
//!
//! Out goes its path, or why it cannot be had. Other npm packages are had the same way.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The version that the fixtures are recorded with.
const VERSION: &str = "2.1.329";
const PACKAGE: &str = "@anthropic-ai/claude-code";
const BINARY: &str = "node_modules/@anthropic-ai/claude-code-linux-x64/claude";

/// An older one that people still have, in which hooks and settings are not quite the same.
const OLDER: &str = "2.1.197";

/// Every version that is looked at and can be had: the one that was named, else both.
pub(crate) fn every() -> Vec<PathBuf> {
    if std::env::var_os("MURMUR_REAL_CLAUDE").is_some() {
        return find().into_iter().collect();
    }
    [VERSION, OLDER].into_iter().filter_map(|version| fetched(version).ok()).collect()
}

pub(crate) fn find() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("MURMUR_REAL_CLAUDE").map(PathBuf::from) {
        return if path.is_file() {
            Ok(path)
        } else {
            Err(format!("no file at MURMUR_REAL_CLAUDE: {}", path.display()))
        };
    }
    fetched(VERSION)
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
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or("it said nothing");
    Err(format!("npm cannot install {package}: {first}"))
}
