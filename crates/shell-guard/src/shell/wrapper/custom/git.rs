//! git: programs run by its settings and options.

use super::super::values;
use super::option::speculate;
use crate::shell::field::Field;
use crate::shell::git;
use crate::shell::walk::{Stream, Walk};

/// Options of git subcommands whose value is a program or a shell command.
fn options(command: &str) -> &'static [&'static str] {
    match command {
        "rebase" => &["-x", "--exec"],
        "filter-branch" => &[
            "--tree-filter",
            "--index-filter",
            "--msg-filter",
            "--commit-filter",
            "--env-filter",
            "--parent-filter",
        ],
        "difftool" | "mergetool" => &["-x", "--extcmd"],
        "grep" => &["-O", "--open-files-in-pager"],
        "clone" | "fetch" | "pull" | "fetch-pack" => &["--upload-pack", "-u"],
        "ls-remote" => &["--upload-pack", "--exec"],
        "push" | "send-pack" => &["--receive-pack", "--exec"],
        "archive" => &["--exec"],
        "send-email" => &["--sendmail-cmd", "--smtp-server", "--to-cmd", "--cc-cmd", "--header-cmd"],
        "daemon" => &["--access-hook"],
        "help" | "web--browse" => &["--browser"],
        _ => &[],
    }
}

/// `git -c name=value`, `git config alias.x '!command'`, `git bisect run command`, `git submodule foreach text`.
pub(in super::super) fn git(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let split = |pair: &String| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut pairs: Vec<_> = values(words, &["-c", "--config"]).iter().filter_map(split).collect();
    for (name, variable) in values(words, &["--config-env"]).iter().filter_map(split) {
        let value = walk.value(&variable).unwrap_or_default();
        pairs.extend(value.into_iter().map(|value| (name.clone(), value.to_string())));
    }
    let command =
        words.iter().position(|word| !word.marked().starts_with('-') && !word.marked().contains('='));
    let rest = command.map_or(&[][..], |at| &words[at..]);
    let texts: Vec<&str> = rest.iter().map(Field::marked).collect();
    match texts.as_slice() {
        ["config", options @ ..] => {
            let operands: Vec<&&str> =
                options.iter().filter(|word| !word.starts_with('-') && **word != "set").collect();
            for pair in operands.windows(2) {
                pairs.push(((*pair[0]).to_owned(), (*pair[1]).to_owned()));
            }
        }
        ["bisect", "run", ..] => {
            walk.run(&rest[2..], &[], input);
        }
        ["submodule", "foreach", options @ ..] => {
            let skipped = options.iter().take_while(|word| word.starts_with('-')).count();
            walk.source(&options[skipped..].join(" "), input);
        }
        [command, ..] => {
            for text in values(rest, options(command)) {
                speculate(walk, &text);
            }
        }
        [] => {}
    }
    for word in &texts {
        if let Some(command) = word.strip_prefix("ext::") {
            // In an `ext::` URL, `% ` is a space within a word.
            speculate(walk, &command.replace("% ", " "));
        }
    }
    for (name, value) in pairs {
        pair(walk, &name, &value);
    }
    Stream::Unknown
}

/// Walks what the setting `name` makes git run.
fn pair(walk: &mut Walk<'_>, name: &str, value: &str) {
    if let Some(command) = value.strip_prefix('!') {
        speculate(walk, command);
    } else if git::runs(name, value) {
        speculate(walk, value);
    }
}

/// The settings in `GIT_CONFIG_PARAMETERS`: `'name=value' 'name'='value'`
pub(in crate::shell) fn parameters(walk: &mut Walk<'_>, text: &str) {
    for part in text.replace("'='", "=").split('\'').filter(|part| part.contains('=')) {
        if let Some((name, value)) = part.split_once('=') {
            pair(walk, name, value);
        }
    }
}
