//! Wrappers whose command is the text of an option, or stands after one of their own commands.

use super::super::values;
use crate::permit::shell::field::Field;
use crate::permit::shell::interpreter;
use crate::permit::shell::walk::{Stream, Walk};

/// What may never run is walked through for what it refuses.
pub(super) fn perhaps(walk: &mut Walk<'_>, text: &str) {
    walk.perhaps(|walk| {
        walk.source(text, &Stream::Elsewhere);
    });
}

/// `tar --checkpoint-action=exec=text`, `--to-command text`, `-I program`.
pub(in super::super) fn tar(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    for text in values(words, &["--checkpoint-action"]) {
        if let Some(command) = text.strip_prefix("exec=") {
            perhaps(walk, command);
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
        perhaps(walk, &text);
    }
    Stream::Unknown
}

/// `docker run` runs its command on a machine of its own: what it does there is of interest where that machine has
/// this one's folders, disks or rights.
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
        // Where its command begins is not known: it stands after the image.
        let is_word =
            |at: &usize| !words[*at].marked().starts_with('-') && !words[*at].marked().contains(':');
        let starts = (2..seen.len().min(32)).filter(is_word);
        walk.any_of(starts.map(|at| seen[at..].to_vec()), input);
    }
    Stream::Unknown
}

/// `socat EXEC:text`, `SYSTEM:text`.
pub(in super::super) fn socat(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    for word in words {
        if let Some((kind, text)) = word.marked().split_once(':')
            && ["EXEC", "SYSTEM", "SHELL"].contains(&kind.to_uppercase().as_str())
        {
            // Options come after a comma, unless it is the command's own.
            perhaps(walk, text.split(',').next().unwrap_or(text));
            perhaps(walk, text);
        }
    }
    Stream::Unknown
}

/// Programs in which a line with `!`, `.shell` or `.system` runs what stands after it, or one with `|` what it writes to.
pub(in super::super) fn banged(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    const RUNS: [&str; 11] =
        ["!", "\\!", "~!", ".shell ", ".sh ", ".system ", "system ", "\\P ", "pager ", "local !", "shell "];
    /// What may write to a command that stands after `|`.
    const WRITES: [&str; 8] = ["\\o", "\\g", "\\w", "\\copy", ".once", ".output", ".import", ".excel"];
    let mut texts: Vec<String> = words.iter().map(|word| word.marked().to_owned()).collect();
    texts.extend(input.known().map(str::to_owned));
    for text in values(words, &["--pager"]) {
        perhaps(walk, &text);
    }
    for text in &texts {
        // SQL: `COPY … TO PROGRAM 'command'`
        if let Some((_, command)) = text.split_once("PROGRAM '").or(text.split_once("program '")) {
            perhaps(walk, command.split('\'').next().unwrap_or(command));
        }
    }
    for line in texts.iter().flat_map(|text| text.lines()).map(str::trim_start) {
        let line = line.trim_start_matches(['+', ':']);
        if let Some(command) = RUNS.iter().find_map(|start| line.strip_prefix(start)) {
            perhaps(walk, command.trim_start_matches(['(', '"', '\'']).trim_end_matches([')', '"', '\'']));
        } else if let Some((before, command)) = line.split_once('|')
            && (before.is_empty() || WRITES.iter().any(|start| before.contains(start)))
        {
            perhaps(walk, command.split('"').next().unwrap_or(command));
        }
        written(walk, line);
    }
    Stream::Unknown
}

/// `.output file`, `select writefile('file', 'text')` of SQLite.
fn written(walk: &mut Walk<'_>, line: &str) {
    let after = [".output ", ".once ", ".save ", ".backup ", ".log "]
        .iter()
        .find_map(|start| line.strip_prefix(start));
    let call = line.split_once("writefile('").and_then(|(_, rest)| rest.split('\'').next());
    if let Some(file) = after.and_then(|rest| rest.split_whitespace().last()).or(call)
        && !file.starts_with('|')
    {
        walk.run(&[], &[Field::from(file)], &Stream::Elsewhere);
    }
}

/// Tools of a language that run a command in its environment: `poetry run command`, `nix develop -c command`.
pub(in super::super) fn tool(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    for text in values(words, &["--run", "--command", "-c"]) {
        received(walk, &text);
    }
    let script = words.iter().skip_while(|word| !["run", "x"].contains(&word.marked())).skip(1);
    if script.take(4).any(|word| is_remote(word.marked())) {
        walk.doubt(interpreter::unknown_text());
    }
    after(walk, words, &["exec", "run", "x", "develop", "shell"], input)
}

/// `npm exec command`, `npx -c text`; `npm run name` runs what package.json says, of which nothing is known.
pub(in super::super) fn package(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    for text in values(words, &["--call", "-c", "--script-shell", "--shell"]) {
        perhaps(walk, &text);
    }
    // `npm pkg set scripts.name=text`
    for word in words.iter().filter_map(|word| word.marked().strip_prefix("scripts.")) {
        if let Some((_, text)) = word.split_once('=') {
            perhaps(walk, text);
        }
    }
    after(walk, words, &["exec", "x", "dlx"], input)
}

/// What a tool is told to run; a doubt, where all of it is only known when it runs.
fn received(walk: &mut Walk<'_>, text: &str) {
    if interpreter::is_unknown(text) {
        walk.doubt(interpreter::unknown_text());
    }
    perhaps(walk, text);
}

/// Whether a script is read from elsewhere.
pub(super) fn is_remote(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// Runs what stands after `--`, or after one of the tool's own commands, if there is one.
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
        walk.perhaps(|walk| {
            walk.run(rest, &[], input);
        });
    }
    Stream::Unknown
}
