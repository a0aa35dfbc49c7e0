//! Wrappers whose command is an option's value or follows a subcommand.

use super::super::values;
use crate::shell::field::Field;
use crate::shell::interpreter;
use crate::shell::walk::{Stream, Walk};

/// Walks a command that may never run; doubts are ignored.
pub(super) fn speculate(walk: &mut Walk<'_>, text: &str) {
    walk.speculate(|walk| {
        walk.source(text, &Stream::External);
    });
}

/// `tar --checkpoint-action=exec=text`, `--to-command text`, `-I program`
pub(in super::super) fn tar(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    for text in values(words, &["--checkpoint-action"]) {
        if let Some(command) = text.strip_prefix("exec=") {
            speculate(walk, command);
        }
    }
    const OPTIONS: [&str; 7] = [
        "--to-command",
        "--use-compress-program",
        "-I",
        "--rsh-command",
        "-F",
        "--info-script",
        "--new-volume-script",
    ];
    for text in values(words, &OPTIONS) {
        speculate(walk, &text);
    }
    Stream::Unknown
}

/// `docker run` runs its command in a container. It only matters if the container has the host's folders, disks or
/// rights.
pub(in super::super) fn container(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    if words.first().is_some_and(|word| word.marked() == "unshare") {
        return walk.run(&words[1..], &[], input);
    }
    let mut folders: Vec<(String, String)> = values(words, &["-v", "--volume"])
        .iter()
        .filter_map(|pair| pair.split_once(':'))
        .map(|(host, inner)| (host.to_owned(), inner.split(':').next().unwrap_or(inner).to_owned()))
        .collect();
    let has_rights = words.iter().any(|word| {
        let word = word.marked();
        word == "--privileged" || word.starts_with("--device") || word == "chroot" || word == "nsenter"
    });
    if has_rights && folders.is_empty() {
        folders.push(("/".to_owned(), "/".to_owned()));
    }
    for (host, inner) in folders.into_iter().filter(|(host, _)| host.starts_with('/')) {
        let seen: Vec<Field> = words.iter().map(|word| Field(word.marked().replace(&inner, &host))).collect();
        // The command starts somewhere after the image.
        let is_word =
            |at: &usize| !words[*at].marked().starts_with('-') && !words[*at].marked().contains(':');
        let starts = (2..seen.len().min(32)).filter(is_word);
        walk.run_any_of(starts.map(|at| seen[at..].to_vec()), input);
    }
    Stream::Unknown
}

/// `socat EXEC:text`, `SYSTEM:text`
pub(in super::super) fn socat(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    for word in words {
        if let Some((kind, text)) = word.marked().split_once(':')
            && ["EXEC", "SYSTEM", "SHELL"].contains(&kind.to_uppercase().as_str())
        {
            // Options follow a comma, unless the comma belongs to the command.
            speculate(walk, text.split(',').next().unwrap_or(text));
            speculate(walk, text);
        }
    }
    Stream::Unknown
}

/// Clients with shell escapes: a line with `!`, `.shell` or `.system` runs a command, and `|` pipes to one.
pub(in super::super) fn shell_escapes(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    const RUNS: [&str; 11] =
        ["!", "\\!", "~!", ".shell ", ".sh ", ".system ", "system ", "\\P ", "pager ", "local !", "shell "];
    /// Commands that can write to a `|` pipe.
    const WRITES: [&str; 8] = ["\\o", "\\g", "\\w", "\\copy", ".once", ".output", ".import", ".excel"];
    let mut texts: Vec<String> = words.iter().map(|word| word.marked().to_owned()).collect();
    texts.extend(input.known().map(str::to_owned));
    for text in values(words, &["--pager"]) {
        speculate(walk, &text);
    }
    for text in &texts {
        // SQL: `COPY … TO PROGRAM 'command'`
        if let Some((_, command)) = text.split_once("PROGRAM '").or(text.split_once("program '")) {
            speculate(walk, command.split('\'').next().unwrap_or(command));
        }
    }
    for line in texts.iter().flat_map(|text| text.lines()).map(str::trim_start) {
        let line = line.trim_start_matches(['+', ':']);
        if let Some(command) = RUNS.iter().find_map(|start| line.strip_prefix(start)) {
            speculate(walk, command.trim_start_matches(['(', '"', '\'']).trim_end_matches([')', '"', '\'']));
        } else if let Some((before, command)) = line.split_once('|')
            && (before.is_empty() || WRITES.iter().any(|start| before.contains(start)))
        {
            speculate(walk, command.split('"').next().unwrap_or(command));
        }
        sqlite_writes(walk, line);
    }
    Stream::Unknown
}

/// SQLite's `.output file` and `select writefile('file', 'text')`.
fn sqlite_writes(walk: &mut Walk<'_>, line: &str) {
    let after = [".output ", ".once ", ".save ", ".backup ", ".log "]
        .iter()
        .find_map(|start| line.strip_prefix(start));
    let call = line.split_once("writefile('").and_then(|(_, rest)| rest.split('\'').next());
    if let Some(file) = after.and_then(|rest| rest.split_whitespace().last()).or(call)
        && !file.starts_with('|')
    {
        walk.run(&[], &[Field::from(file)], &Stream::External);
    }
}

/// Tools that run a command in a language's environment: `poetry run command`, `nix develop -c command`
pub(in super::super) fn tool(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    for text in values(words, &["--run", "--command", "-c"]) {
        walk_command(walk, &text);
    }
    let script = words.iter().skip_while(|word| !["run", "x"].contains(&word.marked())).skip(1);
    if script.take(4).any(|word| is_remote(word.marked())) {
        walk.doubt(interpreter::unknown_text());
    }
    after(walk, words, &["exec", "run", "x", "develop", "shell"], input)
}

/// `npm exec command`, `npx -c text`. The scripts that `npm run` runs are unknown.
pub(in super::super) fn package(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    for text in values(words, &["--call", "-c", "--script-shell", "--shell"]) {
        speculate(walk, &text);
    }
    // `npm pkg set scripts.name=text`
    for word in words.iter().filter_map(|word| word.marked().strip_prefix("scripts.")) {
        if let Some((_, text)) = word.split_once('=') {
            speculate(walk, text);
        }
    }
    after(walk, words, &["exec", "x", "dlx"], input)
}

/// Walks a tool's command. If all of it is unknown, that is a doubt.
fn walk_command(walk: &mut Walk<'_>, text: &str) {
    if interpreter::is_unknown(text) {
        walk.doubt(interpreter::unknown_text());
    }
    speculate(walk, text);
}

/// Whether the argument names a remote script.
pub(super) fn is_remote(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// Walks the command after `--`, or after one of the tool's subcommands.
fn after(walk: &mut Walk<'_>, words: &[Field], commands: &[&str], input: &Stream) -> Stream {
    let command = words.iter().position(|word| commands.contains(&word.marked()));
    let end = words.iter().position(|word| word.marked() == "--");
    if let Some(start) = end.or(command) {
        let rest = &words[start + 1..];
        let mut skipped = 0;
        while let Some(option) =
            rest.get(skipped).map(Field::marked).filter(|text| text.starts_with('-') || text.starts_with('.'))
        {
            let takes_value = ["-n", "-p", "--name", "--prefix", "--with", "--python", "--from", "-e", "-c"]
                .contains(&option);
            skipped += 1 + usize::from(takes_value && end.is_none());
        }
        let rest = rest.get(skipped..).unwrap_or_default();
        walk.speculate(|walk| {
            walk.run(rest, &[], input);
        });
    }
    Stream::Unknown
}
