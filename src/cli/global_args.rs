//! `--color` and `--quiet`, which may come before or after any command.

use super::agents_args::AgentCommand;
use super::args::{Command as Chosen, HostCommand, ServiceCommand};
use super::setup_args::SetupCommand;
use clap::builder::EnumValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueEnum};
use derun::cli::stdout::{Dropped, be_quiet};
use derun::cli::style::{When, set_color};
use std::ffi::OsString;

/// When to use colors.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum ColorArg {
    Auto,
    Always,
    Never,
}

impl From<ColorArg> for When {
    fn from(when: ColorArg) -> Self {
        match when {
            ColorArg::Auto => Self::Auto,
            ColorArg::Always => Self::Always,
            ColorArg::Never => Self::Never,
        }
    }
}

/// Accepts the options after a command and its subcommands, whose help does not repeat them.
pub(super) fn offered_after(command: Command) -> Command {
    let color =
        Arg::new("color").long("color").value_name("WHEN").value_parser(EnumValueParser::<ColorArg>::new());
    let quiet = Arg::new("quiet").long("quiet").short('q').action(ArgAction::SetTrue);
    [color, quiet].into_iter().fold(command, |command, option| {
        let help = option.get_id().to_string();
        command.arg(option.help(help).global(true).hide(true))
    })
}

/// The value of `--color` on the command line, read before it is parsed: errors and help have colors too.
pub(super) fn color(typed: &[OsString]) -> When {
    let mut when = When::Auto;
    let mut words = typed.iter().take_while(|word| *word != "--").map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('=').map(|value| value.to_owned().into()),
            None => None,
        };
        if let Some(value) = value.and_then(|value| ColorArg::from_str(&value, false).ok()) {
            when = value.into();
        }
    }
    when
}

/// Applies the options, given before or after the command.
pub(super) fn apply(typed: &[OsString], matches: &ArgMatches, is_quiet: bool, command: &Chosen) {
    set_color(color(typed));
    let mut is_quiet = is_quiet;
    let mut below = matches.subcommand();
    while let Some((_, matches)) = below {
        is_quiet |= matches.try_get_one::<bool>("quiet").ok().flatten().is_some_and(|quiet| *quiet);
        below = matches.subcommand();
    }
    if is_quiet {
        be_quiet(if only_confirms(command) { Dropped::Confirmations } else { Dropped::Notes });
    }
}

/// Whether the command does something, and prints only that it did.
fn only_confirms(command: &Chosen) -> bool {
    match command {
        Chosen::Init(_)
        | Chosen::Add(_)
        | Chosen::Approve(_)
        | Chosen::Remove(_)
        | Chosen::Set(_)
        | Chosen::Pause(_)
        | Chosen::Resume(_)
        | Chosen::Stop(_)
        | Chosen::Restart(_)
        | Chosen::Allow(_)
        | Chosen::Deny(_) => true,
        Chosen::Start(args) => !args.announce,
        Chosen::Answer(args) => !args.answers.is_empty(),
        Chosen::Gc(args) => !args.dry_run && !args.json,
        Chosen::Service(args) => {
            matches!(args.command, ServiceCommand::Install { print: false } | ServiceCommand::Uninstall)
        }
        Chosen::Setup(args) => {
            let SetupCommand::Hooks(hooks) = &args.command;
            !hooks.check && !hooks.dry_run
        }
        Chosen::Agent(args) => match &args.command {
            AgentCommand::Start(args) => !args.json && !args.attach,
            AgentCommand::Send(args) => !args.json,
            AgentCommand::Interrupt(args) => !args.json,
            AgentCommand::Stop(args) => !args.json,
            AgentCommand::Task { task, json, .. } => task.is_some() && !json,
            _ => false,
        },
        Chosen::Host(args) => match &args.command {
            HostCommand::Spawn(args) => !args.json && !args.attach,
            HostCommand::Send(args) => !args.json,
            HostCommand::Interrupt(args) => !args.json,
            HostCommand::Stop(args) => !args.json,
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_color_before_another_programs_words_counts() {
        for (line, expected) in [
            ("murmur list", When::Auto),
            ("murmur --color=never list", When::Never),
            ("murmur list --color always", When::Always),
            ("murmur --color never list --color=always", When::Always),
            ("murmur list --color", When::Auto),
            ("murmur list --color=blue", When::Auto),
            ("murmur capture run -- ls --color=always", When::Auto),
        ] {
            let typed: Vec<OsString> = line.split(' ').map(Into::into).collect();
            assert_eq!(color(&typed), expected, "{line}");
        }
    }
}
