//! What can be typed.

pub(super) use super::agents_args::{Agent, AgentCommand, Agents};
use super::data_dir;
use super::derun::{Mcp, Run, Sessions, Show};
pub(super) use super::host_args::{Host, HostAttach, HostCommand, HostSend, HostServe, HostSpawn, HostStop};
use super::init::Templates;
use super::log::{count, since};
pub(super) use super::permission_args::{
    Permission, PermissionCheck, PermissionCommand, PermissionRespond, PermissionRules, Question,
    QuestionCommand, QuestionRespond,
};
pub(super) use super::setup_args::{Setup, SetupCommand};
use super::trust_args::Trust;
use crate::error::Failure;
use crate::failure;
use crate::journal::read::Ended;
use crate::outcome::Kind;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use jiff::Timestamp;
use std::path::PathBuf;
use std::time::Duration;

/// Runs Claude Code on a schedule, unattended, and tells honestly how it went.
#[derive(Debug, Parser)]
#[command(
    name = "murmur",
    version,
    max_term_width = 100,
    mut_subcommands(data_dir::offered_after),
    after_help = "\
Examples:
  murmur demo                      see it work, with nothing installed
  murmur init --interval 30m       make a HEARTBEAT.md here and have it run every 30 minutes
  murmur beat                      run it now
  murmur start                     run all that is due, from now on
  murmur status                    what runs, what came of it, what comes next
  murmur log --follow              what came of every beat, as it comes
  murmur agents --watch            what every agent is doing now"
)]
pub(super) struct Args {
    /// Where murmur keeps its files [default: $MURMUR_DIR, else ~/.murmur]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) data_dir: Option<PathBuf>,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Init(Init),
    Workspaces(Workspaces),
    Trust(Trust),
    Beat(Beat),
    Start(Start),
    Stop(Stop),
    Restart(Restart),
    Status(Status),
    Log(Log),
    Sessions(Sessions),
    Show(Show),
    Record(Record),
    Run(Run),
    Mcp(Mcp),
    Service(Service),
    Doctor(Doctor),
    /// Print the JSON Schema of config.json
    Schema,
    Completions(Completions),
    /// Write a manual page for every command into a folder, as ~/.local/share/man/man1
    Man {
        /// The folder; made where it does not exist
        #[arg(value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
    /// Show it all at work: a daemon, three workspaces, three outcomes; needs nothing, leaves nothing
    Demo,
    Permission(Permission),
    Question(Question),
    /// Answer one of Claude Code's hooks; its JSON stands on stdin
    #[command(hide = true)]
    Hook {
        /// The event
        event: Option<std::ffi::OsString>,
    },
    Setup(Setup),
    Host(Host),
    Attach(HostAttach),
    Agents(Agents),
    Agent(Agent),
}

/// Say what is not as it should be, and what to do; exits with 1 if something does not work
#[derive(Debug, ClapArgs)]
pub(super) struct Doctor {
    /// One JSON object on stdout
    #[arg(long)]
    pub(super) json: bool,
}

/// Have systemd (Linux) or launchd (macOS) start the daemon when you log in, and again when it fails
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur service install           from now on, and after every login
  murmur service install --print   what would be written
  murmur service status            what is installed, and whether it runs
  murmur service uninstall         no more; agents that run go on")]
pub(super) struct Service {
    #[command(subcommand)]
    pub(super) command: ServiceCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum ServiceCommand {
    /// Write the service's file, and start it
    Install {
        /// Print the file, and do nothing
        #[arg(long)]
        print: bool,
    },
    /// Stop it, and remove its file, whatever its manager says
    Uninstall,
    /// Say what is installed; exits with 1 where it does not run
    Status {
        /// One JSON object on stdout
        #[arg(long)]
        json: bool,
    },
}

/// Print what a shell needs to complete murmur's commands
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur completions bash > ~/.local/share/bash-completion/completions/murmur
  murmur completions zsh > ~/.zfunc/_murmur
  murmur completions fish > ~/.config/fish/completions/murmur.fish
  murmur completions bash --as mm      the same for the short name")]
pub(super) struct Completions {
    /// The shell
    #[arg(value_name = "bash|zsh|fish|elvish|powershell")]
    pub(super) shell: Shell,
    /// The name it is called by
    #[arg(long = "as", default_value = "murmur", value_name = "NAME")]
    pub(super) name: CalledBy,
}

/// The names of the one binary that have commands to complete.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum CalledBy {
    Murmur,
    Mm,
    Derun,
}

/// Write a HEARTBEAT.md and register the workspace; overwrites nothing
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur init                                   this folder, every 30 minutes
  murmur init ~/repos/site --cron '0 9 * * 1-5' --tz Europe/Berlin
  murmur init --name nightly --interval 1d      a second heartbeat, heartbeats/nightly/HEARTBEAT.md")]
pub(super) struct Init {
    /// The workspace
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub(super) path: PathBuf,
    /// Make a named heartbeat, heartbeats/NAME/HEARTBEAT.md
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Run every so often: a number and a unit of s, m, h or d, such as 30m or 1h30m
    #[arg(long, value_name = "INTERVAL", conflicts_with = "cron")]
    pub(super) interval: Option<String>,
    /// Run at these times: five cron fields
    #[arg(long, value_name = "CRON")]
    pub(super) cron: Option<String>,
    /// The time zone of --cron, such as Europe/Berlin
    #[arg(long, requires = "cron")]
    pub(super) tz: Option<String>,
    /// What to write: a file of yours, or one of these [default: default]
    #[arg(long, value_parser = Templates)]
    pub(super) template: Option<String>,
    /// Make a workspace of your home folder, of one above it, or of a folder of the system, too
    #[arg(long)]
    pub(super) force: bool,
}

/// List, add or remove workspaces
#[derive(Debug, ClapArgs)]
pub(super) struct Workspaces {
    #[command(subcommand)]
    pub(super) command: WorkspacesCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum WorkspacesCommand {
    /// Every registered workspace
    List {
        /// One JSON object on stdout
        #[arg(long)]
        json: bool,
    },
    /// Register a folder that has a HEARTBEAT.md
    Add {
        /// The workspace
        #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
        path: PathBuf,
        /// Run every so often [default: 30m, unless --cron or HEARTBEAT.md's frontmatter sets a schedule]
        #[arg(long, value_name = "INTERVAL", conflicts_with = "cron")]
        interval: Option<String>,
        /// Run at these times: five cron fields
        #[arg(long, value_name = "CRON")]
        cron: Option<String>,
        /// The time zone of --cron
        #[arg(long, requires = "cron")]
        tz: Option<String>,
        /// Register your home folder, one above it, or a folder of the system, too
        #[arg(long)]
        force: bool,
    },
    /// Approve a workspace's new named heartbeats
    Approve {
        /// The workspace
        #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
        path: PathBuf,
        /// Approve only heartbeats/NAME [default: all of them]
        #[arg(long)]
        name: Option<String>,
    },
    /// Forget a workspace; its files stay
    Remove {
        /// The workspace
        #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
        path: PathBuf,
    },
}

/// Run one beat now; exits with 0 for ok and attention, 1 for error
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur beat                   this folder's HEARTBEAT.md
  murmur beat ~/repos/site -V   and show every tool call as it happens
  murmur beat --name nightly    heartbeats/nightly/HEARTBEAT.md
  murmur beat --dry-run         what would run, without running it")]
pub(super) struct Beat {
    /// The workspace, registered or not
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub(super) path: PathBuf,
    /// The named heartbeat to run
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Show what the agent does as it happens, and keep the conversation
    #[arg(long, short = 'V')]
    pub(super) verbose: bool,
    /// One JSON object on stdout: the journal line
    #[arg(long)]
    pub(super) json: bool,
    /// Print prompt, arguments and environment, and run nothing
    #[arg(long, conflicts_with_all = ["json", "verbose"])]
    pub(super) dry_run: bool,
}

/// Start the daemon; returns when it answers
#[derive(Debug, ClapArgs)]
pub(super) struct Start {
    /// Stay in the foreground, and say on stderr what happens
    #[arg(long)]
    pub(super) foreground: bool,
    /// Look for edits this often as well [default: only where the system cannot tell: 10s]
    #[arg(long, value_name = "INTERVAL", value_parser = tick)]
    pub(super) tick: Option<Duration>,
    /// Say on stdout, in one line, that it is up or why not, and then close it.
    #[arg(long, hide = true)]
    pub(super) announce: bool,
}

/// Stop the daemon: no new beats, running ones get 5 s to end; returns when it is gone
#[derive(Debug, ClapArgs)]
pub(super) struct Stop {
    /// Let the running agents go on; the next daemon waits for them
    #[arg(long)]
    pub(super) leave_agents: bool,
    /// Kill a daemon that does not answer; what it has started goes on
    #[arg(long)]
    pub(super) force: bool,
}

/// Replace the daemon by a new one, of this murmur; running agents go on
#[derive(Debug, ClapArgs)]
pub(super) struct Restart {
    /// Kill a daemon that does not answer
    #[arg(long)]
    pub(super) force: bool,
    /// Look for edits this often as well [default: as the old one does]
    #[arg(long, value_name = "INTERVAL", value_parser = tick)]
    pub(super) tick: Option<Duration>,
}

/// A tick of no length would never end.
fn tick(text: &str) -> Result<Duration, Failure> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => {
            Err(failure!("--tick must be more than 0s"; "write a time span such as 10s or 5m"))
        }
        Ok(tick) => Ok(tick),
        Err(_) => Err(failure!("--tick {text:?} is not a time span"; "write one such as 10s, 5m or 1h30m")),
    }
}

