//! A document, parsed: its command lines, its other blocks, and its prose.
//!
//! Command lines are in `console` blocks, after `$ `, with `> ` before continuation lines and the output below.
//! `<!-- run … -->` has lines that are run but not shown.

use std::path::PathBuf;

/// A document of the repository.
#[derive(Debug)]
pub(crate) struct Page {
    /// Its path in the repository.
    pub(crate) name: String,
    pub(crate) parts: Vec<Part>,
}

/// A part of it, with the number of its first line.
#[derive(Debug, PartialEq)]
pub(crate) enum Part {
    /// Lines outside of blocks, and the empty ones between them.
    Prose(usize, String),
    Block(Block),
    /// Run but not shown.
    Hidden(usize, String),
}

/// The contents of a fenced block.
#[derive(Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) line: usize,
    pub(crate) language: String,
    /// Why its command lines are not run, if they aren't.
    pub(crate) not_run: Option<String>,
    /// Whether its output may come in any order.
    pub(crate) any_order: bool,
    /// Whether its commands run on a terminal.
    pub(crate) on_terminal: bool,
    /// What is typed at their prompt.
    pub(crate) typed: Option<String>,
    pub(crate) text: String,
}

/// A command line and the output below it; without any, the output isn't checked.
#[derive(Debug, PartialEq)]
pub(crate) struct Command {
    pub(crate) line: usize,
    pub(crate) script: String,
    pub(crate) written: Vec<String>,
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

impl Page {
    pub(crate) fn read(name: &str) -> Self {
        let text = std::fs::read_to_string(root().join(name)).unwrap_or_else(|why| panic!("{name}: {why}"));
        Self::parse(name, &text).unwrap_or_else(|why| panic!("{why}"))
    }

    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut lines = text.lines().zip(1..);
        let mut prose = (1, String::new());
        while let Some((line, number)) = lines.next() {
            let wrong = |what: &str| format!("{name}:{number}: {what}");
            let until = |end: &dyn Fn(&str) -> bool, lines: &mut dyn Iterator<Item = (_, _)>| {
                let mut inside = String::new();
                loop {
                    match lines.next() {
                        Some((line, _)) if end(line) => return Some(inside),
                        Some((line, _)) => inside = inside + line + "\n",
                        None => return None,
                    }
                }
            };
            let part = if line.starts_with("```") {
                let ticks = line.len() - line.trim_start_matches('`').len();
                let closes = |line: &str| line.trim_end() == "`".repeat(ticks);
                let block = Block::new(number, line[ticks..].trim()).map_err(|what| wrong(&what))?;
                let text = until(&closes, &mut lines).ok_or_else(|| wrong("the block is never closed"))?;
                Part::Block(Block { text, ..block })
            } else if line.trim() == "<!-- run" {
                let text = until(&|line| line.trim() == "-->", &mut lines);
                Part::Hidden(number + 1, text.ok_or_else(|| wrong("the comment is never closed"))?)
            } else if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
                return Err(wrong("a block begins at the beginning of a line, with ```"));
            } else if line.trim_start().starts_with("<!-- run") {
                return Err(wrong("<!-- run stands in a line of its own, and so does -->"));
            } else {
                prose.1 = prose.1 + line + "\n";
                continue;
            };
            let taken = match &part {
                Part::Block(block) => block.text.lines().count() + 2,
                Part::Prose(_, text) | Part::Hidden(_, text) => text.lines().count() + 2,
            };
            let before = std::mem::replace(&mut prose, (number + taken, String::new()));
            parts.extend([Part::Prose(before.0, before.1), part]);
        }
        parts.push(Part::Prose(prose.0, prose.1));
        Ok(Self { name: name.to_owned(), parts })
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.parts.iter().filter_map(|part| match part {
            Part::Block(block) => Some(block),
            Part::Prose(..) | Part::Hidden(..) => None,
        })
    }

    /// The parts of prose, each with the number of its first line.
    pub(crate) fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Prose(line, text) => Some((*line, text.as_str())),
            Part::Block(_) | Part::Hidden(..) => None,
        })
    }
}

/// The code in prose, each piece with the number of its first line.
pub(crate) fn code(first: usize, prose: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut line = first;
    // Code doesn't continue after an empty line.
    for paragraph in prose.split("\n\n") {
        let mut rest = paragraph;
        while let Some(begin) = rest.find('`') {
            let ticks = rest[begin..].len() - rest[begin..].trim_start_matches('`').len();
            let inside = &rest[begin + ticks..];
            let Some(length) = closing(inside, ticks) else { break };
            let number = line + rest[..begin].matches('\n').count();
            found.push((number, inside[..length].replace('\n', " ").replace("\\|", "|").trim().to_owned()));
            let taken = begin + ticks + length + ticks;
            line += rest[..taken].matches('\n').count();
            rest = &rest[taken..];
        }
        line += rest.matches('\n').count() + 2;
    }
    found
}

/// The position of exactly this many backticks.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(begin) = text[at..].find('`') {
        let run = text[at + begin..].len() - text[at + begin..].trim_start_matches('`').len();
        if run == ticks {
            return Some(at + begin);
        }
        at += begin + run;
    }
    None
}

