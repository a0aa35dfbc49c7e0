//! murmur itself, which runs any command.

use crate::permit::shell::field::Field;
use crate::permit::shell::walk::{Stream, Walk};

/// `murmur run [options] -- command`, and `record` likewise; what stands after the dashes of its other commands is none.
pub(in super::super) fn murmur(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let end = words.iter().position(|word| word.marked() == "--").unwrap_or(words.len());
    if !words[..end].iter().any(|word| ["run", "record"].contains(&word.marked())) {
        return Stream::Unknown;
    }
    walk.run(words.get(end + 1..).unwrap_or_default(), &[], input)
}