/// Say who runs, and how every heartbeat is
#[derive(Debug, ClapArgs)]
pub(super) struct Status {
    /// One JSON object on stdout
    #[arg(long)]
    pub(super) json: bool,
    /// Exit with 0 if the daemon answers, whatever else is wrong, and with 1 if not
    #[arg(long)]
    pub(super) check: bool,
}

/// Show the journal
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur log -n 5                        the last five beats
  murmur log --outcome error --since 1d  what went wrong today
  murmur log --follow --json | jq .      every beat as it ends, for a program")]
pub(super) struct Log {
    /// The most lines to show, or all
    #[arg(short = 'n', value_name = "N", default_value = "20", value_parser = count, allow_negative_numbers = true)]
    pub(super) count: usize,
    /// Go on and show beats as they end
    #[arg(long, short = 'f')]
    pub(super) follow: bool,
    /// Only this workspace, by its path
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(super) workspace: Option<PathBuf>,
    /// Only this outcome
    #[arg(long)]
    pub(super) outcome: Option<OutcomeArg>,
    /// Only beats that ended since then: a span such as 2h, today, yesterday, or a date such as 2026-11-22
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub(super) since: Option<Timestamp>,
    /// The journal's own lines
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum OutcomeArg {
    Ok,
    Attention,
    Error,
    /// What somebody stopped
    Stopped,
}

impl From<OutcomeArg> for Ended {
    fn from(outcome: OutcomeArg) -> Self {
        match outcome {
            OutcomeArg::Ok => Self::As(Kind::Ok),
            OutcomeArg::Attention => Self::As(Kind::Attention),
            OutcomeArg::Error => Self::As(Kind::Error),
            OutcomeArg::Stopped => Self::Stopped,
        }
    }
}

/// Record a run of Claude Code as a fixture that fake-claude replays
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  echo hi | murmur record hello -- claude --print --verbose --output-format stream-json
  murmur record nightly --beat ~/repos/site")]
pub(super) struct Record {
    /// The fixture's name
    pub(super) name: String,
    /// The folder it is put in
    #[arg(long, value_name = "DIR", default_value = "fixtures/claude", value_hint = ValueHint::DirPath)]
    pub(super) into: PathBuf,
    /// Record a beat of this workspace
    #[arg(long, value_name = "PATH", conflicts_with = "command", value_hint = ValueHint::DirPath)]
    pub(super) beat: Option<PathBuf>,
    /// With --beat: the named heartbeat
    #[arg(long, value_name = "HEARTBEAT", requires = "beat")]
    pub(super) heartbeat: Option<String>,
    /// The command to record
    #[arg(last = true, required_unless_present = "beat", value_hint = ValueHint::CommandWithArguments)]
    pub(super) command: Vec<std::ffi::OsString>,
}
