//! murmur, which can run any command.

use crate::shell::field::Field;
use crate::shell::walk::{Stream, Walk};

/// `murmur run [options] -- command` and `murmur record`. Other subcommands run nothing after `--`.
pub(in super::super) fn murmur(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let end = words.iter().position(|word| word.marked() == "--").unwrap_or(words.len());
    if !words[..end].iter().any(|word| ["run", "record"].contains(&word.marked())) {
        return Stream::Unknown;
    }
    walk.run(words.get(end + 1..).unwrap_or_default(), &[], input)
}
