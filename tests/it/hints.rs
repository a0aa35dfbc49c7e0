//! Hints: their commands can be pasted into a shell whatever the paths, and the code keeps every hint separate from
//! the message until it is shown.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::json;
use shell_guard::shell::commands;
use sys::shell;

use crate::env::Env;

/// A name that an unquoted shell would read as many words, a comment and several commands.
const NASTY: &str = "a b'c;d $(e) \\ #f";

/// The only command in `line` according to the shell, its words joined by single spaces.
fn pasted(line: &str) -> String {
    let found = commands(line).unwrap_or_else(|doubt| panic!("{line}: {doubt}"));
    assert_eq!(found.len(), 1, "{line}: {found:?}");
    assert!(found[0].is_known && found[0].writes.is_empty(), "{line}: {found:?}");
    found[0].text.clone()
}

/// The command in the hint that a murmur command printed.
fn command(shown: &str) -> &str {
    let hint =
        shown.lines().find_map(|line| line.strip_prefix("| hint: ")).unwrap_or_else(|| panic!("{shown}"));
    hint.split_once("run: ").map_or(hint, |(_, command)| command)
}

#[test]
fn quoted_words_survive_a_shell() {
    for text in [
        NASTY,
        "",
        "~",
        "*",
        "a\nb",
        "\u{1b}[31m",
        "a\\'b\t",
        "ü\u{202e}'",
        "$'x'",
        "`e`",
        "!!",
        "{a,b}",
        "\u{1b}1",
    ] {
        assert_eq!(pasted(&format!("echo {}", shell::word(text))), format!("echo {text}"), "{text:?}");
    }
}

#[test]
fn a_hints_command_can_be_pasted_whatever_the_path() {
    let env = Env::new();
    for name in [NASTY, "two\nlines", "-x"] {
        let folder = env.root().join(name);
        fs::create_dir(&folder).unwrap();
        let path = folder.to_str().unwrap();
        for args in [&["beat", path][..], &["beat", "--dry-run", path], &["workspaces", "add", path]] {
            assert_eq!(pasted(command(&env.run(args))), format!("murmur init {path}"), "{args:?}");
        }
        let missing = folder.join("b/c");
        let shown = env.run(["init", missing.to_str().unwrap()]);
        assert_eq!(pasted(command(&shown)), format!("mkdir -p {}", missing.display()));
    }
    // A relative one can't be an option.
    let shown = env.murmur(["init", "--", "-x/b/c"]).at(&env.root().join(NASTY)).run();
    assert_eq!(pasted(command(&shown)), "mkdir -p ./-x/b/c");
}

#[test]
fn hinted_chmod_commands_work_for_a_data_folder_with_any_name() {
    let env = Env::new();
    let data = env.root().join(NASTY);
    env.murmur(["workspaces", "list"]).set("MURMUR_DIR", &data).run();
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("config.json"), "{\"workspaces\": []}").unwrap();
    fs::set_permissions(&data, PermissionsExt::from_mode(0o777)).unwrap();
    let shown = env.murmur(["start"]).set("MURMUR_DIR", &data).run();
    assert_eq!(pasted(command(&shown)), format!("chmod 700 {}", data.display()), "{shown}");
}

#[test]
fn the_hinted_command_makes_an_agent_executable() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    let bin = env.root().join(NASTY);
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("claude"), "#!/bin/sh\n").unwrap();
    fs::write(env.home().join(".profile"), "true\n").unwrap();
    let shown = env.murmur(["beat", "site", "--dry-run"]).set("PATH", &bin).run();
    assert_eq!(pasted(command(&shown)), format!("chmod +x {}/claude", bin.display()), "{shown}");
}

#[test]
fn a_suggested_workspace_path_is_quoted_for_the_shell() {
    let env = Env::new();
    let site = env.workspace(NASTY, "Do it.");
    env.register(&[&site]);
    let shown = env.murmur(["log", "--workspace", NASTY]).at(&env.home()).run();
    let (_, option) = shown.split_once("use its path: ").unwrap_or_else(|| panic!("{shown}"));
    let option = option.lines().next().unwrap();
    assert_eq!(
        pasted(&format!("murmur log {option}")),
        format!("murmur log --workspace {}", site.0.display())
    );
}

#[test]
fn an_unknown_agent_id_gets_a_hint_over_the_daemons_socket() {
    let env = Env::new();
    let daemon = env.daemon();
    let answer = env.connect().answer("host.status", &json!({ "agent_id": "../x" }));
    assert_eq!(answer["success"], false, "{answer}");
    assert!(answer["error"].as_str().unwrap().starts_with("invalid payload: invalid agent id"), "{answer}");
    assert!(answer["hint"].as_str().unwrap().starts_with("use 1 to "), "{answer}");
    daemon.stop();
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Every source file without tests and comments.
fn sources() -> Vec<(PathBuf, String)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let files = ["crates/core/src", "crates/agent/src", "crates/rpc/src", "src"]
        .iter()
        .flat_map(|krate| rust_files(&root.join(krate)));
    let files = files.filter(|file| !file.to_str().unwrap().contains("tests"));
    files
        .map(|file| {
            let text = fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            (file, lines.collect::<Vec<_>>().join("\n"))
        })
        .collect()
}

fn matches(pattern: &str) -> Vec<String> {
    let pattern = Regex::new(pattern).unwrap();
    let sources = sources();
    let found = sources.iter().flat_map(|(file, code)| {
        pattern.find_iter(code).map(move |found| format!("{}: {}", file.display(), found.as_str()))
    });
    found.collect()
}

#[test]
fn no_error_message_contains_its_hint() {
    assert_eq!(
        matches(r#"#\[error\(\s*"[^"\n]*; "#),
        [""; 0],
        "the hint has a place of its own: `Hinted::hint`"
    );
    let joined = r#"\{(hint|advice|to_do|accepted|ACCEPTED)\}"[^;]*(custom|packed)"#;
    assert_eq!(matches(joined), [""; 0]);
    assert_eq!(matches(r"u\{1f\}|\.unpacked\(|\.packed\("), [""; 0], "text is never taken apart again");
}

#[test]
fn hint_functions_name_fields_and_cover_every_variant() {
    assert_eq!(matches(r"\bfield\d+\b"), [""; 0], "call the field by what it is");
    assert_eq!(matches(r"let Self(\(\.\.\)| \{ \.\. \}) = self;"), [""; 0]);
    let left_out =
        r"fn hint\(&self\) -> Option<String> \{\n +Some\(match self \{[^}]*(\{[^}]*\}[^}]*)*_ => return None";
    assert_eq!(matches(left_out), [""; 0], "a new error would have no hint without anybody noticing");
}

#[test]
fn paths_in_hinted_commands_are_quoted() {
    // A literal with a command and a placeholder, up to the end of the statement.
    let commands = r#""[^"\n]*\b(?:murmur [a-z]+|chmod \S+|mkdir -p|fuser|cd|rm|mv|kill) \{[^"\n]*"[^;]*;"#;
    let wrong: Vec<String> = matches(commands)
        .into_iter()
        .filter(|found| found.split_once("src/").unwrap().1.contains(".display()"))
        .filter(|found| !found.contains("shell::"))
        .collect();
    assert_eq!(wrong, [""; 0], "use sys::shell::path");
}
