//! Masks the secrets in text that is written for people.
//!
//! Masks too much rather than too little: unlike a recording, this text is never replayed.

use super::REMOVED;
use super::scan::{Level, findings};

/// The maximum number of passes: some secrets are only recognized after another one is masked.
const MAX_PASSES: usize = 8;

/// Returns `text` with its secrets masked.
#[must_use]
pub fn mask(text: &str) -> String {
    let mut masked = once(text).unwrap_or_else(|| text.to_owned());
    for _ in 1..MAX_PASSES {
        match once(&masked) {
            Some(again) if again != masked => masked = again,
            _ => break,
        }
    }
    masked
}

/// Makes one pass; `None` if there is nothing to mask.
fn once(text: &str) -> Option<String> {
    let mut masked = String::new();
    let mut from = 0;
    for finding in findings(text.as_bytes()).into_iter().filter(|finding| finding.level >= Level::Likely) {
        // Don't split a character.
        let start = (0..=finding.start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let end = (finding.end..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        masked.push_str(&text[from..start.max(from)]);
        masked.push_str(REMOVED);
        from = end;
    }
    (from > 0).then(|| masked + &text[from..])
}
