//! The guard against its corpora: every dangerous line is refused, no harmless one is. Nothing in them is ever run.

mod control;
mod fuzz;
mod places;
mod programs;
mod targets;

use murmur::permit::call::{Call, Own, Place};
use murmur::permit::guard::{Finding, inspect, look, measured};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// A line of a corpus.
struct Line {
    command: String,
    place: Place,
    /// Whether it may be in doubt, too.
    doubt: bool,
    /// Whether it is harmless, and refused all the same where no rule allows it: it decides what runs later.
    controls: bool,
}

fn place(cwd: &str) -> Place {
    Place {
        cwd: cwd.into(),
        workspace: "/home/user/project".into(),
        home: "/home/user".into(),
        own: Own::default(),
    }
}

/// All lines of a corpus.
fn corpus(name: &str) -> Vec<Line> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/permissions").join(name);
    let mut lines = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        lines.extend(text.lines().filter(|line| !line.trim().is_empty()).map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            Line {
                command: line["command"].as_str().unwrap().to_owned(),
                place: place(line["cwd"].as_str().unwrap_or("/home/user/project")),
                doubt: line["doubt"] == true,
                controls: line["controls"] == true,
            }
        }));
    }
    lines
}

#[test]
fn every_dangerous_line_is_refused() {
    let lines = corpus("danger");
    let passed: Vec<String> = lines
        .iter()
        .filter_map(|line| match inspect(&line.command, &line.place) {
            Finding::Refused { .. } => None,
            Finding::Doubt { .. } if line.doubt => None,
            other => Some(format!("{} is {other:?}", line.command)),
        })
        .collect();
    assert!(lines.len() >= 400, "{} lines", lines.len());
    assert!(passed.is_empty(), "{}", passed.join("\n"));
}

#[test]
fn no_harmless_line_is_refused_or_in_doubt() {
    let lines = corpus("benign");
    let stopped: Vec<String> = lines
        .iter()
        .filter_map(|line| match inspect(&line.command, &line.place) {
            Finding::Clear if !line.controls => None,
            Finding::Controlled { .. } if line.controls => None,
            other => Some(format!("{} is {other:?}", line.command)),
        })
        .collect();
    assert!(lines.len() >= 300, "{} lines", lines.len());
    assert!(stopped.is_empty(), "{}", stopped.join("\n"));
}

#[test]
fn a_harmless_line_stays_so_however_it_is_wrapped() {
    for line in corpus("benign") {
        let wrapped = format!("timeout 5 env A=b bash -c {}", quote(&line.command));
        let found = inspect(&wrapped, &line.place);
        let is_expected = found == Finding::Clear || matches!(found, Finding::Controlled { .. });
        assert!(is_expected && (found == Finding::Clear) != line.controls, "{wrapped}: {found:?}");
    }
}

#[test]
fn a_tool_that_writes_a_file_writes_to_no_device() {
    let call = |tool: &str, path: &str| Call {
        tool: tool.to_owned(),
        input: json!({ "file_path": path }),
        place: place("/home/user/project"),
    };
    assert!(matches!(look(&call("Write", "/dev/sda")), Finding::Refused { entry: "device", .. }));
    assert!(matches!(look(&call("Edit", "/etc/sudoers")), Finding::Refused { entry: "system-file", .. }));
    assert_eq!(look(&call("Write", "/home/user/project/sudo")), Finding::Clear);
    assert_eq!(look(&call("Read", "/dev/sda")), Finding::Clear);
}

#[test]
fn a_megabyte_of_anything_takes_a_bounded_number_of_steps() {
    let megabyte = |piece: &str| piece.repeat((1 << 20) / piece.len());
    let pieces = [
        "(",
        "$(",
        "`",
        "{ ",
        "\"$(",
        "${a:-",
        "((",
        "if a; then ",
        "case x in a) ",
        "[[ ! ",
        "f() { ",
        "<(",
        "<<a ",
        "{a,",
        "'",
        "\"",
        "\\",
        "a;",
        "a|",
        "a&&",
        "$a",
        "$(a)",
        "{a,b}",
        "*",
        ">a ",
        "x=$x$x;",
        "bash -c ",
        "echo a|sh;",
    ];
    for piece in pieces {
        let (_, steps) = measured(&megabyte(piece), &place("/home/user/project"));
        assert!(steps <= 24_000, "{piece}: {steps}");
    }
    let prose = "The quick (brown) fox's \"jumps\" over `the` $lazy dog; and then?\n";
    let document = format!("cat > fox.md <<'EOF'\n{}EOF\n", megabyte(prose));
    assert_eq!(inspect(&document, &place("/home/user/project")), Finding::Clear);
}

#[test]
fn code_that_doubles_a_text_again_and_again_is_read_all_the_same() {
    for doubling in ["x=x+x\n", "x=f'{x}{x}'\n", "x=[x,x]\n", "x=''.join([x,x])\n", "x=Path(x,x)\n"] {
        let line = format!("python3 -c {}", quote(&format!("x='a'\n{}", doubling.repeat(64))));
        assert_eq!(inspect(&line, &place("/home/user/project")), Finding::Clear);
    }
}

/// `text` as one word of shell.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
