//! What must hold before a beat spends anything or asks a gate: a workspace to write to, free space, the agent's
//! program and credentials, and programs for the MCP servers that it requires.

use super::job::Job;
use super::prepare::ResolvedPaths;
use murmur_agent::backend::{self, Places};
use murmur_agent::find;
use murmur_claude_files::trust;
use murmur_core::config::backend::Capability;
use murmur_core::config::size;
use rustix::fs::{Access, access, statvfs};
use rustix::io::Errno;
use serde_json::Value;
use std::io;
use std::path::Path;
use sys::error::{Failure, Hinted, without_number};
use sys::failure;
use sys::paths::DataDir;

/// Where administrators configure MCP servers.
const MANAGED_SERVERS: [&str; 2] =
    ["/etc/claude-code/managed-mcp.json", "/Library/Application Support/ClaudeCode/managed-mcp.json"];

/// Checks what can be checked in less than a millisecond. The beat's files go to `dir`, and its output to `captures`.
pub(super) fn check(
    job: &Job,
    dir: &DataDir,
    found: &ResolvedPaths,
    captures: Option<&Path>,
) -> Result<(), Failure> {
    // A missing workspace is already a problem of the heartbeat.
    if job.problem.is_some() {
        return Ok(());
    }
    writable(&job.workspace)?;
    let disks = [
        ("the workspace", Some(&*job.workspace)),
        ("the data folder", Some(dir.root())),
        ("captures", captures),
    ];
    for (whose, folder) in disks {
        if let Some(free) = folder.and_then(free_at) {
            enough(free, job.min_free, whose)?;
        }
    }
    let program = found.program.as_ref().map_err(Clone::clone)?;
    let variables: Vec<_> = std::env::vars_os().collect();
    let places = Places { program, home: &job.user.home, workspace: &job.workspace, variables: &variables };
    if let Some(problem) = backend::login_problem(&job.backend, &places) {
        return Err(problem);
    }
    if job.requires.is_empty() || !job.backend.has(Capability::McpServers) {
        return Ok(());
    }
    let servers = trust::servers(&job.user.home, &job.workspace);
    job.requires.iter().try_for_each(|name| match servers.get(name) {
        Some(server) => can_start(name, server, job),
        None if may_be_known_to_agent(name) => Ok(()),
        None => Err(failure!(
            "the required MCP server {name:?} is not configured";
            "add it with claude mcp add, or remove it from \"requires\""
        )),
    })
}

/// Whether the agent may have a server of this name although no file of the user or the repository configures it: one
/// of a plugin, of claude.ai or of an administrator.
fn may_be_known_to_agent(name: &str) -> bool {
    name.contains(':')
        || name.starts_with("claude.ai ")
        || MANAGED_SERVERS.iter().any(|file| Path::new(file).exists())
}

fn writable(workspace: &Path) -> Result<(), Failure> {
    access(workspace, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        let error = without_number(&io::Error::from(error));
        failure!(
            "cannot write to the workspace {}: {error}", workspace.display();
            "let the user who runs murmur write to it"
        )
    })
}

/// The free bytes on the disk of `folder`, or of what it will be created in; `None` if the file system can't tell.
fn free_at(folder: &Path) -> Option<u64> {
    let disk = folder.ancestors().find_map(|folder| match statvfs(folder) {
        Err(Errno::NOENT) => None,
        disk => Some(disk),
    })?;
    disk.ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn enough(free: u64, wanted: u64, whose: &str) -> Result<(), Failure> {
    if free >= wanted {
        return Ok(());
    }
    Err(failure!(
        "only {} is free on the disk of {whose}, less than \"minFree\", {}", size::for_people(free), size::for_people(wanted);
        "free some space, or set a lower \"minFree\""
    ))
}

/// Checks that the program of a server exists, if the server is a program and its name is known.
fn can_start(name: &str, server: &Value, job: &Job) -> Result<(), Failure> {
    let Some(program) = server.get("command").and_then(Value::as_str) else { return Ok(()) };
    // Variables are expanded by the agent, and a PATH of its own may lead elsewhere.
    if program.is_empty() || program.contains('$') || server.pointer("/env/PATH").is_some() {
        return Ok(());
    }
    let found = if program.contains('/') {
        let file = job.workspace.join(program);
        let found = access(&file, Access::EXEC_OK).map_err(io::Error::from);
        found.map_err(|error| failure!("{}: {}", file.display(), without_number(&error)))
    } else {
        find::find(program, job.path.as_os_str()).map(drop).map_err(|missing| missing.failure())
    };
    found.map_err(|why| {
        failure!(
            "the required MCP server {name:?} cannot start: {why}";
            "install its program, or correct its command"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_with_exactly_as_much_as_wanted_has_enough() {
        assert!(enough(256 << 20, 256 << 20, "captures").is_ok());
        assert!(enough(0, 0, "captures").is_ok());
        assert_eq!(
            enough((256 << 20) - 1, 256 << 20, "captures").unwrap_err().line(),
            "only 255 MiB is free on the disk of captures, less than \"minFree\", 256 MiB; free some space, or set a lower \"minFree\""
        );
    }

    #[test]
    fn a_folder_that_will_be_created_is_on_the_disk_of_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_at(&folder.path().join("a/b")).is_some_and(|free| free > 0));
        assert_eq!(free_at(Path::new("/dev/null/a")), None);
    }

    #[test]
    fn a_workspace_that_is_no_folder_cannot_be_written_to() {
        let error = writable(Path::new("/dev/null/site")).unwrap_err().line();
        assert!(error.starts_with("cannot write to the workspace /dev/null/site: "), "{error}");
    }
}
