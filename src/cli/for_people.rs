//! The commands that agents cannot run: those that start, stop, or change what murmur does. The guard refuses them where an
//! agent calls them; here they are refused to whatever an agent's process runs, such as a script.

use super::args::{Command, HostCommand, ServiceCommand, WorkspacesCommand};
use super::setup_args::SetupCommand;
use crate::error::Failure;
use crate::rpc::asker;

/// That `command` may run here.
///
/// # Errors
/// That an agent's process runs it, and what agents cannot do.
pub(super) fn check(command: &Command) -> Result<(), Failure> {
    let what = match command {
        Command::Start(_) => "start the daemon",
        Command::Stop(_) | Command::Restart(_) => "stop the daemon",
        Command::Beat(args) if !args.dry_run => "start beats",
        Command::Init(_)
        | Command::Workspaces(super::args::Workspaces {
            command: WorkspacesCommand::Add { .. } | WorkspacesCommand::Remove { .. },
        }) => "change which workspaces there are",
        Command::Setup(args) => match &args.command {
            SetupCommand::Hooks(hooks) if hooks.check || hooks.dry_run => return Ok(()),
            SetupCommand::Hooks(_) => "change Claude Code's settings",
        },
        Command::Service(args) => match &args.command {
            ServiceCommand::Install { print: false } | ServiceCommand::Uninstall => "change the service",
            _ => return Ok(()),
        },
        Command::Record(_) => "start agents",
        Command::Host(args) => match &args.command {
            HostCommand::Spawn(_) | HostCommand::Send(_) | HostCommand::Stop(_) => {
                return asker::require_manager_here("direct other agents");
            }
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    asker::require_no_agent_here(what)
}
