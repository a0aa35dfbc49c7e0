//! Tests searches by example, and against a naive search.

use super::*;
use proptest::prelude::*;

fn query(pattern: &str, context: usize) -> Query {
    Query::new(pattern, false, context, None).unwrap()
}

fn fed(query: &Query, room: usize, output: &[u8]) -> (Vec<SearchMatch>, u64, bool) {
    let mut search = Search::new(query, 0, room);
    search.feed(output);
    search.finish();
    let (next, is_full) = (search.next(), search.is_full());
    (search.found(), next, is_full)
}

fn texts(found: &[SearchMatch]) -> Vec<(u64, u64, &str)> {
    found.iter().map(|found| (found.cursor, found.line, &found.text[..])).collect()
}

#[test]
fn a_line_is_found_with_its_context() {
    let query = query("^two$", 2);
    let mut search = Search::new(&query, 10, 1000);
    search.prime(b"torn\nzero\n", true);
    search.feed(b"one\r\ntw");
    search.feed(b"o\nthree\nfour\nfive\nsi");
    assert_eq!((search.next(), search.is_full()), (35, false));
    let found = search.found();
    assert_eq!(texts(&found), [(15, 2, "two")]);
    assert_eq!(
        (&found[0].before[..], &found[0].after[..]),
        (&["zero".into(), "one".into()][..], &["three".to_owned(), "four".to_owned()][..])
    );
}

#[test]
fn an_unterminated_line_is_searched_at_the_end() {
    let query = query("x", 0);
    let mut search = Search::new(&query, 0, 1000);
    search.feed(b"x");
    assert_eq!(search.next(), 0);
    search.finish();
    assert_eq!(search.next(), 1);
    assert_eq!(texts(&search.found()), [(0, 1, "x")]);
}

#[test]
fn a_full_answer_says_where_the_next_match_is() {
    let query = query("x", 0);
    let mut search = Search::new(&query, 0, 3 * (MATCH + 2));
    search.feed(b"x1\n--\nx2\nx3\nx4\nx5\n");
    assert!(search.is_full());
    assert_eq!(search.next(), 12);
    assert_eq!(search.found().len(), 3);
}

#[test]
fn a_match_that_is_too_long_is_cut() {
    let query = query("ä", 0);
    let mut search = Search::new(&query, 0, 5);
    search.feed("ääääääääää\n".as_bytes());
    assert_eq!(texts(&search.found()), [(0, 1, "ää")]);
}

#[test]
fn rendered_text_is_searched() {
    let render: Render = |line| String::from_utf8_lossy(line).replace('*', "");
    let query = Query::new("^ERROR", true, 0, Some(render)).unwrap();
    let mut search = Search::new(&query, 0, 1000);
    search.feed(b"*err*or\n");
    assert_eq!(texts(&search.found()), [(0, 1, "error")]);
}

#[test]
fn an_oversized_line_is_searched_in_parts() {
    let query = query("needle", 0);
    let mut search = Search::new(&query, 0, 1000);
    let block = vec![b'x'; MAX_LINE + 7];
    search.feed(&block);
    search.feed(b"needle\n");
    assert_eq!(search.next(), MAX_LINE as u64 + 14);
    assert_eq!(search.found().len(), 1);
}

#[test]
fn an_oversized_line_is_cut_around_the_match() {
    let long = |end: &str| format!("{}{end}\n", "ä".repeat(300));
    let (found, ..) = fed(&query("END", 0), 20, long("END").as_bytes());
    assert_eq!((&found[0].text[..], found[0].cut), ("ääääääääEND", true));
    let (found, ..) = fed(&query("END", 0), 21, long("ENDäääääääääääää").as_bytes());
    assert_eq!((&found[0].text[..], found[0].cut), ("ääääENDäääää", true));
    let (found, ..) = fed(&query("ä+", 0), 5, long("END").as_bytes());
    assert_eq!((&found[0].text[..], found[0].cut), ("ää", true));
    // Bytes that are not text take more room as text.
    let torn = [&b"\xff".repeat(100)[..], b"END", &b"\xff".repeat(100)].concat();
    let (found, ..) = fed(&query("END", 0), 9, &torn);
    assert_eq!(found[0].text, "\u{fffd}END\u{fffd}");
}

