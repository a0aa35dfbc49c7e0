//! `--data-dir`: it stands before a command or after it, unless it would have no effect there.

use super::args::Args;
use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory, FromArgMatches, ValueHint, value_parser};
use std::ffi::OsString;
use std::path::PathBuf;

/// The commands that have nothing to do with the data folder.
const WITHOUT: [&str; 9] =
    ["sessions", "show", "record", "run", "mcp", "schema", "completions", "man", "demo"];

/// Lets the option stand after a command, and after those below it.
pub(super) fn offered_after(command: Command) -> Command {
    if WITHOUT.contains(&command.get_name()) {
        return command;
    }
    let option = Arg::new("data_dir").long("data-dir").value_name("DIR").value_hint(ValueHint::DirPath);
    let help = "Where murmur keeps its files [default: $MURMUR_DIR, else ~/.murmur]";
    command.arg(option.value_parser(value_parser!(PathBuf)).help(help).global(true))
}

/// What was typed. Of two data folders, the one that stands nearer to the command's end counts.
///
/// # Errors
/// What is wrong with it, for example that the option stands before a command on which it has no effect.
pub(super) fn parsed(typed: Vec<OsString>) -> Result<Args, clap::Error> {
    let mut matches = Args::command().try_get_matches_from(typed)?;
    let mut args = Args::from_arg_matches(&matches)?;
    let Some((name, below)) = matches.remove_subcommand() else { return Ok(args) };
    if args.data_dir.is_some() && WITHOUT.contains(&&name[..]) {
        let problem = format!("--data-dir has no effect on 'murmur {name}'");
        return Err(Args::command().error(ErrorKind::ArgumentConflict, problem));
    }
    if let Ok(Some(nearer)) = below.try_get_one::<PathBuf>("data_dir") {
        args.data_dir = Some(nearer.clone());
    }
    Ok(args)
}
