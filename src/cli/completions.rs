//! `murmur completions`: shell completions, generated from the commands themselves.
//!
//! clap_complete writes the scripts. Hidden commands are removed first. Some shells need a few more lines, so that they
//! offer known words and leave out useless ones.

use super::args::{self, Completions, ProgramName};
use super::offer;
use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::Shell;
use derun::cli::args::Derun;
use derun::cli::stdout::stdout;
use murmur_core::naming::Noun;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

pub(super) fn run(args: &Completions) -> anyhow::Result<ExitCode> {
    let (name, command) = match args.name {
        ProgramName::Murmur => ("murmur", args::full()),
        ProgramName::Mm => ("mm", args::full()),
        ProgramName::Derun => ("derun", Derun::command()),
    };
    let mut command = offered(&command).subcommand(help(&command));
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    let script = String::from_utf8(script)?;
    let has_names = !matches!(args.name, ProgramName::Derun);
    let script = match args.shell {
        Shell::Bash => with_fewer_options(&script, name, has_names),
        Shell::Zsh if has_names => with_names(&script, name),
        Shell::Fish => script + &known_words(&command, name),
        Shell::Elvish if has_names => script.replacen(ELVISH.0, ELVISH.1, 1),
        Shell::PowerShell if has_names => script.replacen(POWERSHELL.0, POWERSHELL.1, 1),
        _ => script,
    };
    stdout().write_all(script.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// A copy of the command without hidden arguments and subcommands.
fn offered(command: &Command) -> Command {
    // clap adds its own again.
    let is_own = |argument: &&Arg| !["help", "version"].contains(&argument.get_id().as_str());
    let arguments = command.get_arguments().filter(|argument| !argument.is_hide_set()).filter(is_own);
    let arguments = arguments.map(|argument| marked(command, argument));
    let mut offered = named(command).args(arguments).subcommands(shown(command).map(offered));
    if let Some(version) = command.get_version() {
        offered = offered.version(lasting(version));
    }
    offered.disable_help_subcommand(true)
}

/// Marks an argument that takes an id: no argument takes the name of a user.
const ID: ValueHint = ValueHint::Username;
/// Marks an argument that takes a name or a folder.
const NAME_OR_FOLDER: ValueHint = ValueHint::Hostname;

/// A copy of an argument, marked if it takes a name or an id.
fn marked(command: &Command, argument: &Arg) -> Arg {
    match offer::kind_of(command, argument).filter(|_| argument.is_positional()) {
        Some(Noun::Heartbeat) => argument.clone().value_hint(NAME_OR_FOLDER),
        Some(_) => argument.clone().value_hint(ID),
        None => argument.clone(),
    }
}

/// Changes the zsh script to offer names and ids. Its own functions change `words`, so it keeps a copy.
fn with_names(script: &str, name: &str) -> String {
    let begin = format!("_{name}() {{\n");
    let kept = format!("{begin}    local -a {name}_typed=(\"${{(@)words[1,CURRENT]}}\")\n");
    let script = script.replacen(&begin, &kept, 1);
    let script = script.replace(":_users'", &format!(":_{name}_names'"));
    let script = script.replace(":_hosts'", &format!(":_{name}_names_and_folders'"));
    let function = format!(
        r#"_{name}_names() {{
    local -a found=("${{(@f)$("${{{name}_typed[1]}}" offer -- "${{(@){name}_typed[2,-1]}}" 2>/dev/null)}}")
    found=(${{found:#}})
    (( $#found )) && compadd -a found
}}

_{name}_names_and_folders() {{
    _{name}_names
    _files -/
}}

"#
    );
    // After the first line, which tells zsh what it completes.
    match script.split_once('\n') {
        Some((first, rest)) => format!("{first}\n\n{function}{}", rest.trim_start()),
        None => script,
    }
}

/// The `help` command, with the names of all visible commands and no options.
fn help(command: &Command) -> Command {
    fn names(command: &Command) -> Command {
        named(command)
            .subcommands(shown(command).map(names))
            .disable_help_subcommand(true)
            .disable_help_flag(true)
    }
    let about = "Print the help of a command";
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

/// Leaks `name`: clap wants static names, and the process ends soon.
fn lasting(name: &str) -> &'static str {
    name.to_owned().leak()
}

/// Changes the bash script to offer options only after a `-`, and only files after `--`, where another program's
/// command line begins.
fn with_fewer_options(script: &str, name: &str, has_names: bool) -> String {
    let names = match has_names {
        true => NAMES,
        false => "",
    };
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
        done{names}
    fi
}}
"#
    )
}

/// Adds names and ids to what bash offers. Where only those fit, it offers no files if there are none.
const NAMES: &str = r#"
        while IFS= read -r word; do
            printf -v word %q "$word"
            COMPREPLY+=("$word")
        done < <("$1" offer -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
        if [[ ${#COMPREPLY[@]} == 0 ]] &&
            "$1" offer --only-names -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null; then
            compopt +o bashdefault +o default
        fi"#;

/// The end of the elvish script, and its replacement, which also offers names and ids. Other words have no entry.
const ELVISH: (&str, &str) = (
    "    $completions[$command]\n",
    r#"    if (has-key $completions $command) {
        $completions[$command]
    }
    try {
        var program~ = (external $words[0])
        program offer -- (all $words[1..]) 2>/dev/null | from-lines
    } catch e {
    }
"#,
);

/// A line of the PowerShell script, and its replacement, which also offers names and ids, quoted if needed.
const POWERSHELL: (&str, &str) = (
    "    $completions.Where{",
    r#"    $typed = @($commandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.StartOffset -lt $cursorPosition } |
        ForEach-Object { if ($_ -is [StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text } })
    if ($wordToComplete -eq '') {
        $typed += ''
    }
    & $commandElements[0].Extent.Text offer '--' @typed 2>$null | ForEach-Object {
        $text = if ($_ -match '^[\w.:/-]+$') { $_ } else { "'" + $_.Replace("'", "''") + "'" }
        [CompletionResult]::new($text, $_, [CompletionResultType]::ParameterValue, $_)
    }

    $completions.Where{"#,
);

/// Lines for fish that complete the values of arguments: clap_complete writes only those of options.
fn known_words(command: &Command, name: &str) -> String {
    let mut lines = String::new();
    if name != "derun" {
        // Writing to a String cannot fail.
        let _written = writeln!(
            lines,
            "function __{name}_names\n    set -l typed (commandline -opc) (commandline -ct)\n    $typed[1] offer -- $typed[2..-1] 2>/dev/null\nend"
        );
    }
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
        // Writing to a String cannot fail.
        let _written = writeln!(lines, "complete -c {name} -n \"{condition}\" -f -a \"{}\"", words.join(" "));
    }
    let is_named = |hint: &ValueHint| [ID, NAME_OR_FOLDER].contains(hint);
    if let Some(hint) = command.get_positionals().map(Arg::get_value_hint).find(is_named) {
        let no_files = if hint == ID { " -f" } else { "" };
        let _written =
            writeln!(lines, "complete -c {name} -n \"{condition}\"{no_files} -a \"(__{name}_names)\"");
    }
}
