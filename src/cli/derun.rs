//! What can be typed of the captures, and derun's own command line, which is all there is on Windows.

use crate::capture::record::State;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueHint};
use std::time::Duration;

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
    #[cfg(windows)]
    Sessions(Sessions),
    #[cfg(windows)]
    Show(Show),
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
    #[arg(last = true, required = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
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
