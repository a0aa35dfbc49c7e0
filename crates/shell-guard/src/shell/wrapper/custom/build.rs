//! Build tools: commands in their arguments, or in a file that the command line wrote.

use super::super::{is_assignment, values};
use super::option::speculate;
use crate::shell::field::Field;
use crate::shell::interpreter;
use crate::shell::walk::{Stream, Walk, plain};

/// `make NAME=text`, `make --eval=text`, `make -f file`
pub(in super::super) fn make(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    for word in words.iter().filter(|word| is_assignment(word)) {
        if let Some((_, value)) = word.marked().split_once('=') {
            speculate(walk, value);
            make_text(walk, value);
        }
    }
    // A dry run only prints commands.
    if words.iter().any(|word| ["-n", "--dry-run", "--just-print", "--recon"].contains(&word.marked())) {
        return Stream::Unknown;
    }
    let mut texts = values(words, &["--eval", "-E"]);
    for file in values(words, &["-f", "--file", "--makefile"]) {
        match file.as_str() {
            "-" | "/dev/stdin" => match input {
                Stream::Known(written) => texts.push(written.text.clone()),
                Stream::Unknown => walk.doubt(interpreter::unknown_text()),
                Stream::External => {}
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
            speculate(walk, recipe.trim_start_matches(['@', '-', '+', ' ']));
        }
        make_text(walk, line);
    }
    Stream::Unknown
}

/// Commands in text that make expands: `$(shell text)`
pub(in crate::shell) fn make_text(walk: &mut Walk<'_>, text: &str) {
    for call in text.split("$(shell ").skip(1) {
        speculate(walk, call.split(')').next().unwrap_or(call));
    }
}

/// Programs in the value of `GOFLAGS` and similar: `-toolexec=program`
pub(in crate::shell) fn flags(walk: &mut Walk<'_>, text: &str) {
    let words: Vec<Field> = text.split_whitespace().map(Field::from).collect();
    for text in values(&words, &["-toolexec", "-exec", "-vettool"]) {
        speculate(walk, &text);
    }
}

/// `cmake -E command`, `cmake -P script`
pub(in super::super) fn cmake(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let [option, words @ ..] = words else { return Stream::Unknown };
    if option.marked() == "-P" {
        if let Some(file) = words.first() {
            super::tools::cmake_script(walk, file);
        }
        return Stream::Unknown;
    }
    let (Some(command), "-E") = (words.first().map(Field::marked), option.marked()) else {
        return Stream::Unknown;
    };
    let program: &[&str] = match command {
        "chdir" => {
            let [_, folder, rest @ ..] = words else { return Stream::Unknown };
            return walk.in_subshell(|walk| {
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
            speculate(walk, &text);
        }
    }
    for pair in values(words, &["--config"]) {
        if let Some((name, value)) = pair.split_once('=') {
            let name = name.trim();
            if ["runner", "linker", "rustc", "rustc-wrapper", "rustdoc"].iter().any(|end| name.ends_with(end))
            {
                let text: String = value.chars().filter(|c| !"[]\"',".contains(*c)).collect();
                speculate(walk, &text);
            }
        }
    }
    Stream::Unknown
}
