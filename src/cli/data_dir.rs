//! `--data-dir`, which may come before or after a command that uses the data folder.

use super::args::{self, Args, Capture, CaptureCommand, Command as Chosen};
use super::{global_args, help};
use clap::error::ErrorKind;
use clap::{Arg, Command, FromArgMatches, ValueHint, value_parser};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use sys::error::Failure;
use sys::shell;

/// The place of an option in help: below those of the command, which are built later.
const LAST: usize = 998;

/// The commands that do not take the option.
const WITHOUT: [&str; 5] = ["mcp", "schema", "completions", "man", "demo"];

/// Accepts the option after a command and its subcommands. Those of `capture` differ: they have it themselves.
pub(super) fn offered_after(command: Command) -> Command {
    if command.get_name() == "capture" || WITHOUT.contains(&command.get_name()) {
        return command;
    }
    command.arg(option().global(true))
}

/// The option, for one command.
pub(super) fn option() -> Arg {
    let option = Arg::new("data_dir").long("data-dir").value_name("DIR").value_hint(ValueHint::DirPath);
    let help = "Path to the data folder [default: $MURMUR_DIR, else ~/.murmur]";
    option.value_parser(value_parser!(PathBuf)).help(help).display_order(LAST)
}

/// The command in `args`, quoted, if the option has no effect on it.
fn without(name: &str, args: &Args) -> Option<String> {
    match &args.command {
        Chosen::Capture(Capture { command: CaptureCommand::Run(_) }) => {
            Some("\"murmur capture run\"".to_owned())
        }
        Chosen::Record(record) if record.beat.is_none() => {
            Some("\"murmur record\" without --beat".to_owned())
        }
        _ => WITHOUT.contains(&name).then(|| format!("\"murmur {name}\"")),
    }
}

/// Adds the option to the command that the hint of `failure` says to run, which would use another data folder without
/// it.
pub(super) fn repeated(failure: Failure, dir: &Path) -> Failure {
    let command = failure.to_do().and_then(|hint| hint.strip_prefix("run: murmur "));
    let Some(command) =
        command.filter(|command| !WITHOUT.contains(&command.split([' ', ',']).next().unwrap_or_default()))
    else {
        return failure;
    };
    let hint = format!("run: murmur --data-dir {} {command}", shell::path(dir));
    failure.hint(hint)
}

/// Parses the command line. Of two data folders, the last one counts.
pub(super) fn parsed(typed: Vec<OsString>) -> Result<Args, clap::Error> {
    let mut matches = match args::command_for(&typed).try_get_matches_from(&typed) {
        Err(error) if help::is_shown(&error) => help::with_headings(&typed).try_get_matches_from(&typed)?,
        matches => matches?,
    };
    let mut args = Args::from_arg_matches(&matches)?;
    global_args::apply(&typed, &matches, args.quiet, &args.command);
    let Some((name, mut below)) = matches.remove_subcommand() else { return Ok(args) };
    loop {
        if let Ok(Some(nearer)) = below.try_get_one::<PathBuf>("data_dir") {
            args.data_dir = Some(nearer.clone());
        }
        let Some((_, next)) = below.remove_subcommand() else { break };
        below = next;
    }
    if let Some(command) = without(&name, &args).filter(|_| args.data_dir.is_some()) {
        let problem = format!("--data-dir has no effect on {command}");
        return Err(args::command().error(ErrorKind::ArgumentConflict, problem));
    }
    Ok(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_repeats_the_data_dir_option() {
        let hint = |hint: &str| {
            let failure = repeated(Failure::new("no").hint(hint), Path::new("/my data"));
            failure.to_do().unwrap().to_owned()
        };
        assert_eq!(hint("run: murmur start"), "run: murmur --data-dir '/my data' start");
        assert_eq!(
            hint("run: murmur restart; agents keep running"),
            "run: murmur --data-dir '/my data' restart; agents keep running"
        );
        assert_eq!(hint("run: murmur mcp, and look"), "run: murmur mcp, and look");
        assert_eq!(hint("make room on that disk"), "make room on that disk");
        assert_eq!(repeated(Failure::new("no"), Path::new("/data")), Failure::new("no"));
    }
}
