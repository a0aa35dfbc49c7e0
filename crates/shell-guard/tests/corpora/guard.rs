//! Tests that the guard refuses every dangerous command of the corpora and no harmless one. No command is ever run.

mod agents;
mod control;
mod fuzz;
mod places;
mod programs;
mod targets;

use serde_json::{Value, json};
use shell_guard::call::{Call, CallPlace, ProtectedPaths};
use shell_guard::guard::{Finding, inspect, inspect_call, inspect_counting_steps};
use std::fs;
use std::path::PathBuf;

/// One entry of a corpus.
struct CorpusLine {
    command: String,
    place: CallPlace,
    /// Whether a doubt is enough.
    doubt: bool,
    /// Whether it is harmless, but needs a rule because it decides what runs later.
    controls: bool,
}

fn place(cwd: &str) -> CallPlace {
    CallPlace {
        cwd: cwd.into(),
        workspace: "/home/user/project".into(),
        home: "/home/user".into(),
        own: ProtectedPaths::default(),
    }
}

/// Returns all entries of a corpus.
fn corpus(name: &str) -> Vec<CorpusLine> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut lines = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        lines.extend(text.lines().filter(|line| !line.trim().is_empty()).map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            CorpusLine {
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
fn every_dangerous_command_is_refused() {
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
fn no_harmless_command_is_refused_or_doubted() {
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
fn a_harmless_command_stays_harmless_when_wrapped() {
    for line in corpus("benign") {
        let wrapped = format!("timeout 5 env A=b bash -c {}", quote(&line.command));
        let found = inspect(&wrapped, &line.place);
        let is_expected = found == Finding::Clear || matches!(found, Finding::Controlled { .. });
        assert!(is_expected && (found == Finding::Clear) != line.controls, "{wrapped}: {found:?}");
    }
}

#[test]
fn a_tool_may_not_write_to_a_device() {
    let call = |tool: &str, path: &str| Call {
        tool: tool.to_owned(),
        input: json!({ "file_path": path }),
        place: place("/home/user/project"),
    };
    assert!(matches!(inspect_call(&call("Write", "/dev/sda")), Finding::Refused { entry: "device", .. }));
    assert!(matches!(
        inspect_call(&call("Edit", "/etc/sudoers")),
        Finding::Refused { entry: "system-file", .. }
    ));
    assert_eq!(inspect_call(&call("Write", "/home/user/project/sudo")), Finding::Clear);
    assert_eq!(inspect_call(&call("Read", "/dev/sda")), Finding::Clear);
}

#[test]
fn a_megabyte_of_any_input_takes_a_bounded_number_of_steps() {
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
        let (_, steps) = inspect_counting_steps(&megabyte(piece), &place("/home/user/project"));
        assert!(steps <= 24_000, "{piece}: {steps}");
    }
    let prose = "The quick (brown) fox's \"jumps\" over `the` $lazy dog; and then?\n";
    let document = format!("cat > fox.md <<'EOF'\n{}EOF\n", megabyte(prose));
    assert_eq!(inspect(&document, &place("/home/user/project")), Finding::Clear);
}

#[test]
fn code_that_keeps_doubling_a_string_can_be_read() {
    for doubling in ["x=x+x\n", "x=f'{x}{x}'\n", "x=[x,x]\n", "x=''.join([x,x])\n", "x=Path(x,x)\n"] {
        let line = format!("python3 -c {}", quote(&format!("x='a'\n{}", doubling.repeat(64))));
        assert_eq!(inspect(&line, &place("/home/user/project")), Finding::Clear);
    }
}

/// Quotes `text` as one shell word.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
