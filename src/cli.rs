//! The command line: one small file a command. Arguments are parsed here and known nowhere below.

#[cfg(unix)]
mod agent;
#[cfg(unix)]
mod agents;
#[cfg(unix)]
mod agents_args;
#[cfg(unix)]
mod args;
#[cfg(unix)]
mod beat;
#[cfg(test)]
#[cfg(unix)]
mod book;
mod captures;
mod complaint;
#[cfg(unix)]
mod completions;
#[cfg(unix)]
mod data_dir;
#[cfg(unix)]
mod demo;
mod derun;
#[cfg(unix)]
mod doctor;
#[cfg(unix)]
mod for_people;
#[cfg(unix)]
mod host;
#[cfg(unix)]
mod host_args;
#[cfg(unix)]
mod init;
#[cfg(unix)]
mod log;
#[cfg(unix)]
mod man;
mod mcp;
#[cfg(unix)]
mod permission;
#[cfg(unix)]
mod permission_args;
#[cfg(unix)]
mod place;
#[cfg(unix)]
mod record;
#[cfg(unix)]
mod reported;
#[cfg(unix)]
mod requests;
#[cfg(unix)]
mod restart;
mod run;
#[cfg(unix)]
mod schema;
#[cfg(unix)]
mod screen;
#[cfg(unix)]
mod service;
mod sessions;
#[cfg(unix)]
mod setup;
#[cfg(unix)]
mod setup_args;
mod show;
mod span;
#[cfg(unix)]
mod start;
#[cfg(unix)]
mod status;
#[cfg(unix)]
mod stop;
mod style;
#[cfg(unix)]
mod trust;
#[cfg(unix)]
mod trust_args;
mod usage;
#[cfg(unix)]
mod verbose;
#[cfg(unix)]
mod workspaces;

#[cfg(unix)]
use args::{Args, Command, Host, HostCommand};
use clap::{CommandFactory, Parser};
use complaint::{complain, told};
use derun::{Derun, DerunCommand};
#[cfg(unix)]
use host_args::HostProgram;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

/// Runs murmur with these arguments, the program's name first, and says how it ended.
///
/// Exit codes: 0 done, 1 it failed, 2 usage.
///
/// As process 1 of a container it leaves that to `sys::init`, and does all of this in a child.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    #[cfg(unix)]
    crate::sys::signals::survive_file_size_limit();
    #[cfg(target_os = "linux")]
    match crate::sys::init::stay_behind() {
        Ok(None) => {}
        Ok(Some(code)) => return crate::sys::exit::code(code),
        Err(error) => {
            complain(&anyhow::Error::new(error).context("cannot start a process"));
            return ExitCode::FAILURE;
        }
    }
    let mut args: Vec<OsString> = args.into_iter().collect();
    if args.is_empty() {
        args.push("murmur".into());
    }
    let outcome = match parsed(args.clone()) {
        Ok(outcome) => outcome,
        Err(error) => {
            match usage::told(&error, &root(&args), &args) {
                Some(wrong) => complaint::show(&wrong),
                None => drop(error.print()),
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match outcome {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// The command of the program that was called.
#[cfg(unix)]
fn root(args: &[OsString]) -> clap::Command {
    match std::path::Path::new(&args[0]).file_name().and_then(std::ffi::OsStr::to_str) {
        Some("murmur-host") => HostProgram::command(),
        Some("derun") => Derun::command(),
        _ => Args::command(),
    }
}

#[cfg(windows)]
fn root(_: &[OsString]) -> clap::Command {
    Derun::command()
}

/// Runs the command that `args` name, or says why they name none.
#[cfg(unix)]
fn parsed(args: Vec<OsString>) -> Result<anyhow::Result<ExitCode>, clap::Error> {
    // Packages link the binary under other names; a link called `claude` is the demo's agent.
    let name = std::path::Path::new(&args[0]).file_name().unwrap_or_default().to_owned();
    if name == "claude" {
        Ok(Ok(demo::replay()))
    } else if name == "murmur-host" {
        // The same as `murmur host serve`, with a name and a version of its own.
        let HostProgram { data_dir, serve } = HostProgram::try_parse_from(args)?;
        let command = Command::Host(Host { command: HostCommand::Serve(serve) });
        Ok(dispatch(Args { data_dir, command }))
    } else if name == "murmur-hook" {
        Ok(Ok(crate::hook::run(args.get(1).map(OsString::as_os_str))))
    } else if name == "derun" {
        Derun::try_parse_from(args).map(dispatch_derun)
    } else {
        data_dir::parsed(args).map(dispatch)
    }
}

/// The same where there is only derun, whatever the binary is called.
#[cfg(windows)]
fn parsed(args: Vec<OsString>) -> Result<anyhow::Result<ExitCode>, clap::Error> {
    Derun::try_parse_from(args).map(dispatch_derun)
}

fn dispatch_derun(args: Derun) -> anyhow::Result<ExitCode> {
    match args.command {
        DerunCommand::Run(args) => run::run(&args),
        DerunCommand::Mcp(args) => mcp::run(&args),
        #[cfg(windows)]
        DerunCommand::Sessions(args) => sessions::run(&args),
        #[cfg(windows)]
        DerunCommand::Show(args) => show::run(&args),
    }
}

#[cfg(unix)]
fn dispatch(args: Args) -> anyhow::Result<ExitCode> {
    let named = args.data_dir.clone();
    match (named, carry_out(args)) {
        (Some(dir), Err(error)) if !is_closed_pipe(&error) => {
            Err(data_dir::repeated(told(&error), &dir).into())
        }
        (_, outcome) => outcome,
    }
}

#[cfg(unix)]
fn carry_out(args: Args) -> anyhow::Result<ExitCode> {
    let place = place::Place::new(args.data_dir);
    for_people::check(&args.command)?;
    match args.command {
        Command::Init(args) => init::run(&args, &place),
        Command::Workspaces(args) => workspaces::run(&args, &place),
        Command::Trust(args) => trust::run(&args, &place),
        Command::Beat(args) => beat::run(&args, &place),
        Command::Start(args) => start::run(&args, &place),
        Command::Stop(args) => stop::run(&args, &place),
        Command::Restart(args) => restart::run(&args, &place),
        Command::Status(args) => status::run(&args, &place),
        Command::Log(args) => log::run(&args, &place),
        Command::Sessions(args) => sessions::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Record(args) => record::run(&args, &place),
        Command::Run(args) => run::run(&args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Doctor(args) => doctor::run(&args, &place),
        Command::Service(args) => service::run(&args, &place),
        Command::Schema => schema::run(),
        Command::Completions(args) => completions::run(&args),
        Command::Man { folder } => man::run(&folder),
        Command::Demo => demo::run(&place),
        Command::Permission(args) => permission::run(&args, &place),
        Command::Question(args) => permission::question(&args, &place),
        Command::Hook { event } => Ok(crate::hook::run(event.as_deref())),
        Command::Setup(args) => setup::run(&args, &place),
        Command::Host(args) => host::run(&args, &place),
        Command::Attach(args) => host::attach(&args, &place),
        Command::Agents(args) => agents::run(&args, &place),
        Command::Agent(args) => agent::run(&args, &place),
    }
}

/// Whether the reader of our output has gone, which is its right.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The runtime of commands that wait for something: one thread, no more.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
