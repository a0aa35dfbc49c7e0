//! The arguments of the commands for captures, and derun's own command line (the only one on Windows).

use crate::record::State;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueHint};
use std::time::Duration;
use sys::error::Failure;
use sys::failure;

const DERUN_RUN: &str = "\
Ends with the command's exit code or signal, or with 127 if it is not found, 126 if it cannot be run, or 1 if \
its output cannot be written.

Examples:
  derun run -- make test
  derun run --session-id nightly --retention 7d -- ./build.sh
  derun mcp                      serve captured sessions to agents";

const DERUN_MCP: &str = "\
Examples:
  claude mcp add derun -- derun mcp
  derun mcp --print-config       print the entry for other clients";

/// derun's own command line: `murmur capture run` and `murmur mcp` under the name of spec 4.
#[derive(Debug, Parser)]
#[command(
    name = "derun",
    version,
    about = "Run any command unchanged and capture every byte it writes",
    mut_subcommand("run", |run| run.after_help(DERUN_RUN)),
    mut_subcommand("mcp", |mcp| mcp.after_help(DERUN_MCP))
)]
pub struct Derun {
    /// What to do.
    #[command(subcommand)]
    pub command: DerunCommand,
}

/// derun's commands.
#[derive(Debug, Subcommand)]
pub enum DerunCommand {
    #[expect(missing_docs, reason = "its help is that of its arguments")]
    Run(Run),
    #[expect(missing_docs, reason = "its help is that of its arguments")]
    Mcp(Mcp),
    #[cfg(windows)]
    #[expect(missing_docs, reason = "its help is that of its arguments")]
    Sessions(Sessions),
    #[cfg(windows)]
    #[expect(missing_docs, reason = "its help is that of its arguments")]
    Show(Show),
}

/// List captured sessions, newest first
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur capture list                   list the latest sessions
  murmur capture list --state running   list sessions that are still running
  murmur capture list --json | jq .     print the latest sessions as JSON")]
pub struct Sessions {
    /// Maximum number of sessions
    #[arg(short = 'n', value_name = "N", default_value_t = 20)]
    pub count: usize,
    /// Show only sessions in this state
    #[arg(long, value_parser = state())]
    pub state: Option<State>,
    /// Print output as JSON
    #[arg(long)]
    pub json: bool,
}

fn state() -> impl TypedValueParser<Value = State> {
    let known = |word: String| State::ALL.into_iter().find(|state| state.as_str() == word);
    PossibleValuesParser::new(State::ALL.map(State::as_str))
        .try_map(move |word| known(word).ok_or("unknown state"))
}

/// Print the output of a captured session
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Prints a command's output verbatim, so full-screen programs are redrawn. With --plain, prints only text.

Examples:
  murmur capture show build-42                    print all output, in color
  murmur capture show build-42 --tail 20 -f       print the end, and follow
  murmur capture show build-42 --plain > log.txt  save it as plain text")]
pub struct Show {
    /// Session ID
    pub id: String,
    /// Print only the last N lines, and new ones with --follow
    #[arg(long, value_name = "N")]
    pub tail: Option<usize>,
    /// Keep printing new output until the session ends
    #[arg(long, short = 'f')]
    pub follow: bool,
    /// Print plain text, without escape codes or progress updates
    #[arg(long)]
    pub plain: bool,
}

/// Run a command and capture its output
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Ends with the command's exit code or signal, or with 127 if it is not found, 126 if it cannot be run, or 1 if \
its output cannot be written.

Examples:
  murmur capture run -- make test
  murmur capture run --session-id nightly --retention 7d -- ./build.sh
  murmur capture list            list captured commands
  murmur capture show nightly    print the output of one")]
pub struct Run {
    /// Session ID, such as nightly [default: a new ULID]
    #[arg(long, value_name = "ID")]
    pub session_id: Option<String>,
    /// Time to keep the session, such as 90s or 7d [default: 24h]
    #[arg(long, value_name = "DURATION", value_parser = retention)]
    pub retention: Option<Duration>,
    /// Command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<std::ffi::OsString>,
}

/// The longest retention whose expiry is still a valid timestamp.
const MAX_RETENTION: Duration = Duration::from_secs(36_500 * 24 * 60 * 60);

/// Parses a positive number of whole seconds (spec 4, Retention).
fn retention(text: &str) -> Result<Duration, Failure> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => {
            Err(failure!("--retention must be more than 0s"; "write one such as 90s or 7d"))
        }
        Ok(retention) if retention.subsec_nanos() != 0 => {
            Err(failure!("--retention must be whole seconds"; "write one such as 90s or 7d"))
        }
        Ok(retention) if retention > MAX_RETENTION => {
            Err(failure!("--retention must be at most a hundred years"; "write at most 36500d"))
        }
        Ok(retention) => Ok(retention),
        Err(_) => {
            Err(failure!("--retention {text:?} is not a time span"; "write one such as 10s, 5m or 1h30m"))
        }
    }
}

/// Serve captured sessions to AI agents over MCP
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  claude mcp add derun -- murmur mcp    add it to Claude Code as derun
  murmur mcp --print-config             print the entry for other clients")]
pub struct Mcp {
    /// Print the mcpServers entry for this program and exit
    #[arg(long)]
    pub print_config: bool,
}
