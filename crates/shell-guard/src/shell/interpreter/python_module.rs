//! Python modules that run code or write files: `python -m timeit code`.

use super::code::{read, text};
use crate::shell::field::Field;
use crate::shell::language::Syntax;
use crate::shell::walk::{Stream, Walk};

/// Walks what the module `name` does with `words`.
pub(super) fn run(walk: &mut Walk<'_>, name: &str, words: &[Field], input: &Stream) {
    let operands: Vec<&Field> = words.iter().filter(|word| !word.marked().starts_with('-')).collect();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.marked()));
    match name {
        "timeit" => {
            for code in operands {
                text(walk, code.marked(), Syntax::Python);
            }
        }
        "pdb" => {
            let commands =
                words.iter().zip(words.iter().skip(1)).filter(|(option, _)| option.marked() == "-c");
            for (_, command) in commands {
                text(walk, command.marked().trim_start_matches(['!', ' ']), Syntax::Python);
            }
        }
        "asyncio" | "code" | "IPython" => {
            if let Some(code) = read(walk, input) {
                text(walk, &code, Syntax::Python);
            }
        }
        "json.tool" => {
            if let Some(file) = operands.get(1) {
                walk.run(&[], &[(*file).clone()], &Stream::External);
            }
        }
        "zipfile" | "tarfile" if has(&["-e", "--extract"]) => {
            if let [archive, folder, ..] = operands.as_slice() {
                let words = ["unzip".into(), (*archive).clone(), "-d".into(), (*folder).clone()];
                walk.run(&words, &[], &Stream::External);
            }
        }
        _ => {}
    }
}
