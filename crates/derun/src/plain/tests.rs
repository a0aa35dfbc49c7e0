//! Tests the conversion of terminal output.

use super::line::LIMIT;
use super::{Plain, plain};
use proptest::prelude::*;

fn cut(pieces: &[&[u8]]) -> String {
    let (mut plain, mut out) = (Plain::default(), String::new());
    pieces.iter().for_each(|piece| plain.feed(piece, &mut out));
    plain.finish(&mut out);
    out
}

#[test]
fn escape_codes_are_removed() {
    for (bytes, text) in [
        ("\x1b[1;31mred\x1b[0m and \x1b[38;2;1;2;3mtrue\x1b[m", "red and true"),
        ("\x1b]0;title\x07\x1b]8;;https://x.y\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0;2;0;0;0\x1b\\after\x1b_apc\x1b\\.", "after."),
        ("\x1b(0q\x1b(B\x1b[?25l\x1b[>4;1m\x1b[!p\x0e\x0f\x07\x7f.", "q."),
        ("a\r\nb\r\n", "a\nb\n"),
        ("never ended \x1b]0;title", "never ended "),
    ] {
        assert_eq!(plain(bytes.as_bytes()), text, "{bytes:?}");
    }
}

#[test]
fn overwritten_text_is_removed() {
    for (bytes, text) in [
        ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
        ("long line\r\x1b[Kshort\n", "short\n"),
        ("abc\x08\x08X\n", "aXc\n"),
        ("abc\x1b[1G\x1b[2Pd\n", "d\n"),
        ("abc\r\x1b[2@\n", "  abc\n"),
        ("abcdef\x1b[4D\x1b[2X\n", "ab  ef\n"),
        ("abcdef\x1b[3D\x1b[1K\n", "    ef\n"),
        ("abc\x1b[2K\n", "\n"),
        ("ab\x1b[3Cc\x1b[2Gd\n", "ad   c\n"),
        ("=\x1b[4b\n", "=====\n"),
        ("a\x1b7bcd\x1b8X\n", "aXcd\n"),
        ("a\tb\tc", "a\tb\tc"),
        ("a\tb\rxyz", "xyz     b"),
        ("abc\r\tx", "abc     x"),
    ] {
        assert_eq!(plain(bytes.as_bytes()), text, "{bytes:?}");
    }
}

#[test]
fn other_lines_start_at_the_next_printed_character() {
    for (bytes, text) in [
        ("\x1b[2J\x1b[Hone\x1b[5;3Htwo\x1b[2;1H", "one\n  two"),
        ("one\ntwo\x1b[A\r\x1b[2Kthree\n", "one\ntwo\nthree\n"),
        ("$ vi\n\x1b[?1049h\x1b[Htext\x1b[?1049l$ ", "$ vi\ntext\n$ "),
        ("$ \x1b7\x1b[24;1H[50%]\x1b8ok", "$ \n[50%]\nok"),
        ("a\x0bb\x0cc", "a\nb\nc"),
        ("ab\x1b[2J\x1b[K\n", "ab\n"),
    ] {
        assert_eq!(plain(bytes.as_bytes()), text, "{bytes:?}");
    }
}

#[test]
fn wide_and_combining_characters_are_kept_or_removed_whole() {
    for (bytes, text) in [
        ("日本\x08x", "日 x"),
        ("日本\rx", "x 本"),
        ("日本\x1b[2G\x1b[P|", " | "),
        ("日本\x1b[2G\x1b[K", " "),
        ("e\u{301}a\u{308}\rx", "xa\u{308}"),
        ("\u{301}x", "\u{301}x"),
        ("👩\u{200d}🔬 ok", "👩\u{200d}🔬 ok"),
    ] {
        assert_eq!(plain(bytes.as_bytes()), text, "{bytes:?}");
    }
}

#[test]
fn bytes_that_are_not_text_are_replaced() {
    assert_eq!(plain(b"a\xffb\xe2\x82c\x85\xc2\x85"), "a\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}");
    assert_eq!(plain(b"cut \xe2\x82"), "cut \u{fffd}");
    assert_eq!(plain(b"cut \xe2\x1b[1m."), "cut \u{fffd}.");
    // With the parser alone, the A would be lost.
    assert_eq!(cut(&[b"\xc2", b"\xa9A\xf0\x9f\x98\x80"]), "\u{a9}A\u{1f600}");
}

#[test]
fn a_long_line_is_emitted_before_it_ends() {
    let (mut plain, mut out) = (Plain::default(), String::new());
    for _ in 0..100 {
        plain.feed(&[b'x'; 1000], &mut out);
    }
    assert!(out.len() > 100_000 - LIMIT, "{}", out.len());
    plain.feed(b"\rend", &mut out);
    plain.finish(&mut out);
    assert_eq!((out.len(), out.contains("end")), (100_000, true));
}

#[test]
fn a_few_bytes_never_produce_much_output() {
    for piece in
        ["\x1b[9999C.\n", "\x1b[9999@.\r", "\x1b[9;999H.", "\x1b[9999b", "\u{301}", "\x1b]0;x", "\x1b["]
    {
        let bytes = piece.repeat(20_000);
        assert!(plain(bytes.as_bytes()).len() <= 200 * bytes.len(), "{piece:?}");
    }
}

/// Fragments of terminal output, and arbitrary bytes.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let code = "\x1b\\[[?]?[0-9]{0,4}(;[0-9]{0,3})?[A-Za-z@`]|\x1b[\\]P_X^][a-z;]{0,6}(\x07|\x1b\\\\|\x18)?|\x1b[()#]?[0-9A-Za-z]";
    let piece = prop_oneof![
        code.prop_map(String::into_bytes),
        "[\r\n\t\x08\x0b\x07]".prop_map(String::into_bytes),
        "[a-z ]{1,9}|[日本👩é\u{301}\u{200d}\u{85}]{1,4}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 1..6),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_terminal_control_characters_remain(bytes in output()) {
        let text = plain(&bytes);
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
        // Plain text does not change.
        prop_assert_eq!(plain(text.as_bytes()), text);
    }

    #[test]
    fn text_without_control_characters_is_unchanged(text in "(\\PC|[\n\t])*", many in 1_usize..300) {
        let text = text.repeat(many);
        prop_assert_eq!(plain(text.as_bytes()), text);
    }

    #[test]
    fn chunking_does_not_change_the_result(bytes in output(), cuts in prop::collection::vec(0_usize..300, 0..9)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
        prop_assert_eq!(cut(&pieces), plain(&bytes));
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(cut(&single), plain(&bytes));
    }
}
