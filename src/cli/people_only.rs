//! Commands that agents must not run, because they start, stop or change murmur. The guard refuses an agent's own
//! calls. This check also refuses them to scripts and other processes of an agent.

use super::agents_args::AgentCommand;
use super::args::{Command, HostCommand, ServiceCommand, WorkspacesCommand};
use super::notify_args::NotifyCommand;
use super::setup_args::SetupCommand;
use murmur_rpc::caller;
use sys::error::Failure;

/// Fails if an agent's process runs a `command` that only people may run.
pub(super) fn check(command: &Command) -> Result<(), Failure> {
    let what = match command {
        Command::Start(_) => "start the daemon",
        Command::Stop(_) | Command::Restart(_) => "stop the daemon",
        Command::Beat(args) if !args.dry_run => "start beats",
        Command::Run(args) if args.capture.command.is_empty() && !args.beat.dry_run => "start beats",
        Command::Pause(_) | Command::Resume(_) => "pause or resume heartbeats",
        Command::Watch(_) => "use the live view",
        Command::Edit(_) | Command::Set(_) => "change heartbeats",
        Command::Init(_)
        | Command::Add(_)
        | Command::Remove(_)
        | Command::Workspaces(super::args::Workspaces {
            command: WorkspacesCommand::Add(_) | WorkspacesCommand::Remove(_),
        }) => "add or remove workspaces",
        Command::Setup(args) => match &args.command {
            SetupCommand::Hooks(hooks) if hooks.check || hooks.dry_run => return Ok(()),
            SetupCommand::Hooks(_) => "change Claude Code's settings",
        },
        Command::Service(args) => match &args.command {
            ServiceCommand::Install { print: false } | ServiceCommand::Uninstall => "change the service",
            _ => return Ok(()),
        },
        Command::Notify(args) if matches!(args.command, NotifyCommand::Test(_) | NotifyCommand::Run(_)) => {
            "send notifications"
        }
        Command::Gc(args) if !args.dry_run => "remove files",
        Command::Record(_) => "start agents",
        Command::Host(args) => match &args.command {
            HostCommand::Spawn(_)
            | HostCommand::Send(_)
            | HostCommand::Interrupt(_)
            | HostCommand::Stop(_) => {
                return caller::require_manager_here("control other agents");
            }
            _ => return Ok(()),
        },
        Command::Agent(args) => match &args.command {
            AgentCommand::Chat(_) => "chat with agents",
            AgentCommand::Start(_)
            | AgentCommand::Send(_)
            | AgentCommand::Interrupt(_)
            | AgentCommand::Stop(_) => {
                return caller::require_manager_here("control other agents");
            }
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    caller::require_no_agent_here(what)
}
