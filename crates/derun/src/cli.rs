//! derun's command line, with one file per command. murmur has the same commands, and more.

pub mod args;
pub mod captures;
pub mod complaint;
pub mod fitted;
pub mod json;
pub mod mcp;
#[cfg(unix)]
pub mod pager;
pub mod run;
#[cfg(unix)]
pub mod screen;
pub mod sessions;
pub mod show;
pub mod span;
pub mod stdout;
pub mod style;
pub mod usage;
pub mod wrapped;

use args::{Derun, DerunCommand};
use clap::{CommandFactory, Parser};
use complaint::complain;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

/// Runs derun with these arguments, the program's name first.
///
/// Exit codes: 0 success, 1 failure, 2 usage error; `derun run` exits like its command.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    #[cfg(unix)]
    sys::signals::survive_file_size_limit();
    let args: Vec<OsString> = args.into_iter().collect();
    let outcome = match Derun::try_parse_from(&args) {
        Ok(args) => dispatch(args),
        Err(error) => match usage::describe(&error, &Derun::command(), &args, complaint::hint) {
            Some(wrong) => {
                complaint::show(&wrong);
                return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
            }
            None => return printed(&error),
        },
    };
    ended(outcome.and_then(|code| Ok(stdout::finish().map(|()| code)?)), complain)
}

/// Runs a parsed command.
pub fn dispatch(args: Derun) -> anyhow::Result<ExitCode> {
    match args.command {
        DerunCommand::Run(args) => run::run(&args),
        DerunCommand::Mcp(args) => mcp::run(&args),
        #[cfg(windows)]
        DerunCommand::Sessions(args) => sessions::run(&args),
        #[cfg(windows)]
        DerunCommand::Show(args) => show::run(&args),
    }
}

/// Prints the help or version that clap returned as an error.
#[must_use]
pub fn printed(error: &clap::Error) -> ExitCode {
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    let printed =
        error.print().map_err(|failed| if error.use_stderr() { failed } else { stdout::named(failed) });
    ended(printed.map(|()| code).map_err(Into::into), complain)
}

/// Returns the exit code, after `complain` showed the error. A closed pipe is not an error: its reader may exit at
/// any time.
pub fn ended(outcome: anyhow::Result<ExitCode>, complain: impl FnOnce(&anyhow::Error)) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// Whether the reader of our output has closed it.
#[must_use]
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// A single-threaded runtime, for commands that wait for something.
pub fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
