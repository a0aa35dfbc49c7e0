//! `murmur completions`: what a shell needs to complete the commands, made from the commands themselves.
//!
//! clap_complete writes the scripts. What is hidden is taken out of the commands before, and where a shell's script would offer
//! what is of no use, or nothing where the words are known, a few lines are added to it.

use super::args::{Args, CalledBy, Completions};
use super::derun::Derun;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

pub(super) fn run(args: &Completions) -> anyhow::Result<ExitCode> {
    let (name, command) = match args.name {
        CalledBy::Murmur => ("murmur", Args::command()),
        CalledBy::Mm => ("mm", Args::command()),
        CalledBy::Derun => ("derun", Derun::command()),
    };
    let mut command = offered(&command).subcommand(help(&command));
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    let script = String::from_utf8(script)?;
    let script = match args.shell {
        Shell::Bash => with_fewer_options(&script, name),
        Shell::Fish => script + &known_words(&command, name),
        _ => script,
    };
    io::stdout().write_all(script.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The same command without what is hidden, whose `help` would be full of it.
fn offered(command: &Command) -> Command {
    let arguments = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let mut offered = named(command).args(arguments.cloned()).subcommands(shown(command).map(offered));
    if let Some(version) = command.get_version() {
        offered = offered.version(lasting(version));
    }
    offered.disable_help_subcommand(true)
}

/// `help`, and below it the name of every command that is shown, without options.
fn help(command: &Command) -> Command {
    fn names(command: &Command) -> Command {
        named(command)
            .subcommands(shown(command).map(names))
            .disable_help_subcommand(true)
            .disable_help_flag(true)
    }
    let about = "Print what a command is for, and what can be typed after it";
    Command::new("help").about(about).subcommands(shown(command).map(names)).disable_help_subcommand(true)
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

fn named(command: &Command) -> Command {
    let named = Command::new(lasting(command.get_name()));
    match command.get_about() {
        Some(about) => named.about(about.clone()),
        None => named,
    }
}

/// clap wants names that last as long as the process, and this one ends when they are written.
fn lasting(name: &str) -> &'static str {
    name.to_owned().leak()
}

/// The script for bash, which then offers options where one is begun, and files or words elsewhere; and behind `--`, where
/// another program's command line stands, files alone.
fn with_fewer_options(script: &str, name: &str) -> String {
    let ours = script.replace(&format!("complete -F _{name} "), &format!("complete -F _{name}_words "));
    format!(
        r#"{ours}
_{name}_words() {{
    local word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        if [[ $word == -- ]]; then
            COMPREPLY=()
            return 0
        fi
    done
    _{name} "$@"
    if [[ $2 != -* ]]; then
        local offered=("${{COMPREPLY[@]}}")
        COMPREPLY=()
        for word in "${{offered[@]}}"; do
            [[ $word == -* ]] || COMPREPLY+=("$word")
        done
    fi
}}
"#
    )
}

/// Lines for fish, whose script knows the values of options alone, that offer those of a command's arguments.
fn known_words(command: &Command, name: &str) -> String {
    let mut lines = String::new();
    for first in shown(command) {
        let condition = format!("__fish_{name}_using_subcommand {}", first.get_name());
        known_words_of(first, name, &condition, &mut lines);
        for second in shown(first).filter(|_| first.get_name() != "help") {
            let condition = format!("{condition}; and __fish_seen_subcommand_from {}", second.get_name());
            known_words_of(second, name, &condition, &mut lines);
        }
    }
    lines
}

fn known_words_of(command: &Command, name: &str, condition: &str, lines: &mut String) {
    let known = command.get_positionals().map(Arg::get_possible_values).find(|values| !values.is_empty());
    if let Some(values) = known {
        let words: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
        // Writing into a String does not fail.
        let _written = writeln!(lines, "complete -c {name} -n \"{condition}\" -f -a \"{}\"", words.join(" "));
    }
}
