//! What can be typed.

use crate::capture::record::State;
use crate::outcome::Kind;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Runs Claude Code on a schedule, unattended, and tells honestly how it went.
#[derive(Debug, Parser)]
#[command(
    name = "murmur",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  murmur demo                      see it work, with nothing installed
  murmur init --interval 30m       make a HEARTBEAT.md here and have it run every 30 minutes
  murmur beat                      run it now
  murmur start                     run all that is due, from now on
  murmur status                    what runs, what came of it, what comes next
  murmur log --follow              what came of every beat, as it comes"
)]
pub(super) struct Args {
    /// Where murmur keeps its files [default: $MURMUR_DIR, else ~/.murmur]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) data_dir: Option<PathBuf>,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Init(Init),
    Workspaces(Workspaces),
    Beat(Beat),
    Start(Start),
    /// Stop the daemon: no new beats, running ones get 5 s to end; returns when it is gone
    Stop,
    Status(Status),
    Log(Log),
    Sessions(Sessions),
    Show(Show),
    Record(Record),
    Run(Run),
    Mcp(Mcp),
    /// Print the JSON Schema of config.json
    Schema,
    /// Show it all at work: a daemon, three workspaces, three outcomes; needs nothing, leaves nothing
    Demo,
    #[command(hide = true)]
    Host(Host),
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
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// Make a named heartbeat, heartbeats/NAME/HEARTBEAT.md
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Run every so often: a number and a unit of s, m, h or d, as 30m or 1h30m
    #[arg(long, value_name = "INTERVAL", conflicts_with = "cron")]
    pub(super) interval: Option<String>,
    /// Run at these times: five cron fields
    #[arg(long, value_name = "CRON")]
    pub(super) cron: Option<String>,
    /// The time zone of --cron, as Europe/Berlin
    #[arg(long, requires = "cron")]
    pub(super) tz: Option<String>,
    /// What to write [possible values: default, tests, issues, deploy, or a file of yours]
    #[arg(long, default_value = "default")]
    pub(super) template: String,
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
        #[arg(default_value = ".")]
        path: PathBuf,
        /// Run every so often [default: 30m, unless --cron or HEARTBEAT.md's frontmatter says]
        #[arg(long, value_name = "INTERVAL", conflicts_with = "cron")]
        interval: Option<String>,
        /// Run at these times: five cron fields
        #[arg(long, value_name = "CRON")]
        cron: Option<String>,
        /// The time zone of --cron
        #[arg(long, requires = "cron")]
        tz: Option<String>,
    },
    /// Forget a workspace; its files stay
    Remove {
        /// The workspace
        #[arg(default_value = ".")]
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
    #[arg(default_value = ".")]
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

/// A tick of no length would never end.
fn tick(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("must be more than 0s".to_owned()),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}

/// Say who runs, and how every heartbeat is
#[derive(Debug, ClapArgs)]
pub(super) struct Status {
    /// One JSON object on stdout
    #[arg(long)]
    pub(super) json: bool,
}

/// Show the journal
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur log -n 5                        the last five beats
  murmur log --outcome error --since 1d  what went wrong today
  murmur log --follow --json | jq .      every beat as it ends, for a program")]
pub(super) struct Log {
    /// The most beats to show
    #[arg(short = 'n', value_name = "N", default_value_t = 20)]
    pub(super) count: usize,
    /// Go on and show beats as they end
    #[arg(long, short = 'f')]
    pub(super) follow: bool,
    /// Only this workspace
    #[arg(long, value_name = "PATH")]
    pub(super) workspace: Option<PathBuf>,
    /// Only this outcome
    #[arg(long)]
    pub(super) outcome: Option<OutcomeArg>,
    /// Only beats that ended in this span of time, as 2h
    #[arg(long, value_name = "INTERVAL", value_parser = humantime::parse_duration)]
    pub(super) since: Option<Duration>,
    /// The journal's own lines
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum OutcomeArg {
    Ok,
    Attention,
    Error,
}

impl From<OutcomeArg> for Kind {
    fn from(outcome: OutcomeArg) -> Self {
        match outcome {
            OutcomeArg::Ok => Self::Ok,
            OutcomeArg::Attention => Self::Attention,
            OutcomeArg::Error => Self::Error,
        }
    }
}

/// List captured sessions, the newest first
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur sessions                   what was captured lately
  murmur sessions --state running   what is being captured now
  murmur sessions --json | jq .     the same for a program")]
pub(super) struct Sessions {
    /// The most sessions to show
    #[arg(short = 'n', value_name = "N", default_value_t = 20)]
    pub(super) count: usize,
    /// Only sessions in this state
    #[arg(long, value_parser = state())]
    pub(super) state: Option<State>,
    /// One JSON object on stdout
    #[arg(long)]
    pub(super) json: bool,
}

fn state() -> impl TypedValueParser<Value = State> {
    let known = |word: String| State::ALL.into_iter().find(|state| state.as_str() == word);
    PossibleValuesParser::new(State::ALL.map(State::as_str))
        .try_map(move |word| known(word).ok_or("no state"))
}

/// Write what a session wrote, to the byte
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
On a terminal, the output of a full-screen program draws again; --plain shows its text.

Examples:
  murmur show build-42                    all of it, in its colours
  murmur show build-42 --tail 20 -f       the last lines, and what comes
  murmur show build-42 --plain > log.txt  text without escape codes")]
pub(super) struct Show {
    /// The session's id, in full
    pub(super) id: String,
    /// Only the last N lines, and with --follow what comes
    #[arg(long, value_name = "N")]
    pub(super) tail: Option<usize>,
    /// Go on as bytes come, until the session ends
    #[arg(long, short = 'f')]
    pub(super) follow: bool,
    /// Plain text: no escape codes, progress bars in their last state
    #[arg(long)]
    pub(super) plain: bool,
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
    #[arg(long, value_name = "DIR", default_value = "fixtures/claude")]
    pub(super) into: PathBuf,
    /// Record a beat of this workspace
    #[arg(long, value_name = "PATH", conflicts_with = "command")]
    pub(super) beat: Option<PathBuf>,
    /// With --beat: the named heartbeat
    #[arg(long, value_name = "HEARTBEAT", requires = "beat")]
    pub(super) heartbeat: Option<String>,
    /// The command to record
    #[arg(last = true, required_unless_present = "beat")]
    pub(super) command: Vec<std::ffi::OsString>,
}

/// Run any command as it is, and keep every byte it writes
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Ends as the command does: with its exit code, or by its signal; 127 if it is not found, 126 if it cannot be run.

Examples:
  murmur run -- make test
  murmur run --session-id nightly --retention 7d -- ./build.sh
  murmur sessions                what was run, and how it ended
  murmur show nightly            what it wrote")]
pub(super) struct Run {
    /// The session's id: letters, digits, '-', '_' and '.' [default: a new ULID]
    #[arg(long, value_name = "ID")]
    pub(super) session_id: Option<String>,
    /// How long the session is kept after its end, in whole seconds, as 90s, 12h or 7d [default: 24h]
    #[arg(long, value_name = "DURATION", value_parser = retention)]
    pub(super) retention: Option<Duration>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<std::ffi::OsString>,
}

/// Beyond this, times that sessions expire at would not be times any more.
const LONGEST_RETENTION: Duration = Duration::from_secs(36_500 * 24 * 60 * 60);

/// A positive number of whole seconds (spec 4, Retention).
fn retention(text: &str) -> Result<Duration, String> {
    let retention = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if retention.is_zero() {
        return Err("must be more than 0s".to_owned());
    }
    if retention.subsec_nanos() != 0 {
        return Err("must be whole seconds".to_owned());
    }
    if retention > LONGEST_RETENTION {
        return Err("must be at most 36500d, a hundred years".to_owned());
    }
    Ok(retention)
}

const DERUN_RUN: &str = "\
Ends as the command does: with its exit code, or by its signal; 127 if it is not found, 126 if it cannot be run.

Examples:
  derun run -- make test
  derun run --session-id nightly --retention 7d -- ./build.sh
  derun mcp                      what was run, and what it wrote, for agents";

const DERUN_MCP: &str = "\
Examples:
  claude mcp add derun -- derun mcp
  derun mcp --print-config       the entry for other clients";

/// derun's own command line: `murmur run` and `murmur mcp` under the name of spec 4.
#[derive(Debug, Parser)]
#[command(
    name = "derun",
    version,
    about = "Runs any command faithfully, and keeps every byte it writes",
    mut_subcommand("run", |run| run.after_help(DERUN_RUN)),
    mut_subcommand("mcp", |mcp| mcp.after_help(DERUN_MCP))
)]
pub(super) struct Derun {
    #[command(subcommand)]
    pub(super) command: DerunCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum DerunCommand {
    Run(Run),
    Mcp(Mcp),
}

/// Let AI agents read captured sessions: an MCP server on stdin and stdout
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  claude mcp add derun -- murmur mcp    have Claude Code start it
  murmur mcp --print-config             the entry for the configuration of other clients")]
pub(super) struct Mcp {
    /// Print the mcpServers entry that starts this program, and serve nothing
    #[arg(long)]
    pub(super) print_config: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Host {
    #[command(subcommand)]
    pub(super) command: HostCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum HostCommand {
    /// Run the one beat whose job comes on stdin.
    Beat,
}
