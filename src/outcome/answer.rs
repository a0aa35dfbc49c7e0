//! What an agent's answer says, however it is dressed up.

/// Whether it begins with `ATTENTION:`, also as Markdown's bold, heading, quote or list item.
pub(super) fn is_alert(text: &str) -> bool {
    let is_markup = |character: char| character.is_whitespace() || "#*_>`~-\u{feff}".contains(character);
    let word = text.trim_start_matches(is_markup).strip_prefix("ATTENTION");
    word.is_some_and(|rest| rest.trim_start_matches(['*', '_', '`', '~', ' ']).starts_with(':'))
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
        ] {
            assert!(is_alert(text), "{text:?}");
        }
        for text in ["", "ATTENTION", "ATTENTION please: x", "No ATTENTION: needed", "attention: x", "**"] {
            assert!(!is_alert(text), "{text:?}");
        }
    }
}
