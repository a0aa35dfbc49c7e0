//! PowerShell's options.

use super::{file, read, unknown_text};
use crate::shell::field::Field;
use crate::shell::walk::{Stream, Walk};

/// Walks what PowerShell runs. The first operand is a command if `takes_text`, and a script file otherwise.
pub(super) fn run(walk: &mut Walk<'_>, words: &[Field], input: &Stream, takes_text: bool) -> Stream {
    const VALUED: [&str; 14] = [
        "executionpolicy",
        "ex",
        "ep",
        "windowstyle",
        "w",
        "workingdirectory",
        "wd",
        "version",
        "v",
        "outputformat",
        "o",
        "inputformat",
        "configurationname",
        "settingsfile",
    ];
    let join = |words: &[Field]| words.iter().map(Field::marked).collect::<Vec<_>>().join(" ");
    let mut at = 0;
    while let Some(word) = words.get(at).map(Field::marked) {
        let Some(option) = word.strip_prefix(['-', '/']).filter(|option| !option.is_empty()) else { break };
        let option = option.trim_start_matches('-').to_lowercase();
        at += 1;
        let rest = words.get(at..).unwrap_or_default();
        match option.as_str() {
            "c" | "command" => match rest {
                [word] if word.marked() == "-" => return read(walk, input),
                rest => return walk.source(&join(rest), input),
            },
            "f" | "file" => return rest.first().map_or(Stream::Unknown, |script| file(walk, script, input)),
            _ if VALUED.contains(&option.as_str()) => at += 1,
            _ if option == "ec" || "encodedcommand".starts_with(&option) => {
                walk.doubt(unknown_text());
                return Stream::Unknown;
            }
            _ => {}
        }
    }
    match words.get(at..).unwrap_or_default() {
        [] => read(walk, input),
        rest if takes_text => walk.source(&join(rest), input),
        [script, ..] => file(walk, script, input),
    }
}
