//! The guard: a command of its corpora, and a megabyte of the worst input, over reading as many bytes.

use super::measure::{FEW, Size, Spread, interleave, milliseconds};
use super::table::{Row, Table, Target};
use anyhow::Context;
use shell_guard::call::CallPlace;
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
    let each = |times: Spread| times.map(|time| time / commands.len() as f64);
    let figure = format!("guard: one of {} commands of {} bytes", commands.len(), bytes / commands.len());
    table.add(Row::time(figure, each(ours)).over(each(floor)).target(Target::AtMost(0.020)));
    let mut slowest = None;
    for (what, line) in worst() {
        let [floor, ours] = interleave(
            FEW,
            [&mut || milliseconds(|| Ok(spaces(&line))), &mut || {
                milliseconds(|| Ok(is_clear(&line, &place)))
            }],
        )?;
        let row =
            |most| Row::time(format!("guard: 1 MB of {what}"), ours).over(floor).target(Target::AtMost(most));
        if matches!(what, "globs" | "braces") {
            table.add(row(30.0));
            continue;
        }
        table.add(row(50.0));
        let known: Option<(Spread, _)> = slowest;
        slowest = Some(known.filter(|(known, _)| known.median >= ours.median).unwrap_or((ours, floor)));
    }
    if let Some((ours, floor)) = slowest {
        let figure = "guard: 1 MB of the slowest of 15 other kinds";
        table.add(Row::time(figure, ours).over(floor).target(Target::AtMost(50.0)));
    }
    Ok(())
}

fn place() -> CallPlace {
    CallPlace {
        cwd: "/home/user/project".into(),
        workspace: "/home/user/project".into(),
        home: "/home/user".into(),
        own: shell_guard::call::ProtectedPaths::default(),
    }
}

fn is_clear(line: &str, place: &CallPlace) -> bool {
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
