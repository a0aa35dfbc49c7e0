//! Finds an alert in an agent's answer, whatever its markup.

use sys::text::is_invisible;

/// Whether the text begins with `ATTENTION:`, in any case, also inside Markdown bold, headings, quotes and list items,
/// and after invisible characters or symbols such as an emoji.
pub(super) fn is_alert(text: &str) -> bool {
    const WORD: &str = "ATTENTION";
    let is_markup = |character: char| {
        character.is_whitespace()
            || "#*_>`~-".contains(character)
            || is_invisible(character)
            || is_symbol(character)
    };
    let text = text.trim_start_matches(is_markup);
    let Some((word, rest)) = text.split_at_checked(WORD.len()) else { return false };
    let rest = rest.trim_start_matches(|character| "*_`~ ".contains(character) || is_invisible(character));
    word.eq_ignore_ascii_case(WORD) && rest.starts_with([':', '：'])
}

/// Whether the character is a symbol that people put before a word: emoji with their modifiers, arrows and dingbats.
fn is_symbol(character: char) -> bool {
    matches!(character, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// The text without whitespace and invisible characters around it.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace() || is_invisible(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attention_counts_in_markdown_too() {
        for text in [
            "ATTENTION: x",
            "\n\n  \r\n ATTENTION: x",
            "**ATTENTION:** x",
            "**ATTENTION**: x",
            "# ATTENTION: x",
            "### **ATTENTION:** x",
            "> ATTENTION: x",
            "- ATTENTION: x",
            "__ATTENTION__: x",
            "`ATTENTION:` x",
            "```\nATTENTION: x\n```",
            "\u{feff}ATTENTION: x",
            "\u{200b}ATTENTION: x",
            "\u{200e}ATTENTION\u{200b}： x",
            "\u{26a0}\u{fe0f} ATTENTION: x",
            "🚨🚨 **ATTENTION:** x",
            "attention: x",
            "**Attention:** x",
        ] {
            assert!(is_alert(text), "{text:?}");
        }
        for text in
            ["", "ATTENTION", "ATTENTION please: x", "No ATTENTION: needed", "Aufmerksamkeit: x", "**"]
        {
            assert!(!is_alert(text), "{text:?}");
        }
    }

    #[test]
    fn an_answer_that_shows_nothing_is_empty() {
        for text in ["", " \n\u{200b} ", "\u{feff}"] {
            assert_eq!(trim(text), "", "{text:?}");
        }
        assert_eq!(trim("\u{200b} a b\u{feff}\n"), "a b");
    }
}
