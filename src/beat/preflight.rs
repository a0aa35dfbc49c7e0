//! What must hold before a beat spends anything or asks a gate: a workspace to write to, free space, the agent's program and
//! credentials, and programs for the MCP servers that it requires.

use super::job::Job;
use murmur_agent::backend::{self, Places};
use murmur_agent::find;
use murmur_claude_files::trust;
use murmur_core::config::backend::Capability;
use rustix::fs::{Access, access, statvfs};
use serde_json::Value;
use std::io;
use std::path::Path;
use sys::error::{Failure, Hinted, without_number};
use sys::failure;

/// Checks what can be checked in less than a millisecond.
pub(super) fn check(job: &Job) -> Result<(), Failure> {
    // A missing workspace is already a problem of the heartbeat.
    if job.problem.is_some() {
        return Ok(());
    }
    writable(&job.workspace)?;
    // A file system that can't say how much is free is not refused.
    if let Ok(disk) = statvfs(&job.workspace) {
        enough(disk.f_bavail.saturating_mul(disk.f_frsize), job.min_free)?;
    }
    let command = job.command()?;
    let program = find::find(&command.program, job.path.as_os_str()).map_err(|missing| missing.failure())?;
    let variables: Vec<_> = std::env::vars_os().collect();
    let places =
        Places { program: &program, home: &job.user.home, workspace: &job.workspace, variables: &variables };
    if let Some(problem) = backend::login_problem(&job.backend, &places) {
        return Err(problem);
    }
    if job.requires.is_empty() || !job.backend.has(Capability::McpServers) {
        return Ok(());
    }
    let servers = trust::servers(&job.user.home, &job.workspace);
    let required = job.requires.iter().filter_map(|name| Some((name, servers.get(name)?)));
    required.into_iter().try_for_each(|(name, server)| can_start(name, server, job))
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

fn enough(free: u64, wanted: u64) -> Result<(), Failure> {
    if free >= wanted {
        return Ok(());
    }
    let mebibytes = |bytes: u64| bytes >> 20;
    Err(failure!(
        "only {} MiB are free on the workspace's disk, fewer than \"minFree\", {} MiB", mebibytes(free), mebibytes(wanted);
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
        assert!(enough(256 << 20, 256 << 20).is_ok());
        assert!(enough(0, 0).is_ok());
        assert_eq!(
            enough((256 << 20) - 1, 256 << 20).unwrap_err().line(),
            "only 255 MiB are free on the workspace's disk, fewer than \"minFree\", 256 MiB; free some space, or set a lower \"minFree\""
        );
    }

    #[test]
    fn a_workspace_that_is_no_folder_cannot_be_written_to() {
        let error = writable(Path::new("/dev/null/site")).unwrap_err().line();
        assert!(error.starts_with("cannot write to the workspace /dev/null/site: "), "{error}");
    }
}
