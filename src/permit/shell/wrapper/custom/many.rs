//! Wrappers that run a command many times, with arguments that they find or read.

use super::super::{TABLE, line, values};
use crate::permit::shell::field::Field;
use crate::permit::shell::walk::{Stream, Walk, plain};

/// How many lines that are known are followed.
const LINES: usize = 16;

/// What is only known when it runs, and is not nothing.
fn found() -> Field {
    Field::unknown("$(found)")
}

fn first_operand(name: &str, words: &[Field]) -> usize {
    let wrapper = TABLE.iter().find(|wrapper| wrapper.names.contains(&name));
    wrapper.map_or(0, |wrapper| wrapper.first_operand(words))
}

/// `xargs [options] command`: what it reads are further arguments.
pub(in super::super) fn xargs(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let start = first_operand("xargs", words);
    let (options, command) = words.split_at(start);
    let place = options.iter().enumerate().find_map(|(at, word)| {
        let text = word.marked();
        match text.strip_prefix("-I") {
            Some("") => options.get(at + 1).map(|word| word.marked().to_owned()),
            Some(place) => Some(place.to_owned()),
            None if text == "-i" || text == "--replace" => Some("{}".to_owned()),
            None => text.strip_prefix("--replace=").map(str::to_owned),
        }
    });
    let file = values(options, &["-a", "--arg-file"]).pop();
    let file = file.filter(|file| !["-", "/dev/stdin"].contains(&file.as_str()));
    let text = match &file {
        Some(file) => walk.scope.files.get(&plain(file)).map(|written| written.text.clone()),
        None => input.known().map(str::to_owned),
    };
    let is_null = options.iter().map(Field::marked).any(|word| {
        word == "--null"
            || word.starts_with('-') && !word.starts_with("--") && word.contains('0')
            || word.starts_with("-d")
            || word.starts_with("--delimiter")
    });
    let separator =
        if is_null && text.as_deref().is_some_and(|text| text.contains('\0')) { '\0' } else { '\n' };
    let lines: Vec<String> =
        text.iter().flat_map(|text| text.split_terminator(separator)).map(str::to_owned).collect();
    if lines.len() > LINES || text.is_none() {
        return walk.run(&filled(command, place.as_deref(), &[found()]), &[], input);
    }
    match place {
        Some(place) => {
            for line in lines {
                walk.run(&filled(command, Some(&place), &[Field::from(line.trim())]), &[], input);
            }
        }
        None if is_null => {
            let arguments: Vec<Field> = lines.iter().map(|line| line.as_str().into()).collect();
            walk.run(&filled(command, None, &arguments), &[], input);
        }
        None => {
            let text = lines.join(" ").replace('\0', " ");
            let arguments: Vec<Field> = text.split_whitespace().map(Field::from).collect();
            walk.run(&filled(command, None, &arguments), &[], input);
        }
    }
    Stream::Unknown
}

/// A command with `arguments` at its places, or after it.
fn filled(command: &[Field], place: Option<&str>, arguments: &[Field]) -> Vec<Field> {
    match place.filter(|place| !place.is_empty()) {
        Some(place) => {
            let with = arguments.first().map_or("", Field::marked);
            command.iter().map(|word| Field(word.marked().replace(place, with))).collect()
        }
        None => [command, arguments].concat(),
    }
}

/// `parallel command ::: arguments`, or one command a line that it reads.
pub(in super::super) fn parallel(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let rest = &words[first_operand("parallel", words)..];
    let end = rest.iter().position(|word| word.marked().starts_with(":::")).unwrap_or(rest.len());
    let (command, arguments) = rest.split_at(end);
    let known: Vec<Field> = match arguments {
        [] => match input.known() {
            Some(text) => text.lines().take(LINES).map(Field::from).collect(),
            None => vec![found()],
        },
        _ => arguments[1..].to_vec(),
    };
    for argument in known.into_iter().take(LINES) {
        let has_place = command.iter().any(|word| word.marked().contains("{}"));
        let place = has_place.then_some("{}");
        walk.apart(|walk| walk.source(&line(&filled(command, place, &[argument])), &Stream::Elsewhere));
    }
    Stream::Unknown
}

/// `find … -exec command ;`
pub(in super::super) fn find(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    // What is looked for by a name is that.
    let name = words.iter().position(|word| word.marked() == "-name").and_then(|at| words.get(at + 1));
    let found = name
        .filter(|name| name.literal().is_some_and(|name| !name.contains(['*', '?', '['])))
        .cloned()
        .unwrap_or_else(found);
    // `find -files0-from file`, where the line gives the file.
    if let Some(file) = values(words, &["-files0-from"]).pop()
        && let Some(text) = walk.scope.files.get(&plain(&file)).map(|written| written.text.clone())
    {
        let others = words.iter().filter(|word| word.marked() != "-files0-from" && word.marked() != file);
        let starts = text.split('\0').filter(|start| !start.is_empty()).map(Field::from);
        let all: Vec<Field> =
            std::iter::once("find".into()).chain(starts.take(LINES)).chain(others.cloned()).collect();
        return walk.run(&all, &[], input);
    }
    let mut rest = words;
    while let Some(start) =
        rest.iter().position(|word| ["-exec", "-execdir", "-ok", "-okdir"].contains(&word.marked()))
    {
        let command = &rest[start + 1..];
        let end =
            command.iter().position(|word| [";", "+"].contains(&word.marked())).unwrap_or(command.len());
        walk.run(&filled(&command[..end], Some("{}"), std::slice::from_ref(&found)), &[], input);
        rest = &command[end..];
    }
    crate::permit::shell::output::found(words)
}

/// `fd … -x command`, which takes what is found at its end.
pub(in super::super) fn fd(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let start = words.iter().position(|word| ["-x", "-X", "--exec", "--exec-batch"].contains(&word.marked()));
    if let Some(start) = start {
        let command = &words[start + 1..];
        // All that is in a folder is as good as the folder.
        let operands: Vec<&Field> =
            words[..start].iter().filter(|word| !word.marked().starts_with('-')).collect();
        let found = match operands.as_slice() {
            [pattern, folder] if [".", ""].contains(&pattern.marked()) => (*folder).clone(),
            _ => found(),
        };
        let place = command.iter().any(|word| word.marked().contains("{}")).then_some("{}");
        walk.run(&filled(command, place, &[found]), &[], input);
        return Stream::Unknown;
    }
    // What it writes is all that is in the folder.
    let operands: Vec<&str> = words.iter().map(Field::marked).filter(|word| !word.starts_with('-')).collect();
    match operands.as_slice() {
        ["." | "", folder] => Stream::text(format!("{folder}\n")),
        _ => Stream::Unknown,
    }
}
