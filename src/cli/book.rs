//! What documents say can be typed can be typed: the commands and options that prose names are held against the parser.
//!
//! Command lines that are run are another test's (tests/it/book.rs); here are those in prose, and those that cannot be run.

use std::path::Path;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use super::args::Args;
use super::derun::Derun;

/// Every document with its name.
fn documents() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        docs.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    files.extend([root.join("README.md"), root.join("CONTRIBUTING.md")]);
    files.sort();
    let name = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
    files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

/// What a document says one could type: code in its prose, and command lines that are not run; with the lines.
fn said(text: &str) -> Vec<(usize, String)> {
    let mut said = Vec::new();
    let mut fence = None;
    let mut paragraph = (1, String::new());
    for (line, number) in text.lines().zip(1..).chain([("", 0)]) {
        if line.starts_with("```") {
            fence = if fence.is_some() { None } else { Some(line.starts_with("```console (not run")) };
        } else if let Some(not_run) = fence {
            let command = line.strip_prefix("$ ").filter(|_| not_run);
            said.extend(command.map(|command| (number, command.to_owned())));
            continue;
        } else if !line.is_empty() {
            paragraph.1 = paragraph.1 + line + "\n";
            continue;
        }
        let mut at: usize = paragraph.0;
        for (place, piece) in paragraph.1.split('`').enumerate() {
            if place % 2 == 1 {
                said.push((at, piece.replace('\n', " ").replace("\\|", "|")));
            }
            at += piece.matches('\n').count();
        }
        paragraph = (number + 1, String::new());
    }
    said
}

/// The words of a command line up to where prose or another program begins, each with what may stand in its place.
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

/// Words by spaces, and whether one was quoted.
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

/// A placeholder's example.
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

/// Every line that the words can be.
fn lines(words: &[Vec<String>]) -> Vec<Vec<String>> {
    words.iter().fold(vec![Vec::new()], |lines: Vec<Vec<String>>, choices| {
        let with = |line: &Vec<String>, word: &String| line.iter().chain([word]).cloned().collect();
        lines.iter().flat_map(|line| choices.iter().map(move |word| with(line, word))).collect()
    })
}

/// Why that cannot be typed. What prose leaves out is left to the reader.
fn refused(line: &[String]) -> Option<String> {
    let parsed = match line.first().map(String::as_str) {
        Some("murmur" | "mm") => Args::try_parse_from(line).map(drop),
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
fn what_prose_says_can_be_typed_can_be_typed() {
    let mut wrong = String::new();
    for (name, text) in documents() {
        for (number, code) in said(&text) {
            for why in lines(&words(&code)).iter().filter_map(|line| refused(line)) {
                wrong += &format!("{name}:{number}: {code}: {why}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_list_of_commands_has_every_one() {
    fn names(command: &clap::Command, above: &str, into: &mut Vec<String>) {
        for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = format!("{above} {}", command.get_name());
            names(command, &name, into);
            into.push(name);
        }
    }
    let page = documents().into_iter().find(|(name, _)| name == "docs/commands.md").unwrap().1;
    let typed: Vec<Vec<String>> = said(&page).iter().flat_map(|(_, code)| lines(&words(code))).collect();
    let mut commands = Vec::new();
    names(&Args::command(), "murmur", &mut commands);
    commands.retain(|name| {
        let name: Vec<&str> = name.split(' ').collect();
        !typed.iter().any(|line| line.len() >= name.len() && line.iter().zip(&name).all(|(a, b)| a == b))
    });
    assert!(commands.is_empty(), "docs/commands.md does not have {commands:?}");
}

#[test]
fn what_cannot_be_typed_is_found() {
    let wrong = |code: &str| lines(&words(code)).iter().filter_map(|line| refused(line)).count();
    for fine in [
        "murmur",
        "murmur attach AGENT",
        "murmur log --workspace W, 1 line in 100",
        "murmur log [-n N] [--follow]",
        "murmur init .",
        "murmur record NAME -- COMMAND...",
        "MURMUR_DIR=/x murmur status | grep --no-such-option",
        "murmur permission respond ID allow|deny --reason \"not on a Friday\"",
        "murmur run -- make --no-such-option",
        "derun run -- less",
        "murmur host ... --json",
        "murmur permission check 'Bash(a | b)'",
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
    let expected = [(1, "head"), (3, "a b"), (4, "c | d"), (6, "e"), (12, "h")];
    assert_eq!(said(text), expected.map(|(line, code)| (line, code.to_owned())));
}
