//! docs/demo.svg: a real `murmur demo` on a terminal, as a picture. `just picture` writes it; this test compares it.
//!
//! Values that differ between runs are fixed in the picture: paths, times, durations, and the order of the beats.

use std::fmt::Write;

use regex::Regex;

use crate::env::{Env, MURMUR};
use crate::run::terminal::Terminal;

const PICTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/demo.svg");

/// Longer lines are cut here.
const COLUMNS: usize = 108;

/// In pixels.
const CHARACTER: f64 = 7.8;
const LINE: usize = 19;
const MARGIN: usize = 24;

/// In the order of the picture.
const WORKSPACES: [&str; 3] = ["website", "backups", "mailbox"];

/// The values that differ between runs, and their replacements.
const FIXED: [(&str, &str); 4] = [
    (r"/[^\s:\x22]*/murmur-demo-\w{6}", "/tmp/murmur-demo"),
    (r"\b(\d+\.\ds|\d+ms)\b", "0.6s"),
    (r"[0-9a-f]{8}-[0-9a-f-]{27}", "019c2552-3f1a-7c61-9d0e-4b5a6c7d8e9f"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-02-03 10:00:00"),
];

/// The output of `murmur demo` on a terminal wide enough for all of it.
fn demo() -> String {
    let env = Env::new();
    let temporary = env.root().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let terminal = Terminal::open();
    terminal.resize(50, 2000);
    let program =
        |words: &[&str]| env.program("setsid", words).set("TERM", "xterm").set("TMPDIR", &temporary);
    let session = terminal.start(program, &[MURMUR, "demo"]).finish();
    assert_eq!(session.code(), Some(0), "{session:?}");
    session.text().replace('\r', "")
}

/// The lines with the values that differ replaced.
fn fixed(text: &str) -> Vec<String> {
    let text = FIXED.iter().fold(text.to_owned(), |text, (pattern, value)| {
        Regex::new(pattern).unwrap().replace_all(&text, *value).into_owned()
    });
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let workspace = |line: &String| WORKSPACES.iter().position(|name| line.contains(name));
    // Each block of beats is between two lines without a workspace.
    for block in lines.split_mut(|line| workspace(line).is_none()) {
        block.sort_by_key(workspace);
    }
    lines
}

/// A line split into pieces of one color, each with the color's code and its starting column.
fn pieces(line: &str) -> Vec<(String, usize, String)> {
    let (mut pieces, mut column, mut color) = (Vec::new(), 0, "0".to_owned());
    for piece in line.split("\x1b[") {
        let (code, text) = match piece.split_once('m') {
            Some((code, text)) if code.parse::<u8>().is_ok() => (code.to_owned(), text),
            _ => (color, piece),
        };
        color = code;
        let room = COLUMNS - column;
        let cut = text.chars().count() > room;
        let shown: String = text.chars().take(if cut { room.saturating_sub(1) } else { room }).collect();
        let length = shown.chars().count();
        pieces.push((color.clone(), column, if cut { shown + "…" } else { shown }));
        column += length + usize::from(cut);
        if cut {
            break;
        }
    }
    pieces.retain(|(_, _, text)| !text.trim().is_empty());
    pieces
}

fn svg(lines: &[String]) -> String {
    let width = (COLUMNS as f64 * CHARACTER) as usize + 2 * MARGIN;
    let height = lines.len() * LINE + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xml:space=\"preserve\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-labelledby=\"title desc\">
<title id=\"title\">murmur demo in a terminal</title>
<desc id=\"desc\">murmur runs three heartbeats. One ends as ok, one as attention, one as error, and each has a line in \
         the journal.</desc>
<style>
text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #e6edf3 \
         }}
.c31 {{ fill: #ff7b72 }} .c32 {{ fill: #56d364 }} .c33 {{ fill: #e3b341 }} .c2 {{ fill: #8b949e }}
</style>
<rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"#161b22\" stroke=\"#484f58\"/>
",
        width - 1,
        height - 1
    );
    for (number, line) in lines.iter().enumerate() {
        let y = MARGIN + number * LINE + 14;
        for (color, column, text) in pieces(line) {
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let indentation = text.len() - text.trim_start().len();
            let x = MARGIN as f64 + (column + indentation) as f64 * CHARACTER;
            let class = if color == "0" { String::new() } else { format!(" class=\"c{color}\"") };
            writeln!(svg, "<text x=\"{x:.1}\" y=\"{y}\"{class}>{}</text>", text.trim()).unwrap();
        }
    }
    svg + "</svg>\n"
}

#[test]
fn the_picture_shows_the_output_of_the_demo() {
    let mut lines = vec!["\x1b[2m$\x1b[0m murmur demo".to_owned()];
    lines.extend(fixed(&demo()));
    let picture = svg(&lines);
    if std::env::var("MURMUR_PICTURE").is_ok_and(|value| value == "write") {
        std::fs::write(PICTURE, &picture).unwrap();
    }
    let committed = std::fs::read_to_string(PICTURE).unwrap_or_default();
    assert!(
        committed == picture,
        "docs/demo.svg is not what murmur demo shows; run: just picture\n{picture}"
    );
}

#[test]
fn a_line_is_cut_at_the_edge_of_the_picture() {
    let long = format!("  \x1b[31merror\x1b[0m {}", "x".repeat(200));
    let pieces = pieces(&long);
    let (_, column, text) = pieces.last().unwrap();
    assert_eq!((column + text.chars().count(), text.ends_with('…')), (COLUMNS, true));
    assert_eq!(pieces[0], ("31".to_owned(), 2, "error".to_owned()));
}
