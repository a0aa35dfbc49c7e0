//! Tcl: `exec …`, `spawn …`, `open path mode`, `file delete path`.

use super::Effect;

/// The commands that Tcl runs, and the files that it changes.
pub(super) fn effects(code: &str) -> Vec<Effect> {
    let mut found = Vec::new();
    for line in code.split([';', '\n', '[']).map(str::trim) {
        let line = line.trim_end_matches([']', '}']);
        let run = ["exec ", "spawn ", "system "].iter().find_map(|start| line.strip_prefix(start));
        found.extend(run.map(|command| Effect::Shell(command.to_owned())));
        let words: Vec<&str> =
            line.split_whitespace().map(|word| word.trim_matches(['"', '{', '}'])).collect();
        let rest = words.get(2..).unwrap_or_default().iter().filter(|word| !word.starts_with('-'));
        let paths: Vec<&str> = rest.copied().collect();
        let run = |program: &[&str]| {
            Effect::Words(program.iter().chain(&paths).map(|word| (*word).into()).collect())
        };
        match words.as_slice() {
            ["open", command, ..] if command.starts_with('|') => {
                found.push(Effect::Shell(line[5..].trim_matches(['"', '{', '}', '|']).to_owned()));
            }
            ["open", path, mode, ..] if mode.starts_with(['w', 'a']) || mode.contains('+') => {
                found.push(Effect::Write((*path).into()));
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
