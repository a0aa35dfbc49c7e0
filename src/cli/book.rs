//! Tests that commands and options in the documentation exist: prose is checked against the parser.
//!
//! Command lines in examples that are run are tested in tests/it/book.rs; this covers those in prose and those that
//! cannot be run.

#[path = "../../tests/it/book/page.rs"]
mod page;

use clap::Parser;
use clap::error::ErrorKind;

use super::args;
use derun::cli::args::Derun;
use page::{Page, code, documents};

/// Code in a page's prose and command lines that are not run, with their line numbers.
fn commands_in(page: &Page) -> Vec<(usize, String)> {
    let prose = page.prose().flat_map(|(line, text)| code(line, text));
    let not_run = page.blocks().filter(|block| block.not_run.is_some());
    let commands = not_run.flat_map(|block| block.commands().unwrap());
    let typed = commands.map(|command| (command.line, command.script.trim_end().replace("\\\n", " ")));
    prose.chain(typed).collect()
}

/// The words of a command line, up to prose or another program, each with its alternatives.
fn words(line: &str) -> Vec<Vec<String>> {
    let mut words = Vec::new();
    for (word, quoted) in quoted_words(line) {
        let ends = ['|', '>', '<', '#', ';', '&', '…'];
        let is_variable = words.is_empty() && word.contains('=');
        let ends_sentence = !quoted && word.ends_with([',', ';']);
        if !quoted && (word.starts_with(ends) || word == "...") {
            break;
        } else if quoted {
            words.push(vec![word]);
        } else if !is_variable {
            let plain = word.trim_matches(['[', ']', ';', ',']);
            let plain = plain.strip_suffix("...").unwrap_or(plain);
            words.push(plain.split('|').map(stands_for).collect());
        }
        if ends_sentence {
            break;
        }
    }
    words
}

/// Words separated by spaces, and whether each was quoted.
fn quoted_words(line: &str) -> Vec<(String, bool)> {
    let mut words = Vec::new();
    let mut word: Option<(String, bool)> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (None, ' ') => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default().1 = true;
            }
            (Some(mark), _) if mark == character => quote = None,
            _ => word.get_or_insert_default().0.push(character),
        }
    }
    words.extend(word);
    words
}

/// An example value for a placeholder.
fn stands_for(word: &str) -> String {
    match word {
        "N" => "1",
        "COMMAND" => "status",
        "SHELL" => "bash",
        "INTERVAL" | "SPAN" => "1h",
        _ => word,
    }
    .to_owned()
}

/// All combinations of the words' alternatives.
fn lines(words: &[Vec<String>]) -> Vec<Vec<String>> {
    words.iter().fold(vec![Vec::new()], |lines: Vec<Vec<String>>, choices| {
        let with = |line: &Vec<String>, word: &String| line.iter().chain([word]).cloned().collect();
        lines.iter().flat_map(|line| choices.iter().map(move |word| with(line, word))).collect()
    })
}

/// Why a command line is rejected. Missing arguments are fine in prose.
fn refused(line: &[String]) -> Option<String> {
    let parsed = match line.first().map(String::as_str) {
        Some("murmur" | "mm") => args::command().try_get_matches_from(line).map(drop),
        Some("derun") => Derun::try_parse_from(line).map(drop),
        _ => return None,
    };
    parsed.err().and_then(|error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand => None,
        _ => Some(error.to_string().lines().next().unwrap_or_default().to_owned()),
    })
}

#[test]
fn commands_in_prose_exist() {
    let mut wrong = String::new();
    for page in documents().iter().map(|name| Page::read(name)) {
        for (number, code) in commands_in(&page) {
            for why in lines(&words(&code)).iter().filter_map(|line| refused(line)) {
                wrong += &format!("{}:{number}: {code}: {why}\n", page.name);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_command_reference_is_complete() {
    fn names(command: &clap::Command, above: &str, into: &mut Vec<String>) {
        for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = format!("{above} {}", command.get_name());
            names(command, &name, into);
            into.push(name);
        }
    }
    let page = commands_in(&Page::read("docs/reference/commands.md"));
    let typed: Vec<Vec<String>> = page.iter().flat_map(|(_, code)| lines(&words(code))).collect();
    let mut commands = Vec::new();
    names(&args::full(), "murmur", &mut commands);
    commands.retain(|name| {
        let name: Vec<&str> = name.split(' ').collect();
        !typed.iter().any(|line| line.len() >= name.len() && line.iter().zip(&name).all(|(a, b)| a == b))
    });
    assert!(commands.is_empty(), "docs/reference/commands.md does not have {commands:?}");
}

#[test]
fn unknown_commands_and_options_are_found() {
    let wrong = |code: &str| lines(&words(code)).iter().filter_map(|line| refused(line)).count();
    for fine in [
        "murmur",
        "murmur agent attach AGENT",
        "murmur log --workspace W, 1 line in 100",
        "murmur log [-n N] [--follow]",
        "murmur init .",
        "murmur record NAME -- COMMAND...",
        "MURMUR_DIR=/x murmur status | grep --no-such-option",
        "murmur permission respond ID allow|deny --reason \"not on a Friday\"",
        "murmur capture run -- make --no-such-option",
        "derun run -- less",
        "murmur host ... --json",
        "murmur rules check 'Bash(a | b)'",
        "grep --murmur",
    ] {
        assert_eq!(wrong(fine), 0, "{fine}");
    }
    for bad in [
        "murmur dance",
        "murmur log --no-such-option",
        "murmur permission respond ID allow|maybe",
        "murmur log [--no-such-option]",
        "derun start",
        "A=1 murmur beat --jsn # a word",
    ] {
        assert_ne!(wrong(bad), 0, "{bad}");
    }
    let text = "# A `head`\n\nOne `a\nb` `c \\| d`.\n```console (not run: x)\n$ e\nf\n```\n```console\n$ g\n```\nand `h`\n";
    let expected = [(1, "head"), (3, "a b"), (4, "c | d"), (12, "h"), (6, "e")];
    assert_eq!(
        commands_in(&Page::parse("p.md", text).unwrap()),
        expected.map(|(line, code)| (line, code.to_owned()))
    );
}