#[test]
fn a_part_of_an_oversized_line_is_marked_as_cut() {
    let block = [&vec![b'x'; MAX_LINE - 3][..], b"END", b"END\nEND\n"].concat();
    let (found, ..) = fed(&query("END", 0), usize::MAX, &block);
    assert_eq!(texts(&found[1..]), [(MAX_LINE as u64 + 4, 2, "END")]);
    assert_eq!(found.iter().map(|found| found.cut).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_line_that_is_searched_in_parts_counts_once() {
    let long = [&b"hit"[..], &vec![b'x'; 3 * MAX_LINE], b"hit\n"].concat();
    let output = [b"one\n", &long[..], b"three\n", &long[..], b"hit\nsix\n"].concat();
    let (found, next, _) = fed(&query("hit", 1), usize::MAX, &output);
    assert_eq!(next, output.len() as u64);
    let lines: Vec<_> = found.iter().map(|found| (found.line, found.cut, found.cursor)).collect();
    let second = 4 + long.len() as u64 + 6;
    assert_eq!(lines, [(2, true, 4), (4, true, second), (5, true, second + long.len() as u64)]);
    // A line that is too long is shown in context by its first part.
    assert_eq!(
        (&found[0].before[..], &found[0].after[..]),
        (&["one".to_owned()][..], &["three".to_owned()][..])
    );
    let part = String::from_utf8(long[..MAX_LINE].to_vec()).unwrap();
    assert!(found[2].before == [part] && found[2].after == ["six"]);
}

#[test]
fn a_line_that_matches_in_a_later_part_counts_once() {
    let long = [&vec![b'x'; 2 * MAX_LINE][..], b"hit", &vec![b'x'; MAX_LINE], b"hit\n"].concat();
    let output = [b"one\n", &long[..], b"hit\n"].concat();
    let (found, ..) = fed(&query("hit", 1), usize::MAX, &output);
    let lines: Vec<_> = found.iter().map(|found| (found.line, found.cursor)).collect();
    assert_eq!(lines, [(2, 4 + 2 * MAX_LINE as u64), (3, 4 + long.len() as u64)]);
    assert_eq!(
        (&found[0].before[..], &found[0].after[..]),
        (&["one".to_owned()][..], &["hit".to_owned()][..])
    );
}

#[test]
fn the_end_of_a_full_part_is_not_an_empty_line() {
    let output = [&vec![b'x'; MAX_LINE][..], b"\n\nend\n"].concat();
    let (found, ..) = fed(&query("^$", 0), usize::MAX, &output);
    assert_eq!(texts(&found), [(MAX_LINE as u64 + 1, 2, "")]);
}

#[test]
fn the_first_match_says_that_its_context_did_not_fit() {
    let output: String = (1..=30).map(|line| format!("line {line} ERROR\n")).collect();
    let (found, next, is_full) = fed(&query("line 5", 2), 60, output.as_bytes());
    let found = &found[0];
    assert_eq!(found.before, ["line 3 ERROR", "line 4 ERROR"]);
    assert_eq!((&found.after[..], found.cut), (&["line 6 ERROR".to_owned()][..], true));
    assert_eq!((next, is_full), (output.len() as u64, false));
    let (found, ..) = fed(&query("line 5", 2), 90, output.as_bytes());
    assert_eq!((found[0].after.len(), found[0].cut), (2, false));
}

#[test]
fn a_later_match_whose_context_does_not_fit_is_left_for_the_next_search() {
    let output = "x1\n--\n--\n--\nx2\n--\n--\nx3\n";
    let query = query("x", 2);
    let whole = fed(&query, usize::MAX, output.as_bytes()).0;
    for room in 30..400 {
        let mut search = Search::new(&query, 0, room);
        search.feed(output.as_bytes());
        search.finish();
        let next = search.next();
        let is_full = search.is_full();
        let found = search.found();
        assert_eq!(found[..], whole[..found.len()], "{room}");
        assert_eq!(is_full, found.len() < 3, "{room}");
        assert_eq!(next, whole.get(found.len()).map_or(output.len() as u64, |next| next.cursor), "{room}");
    }
}

#[test]
fn unread_context_is_reported_as_missing() {
    let query = query("x", 2);
    let cut = |primed: &[u8], is_whole: bool| {
        let mut search = Search::new(&query, 100, 1000);
        search.prime(primed, is_whole);
        search.feed(b"x\n-\n-\n");
        search.found()[0].cut
    };
    assert!(!cut(b"a\nb\n", false) && !cut(b"a\n", true) && cut(b"a\n", false));
    let mut search = Search::new(&query, 0, 1000);
    search.feed(b"x\n-\n");
    search.interrupt();
    assert!(search.found()[0].cut);
}

proptest! {
    #[test]
    fn any_chunking_finds_what_a_naive_search_finds(
        text in "[ab\n]{0,60}",
        cuts in prop::collection::vec(0_usize..60, 0..6),
    ) {
        let query = query("ab", 0);
        let mut search = Search::new(&query, 0, usize::MAX);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        for pair in cuts.windows(2) {
            search.feed(&text.as_bytes()[pair[0]..pair[1]]);
        }
        search.finish();
        prop_assert_eq!(search.next(), text.len() as u64);
        let found = search.found();
        let mut expected = Vec::new();
        let mut at = 0;
        for (number, line) in text.split('\n').enumerate() {
            if line.contains("ab") {
                expected.push((at, number as u64 + 1, line));
            }
            at += line.len() as u64 + 1;
        }
        prop_assert_eq!(texts(&found), expected);
    }
}
