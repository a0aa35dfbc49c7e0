//! Languages of lines: `sed`, editors, Tcl, `m4`.

use super::{Embedded, Kind, embedded};

/// What the commands of `sed` run: `e command`, and the result of `s/…/…/e`.
pub(super) fn sed(code: &str) -> Vec<Embedded> {
    let mut found = Vec::new();
    for command in code.split(['\n', ';']) {
        let command = command.trim_start_matches(|c: char| c.is_ascii_digit() || " ,$~+{".contains(c));
        let mut characters = command.chars();
        if let Some(file) = command.strip_prefix("w ").or(command.strip_prefix("W ")) {
            found.push(Embedded::Write(file.trim().into()));
        }
        match (characters.next(), characters.next()) {
            (Some('e'), Some(' ')) => found.push(Embedded::Shell(command[2..].to_owned())),
            (Some('s'), Some(mark)) if !mark.is_alphanumeric() => {
                let mut parts = command[1 + mark.len_utf8()..].splitn(3, mark);
                let (_, with, flags) = (parts.next(), parts.next(), parts.next());
                if let (Some(with), Some(flags)) = (with, flags) {
                    if let Some((_, file)) = flags.split_once("w ") {
                        found.push(Embedded::Write(file.trim().into()));
                    }
                    if flags.contains('e') && flags.chars().all(|c| c.is_alphanumeric()) {
                        found.push(Embedded::Shell(with.to_owned()));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// What the commands of an editor run and write.
pub(super) fn editor(code: &str) -> Vec<Embedded> {
    const WRITES: [&str; 11] =
        ["w", "w!", "write", "write!", "wq", "wq!", "sav", "sav!", "saveas", "saveas!", "up"];
    let mut found = Vec::new();
    for command in code.split(['|', '\n']) {
        let run = ["!", ":term ", ":terminal "].iter().find_map(|mark| command.split_once(mark));
        found.extend(run.map(|(_, command)| Embedded::Shell(command.to_owned())));
        let mut words = command.trim_start_matches([':', ' ']).split_whitespace();
        if let (Some(name), Some(file)) = (words.next(), words.next())
            && WRITES.contains(&name)
            && !file.starts_with('!')
        {
            found.push(Embedded::Write(file.into()));
        }
    }
    found.append(&mut embedded(code, Kind::Script));
    found
}

/// `syscmd(…)`
pub(super) fn macros(code: &str) -> Vec<Embedded> {
    let calls = code.split("syscmd(").skip(1).filter_map(|rest| rest.split(')').next());
    calls.map(|text| Embedded::Shell(text.trim_matches(['`', '\'']).to_owned())).collect()
}

/// `exec …`, `spawn …`, `open path mode`, `file delete path` of Tcl.
pub(super) fn tcl(code: &str) -> Vec<Embedded> {
    let mut found = Vec::new();
    for line in code.split([';', '\n', '[']).map(str::trim) {
        let line = line.trim_end_matches([']', '}']);
        let run = ["exec ", "spawn ", "system "].iter().find_map(|start| line.strip_prefix(start));
        found.extend(run.map(|command| Embedded::Shell(command.to_owned())));
        let words: Vec<&str> =
            line.split_whitespace().map(|word| word.trim_matches(['"', '{', '}'])).collect();
        let rest = words.get(2..).unwrap_or_default().iter().filter(|word| !word.starts_with('-'));
        let paths: Vec<&str> = rest.copied().collect();
        let run = |program: &[&str]| {
            Embedded::Words(program.iter().chain(&paths).map(|word| (*word).into()).collect())
        };
        match words.as_slice() {
            ["open", command, ..] if command.starts_with('|') => {
                found.push(Embedded::Shell(line[5..].trim_matches(['"', '{', '}', '|']).to_owned()));
            }
            ["open", path, mode, ..] if mode.starts_with(['w', 'a']) || mode.contains('+') => {
                found.push(Embedded::Write((*path).into()));
            }
            ["file", "delete", ..] => found.push(run(&["rm", "-rf"])),
            ["file", "copy", ..] => found.push(run(&["cp", "-r"])),
            ["file", "rename", ..] => found.push(run(&["mv"])),
            ["file", "link", ..] => found.push(run(&["ln", "-s"])),
            _ => {}
        }
    }
    found
}
