//! The guard: a command of its corpora, and a megabyte of the worst input, over reading as many bytes.

use super::measure::{Size, interleave, milliseconds, ms};
use super::table::{Row, Table};
use anyhow::Context;
use shell_guard::call::Place;
use shell_guard::guard::{Finding, inspect};
use std::fs;
use std::path::Path;

const ROUNDS: usize = 9;
const MEGABYTE: Size<usize> = Size { full: 1 << 20, tiny: 1 << 10 };

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    let commands = corpora()?;
    let bytes: usize = commands.iter().map(String::len).sum();
    let place = place();
    let [floor, ours] = interleave(
        ROUNDS,
        [
            &mut || milliseconds(|| Ok(commands.iter().map(|command| spaces(command)).sum::<usize>())),
            &mut || milliseconds(|| Ok(commands.iter().filter(|command| is_clear(command, &place)).count())),
        ],
    )?;
    let each = |time: f64| time * 1000.0 / commands.len() as f64;
    table.add(Row {
        what: format!("guard, one of {} commands of {} bytes", commands.len(), bytes / commands.len()),
        floor: format!("{:.2} µs", each(floor)),
        ours: format!("{:.1} µs", each(ours)),
        ratio: Some(ours / floor),
        wanted: "<= 20 µs".to_owned(),
        met: Some(each(ours) <= 20.0),
    });
    for (what, line) in worst() {
        let [floor, ours] = interleave(
            3,
            [&mut || milliseconds(|| Ok(spaces(&line))), &mut || {
                milliseconds(|| Ok(is_clear(&line, &place)))
            }],
        )?;
        table.add(Row {
            what: format!("guard, 1 MB of {what}"),
            floor: ms(floor),
            ours: ms(ours),
            ratio: Some(ours / floor),
            wanted: "< 50 ms".to_owned(),
            met: Some(ours < 50.0),
        });
    }
    Ok(())
}

fn place() -> Place {
    Place {
        cwd: "/home/user/project".into(),
        workspace: "/home/user/project".into(),
        home: "/home/user".into(),
        own: shell_guard::call::Own::default(),
    }
}

fn is_clear(line: &str, place: &Place) -> bool {
    inspect(line, place) == Finding::Clear
}

fn spaces(line: &str) -> usize {
    memchr::memchr_iter(b' ', line.as_bytes()).count()
}

fn corpora() -> anyhow::Result<Vec<String>> {
    let mut commands = Vec::new();
    for name in ["danger", "benign"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/shell-guard/corpus").join(name);
        for file in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
            for line in fs::read_to_string(file?.path())?.lines() {
                let line: serde_json::Value = serde_json::from_str(line)?;
                commands.push(line["command"].as_str().context("a line without a command")?.to_owned());
            }
        }
    }
    Ok(commands)
}

/// The slowest input, by kind.
fn worst() -> Vec<(&'static str, String)> {
    let megabyte = |piece: &str| piece.repeat(MEGABYTE.get() / piece.len());
    let prose = megabyte("The quick (brown) fox's \"jumps\" over `the` $lazy dog; and then?\n");
    vec![
        ("nesting", megabyte("$(")),
        (
            "nesting that ends",
            format!("{}{}{}", "$(".repeat(12), "a b; ".repeat(MEGABYTE.get() / 5), ")".repeat(12)),
        ),
        ("quotes", megabyte("\"a\" 'b' ")),
        ("one quote", format!("echo '{}'", megabyte("a b; "))),
        ("here-document", format!("cat > fox.md <<'EOF'\n{prose}EOF\n")),
        ("here-document in a message", format!("git commit -m \"$(cat <<'EOF'\n{prose}EOF\n)\"")),
        (
            "code for an interpreter",
            format!("python3 - <<'EOF'\n{}EOF\n", megabyte("x = f(a + 'b', ['c'])\n")),
        ),
        ("lists", megabyte("ls;")),
        ("words", megabyte("a ")),
        ("one word", megabyte("a")),
        ("globs", megabyte("*")),
        ("braces", megabyte("{a,b}")),
        ("substitutions", megabyte("$(a) ")),
        ("backticks", megabyte("`")),
        ("variables", megabyte("${a} ")),
        ("doubling", megabyte("x=$x$x;")),
        ("paths", format!("rm -rf {}", megabyte("x/"))),
    ]
}
