//! `--data-dir`, which may come before or after a command that uses the data folder.

use super::args::{self, Args};
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
const WITHOUT: [&str; 8] = ["capture", "sessions", "record", "mcp", "schema", "completions", "man", "demo"];

/// Accepts the option after a command and its subcommands.
pub(super) fn offered_after(command: Command) -> Command {
    if WITHOUT.contains(&command.get_name()) {
        return command;
    }
    let option = Arg::new("data_dir").long("data-dir").value_name("DIR").value_hint(ValueHint::DirPath);
    let help = "Path to the data folder [default: $MURMUR_DIR, else ~/.murmur]";
    command.arg(option.value_parser(value_parser!(PathBuf)).help(help).global(true).display_order(LAST))
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
    let Some((name, below)) = matches.remove_subcommand() else { return Ok(args) };
    if args.data_dir.is_some() && WITHOUT.contains(&&name[..]) {
        let problem = format!("--data-dir has no effect on \"murmur {name}\"");
        return Err(args::command().error(ErrorKind::ArgumentConflict, problem));
    }
    if let Ok(Some(nearer)) = below.try_get_one::<PathBuf>("data_dir") {
        args.data_dir = Some(nearer.clone());
    }
    Ok(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_repeats_the_data_dir_option() {
        let hint = |hint: &str| {
            let told = repeated(Failure::new("no").hint(hint), Path::new("/my data"));
            told.to_do().unwrap().to_owned()
        };
        assert_eq!(hint("run: murmur start"), "run: murmur --data-dir '/my data' start");
        assert_eq!(
            hint("run: murmur restart; agents keep running"),
            "run: murmur --data-dir '/my data' restart; agents keep running"
        );
        assert_eq!(hint("run: murmur capture list, and look"), "run: murmur capture list, and look");
        assert_eq!(hint("make room on that disk"), "make room on that disk");
        assert_eq!(repeated(Failure::new("no"), Path::new("/data")), Failure::new("no"));
    }
}
