//! `shell-guard check` prints the guard's finding on a command.

use shell_guard::call::{CallPlace, ProtectedPaths};
use shell_guard::guard::{Finding, inspect};
use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
Check whether a shell command would do catastrophic damage. Nothing is run.

Usage: shell-guard check [--cwd DIR] [--home DIR] COMMAND

  --cwd DIR   Check COMMAND as if run in this folder [default: the current one]
  --home DIR  What ~ and $HOME mean in COMMAND [default: $HOME]

Exit codes: 0 allowed, 1 refused, 2 wrong usage, 3 in doubt, 4 refused unless a rule allows it
";

fn main() -> ExitCode {
    let done = match parse(std::env::args().skip(1)) {
        Ok(None) => write!(io::stdout(), "{USAGE}").map(|()| ExitCode::SUCCESS),
        Ok(Some((command, place))) => say(&inspect(&command, &place)),
        Err(problem) => complain(&problem).map(|()| ExitCode::from(2)),
    };
    done.unwrap_or(ExitCode::FAILURE)
}

/// Prints `problem` with its cause, and where to find help.
fn complain(problem: &UsageError) -> io::Result<()> {
    let cause = problem.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    writeln!(io::stderr(), "error: {problem}{cause}\nhint: run: shell-guard --help")
}

/// Wrong usage.
#[derive(Debug, thiserror::Error)]
enum UsageError {
    #[error("unknown command: {0}")]
    UnknownCommand(String),
    #[error("a command is missing")]
    NoCommand,
    #[error("{0} needs a folder")]
    NoFolder(String),
    #[error("{option} must be an absolute path: {}", .path.display())]
    Relative { option: String, path: PathBuf },
    #[error("more than one COMMAND; quote it as one argument")]
    Several,
    #[error("COMMAND is missing")]
    Nothing,
    #[error("cannot determine the current folder")]
    NoCwd(#[source] io::Error),
    #[error("cannot determine the home folder; use --home")]
    NoHome,
}

/// Returns the command and where it would run, or `None` if help is requested.
fn parse(mut args: impl Iterator<Item = String>) -> Result<Option<(String, CallPlace)>, UsageError> {
    match args.next().as_deref() {
        Some("check") => {}
        Some("--help" | "-h" | "help") => return Ok(None),
        Some(other) => return Err(UsageError::UnknownCommand(other.to_owned())),
        None => return Err(UsageError::NoCommand),
    }
    let (mut cwd, mut home, mut command) = (None, None, None);
    while let Some(arg) = args.next() {
        match &*arg {
            "--help" | "-h" => return Ok(None),
            "--cwd" | "--home" => {
                let path = args.next().map(PathBuf::from).ok_or_else(|| UsageError::NoFolder(arg.clone()))?;
                let wanted = if arg == "--cwd" { &mut cwd } else { &mut home };
                if !path.is_absolute() {
                    return Err(UsageError::Relative { option: arg, path });
                }
                *wanted = Some(path);
            }
            _ if command.is_some() => return Err(UsageError::Several),
            _ => command = Some(arg),
        }
    }
    let command = command.ok_or(UsageError::Nothing)?;
    let cwd = match cwd {
        Some(cwd) => cwd,
        None => std::env::current_dir().map_err(UsageError::NoCwd)?,
    };
    let home = home.or_else(std::env::home_dir).ok_or(UsageError::NoHome)?;
    Ok(Some((command, CallPlace { workspace: cwd.clone(), cwd, home, own: ProtectedPaths::default() })))
}

fn say(finding: &Finding) -> io::Result<ExitCode> {
    let mut out = io::stdout();
    Ok(match finding {
        Finding::Clear => {
            writeln!(out, "clear")?;
            ExitCode::SUCCESS
        }
        Finding::Refused { entry, why } => {
            writeln!(out, "refused ({entry}): {why}")?;
            ExitCode::from(1)
        }
        Finding::Doubt { why } => {
            writeln!(out, "in doubt: {why}")?;
            ExitCode::from(3)
        }
        Finding::Controlled { entry, why } => {
            writeln!(out, "refused unless a rule allows it ({entry}): {why}")?;
            ExitCode::from(4)
        }
    })
}
