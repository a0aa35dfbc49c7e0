//! Text fitted into columns of a terminal.

pub use sys::text::{cut, cut_middle};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Shortens `text` to `width` columns like [`cut`], but between words if that keeps at least half of it.
pub fn cut_at_word(text: &str, width: usize) -> String {
    let short = cut(text, width);
    if short == text {
        return short;
    }
    let kept = short.trim_end_matches('…');
    let is_whole = text[kept.len()..].starts_with(' ');
    match kept.rfind(' ') {
        _ if is_whole => short,
        Some(end) if end * 2 >= kept.len() => format!("{}…", kept[..end].trim_end()),
        _ => short,
    }
}

/// Subtracts the width of `c` from `room` if it fits.
pub fn take(room: &mut usize, c: char) -> bool {
    let left = room.checked_sub(c.width().unwrap_or(0));
    *room = left.unwrap_or(*room);
    left.is_some()
}

/// `text`, with spaces up to `width` columns.
pub fn pad(text: &str, width: usize) -> String {
    let mut padded = text.to_owned();
    padded.extend(std::iter::repeat_n(' ', width.saturating_sub(text.width())));
    padded
}

/// An amount in US dollars: with two decimals, or four if it is less than a cent.
pub fn dollars(usd: f64) -> String {
    match usd {
        0.01.. | 0.0 => format!("${usd:.2}"),
        0.0..0.000_05 => "<$0.0001".to_owned(),
        _ => format!("${usd:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_of_money_are_shown() {
        let shown = [0.0, 0.000_01, 0.0004, 0.004, 0.00996, 0.0421, 1.5].map(dollars);
        assert_eq!(shown, ["$0.00", "<$0.0001", "$0.0004", "$0.0040", "$0.0100", "$0.04", "$1.50"]);
    }

    #[test]
    fn text_is_cut_between_words_where_that_keeps_most_of_it() {
        for (text, width, expected) in [
            ("two tests failing", 17, "two tests failing"),
            ("two tests failing", 16, "two tests…"),
            ("two tests failing", 10, "two tests…"),
            ("two tests failing", 9, "two test…"),
            ("a verylongwordindeed", 12, "a verylongw…"),
            ("日本語 テスト", 9, "日本語…"),
            ("two", 1, "…"),
            ("two", 0, ""),
        ] {
            assert_eq!(cut_at_word(text, width), expected, "{text} {width}");
        }
        assert_eq!(pad("日本", 6), "日本  ");
    }
}
