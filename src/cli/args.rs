//! The command line, as clap parses it: commands, arguments and options.
pub(super) use super::agents_args::{Agent, AgentCommand, Agents};
use super::config_args::Config;
use super::data_dir;
pub(super) use super::gc_args::Gc;
use super::global_args::{self, ColorArg};
pub(super) use super::heartbeat_args::{
    Add, Approve, Beat, Edit, Init, List, Remove, RunEither, Set, Workspaces, WorkspacesCommand,
};
pub(super) use super::host_args::{
    Host, HostAttach, HostChat, HostCommand, HostInterrupt, HostSend, HostServe, HostSpawn, HostStop,
};
use super::inbox_args::{Allow, AnswerQuestions, Deny, Inbox};
pub(super) use super::log_args::Log;
use super::notify_args::NotifyArgs;
use super::pause_args::{Pause, Resume};
pub(super) use super::permission_args::{
    Permission, PermissionCheck, PermissionCommand, PermissionRespond, PermissionRules, Question,
    QuestionCommand, QuestionRespond, Rules, RulesCommand, RulesLog,
};
pub(super) use super::service_args::{Service, ServiceCommand};
pub(super) use super::setup_args::{Setup, SetupCommand};
use super::show_args::ShowBeat;
use super::trust_args::Trust;
pub(super) use super::usage_args::{ByArg, Usage};
use super::watch::Watch;
use clap::{Args as ClapArgs, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use derun::cli::args::{Mcp, Run, Sessions, Show};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use sys::error::Failure;
use sys::failure;

/// Run Claude Code on a schedule, unattended.
#[derive(Debug, Parser)]
#[command(
    name = "murmur",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  murmur demo                   see murmur work, even without Claude Code
  murmur init --interval 30m    create a HEARTBEAT.md that runs every 30 minutes
  murmur beat                   run it now
  murmur start                  start the daemon, which runs what is due
  murmur inbox                  show what is waiting for you, and how to answer
  murmur log                    show how the last beats ended
  murmur show                   show what the last one did
  murmur watch                  watch and control everything live"
)]
pub(super) struct Args {
    /// Path to the data folder [default: $MURMUR_DIR, else ~/.murmur]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) data_dir: Option<PathBuf>,
    /// When to use colors: auto, always or never [default: auto]
    #[arg(long, value_name = "WHEN", hide_possible_values = true)]
    pub(super) color: Option<ColorArg>,
    /// Print only errors, warnings and requested output
    #[arg(long, short)]
    pub(super) quiet: bool,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The command line.
pub(super) fn command() -> clap::Command {
    Args::command().mut_subcommands(with_global_options)
}

/// The command line for parsing `typed`. Only the commands that it names have the global options: adding those to each
/// takes a third of the time of a short command.
pub(super) fn command_for(typed: &[OsString]) -> clap::Command {
    let command = Args::command();
    let is_typed = |name: &str| typed.iter().skip(1).any(|word| word == name);
    let typed = command
        .get_subcommands()
        .filter(|below| is_typed(below.get_name()) || below.get_all_aliases().any(is_typed));
    let typed: Vec<String> = typed.map(|below| below.get_name().to_owned()).collect();
    typed.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_global_options))
}

/// Accepts the global options after a command, too.
fn with_global_options(command: clap::Command) -> clap::Command {
    global_args::offered_after(data_dir::offered_after(command))
}

/// The command line with the arguments of all commands, without the command `help`.
pub(super) fn full() -> clap::Command {
    let mut command = command().disable_help_subcommand(true);
    command.build();
    command
}

/// The commands, in the order of `help::GROUPS`. Hidden ones are other names, which scripts and murmur's specifications
/// use. Their arguments are only built when needed, which takes most of the time of a short command: `full` has them
/// all.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum Command {
    Init(Init),
    Add(Add),
    Approve(Approve),
    List(List),
    Beat(Beat),
    Edit(Edit),
    Set(Set),
    Pause(Pause),
    Resume(Resume),
    Remove(Remove),
    Trust(Trust),
    Log(Log),
    Show(ShowBeat),
    Usage(Usage),
    Start(Start),
    Stop(Stop),
    Restart(Restart),
    Status(Status),
    Watch(Watch),
    Limits(Limits),
    Service(Service),
    Agent(Agent),
    Inbox(Inbox),
    Allow(Allow),
    Deny(Deny),
    Answer(AnswerQuestions),
    #[command(hide = true)]
    Permission(Permission),
    #[command(hide = true)]
    Question(Question),
    Rules(Rules),
    Capture(Capture),
    Mcp(Mcp),
    Doctor(Doctor),
    Config(Config),
    Notify(NotifyArgs),
    Setup(Setup),
    Completions(Completions),
    Gc(Gc),
    /// Generate manual pages
    Man {
        /// Output folder, created if missing, such as ~/.local/share/man/man1
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
    Record(Record),
    /// Run a demo with recorded runs of Claude Code
    #[command(after_help = "\
Runs a daemon with three workspaces in a temporary folder, and removes the folder afterward. Works without \
Claude Code.")]
    Demo,
    #[command(hide = true)]
    Workspaces(Workspaces),
    #[command(hide = true)]
    Run(RunEither),
    #[command(hide = true)]
    Sessions(Sessions),
    /// Print the JSON Schema of config.json
    #[command(hide = true)]
    Schema,
    #[command(hide = true)]
    Host(Host),
    #[command(hide = true)]
    Attach(HostAttach),
    #[command(hide = true)]
    Agents(Agents),
    /// Print the names that a shell offers for the last word
    #[command(hide = true)]
    Offer {
        /// Print nothing, and fail unless only a name or an ID fits
        #[arg(long)]
        only_names: bool,
        /// Words of the command line
        #[arg(last = true)]
        words: Vec<String>,
    },
    /// Answer a Claude Code hook event, read from stdin as JSON
    #[command(hide = true)]
    Hook {
        /// Hook event, such as PreToolUse
        event: Option<OsString>,
    },
}

