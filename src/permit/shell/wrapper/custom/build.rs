//! Builders: what they are told to run on the command line, or in a file that the line itself gives.

use super::super::{is_assignment, values};
use crate::permit::shell::field::Field;
use crate::permit::shell::walk::{Stream, Walk, plain};

fn perhaps(walk: &mut Walk<'_>, text: &str) {
    walk.perhaps(|walk| {
        walk.source(text, &Stream::Elsewhere);
    });
}

/// `make NAME=text`, `make --eval=text`, `make -f file` of a file that the line gives.
pub(in super::super) fn make(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    for word in words.iter().filter(|word| is_assignment(word)) {
        if let Some((_, value)) = word.marked().split_once('=') {
            perhaps(walk, value);
        }
    }
    // It only says what it would do.
    if words.iter().any(|word| ["-n", "--dry-run", "--just-print", "--recon"].contains(&word.marked())) {
        return Stream::Unknown;
    }
    let mut texts = values(words, &["--eval", "-E"]);
    for file in values(words, &["-f", "--file", "--makefile"]) {
        match file.as_str() {
            "-" | "/dev/stdin" => texts.extend(input.known().map(str::to_owned)),
            file => texts.extend(walk.scope.files.get(&plain(file)).map(|written| written.text.clone())),
        }
    }
    if values(words, &["-f", "--file", "--makefile"]).is_empty() {
        let files = ["Makefile", "makefile", "GNUmakefile"];
        texts.extend(
            files.iter().filter_map(|file| walk.scope.files.get(*file)).map(|written| written.text.clone()),
        );
    }
    for line in texts.iter().flat_map(|text| text.lines()) {
        let recipe = line.strip_prefix('\t').or_else(|| line.split_once(';').map(|(_, recipe)| recipe));
        if let Some(recipe) = recipe {
            perhaps(walk, recipe.trim_start_matches(['@', '-', '+', ' ']));
        }
        for call in line.split("$(shell ").skip(1) {
            perhaps(walk, call.split(')').next().unwrap_or(call));
        }
    }
    Stream::Unknown
}

/// `cmake -E command`
pub(in super::super) fn cmake(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    match words {
        [option, command @ ..] if option.marked() == "-E" => walk.run(command, &[], input),
        _ => Stream::Unknown,
    }
}

/// `cargo --config 'target.x.runner="command"'`
pub(in super::super) fn cargo(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    for pair in values(words, &["--config"]) {
        if let Some((name, value)) = pair.split_once('=') {
            let name = name.trim();
            if ["runner", "linker", "rustc", "rustc-wrapper", "rustdoc"].iter().any(|end| name.ends_with(end))
            {
                let text: String = value.chars().filter(|c| !"[]\"',".contains(*c)).collect();
                perhaps(walk, &text);
            }
        }
    }
    Stream::Unknown
}
