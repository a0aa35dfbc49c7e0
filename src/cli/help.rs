//! murmur's help: its commands under headings, in color on a terminal.
//!
//! clap has no headings for subcommands, so the list is part of the template, made from the commands themselves. Its
//! own colors would add dependencies.

use super::args;
use super::complaint::complain;
use super::global_args;
use clap::Command;
use clap::error::ErrorKind;
use derun::cli::stdout::stdout;
use derun::cli::style::is_colored;
use derun::cli::wrapped::wrapped;
use derun::cli::{ended, printed};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::process::ExitCode;

/// The width of the short help.
const WIDTH: usize = 80;

/// The visible commands.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Heartbeats",
        &[
            "init", "add", "approve", "list", "beat", "edit", "set", "pause", "resume", "remove", "trust",
            "log", "show", "usage",
        ],
    ),
    ("Daemon", &["start", "stop", "restart", "status", "watch", "limits", "service"]),
    ("Agents", &["agent"]),
    ("Inbox", &["inbox", "allow", "deny", "answer", "rules"]),
    ("Captures", &["capture", "mcp"]),
    ("Setup", &["doctor", "config", "notify", "setup", "completions", "gc", "man", "record", "demo"]),
];

/// Prints the help or version that clap returned as an error, in color where it is shown in color.
pub(super) fn print(help: &clap::Error, typed: &[OsString]) -> ExitCode {
    let is_terminal = if help.use_stderr() { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    if !is_colored(global_args::color(typed), is_terminal) || help.kind() == ErrorKind::DisplayVersion {
        return printed(help);
    }
    let text = painted(&help.render().to_string());
    let written = match help.use_stderr() {
        true => io::stderr().write_all(text.as_bytes()),
        false => stdout().write_all(text.as_bytes()),
    };
    let code = ExitCode::from(u8::try_from(help.exit_code()).unwrap_or(2));
    ended(written.map(|()| code).map_err(Into::into), complain)
}

/// Help in cargo's colors: headings are green, what is typed is cyan.
fn painted(help: &str) -> String {
    help.split_inclusive('\n').map(painted_line).collect()
}

fn painted_line(line: &str) -> String {
    let (text, end) = line.split_at(line.trim_end().len());
    let (title, literal) = ("\x1b[1;32m", "\x1b[1;36m");
    let text = match text.strip_prefix("Usage:") {
        Some(typed) => format!("{title}Usage:\x1b[0m{literal}{typed}\x1b[0m"),
        None if text.ends_with(':') && !text.starts_with(' ') && !text.contains(", ") => {
            format!("{title}{text}\x1b[0m")
        }
        None => {
            let typed = text.trim_start_matches(' ');
            let (indent, rest) = text.split_at(text.len() - typed.len());
            // Text that continues a line above is indented further.
            if !(2..=6).contains(&indent.len()) {
                return line.to_owned();
            }
            let (typed, about) = rest.split_at(rest.find("  ").unwrap_or(rest.len()));
            format!("{indent}{literal}{typed}\x1b[0m{about}")
        }
    };
    text + end
}

/// Whether `error` asks for help.
pub(super) fn is_shown(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand)
}

/// murmur's command line, with its commands under headings: only their names, which fit a small terminal, unless
/// `typed` asks for more.
pub(super) fn with_headings(typed: &[OsString]) -> Command {
    let is_long = typed.iter().any(|word| word == "--help" || word == "help");
    let template = if is_long { template(&args::full()) } else { SHORT.replace("{groups}", &names()) };
    args::command().help_template(template)
}

/// The short help.
const SHORT: &str =
    "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n{groups}\nOptions:\n{options}

To see what each command does, run: murmur --help";

/// The names of the commands, a group in one or two lines.
fn names() -> String {
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let line = format!("  {:13}{}\n", format!("{heading}:"), names.join(" "));
        text.push_str(&wrapped(&line, Some(WIDTH)));
    }
    text
}

fn template(command: &Command) -> String {
    let width =
        command.get_subcommands().filter(|below| !below.is_hide_set()).map(|below| below.get_name().len());
    let width = width.max().unwrap_or_default();
    let mut text = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (heading, names) in GROUPS {
        // Writing to a String cannot fail.
        let _written = writeln!(text, "\n{heading}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _written = writeln!(text, "  {name:width$}  {about}");
        }
    }
    let _written = write!(text, "\nOptions:\n{{options}}{{after-help}}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_command_has_one_heading_and_hidden_ones_have_none() {
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = args::full();
        let visible = command.get_subcommands().filter(|below| !below.is_hide_set());
        let visible: Vec<&str> = visible.map(Command::get_name).collect();
        assert_eq!(listed, visible);
    }

    #[test]
    fn the_short_help_fits_a_small_terminal() {
        for typed in ["-h", ""] {
            let help = with_headings(&[typed.into()]).render_help().to_string();
            assert!(help.lines().count() <= 23, "{help}");
        }
        insta::assert_snapshot!(names(), @"
          Heartbeats:  init add approve list beat edit set pause resume remove trust log
                       show usage
          Daemon:      start stop restart status watch limits service
          Agents:      agent
          Inbox:       inbox allow deny answer rules
          Captures:    capture mcp
          Setup:       doctor config notify setup completions gc man record demo
        ");
        assert!(names().lines().all(|line| line.len() <= WIDTH));
        let help = with_headings(&["--help".into()]).render_help().to_string();
        assert!(help.contains("  inbox        List everything that is waiting for you\n"), "{help}");
    }

    #[test]
    fn examples_fit_a_small_terminal() {
        fn wide(command: &Command) -> Vec<String> {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples = text.split_once("Examples:\n").map_or("", |(_, examples)| examples);
            let own = examples.lines().filter(|line| line.chars().count() > WIDTH).map(str::to_owned);
            own.chain(command.get_subcommands().flat_map(wide)).collect()
        }
        assert_eq!(wide(&args::full()), [""; 0]);
    }

    #[test]
    fn headings_and_what_is_typed_have_colors() {
        for (line, expected) in [
            ("Usage: murmur log [OPTIONS]", "{g}Usage:{0}{c} murmur log [OPTIONS]{0}"),
            ("Options:", "{g}Options:{0}"),
            ("  -n <N>           Maximum number", "  {c}-n <N>{0}           Maximum number"),
            ("      --json  Print output as JSON", "      {c}--json{0}  Print output as JSON"),
            ("  murmur log -n 5", "  {c}murmur log -n 5{0}"),
            ("                   of lines", "                   of lines"),
            ("Never overwrites a file.", "Never overwrites a file."),
            ("", ""),
        ] {
            let expected = [("{g}", "\x1b[1;32m"), ("{c}", "\x1b[1;36m"), ("{0}", "\x1b[0m")]
                .iter()
                .fold(expected.to_owned(), |text, (mark, code)| text.replace(mark, code));
            assert_eq!(painted(&format!("{line}\n")), format!("{expected}\n"), "{line}");
        }
    }
}
