//! Finds what the guard protects as murmur's own: its programs, data and settings, the agent's program, and the
//! processes that supervise the agent.

use murmur_agent::find;
use murmur_agent::invocation::DIR_VARIABLE;
use murmur_agent::settings::{GATES_VARIABLE, HOME_VARIABLE, SETTINGS_VARIABLE};
use murmur_core::config::backend::Backend;
use murmur_core::permit::policy::Policy;
use shell_guard::call::ProtectedPaths;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use sys::ancestors;
use sys::paths::{DataDir, User};

/// murmur's programs, all installed in one folder.
const PROGRAMS: [&str; 4] = ["murmur", "murmur-hook", "murmur-host", "mm"];

/// Returns all of it, for a call of an agent of `backend` whose shell command is `command`.
#[must_use]
pub fn find(
    dir: &DataDir,
    user: &User,
    policy: &Policy,
    backend: &Backend,
    command: Option<&str>,
) -> ProtectedPaths {
    let mut paths = vec![dir.root().to_path_buf(), user.home.join(".murmur")];
    // Only the files: the settings may be in a folder that is not murmur's.
    paths.extend([user.settings.settings(), user.settings.rules(), user.home.join(".config/murmur")]);
    if let Ok(program) = std::env::current_exe() {
        paths.extend(PROGRAMS.iter().map(|name| program.with_file_name(name)));
    }
    if let Some(path) = std::env::var_os("PATH") {
        paths.extend(PROGRAMS.iter().filter_map(|name| find::find(name, &path).ok()));
        paths.extend(agents_program(backend, &path));
    }
    let real: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    paths.extend(real);
    paths.sort();
    paths.dedup();
    let processes = if command.is_some_and(may_name_process) { ancestors::all() } else { Vec::new() };
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

/// Whether a shell command may name a process by its id: it then has a digit, however its words are written.
fn may_name_process(command: &str) -> bool {
    command.bytes().any(|byte| byte.is_ascii_digit())
}

/// The program of `backend` on this PATH, and where it is installed.
fn agents_program(backend: &Backend, path: &OsStr) -> Vec<PathBuf> {
    let named = backend.built_in().and_then(|command| find::find(&command.program, path).ok());
    let real = named.as_ref().and_then(|program| program.canonicalize().ok());
    let installed = real.as_deref().and_then(installation).map(Path::to_path_buf);
    named.into_iter().chain(real).chain(installed).collect()
}

/// The folder that an agent's program is installed in: by npm, or by Claude Code itself.
fn installation(program: &Path) -> Option<&Path> {
    let of_npm = |folder: &&Path| folder.parent().is_some_and(|parent| parent.ends_with("node_modules"));
    let own = |folder: &&Path| folder.ends_with("claude/versions");
    let mut folders = program.ancestors();
    folders.clone().find(of_npm).or_else(|| folders.find(own)?.parent())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_protected_from_every_command_that_may_name_one() {
        let named = ["kill -9 12", "ki''ll 12", "gdb -p 12", "Stop-Process -Id 12", "kill $(($$ - 1))"];
        assert!(named.into_iter().all(may_name_process));
        assert!(!may_name_process("cargo test"));
    }

    #[test]
    fn an_agents_program_is_protected_with_its_installation() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let bin = root.join("bin");
        std::fs::create_dir(&bin).unwrap();
        let at = |path: &str| root.join(path);
        for (agent, program, installed) in [
            ("claude", "lib/node_modules/@anthropic-ai/claude-code/cli.js", "lib/node_modules/@anthropic-ai"),
            ("claude", "share/claude/versions/2.1.329", "share/claude"),
            ("codex", "lib/node_modules/@openai/codex/bin/codex.js", "lib/node_modules/@openai"),
            ("acp:opencode", "lib/node_modules/opencode-ai/bin/opencode", "lib/node_modules/opencode-ai"),
        ] {
            let name = agent.trim_start_matches("acp:");
            std::fs::create_dir_all(at(program).parent().unwrap()).unwrap();
            std::fs::copy("/bin/sh", at(program)).unwrap();
            drop(std::fs::remove_file(bin.join(name)));
            std::os::unix::fs::symlink(at(program), bin.join(name)).unwrap();
            let backend = agent.parse().unwrap();
            let expected = [bin.join(name), at(program), at(installed)];
            assert_eq!(agents_program(&backend, bin.as_os_str()), expected, "{agent}");
        }
        assert!(agents_program(&Backend::Acp("mine".into()), bin.as_os_str()).is_empty());
        assert_eq!(installation(Path::new("/usr/bin/claude")), None);
    }
}
