//! Wrappers whose command is the text of an option, or stands after one of their own commands.

use super::super::values;
use crate::permit::shell::field::Field;
use crate::permit::shell::walk::{Stream, Walk};

/// What may never run is walked through for what it refuses.
fn perhaps(walk: &mut Walk<'_>, text: &str) {
    walk.perhaps(|walk| {
        walk.source(text, &Stream::Elsewhere);
    });
}

/// `git -c name=value`, `git config alias.x '!command'`, `git bisect run command`, `git submodule foreach text`.
pub(in super::super) fn git(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    const COMMANDS: [&str; 9] = [
        "gpg.program",
        "core.pager",
        "core.editor",
        "core.sshcommand",
        "core.fsmonitor",
        "diff.external",
        "credential.helper",
        "sequence.editor",
        "core.askpass",
    ];
    let mut pairs: Vec<(String, String)> = values(words, &["-c"])
        .iter()
        .filter_map(|pair| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())))
        .collect();
    let command =
        words.iter().position(|word| !word.marked().starts_with('-') && !word.marked().contains('='));
    let rest = command.map_or(&[][..], |at| &words[at..]);
    let texts: Vec<&str> = rest.iter().map(Field::marked).collect();
    match texts.as_slice() {
        ["config", options @ ..] => {
            let operands: Vec<&&str> =
                options.iter().filter(|word| !word.starts_with('-') && **word != "set").collect();
            if let [name, value, ..] = operands.as_slice() {
                pairs.push(((**name).to_owned(), (**value).to_owned()));
            }
        }
        ["bisect", "run", ..] => {
            walk.run(&rest[2..], &[], input);
        }
        ["submodule", "foreach", options @ ..] => {
            let skipped = options.iter().take_while(|word| word.starts_with('-')).count();
            walk.source(&options[skipped..].join(" "), input);
        }
        [
            "rebase" | "filter-branch" | "difftool" | "mergetool" | "grep" | "clone" | "fetch" | "push"
            | "pull",
            ..,
        ] => {
            const OPTIONS: [&str; 13] = [
                "-x",
                "--exec",
                "--tree-filter",
                "--index-filter",
                "--msg-filter",
                "--commit-filter",
                "--env-filter",
                "--extcmd",
                "-O",
                "--open-files-in-pager",
                "--upload-pack",
                "-u",
                "--receive-pack",
            ];
            let is_push = ["push", "fetch", "pull", "clone"].contains(&texts[0]);
            for text in values(rest, if is_push { &OPTIONS[10..] } else { &OPTIONS[..10] }) {
                perhaps(walk, &text);
            }
        }
        _ => {}
    }
    for word in &texts {
        if let Some(command) = word.strip_prefix("ext::") {
            // `% ` is a blank within a word.
            perhaps(walk, &command.replace("% ", " "));
        }
    }
    for (name, value) in pairs {
        let name = name.to_lowercase();
        if let Some(command) = value.strip_prefix('!') {
            perhaps(walk, command);
        } else if COMMANDS.contains(&name.as_str())
            || name.ends_with(".command")
            || name.starts_with("pager.")
        {
            perhaps(walk, &value);
        }
    }
    Stream::Unknown
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

/// Programs in which a line with `!`, `.shell` or `.system` runs what stands after it.
pub(in super::super) fn banged(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let mut texts: Vec<String> = words.iter().map(|word| word.marked().to_owned()).collect();
    texts.extend(input.known().map(str::to_owned));
    for text in &texts {
        // SQL: `COPY … TO PROGRAM 'command'`
        if let Some((_, command)) = text.split_once("PROGRAM '").or(text.split_once("program '")) {
            perhaps(walk, command.split('\'').next().unwrap_or(command));
        }
    }
    for line in texts.iter().flat_map(|text| text.lines()).map(str::trim_start) {
        let line = line.trim_start_matches(['+', ':']);
        let command =
            ["!", "\\!", ".shell ", ".system ", "system "].iter().find_map(|start| line.strip_prefix(start));
        if let Some(command) = command {
            perhaps(walk, command.trim_start_matches(['(', '"', '\'']).trim_end_matches([')', '"', '\'']));
        }
    }
    Stream::Unknown
}

/// Tools of a language that run a command in its environment: `poetry run command`, `nix develop -c command`.
pub(in super::super) fn tool(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    for text in values(words, &["--run", "--command", "-c"]) {
        perhaps(walk, &text);
    }
    after(walk, words, &["exec", "run", "x", "develop", "shell"], input)
}

/// `npm exec command`, `npx -c text`; `npm run name` runs what package.json says, of which nothing is known.
pub(in super::super) fn package(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    for text in values(words, &["--call", "-c"]) {
        perhaps(walk, &text);
    }
    after(walk, words, &["exec", "x", "dlx"], input)
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
