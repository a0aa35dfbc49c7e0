//! The final check for secrets that could not be removed.

use super::{Scrubbed, Suspicious};
use secrets::scan::findings;

/// Refuses a private key block.
pub(super) fn private_key(stream: &'static str, bytes: &[u8]) -> Result<(), Suspicious> {
    for at in memchr::memmem::find_iter(bytes, "PRIVATE KEY") {
        let from = at.saturating_sub(40);
        if let Some(begin) = memchr::memmem::rfind(&bytes[from..at], b"-----BEGIN") {
            return Err(refused(stream, bytes, from + begin, "a private key"));
        }
    }
    Ok(())
}

/// Refuses remaining secrets in `clean`, and reports their position in `raw`.
pub(super) fn check(stream: &'static str, raw: &[u8], clean: &Scrubbed) -> Result<(), Suspicious> {
    match findings(&clean.bytes).first() {
        Some(finding) => Err(refused(stream, raw, clean.origin(finding.start), finding.kind.description())),
        None => Ok(()),
    }
}

/// Like [`check`], for each of `words`, whose index is the line.
pub(super) fn check_each<'a>(
    stream: &'static str,
    words: impl IntoIterator<Item = &'a String>,
) -> Result<(), Suspicious> {
    for (index, word) in words.into_iter().enumerate() {
        let clean = Scrubbed { bytes: word.clone().into_bytes(), ..Scrubbed::default() };
        let at = |found: Suspicious| Suspicious { line: index + 1, ..found };
        private_key(stream, word.as_bytes()).map_err(at)?;
        check(stream, word.as_bytes(), &clean).map_err(at)?;
    }
    Ok(())
}

/// Like [`check`], for `words` as the arguments of `program`: an option and its value are separate words.
pub(super) fn check_words(stream: &'static str, program: &str, words: &[String]) -> Result<(), Suspicious> {
    let mut line = program.as_bytes().to_vec();
    let mut starts = Vec::new();
    for word in words {
        line.push(b' ');
        starts.push(line.len());
        line.extend_from_slice(word.as_bytes());
    }
    let Some(finding) = findings(&line).into_iter().next() else { return Ok(()) };
    let number = starts.partition_point(|start| *start <= finding.start);
    let start = number.checked_sub(1).and_then(|last| starts.get(last)).copied().unwrap_or_default();
    Err(Suspicious {
        stream,
        line: number,
        column: finding.start - start + 1,
        what: finding.kind.description(),
    })
}

fn refused(stream: &'static str, bytes: &[u8], at: usize, what: &'static str) -> Suspicious {
    let line = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1);
    let number = memchr::memchr_iter(b'\n', &bytes[..at]).count() + 1;
    Suspicious { stream, line: number, column: at - line + 1, what }
}