/// Capture the output of commands, and show it
#[derive(Debug, ClapArgs)]
pub(super) struct Capture {
    #[command(subcommand)]
    pub(super) command: CaptureCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum CaptureCommand {
    Run(Run),
    #[command(arg = data_dir::option())]
    List(Sessions),
    #[command(arg = data_dir::option())]
    #[command(mut_arg("id", |id| id.help("Session ID or ID prefix, heartbeat, folder, or last")))]
    Show(ShowCapture),
}

/// Print the output of a captured session
#[derive(Debug, ClapArgs)]
pub(super) struct ShowCapture {
    #[command(flatten)]
    pub(super) show: Show,
    /// Print the bytes that an agent wrote, rather than what it did
    #[arg(long)]
    pub(super) raw: bool,
    /// Print the session's details, or an agent's actions, as JSON
    #[arg(long, conflicts_with_all = ["raw", "tail", "plain", "follow"])]
    pub(super) json: bool,
}

/// Check your installation and configuration
#[derive(Debug, ClapArgs)]
#[command(after_help = "Exits with 1 if a check fails.")]
pub(super) struct Doctor {
    /// Print output as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Generate shell completions
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur completions bash > ~/.local/share/bash-completion/completions/murmur
  murmur completions zsh > ~/.zfunc/_murmur
  murmur completions fish > ~/.config/fish/completions/murmur.fish
  murmur completions bash --as mm      complete the short name mm")]
pub(super) struct Completions {
    /// Shell to generate completions for
    #[arg(value_name = "SHELL")]
    pub(super) shell: Shell,
    /// Program name to complete
    #[arg(long = "as", default_value = "murmur", value_name = "NAME")]
    pub(super) name: ProgramName,
}

/// The names of the binary that have commands to complete.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum ProgramName {
    Murmur,
    Mm,
    Derun,
}

/// Show the usage limits of your accounts
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Shows what agents last reported. \
While an account is on hold because of a limit, the daemon does not start heartbeats that use it.")]
pub(super) struct Limits {
    /// Print output as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Start the daemon
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Where file notifications do not work, the daemon polls for changed files every 10 seconds.")]
pub(super) struct Start {
    /// Run in the foreground and log to stderr
    #[arg(long)]
    pub(super) foreground: bool,
    /// Also poll for changed files at this interval
    #[arg(long, value_name = "INTERVAL", value_parser = tick)]
    pub(super) tick: Option<Duration>,
    /// Report readiness or an error in one line on stdout, then close stdout.
    #[arg(long, hide = true)]
    pub(super) announce: bool,
}

/// Stop the daemon and running beats
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Running beats get 5 seconds to end. Hosted agents keep running. Returns once the daemon has stopped.")]
pub(super) struct Stop {
    /// Leave running beats to the next daemon
    #[arg(long)]
    pub(super) leave_agents: bool,
    /// Kill a daemon that does not answer, leaving its agents running
    #[arg(long)]
    pub(super) force: bool,
}

/// Restart the daemon without stopping agents
#[derive(Debug, ClapArgs)]
pub(super) struct Restart {
    /// Kill a daemon that does not answer
    #[arg(long)]
    pub(super) force: bool,
    /// Also poll for changed files at this interval [default: unchanged]
    #[arg(long, value_name = "INTERVAL", value_parser = tick)]
    pub(super) tick: Option<Duration>,
}

/// Parses a tick, which must not be zero.
fn tick(text: &str) -> Result<Duration, Failure> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => {
            Err(failure!("--tick must be more than 0s"; "write a time span such as 10s or 5m"))
        }
        Ok(tick) => Ok(tick),
        Err(_) => Err(failure!("--tick {text:?} is not a time span"; "write one such as 10s, 5m or 1h30m")),
    }
}

/// Show daemon and heartbeat status
#[derive(Debug, ClapArgs)]
pub(super) struct Status {
    /// Heartbeat to show with its settings, by name or workspace folder [default: all]
    #[arg(value_name = "NAME|PATH", value_hint = ValueHint::DirPath)]
    pub(super) name: Option<String>,
    /// Print output as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Show everything about each heartbeat [default if the output is not a terminal]
    #[arg(long, short, conflicts_with = "json")]
    pub(super) verbose: bool,
    /// Exit with 0 if the daemon answers, otherwise with 1
    #[arg(long)]
    pub(super) check: bool,
}

/// Record an agent's run as a test fixture
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur record hello -- claude -p hi --verbose --output-format stream-json
  murmur record nightly --beat ~/repos/site")]
pub(super) struct Record {
    /// Name of the fixture
    pub(super) name: String,
    /// Folder to save the fixture in [default: fixtures/claude, or fixtures/BACKEND with --beat]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) into: Option<PathBuf>,
    /// Record a beat of this workspace instead of a command
    #[arg(long, value_name = "PATH", conflicts_with = "command", value_hint = ValueHint::DirPath)]
    pub(super) beat: Option<PathBuf>,
    /// Named heartbeat to record, with --beat
    #[arg(long, value_name = "HEARTBEAT", requires = "beat")]
    pub(super) heartbeat: Option<String>,
    /// Command to record
    #[arg(last = true, required_unless_present = "beat", value_hint = ValueHint::CommandWithArguments)]
    pub(super) command: Vec<OsString>,
}
