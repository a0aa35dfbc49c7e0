//! Wrappers that run a command repeatedly, with arguments that they find or read.

use super::super::{line, values};
use crate::shell::field::Field;
use crate::shell::walk::{Stream, Walk, plain};

/// How many known input lines are followed.
const MAX_LINES: usize = 16;

/// A nonempty unknown argument.
fn unknown_argument() -> Field {
    Field::unknown("$(found)")
}

fn first_operand(name: &str, words: &[Field]) -> usize {
    super::super::find(name).map_or(0, |wrapper| wrapper.first_operand(words))
}

/// `xargs [options] command`: its input becomes arguments.
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
    if lines.len() > MAX_LINES || text.is_none() {
        return walk.run(&fill(command, place.as_deref(), &[unknown_argument()]), &[], input);
    }
    match place {
        Some(place) => {
            for line in lines {
                walk.run(&fill(command, Some(&place), &[Field::from(line.trim())]), &[], input);
            }
        }
        None if is_null => {
            let arguments: Vec<Field> = lines.iter().map(|line| line.as_str().into()).collect();
            walk.run(&fill(command, None, &arguments), &[], input);
        }
        None => {
            let text = lines.join(" ").replace('\0', " ");
            let arguments: Vec<Field> = text.split_whitespace().map(Field::from).collect();
            walk.run(&fill(command, None, &arguments), &[], input);
        }
    }
    Stream::Unknown
}

/// The command with `arguments` in place of the placeholder, or at its end.
fn fill(command: &[Field], place: Option<&str>, arguments: &[Field]) -> Vec<Field> {
    match place.filter(|place| !place.is_empty()) {
        Some(place) => {
            let with = arguments.first().map_or("", Field::marked);
            command.iter().map(|word| Field(word.marked().replace(place, with))).collect()
        }
        None => [command, arguments].concat(),
    }
}

/// `parallel command ::: arguments`, or one command per input line.
pub(in super::super) fn parallel(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let rest = &words[first_operand("parallel", words)..];
    let end = rest.iter().position(|word| word.marked().starts_with(":::")).unwrap_or(rest.len());
    let (command, arguments) = rest.split_at(end);
    let known: Vec<Field> = match arguments {
        [] => match input.known() {
            Some(text) => text.lines().take(MAX_LINES).map(Field::from).collect(),
            None => vec![unknown_argument()],
        },
        _ => arguments[1..].to_vec(),
    };
    for argument in known.into_iter().take(MAX_LINES) {
        let has_place = command.iter().any(|word| word.marked().contains("{}"));
        let place = has_place.then_some("{}");
        walk.in_subshell(|walk| walk.source(&line(&fill(command, place, &[argument])), &Stream::External));
    }
    Stream::Unknown
}

/// `find … -exec command ;`
pub(in super::super) fn find(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    // A search by name only finds that name.
    let name = words.iter().position(|word| word.marked() == "-name").and_then(|at| words.get(at + 1));
    let found = name
        .filter(|name| name.literal().is_some_and(|name| !name.contains(['*', '?', '['])))
        .cloned()
        .unwrap_or_else(unknown_argument);
    // `find -files0-from file` with a file that the command line wrote.
    if let Some(file) = values(words, &["-files0-from"]).pop()
        && let Some(text) = walk.scope.files.get(&plain(&file)).map(|written| written.text.clone())
    {
        let others = words.iter().filter(|word| word.marked() != "-files0-from" && word.marked() != file);
        let starts = text.split('\0').filter(|start| !start.is_empty()).map(Field::from);
        let all: Vec<Field> =
            std::iter::once("find".into()).chain(starts.take(MAX_LINES)).chain(others.cloned()).collect();
        return walk.run(&all, &[], input);
    }
    let mut rest = words;
    while let Some(start) =
        rest.iter().position(|word| ["-exec", "-execdir", "-ok", "-okdir"].contains(&word.marked()))
    {
        let command = &rest[start + 1..];
        let end =
            command.iter().position(|word| [";", "+"].contains(&word.marked())).unwrap_or(command.len());
        walk.run(&fill(&command[..end], Some("{}"), std::slice::from_ref(&found)), &[], input);
        rest = &command[end..];
    }
    crate::shell::output::of_find(words)
}

/// `fd … -x command`: results go at the end.
pub(in super::super) fn fd(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let start = words.iter().position(|word| ["-x", "-X", "--exec", "--exec-batch"].contains(&word.marked()));
    if let Some(start) = start {
        let command = &words[start + 1..];
        // Everything in a folder is as good as the folder.
        let operands: Vec<&Field> =
            words[..start].iter().filter(|word| !word.marked().starts_with('-')).collect();
        let found = match operands.as_slice() {
            [pattern, folder] if [".", ""].contains(&pattern.marked()) => (*folder).clone(),
            _ => unknown_argument(),
        };
        let place = command.iter().any(|word| word.marked().contains("{}")).then_some("{}");
        walk.run(&fill(command, place, &[found]), &[], input);
        return Stream::Unknown;
    }
    // Its output is everything in the folder.
    let operands: Vec<&str> = words.iter().map(Field::marked).filter(|word| !word.starts_with('-')).collect();
    match operands.as_slice() {
        ["." | "", folder] => Stream::text(format!("{folder}\n")),
        _ => Stream::Unknown,
    }
}