impl Block {
    /// An empty block, from the text after its fence: `console (not run: needs systemd)`.
    fn new(line: usize, information: &str) -> Result<Self, String> {
        let (language, note) = information.split_once(' ').unwrap_or((information, ""));
        let reason = note.strip_prefix("(not run: ").and_then(|reason| reason.strip_suffix(')'));
        let not_run = reason.map(str::to_owned).filter(|reason| !reason.trim().is_empty());
        let any_order = note == "(lines in any order)";
        let typed = note.strip_prefix("(on a terminal, answered ").and_then(|rest| rest.strip_suffix(')'));
        let on_terminal = note == "(on a terminal)" || typed.is_some();
        let typed = typed.map(str::to_owned);
        let is_known = any_order || on_terminal || not_run.is_some();
        let known = note.is_empty() || (language == "console" && is_known);
        let (language, text) = (language.to_owned(), String::new());
        let block = Self { line, language, not_run, any_order, on_terminal, typed, text };
        known.then_some(block).ok_or_else(|| {
            let known =
                "`console (not run: REASON)`, `console (on a terminal)` or `console (lines in any order)`";
            format!("behind ``` stands a language, {known}, not: {information}")
        })
    }

    /// The command lines of a `console` block.
    pub(crate) fn commands(&self) -> Result<Vec<Command>, String> {
        let mut commands: Vec<Command> = Vec::new();
        for (text, line) in self.text.lines().zip(self.line + 1..) {
            let last = commands.last_mut();
            match (text.strip_prefix("$ "), text.strip_prefix('>'), last) {
                (Some(script), ..) => {
                    let script = script.to_owned() + "\n";
                    commands.push(Command { line, script, written: Vec::new() });
                }
                (None, Some(more), Some(last)) if last.written.is_empty() => {
                    last.script += more.strip_prefix(' ').unwrap_or(more);
                    last.script.push('\n');
                }
                (None, _, Some(last)) => last.written.push(text.to_owned()),
                (None, _, None) => return Err(format!("line {line}: a console block begins with `$ `")),
            }
        }
        for command in &mut commands {
            while command.written.last().is_some_and(|line| line.trim().is_empty()) {
                command.written.pop();
            }
        }
        Ok(commands)
    }
}

/// Every document, by its path in the repository.
pub(crate) fn documents() -> Vec<String> {
    let mut all = Vec::new();
    for part in ["docs/guide", "docs/reference", "docs/design"] {
        for entry in std::fs::read_dir(root().join(part)).unwrap() {
            all.push(format!("{part}/{}", entry.unwrap().file_name().into_string().unwrap()));
        }
    }
    let beside = [
        "README.md",
        "CONTRIBUTING.md",
        "fake-claude/README.md",
        "fake-claude/testing.md",
        "nix/README.md",
        "fixtures/acted/README.md",
        "fixtures/agents.md",
        "crates/derun/README.md",
        "crates/derun/mcp.md",
        "crates/store/pulses.md",
        "packaging/containers.md",
    ];
    all.extend(beside.map(str::to_owned));
    all.sort();
    all
}

#[test]
fn a_page_is_parsed_into_blocks() {
    let text = "Words\n\n```console\n$ one\n$ two \\\n>   more\n>\nout\n\n  put\n\n```\nand\n<!-- run\nmkdir x\n-->\n````json\n```\n````\n";
    let page = Page::parse("p.md", text).unwrap();
    let block = |line, language: &str, text: &str| {
        Part::Block(Block { text: text.to_owned(), ..Block::new(line, language).unwrap() })
    };
    let console = "$ one\n$ two \\\n>   more\n>\nout\n\n  put\n\n";
    let expected = [
        Part::Prose(1, "Words\n\n".to_owned()),
        block(3, "console", console),
        Part::Prose(13, "and\n".to_owned()),
        Part::Hidden(15, "mkdir x\n".to_owned()),
        Part::Prose(17, String::new()),
        block(17, "json", "```\n"),
        Part::Prose(20, String::new()),
    ];
    assert_eq!(page.parts, expected);
    let commands = page.blocks().next().unwrap().commands().unwrap();
    let command = |line, script: &str, written: &[&str]| Command {
        line,
        script: script.to_owned(),
        written: written.iter().map(|line| (*line).to_owned()).collect(),
    };
    let expected = [command(4, "one\n", &[]), command(5, "two \\\n  more\n\n", &["out", "", "  put"])];
    assert_eq!(commands, expected);
}

#[test]
fn an_invalid_page_is_reported_with_its_line() {
    let wrong = |text: &str| Page::parse("p.md", text).unwrap_err();
    assert_eq!(wrong("\n```json\n{}\n"), "p.md:2: the block is never closed");
    assert_eq!(wrong("<!-- run\n"), "p.md:1: the comment is never closed");
    assert!(wrong("<!-- run x -->\n").starts_with("p.md:1: <!-- run stands in a line of its own"));
    assert!(wrong("- x\n  ```json\n").starts_with("p.md:2: a block begins at the beginning of a line"));
    assert!(wrong("```console (not run: )\n```\n").contains("not: console (not run: )"));
    assert!(wrong("```json (not run: why)\n```\n").starts_with("p.md:1: behind ``` stands a language"));
    let page =
        Page::parse("p.md", "```console (not run: needs systemd)\n$ x\n```\n```console\nx\n```\n").unwrap();
    let blocks: Vec<&Block> = page.blocks().collect();
    assert_eq!(blocks[0].not_run.as_deref(), Some("needs systemd"));
    assert_eq!(blocks[1].commands().unwrap_err(), "line 5: a console block begins with `$ `");
}

#[test]
fn code_in_prose_is_found_with_its_line() {
    let found = code(5, "a `one` b\n`two\nlines` c\n\n`never closed\n\n| ``a ` b`` | `x\\|y` |\n");
    let expected = [(5, "one"), (6, "two lines"), (11, "a ` b"), (11, "x|y")];
    assert_eq!(found, expected.map(|(line, code)| (line, code.to_owned())));
}
