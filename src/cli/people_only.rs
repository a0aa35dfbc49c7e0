//! Commands that agents must not run, because they start, stop or change murmur. The guard refuses an agent's own
//! calls. This check also refuses them to scripts and other processes of an agent.

use super::agents_args::AgentCommand;
use super::args::{Command, HostCommand, ServiceCommand, WorkspacesCommand};
use super::notify_args::NotifyCommand;
use super::setup_args::SetupCommand;
use murmur_rpc::caller;
use sys::error::Failure;

/// Who may run a command, with what it does for the error message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Callers {
    Everyone,
    Managers(&'static str),
    People(&'static str),
}

/// Fails if an agent's process runs a `command` that it must not run.
pub(super) fn check(command: &Command) -> Result<(), Failure> {
    match callers(command) {
        Callers::Everyone => Ok(()),
        Callers::Managers(what) => caller::require_manager_here(what),
        Callers::People(what) => caller::require_no_agent_here(what),
    }
}

fn callers(command: &Command) -> Callers {
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
            SetupCommand::Hooks(hooks) if hooks.check || hooks.dry_run => return Callers::Everyone,
            SetupCommand::Hooks(_) => "change Claude Code's settings",
        },
        Command::Service(args) => match &args.command {
            ServiceCommand::Install { print: false } | ServiceCommand::Uninstall => "change the service",
            _ => return Callers::Everyone,
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
                return Callers::Managers("control other agents");
            }
            _ => return Callers::Everyone,
        },
        Command::Agent(args) => match &args.command {
            AgentCommand::Chat(_) => "chat with agents",
            AgentCommand::Start(_)
            | AgentCommand::Send(_)
            | AgentCommand::Interrupt(_)
            | AgentCommand::Stop(_) => {
                return Callers::Managers("control other agents");
            }
            _ => return Callers::Everyone,
        },
        _ => return Callers::Everyone,
    };
    Callers::People(what)
}

#[cfg(test)]
mod tests {
    use super::super::args::{Args, full};
    use super::*;
    use clap::FromArgMatches;
    use shell_guard::call::{CallPlace, ProtectedPaths};
    use shell_guard::guard::{Finding, inspect};
    use std::mem::discriminant;

    /// Commands by who may run them, and whether the guard passes them to agents and to managers.
    const COMMANDS: [(Callers, [bool; 2], &str); 4] = [
        (
            Callers::Everyone,
            [true, true],
            "list|log|show|usage|status|limits|inbox|inbox --watch|trust|doctor|schema|sessions|attach x|agents\n\
             agent list|agent show x|agent attach x|agent task|host list|host status x|host attach x|mcp\n\
             permission list|permission check x|permission rules|question list|rules list|rules check x|rules log\n\
             capture run -- ls|capture list|capture show x|run -- ls|run --dry-run|beat --dry-run|gc --dry-run\n\
             config path|config check|config schema|notify log|setup hooks --check|setup hooks --dry-run\n\
             service status|service install --print|workspaces list|completions bash|man x",
        ),
        // Each of these checks its caller itself, or is for murmur's own use; `demo` starts a daemon.
        (
            Callers::Everyone,
            [false, false],
            "allow 1|deny 1|answer 1 2|approve|workspaces approve|permission respond|question respond\n\
             trust --yes|trust --remove|demo|offer|hook|host serve --agent-id x --project x --worktree x",
        ),
        (
            Callers::Managers(""),
            [false, true],
            "agent start x|agent send x y|agent interrupt x|agent stop x\n\
             host spawn x|host send x y|host interrupt x|host stop x",
        ),
        (
            Callers::People(""),
            [false, false],
            "init|add|remove|edit x|set x --every 1h|pause|resume|start|stop|restart|watch|beat|run|gc|record x -- claude\n\
             workspaces add|workspaces remove|agent chat x|setup hooks|setup hooks --remove\n\
             service install|service uninstall|notify test|notify run",
        ),
    ];

    /// The commands without subcommands below `command`, as typed.
    fn leaves(command: &clap::Command, typed: &str) -> Vec<String> {
        let below = |command: &clap::Command| leaves(command, &format!("{typed} {}", command.get_name()));
        match command.has_subcommands() {
            true => command.get_subcommands().flat_map(below).collect(),
            false => vec![typed.trim().to_owned()],
        }
    }

    #[test]
    fn the_guard_refuses_agents_what_these_rules_refuse() {
        let mut left = leaves(&full(), "");
        for (expected, passes, lines) in COMMANDS {
            for line in lines.split(['|', '\n']).map(|line| format!("murmur {line}")) {
                let matches = full().try_get_matches_from(line.split(' ')).unwrap_or_else(|e| panic!("{e}"));
                let command = Args::from_arg_matches(&matches).unwrap().command;
                assert_eq!(discriminant(&callers(&command)), discriminant(&expected), "{line}");
                for (is_manager, passes) in [false, true].into_iter().zip(passes) {
                    let place = CallPlace {
                        cwd: "/w".into(),
                        workspace: "/w".into(),
                        home: "/home/u".into(),
                        own: ProtectedPaths { is_manager, ..ProtectedPaths::default() },
                    };
                    assert_eq!(inspect(&line, &place) == Finding::Clear, passes, "{line}");
                }
                left.retain(|leaf| !format!("{line} ").starts_with(&format!("murmur {leaf} ")));
            }
        }
        // Without a rule of its own, the guard passes it only to managers.
        left.retain(|leaf| leaf != "host discover");
        assert_eq!(left, Vec::<String>::new(), "not in the table");
    }
}
