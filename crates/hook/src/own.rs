//! Finds what the guard protects as murmur's own: its programs, data and settings, the agent's program, and the processes
//! that supervise the agent.

use murmur_agent::find::{self, CLAUDE};
use murmur_agent::invocation::DIR_VARIABLE;
use murmur_agent::settings::{GATES_VARIABLE, HOME_VARIABLE, SETTINGS_VARIABLE};
use murmur_core::permit::policy::Policy;
use shell_guard::call::ProtectedPaths;
use std::path::{Path, PathBuf};
use sys::ancestors;
use sys::paths::{DataDir, User};

/// murmur's programs, all installed in one folder.
const PROGRAMS: [&str; 4] = ["murmur", "murmur-hook", "murmur-host", "mm"];

/// Returns all of it, for a call whose shell command is `command`.
#[must_use]
pub fn find(dir: &DataDir, user: &User, policy: &Policy, command: Option<&str>) -> ProtectedPaths {
    let mut paths = vec![dir.root().to_path_buf(), user.home.join(".murmur")];
    // Only the files: the settings may be in a folder that is not murmur's.
    paths.extend([user.settings.settings(), user.settings.rules(), user.home.join(".config/murmur")]);
    if let Ok(program) = std::env::current_exe() {
        paths.extend(PROGRAMS.iter().map(|name| program.with_file_name(name)));
    }
    if let Some(path) = std::env::var_os("PATH") {
        paths.extend(PROGRAMS.iter().filter_map(|name| find::find(name, &path).ok()));
        if let Ok(claude) = find::find(CLAUDE, &path) {
            paths.extend(claude.canonicalize().ok().as_deref().and_then(installation));
            paths.push(claude);
        }
    }
    let real: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    paths.extend(real);
    paths.sort();
    paths.dedup();
    // Only needed if the command may signal one.
    let processes = match command {
        Some(command) if command.contains("kill") => ancestors::all(),
        _ => Vec::new(),
    };
    let variables = vec![
        (DIR_VARIABLE, dir.root().to_path_buf()),
        (SETTINGS_VARIABLE, user.settings.root().to_path_buf()),
        (HOME_VARIABLE, user.home.clone()),
    ];
    let gates = std::env::var(GATES_VARIABLE).unwrap_or_default();
    let gates: Vec<PathBuf> = gates.lines().map(PathBuf::from).collect();
    let real = gates.iter().filter_map(|path| path.canonicalize().ok());
    let gates = real.chain(gates.iter().cloned()).collect();
    ProtectedPaths { paths, processes, is_manager: policy.manager, gates, variables }
}

/// The folder that the agent's program is installed in.
fn installation(program: &Path) -> Option<PathBuf> {
    let named =
        |name: &str| program.ancestors().find(|folder| folder.file_name().is_some_and(|found| found == name));
    named("@anthropic-ai")
        .or_else(|| named("versions")?.parent().filter(|folder| folder.ends_with(CLAUDE)))
        .map(Path::to_path_buf)
}
