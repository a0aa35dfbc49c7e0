//! Builders: what they are told to run on the command line, or in a file that the line itself gives.

use super::super::{is_assignment, values};
use super::option::perhaps;
use crate::permit::shell::field::Field;
use crate::permit::shell::interpreter;
use crate::permit::shell::walk::{Stream, Walk, plain};

/// `make NAME=text`, `make --eval=text`, `make -f file` of a file that the line gives.
pub(in super::super) fn make(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    for word in words.iter().filter(|word| is_assignment(word)) {
        if let Some((_, value)) = word.marked().split_once('=') {
            perhaps(walk, value);
            make_text(walk, value);
        }
    }
    // It only says what it would do.
    if words.iter().any(|word| ["-n", "--dry-run", "--just-print", "--recon"].contains(&word.marked())) {
        return Stream::Unknown;
    }
    let mut texts = values(words, &["--eval", "-E"]);
    for file in values(words, &["-f", "--file", "--makefile"]) {
        match file.as_str() {
            "-" | "/dev/stdin" => match input {
                Stream::Known(written) => texts.push(written.text.clone()),
                Stream::Unknown => walk.doubt(interpreter::unknown_text()),
                Stream::Elsewhere => {}
            },
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
        make_text(walk, line);
    }
    Stream::Unknown
}

/// What a text that make expands runs: `$(shell text)`.
pub(in crate::permit::shell) fn make_text(walk: &mut Walk<'_>, text: &str) {
    for call in text.split("$(shell ").skip(1) {
        perhaps(walk, call.split(')').next().unwrap_or(call));
    }
}

/// What the value of `GOFLAGS` and its like names: `-toolexec=program`.
pub(in crate::permit::shell) fn flags(walk: &mut Walk<'_>, text: &str) {
    let words: Vec<Field> = text.split_whitespace().map(Field::from).collect();
    for text in values(&words, &["-toolexec", "-exec", "-vettool"]) {
        perhaps(walk, &text);
    }
}

/// `cmake -E command`, `cmake -P script`
pub(in super::super) fn cmake(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let [option, words @ ..] = words else { return Stream::Unknown };
    if option.marked() == "-P" {
        if let Some(file) = words.first() {
            super::told::build_script(walk, file);
        }
        return Stream::Unknown;
    }
    let (Some(command), "-E") = (words.first().map(Field::marked), option.marked()) else {
        return Stream::Unknown;
    };
    let program: &[&str] = match command {
        "chdir" => {
            let [_, folder, rest @ ..] = words else { return Stream::Unknown };
            return walk.apart(|walk| {
                walk.run(&["cd".into(), folder.clone()], &[], input);
                walk.run(rest, &[], input)
            });
        }
        "remove" | "remove_directory" => &["rm", "-rf"],
        "rename" => &["mv"],
        "copy_if_different" | "copy_if_newer" => &["cp"],
        "copy_directory" | "copy_directory_if_different" => &["cp", "-r"],
        "create_symlink" => &["ln", "-s"],
        "create_hardlink" => &["ln"],
        _ => return walk.run(words, &[], input),
    };
    let program = program.iter().map(|word| Field::from(*word));
    let words: Vec<Field> = program.chain(words[1..].iter().cloned()).collect();
    walk.run(&words, &[], input)
}

/// `cargo --config 'target.x.runner="command"'`
pub(in super::super) fn cargo(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    if words.iter().any(|word| word.marked() == "watch") {
        for text in values(words, &["-s", "--shell"]) {
            perhaps(walk, &text);
        }
    }
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
