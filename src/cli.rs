//! The command line, with one file per command. Only these files know clap.

mod agent;
mod agents;
mod agents_args;
mod args;
mod beat;
#[cfg(test)]
mod book;
mod called;
mod capture;
mod complaint;
mod completions;
mod config;
mod config_args;
mod daemon_end;
mod data_dir;
mod demo;
mod doctor;
mod edit;
mod gc;
mod gc_args;
mod global_args;
mod heartbeat_args;
mod heartbeat_name;
mod help;
mod host;
mod host_args;
mod inbox;
mod inbox_args;
mod init;
mod lacks;
mod limits;
mod log;
mod log_args;
mod man;
mod notify;
mod notify_args;
mod offer;
mod pause;
mod pause_args;
mod people_only;
mod permission;
mod permission_args;
mod pieces;
mod raw_input;
mod record;
mod reported;
mod requests;
mod restart;
mod schema;
mod service;
mod service_args;
mod set;
mod setup;
mod setup_args;
mod show;
mod show_args;
mod start;
mod status;
mod stop;
mod style;
mod terminal_signals;
mod trust;
mod trust_args;
mod usage;
mod usage_args;
mod usage_error;
mod user_env;
mod verbose;
mod waits;
mod watch;
mod workspaces;

use args::{Args, Command, Host, HostCommand, RunEither};
use clap::{CommandFactory, Parser};
use complaint::{complain, describe};
use derun::cli::args::Derun;
use derun::cli::{ended, is_closed_pipe, mcp, runtime, stdout};
use host_args::HostProgram;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs murmur with these arguments, the program's name first, and returns its exit code.
///
/// Exit codes: 0 success, 1 failure, 2 usage error; `capture run` and `record` exit like their command.
///
/// As process 1 of a container, this process becomes `sys::init` and a child does the rest.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    sys::signals::survive_file_size_limit();
    #[cfg(target_os = "linux")]
    match sys::init::stay_behind() {
        Ok(None) => {}
        Ok(Some(code)) => return sys::exit::code(code),
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
        Err(wanted) if !wanted.use_stderr() => return help::print(&wanted, &args),
        Err(error) => {
            match usage_error::describe(&error, &root(&args), &args) {
                Some(wrong) => complaint::show(&wrong),
                None => return help::print(&error, &args),
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    ended(outcome.and_then(|code| Ok(stdout::finish().map(|()| code)?)), complain)
}

/// The clap command of the program that was called.
fn root(args: &[OsString]) -> clap::Command {
    match std::path::Path::new(&args[0]).file_name().and_then(std::ffi::OsStr::to_str) {
        Some("murmur-host") => HostProgram::command(),
        Some("derun") => Derun::command(),
        _ => args::full(),
    }
}

/// Parses `args` and runs their command. The outer error is a usage error.
fn parsed(args: Vec<OsString>) -> Result<anyhow::Result<ExitCode>, clap::Error> {
    // Packages link the binary under other names. In the demo, a link named `claude` is the agent.
    let name = std::path::Path::new(&args[0]).file_name().unwrap_or_default().to_owned();
    if name == "claude" {
        Ok(Ok(demo::replay()))
    } else if name == "murmur-host" {
        // Like `murmur host serve`, with its own name and version.
        let HostProgram { data_dir, serve } = HostProgram::try_parse_from(args)?;
        let command = Command::Host(Host { command: HostCommand::Serve(serve) });
        Ok(dispatch(Args { data_dir, color: None, quiet: false, command }))
    } else if name == "murmur-hook" {
        Ok(Ok(murmur_hook::run(args.get(1).map(OsString::as_os_str))))
    } else if name == "derun" {
        Derun::try_parse_from(args).map(derun::cli::dispatch)
    } else {
        data_dir::parsed(args).map(dispatch)
    }
}

fn dispatch(args: Args) -> anyhow::Result<ExitCode> {
    let named = args.data_dir.clone();
    match (named, carry_out(args)) {
        (Some(dir), Err(error)) if !is_closed_pipe(&error) => {
            Err(data_dir::repeated(describe(&error), &dir).into())
        }
        (_, outcome) => outcome,
    }
}

fn carry_out(args: Args) -> anyhow::Result<ExitCode> {
    let env = user_env::UserEnv::new(args.data_dir);
    people_only::check(&args.command)?;
    match args.command {
        Command::Init(args) => init::run(&args, &env),
        Command::Add(args) => workspaces::add(&args, &env),
        Command::Approve(args) => workspaces::approve(&args, &env),
        Command::List(args) => workspaces::list(&args, &env),
        Command::Remove(args) => workspaces::remove(&args, &env),
        Command::Workspaces(args) => workspaces::run(&args, &env),
        Command::Trust(args) => trust::run(&args, &env),
        Command::Beat(args) => beat::run(&args, &env),
        Command::Edit(args) => edit::run(&args, &env),
        Command::Set(args) => set::run(&args, &env),
        Command::Start(args) => start::run(&args, &env),
        Command::Stop(args) => stop::run(&args, &env),
        Command::Restart(args) => restart::run(&args, &env),
        Command::Status(args) => status::run(&args, &env),
        Command::Limits(args) => limits::run(&args, &env),
        Command::Usage(args) => usage::run(&args, &env),
        Command::Log(args) => log::run(&args, &env),
        Command::Capture(args) => capture::run(&args, &env),
        Command::Sessions(args) => capture::list(&args, &env),
        Command::Show(args) => show::run(&args, &env),
        Command::Record(args) => record::run(&args, &env),
        Command::Run(RunEither { beat, capture }) if capture.command.is_empty() => beat::run(&beat, &env),
        Command::Run(RunEither { capture, .. }) => capture::run_short(&capture),
        Command::Mcp(args) => mcp::run(&args),
        Command::Notify(args) => notify::run(&args, &env),
        Command::Doctor(args) => doctor::run(&args, &env),
        Command::Gc(args) => gc::run(&args, &env),
        Command::Service(args) => service::run(&args, &env),
        Command::Schema => schema::run(config_args::ConfigFile::Json),
        Command::Completions(args) => completions::run(&args),
        Command::Watch(args) => watch::run(&args, &env),
        Command::Man { folder } => man::run(&folder),
        Command::Demo => demo::run(&env),
        Command::Config(args) => config::run(&args.command, &env),
        Command::Inbox(args) => inbox::run(&args, &env),
        Command::Allow(args) => inbox::allow(&args, &env),
        Command::Deny(args) => inbox::deny(&args, &env),
        Command::Answer(args) => inbox::answer(&args, &env),
        Command::Permission(args) => permission::run(&args, &env),
        Command::Rules(args) => permission::rules(&args, &env),
        Command::Question(args) => permission::question(&args, &env),
        Command::Offer { only_names: true, words } => Ok(offer::only_names(&words)),
        Command::Offer { only_names: false, words } => offer::run(&words, &env),
        Command::Hook { event } => Ok(murmur_hook::run(event.as_deref())),
        Command::Setup(args) => setup::run(&args, &env),
        Command::Host(args) => host::run(&args, &env),
        Command::Attach(args) => host::attach(&args, &env),
        Command::Agents(args) => agents::run(&args, &env),
        Command::Agent(args) => agent::run(&args, &env),
        Command::Pause(args) => pause::run(&args, &env),
        Command::Resume(args) => pause::resume(&args, &env),
    }
}
