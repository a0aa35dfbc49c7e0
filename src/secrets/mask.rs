//! Text that is written down for people with the secrets in it taken out.
//!
//! Rather too much than too little: unlike a recording, what is written down here is never played back.

use super::REMOVED;
use super::scan::{Level, places};

/// How often what is left is looked at again, for what only shows once something else is gone.
const ROUNDS: usize = 8;

/// `text` without its secrets.
#[must_use]
pub fn mask(text: &str) -> String {
    let mut masked = once(text).unwrap_or_else(|| text.to_owned());
    for _ in 1..ROUNDS {
        match once(&masked) {
            Some(again) if again != masked => masked = again,
            _ => break,
        }
    }
    masked
}

/// `text` without what looks like a secret in it, if anything does.
fn once(text: &str) -> Option<String> {
    let mut masked = String::new();
    let mut from = 0;
    for place in places(text.as_bytes()).into_iter().filter(|place| place.level >= Level::Likely) {
        // No character is taken apart.
        let start = (0..=place.start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let end = (place.end..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        masked.push_str(&text[from..start.max(from)]);
        masked.push_str(REMOVED);
        from = end;
    }
    (from > 0).then(|| masked + &text[from..])
}
