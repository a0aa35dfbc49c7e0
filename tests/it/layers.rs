//! Compares the architecture in the crates' docs with the code, where the compiler doesn't check it.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates whose modules have an order.
const LAYERED: [&str; 6] = [
    "crates/core/src",
    "crates/agent/src",
    "crates/rpc/src",
    "crates/store/src",
    "crates/claude-files/src",
    "src",
];

/// The modules of a crate in the order of its map: each uses only those above it.
fn map(krate: &str) -> Vec<String> {
    let doc = fs::read_to_string(root().join(krate).join("lib.rs")).unwrap();
    let (_crates, modules) = doc.split_once("Each module uses only").unwrap();
    let lines = modules.lines().filter_map(|line| line.strip_prefix("//! - `"));
    lines.map(|line| line.split('`').next().unwrap().to_owned()).collect()
}

/// Every source file of those crates.
fn sources() -> Vec<PathBuf> {
    LAYERED.iter().flat_map(|krate| rust_files(&root().join(krate))).collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
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

/// The module of a file: the first component of its path below its crate's `src`.
fn module(krate: &str, file: &Path) -> String {
    let inner = file.strip_prefix(root().join(krate)).unwrap();
    let first = inner.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// The modules that `text` names after `crate::`, also in groups: `use crate::{config, sys::clock}`.
fn used(text: &str) -> Vec<String> {
    let mut modules = Vec::new();
    for part in text.split("crate::").skip(1) {
        match part.strip_prefix('{') {
            Some(group) => {
                let mut depth = 0;
                let mut name = String::new();
                for character in group.chars() {
                    match character {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => modules.push(std::mem::take(&mut name)),
                        _ if depth == 0 => name.push(character),
                        _ => {}
                    }
                }
                modules.push(name);
            }
            None => modules.push(part.to_owned()),
        }
    }
    let word =
        |text: String| text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    modules.into_iter().map(word).filter(|name: &String| !name.is_empty()).collect()
}

#[test]
fn the_map_lists_every_module_and_no_other() {
    for krate in LAYERED {
        let text = fs::read_to_string(root().join(krate).join("lib.rs")).unwrap();
        let mut declared: Vec<&str> = text
            .lines()
            .map(|line| line.strip_prefix("pub ").unwrap_or(line))
            .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
            .collect();
        let mut map = map(krate);
        declared.sort_unstable();
        map.sort_unstable();
        assert_eq!(declared, map, "{krate}");
    }
}

#[test]
fn a_module_uses_only_modules_above_it() {
    let mut wrong = Vec::new();
    for krate in LAYERED {
        let map = map(krate);
        let place = |name: &str| map.iter().position(|module| module == name);
        for file in rust_files(&root().join(krate)) {
            let own = module(krate, &file);
            let Some(own_place) = place(&own) else { continue };
            for used in used(&fs::read_to_string(&file).unwrap()) {
                if place(&used).is_some_and(|used| used > own_place) {
                    wrong.push(format!("{} uses {used}, which stands below {own}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_has_a_module_comment_at_most_400_lines_and_no_wide_comments() {
    let mut wrong = Vec::new();
    for folder in ["src", "crates", "fake-claude", "tests", "benches"] {
        for file in rust_files(&root().join(folder)) {
            let text = fs::read_to_string(&file).unwrap();
            if !text.starts_with("//!") && !file.ends_with("tests.rs") {
                wrong.push(format!("{} does not begin with //!", file.display()));
            }
            if text.lines().count() > 400 {
                wrong.push(format!("{} has more than 400 lines", file.display()));
            }
            // Links can't be broken.
            let is_wide = |line: &&str| line.chars().count() > 120 && !line.contains("://");
            let comments = text.lines().filter(|line| line.trim_start().starts_with("//"));
            wrong.extend(
                comments.filter(is_wide).map(|line| format!("{} is wider than 120: {line}", file.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn tests_look_for_programs_on_one_path() {
    let folder = concat!("/usr", "/bin");
    let mut files = rust_files(&root().join("tests/it"));
    files.retain(|file| fs::read_to_string(file).unwrap().contains(folder));
    assert_eq!(files, [root().join("tests/it/env/programs.rs")], "the others ask env::programs");

    // The only program in /bin on every machine, and the only one of a container.
    let known = ["sh", "murmur"];
    let mut wrong = Vec::new();
    for file in rust_files(&root().join("tests/it")) {
        for part in fs::read_to_string(&file).unwrap().split([' ', '"', '\'']) {
            let name = part.strip_prefix(concat!("/bin", "/"));
            let name = name.map(|rest| rest.trim_end_matches(|c: char| !c.is_alphanumeric()));
            wrong.extend(name.filter(|name| !known.contains(name)).map(|_| (file.clone(), part.to_owned())));
        }
    }
    assert!(wrong.is_empty(), "not every machine has these: {wrong:?}");
}

#[test]
fn every_error_type_with_a_hint_is_listed() {
    let list = fs::read_to_string(root().join("src/cli/complaint.rs")).unwrap();
    // Types that people see only inside another error, or that a model reads as text.
    let inner = [
        "ModelError",
        "PromptError",
        "AccessError",
        "WireError",
        "ContextError",
        "QuestionError",
        "ToolError",
    ];
    for file in sources() {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for named in code.split("impl Hinted for ").skip(1).map(|rest| rest.split(' ').next().unwrap()) {
            let name = named.rsplit("::").next().unwrap();
            let is_listed = list.contains(&format!("::{name},")) || list.contains(&format!(" {name},"));
            assert!(is_listed || inner.contains(&name), "{name} in {}", file.display());
        }
    }
}

#[test]
fn no_message_contains_a_hint() {
    for file in rust_files(&root().join("src/cli")) {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines().filter(|line| line.contains("bail!(\"") || line.contains("#[error(\"")) {
            assert!(!line.contains("; "), "{}: {line}", file.display());
        }
    }
}

/// The arguments of the type after `Result<` at the start of `text`.
fn result_arguments(text: &str) -> Vec<String> {
    let (mut depth, mut arguments) = (0, vec![String::new()]);
    for character in text.chars() {
        match character {
            '<' | '(' | '[' => depth += 1,
            '>' if depth == 0 => break,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                arguments.push(String::new());
                continue;
            }
            _ => {}
        }
        arguments.last_mut().unwrap().push(character);
    }
    arguments.into_iter().map(|argument| argument.trim().to_owned()).collect()
}

/// Whether an error of this type is only a text.
fn is_text(error: &str) -> bool {
    error == "String" || error.starts_with('&') && error.ends_with("str")
}

/// The errors of traits that `code` implements, such as `type Error = ParseError;`.
fn associated_errors(code: &str) -> impl Iterator<Item = &str> {
    ["type Error = ", "type Err = "]
        .into_iter()
        .flat_map(|start| code.split(start).skip(1))
        .filter_map(|rest| Some(rest.split_once(';')?.0))
}

#[test]
fn no_error_is_a_text() {
    assert_eq!(
        result_arguments("Vec<(u8, [u8; 2])>,\n    String,\n> {"),
        ["Vec<(u8, [u8; 2])>", "String", ""]
    );
    let traits = "type Error = &'static str;\ntype Err = String;\ntype Err = Failure;";
    let errors: Vec<bool> = associated_errors(traits).map(is_text).collect();
    assert_eq!(errors, [true, true, false]);
    let mut wrong = Vec::new();
    for folder in ["src", "crates", "fake-claude"] {
        for file in rust_files(&root().join(folder)).iter().filter(|file| !file.ends_with("tests.rs")) {
            let text = fs::read_to_string(file).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let texts = associated_errors(code).filter(|error| is_text(error));
            wrong.extend(texts.map(|error| format!("{}: an error of type {error}", file.display())));
            for (start, matched) in code.match_indices("Result<") {
                let arguments = result_arguments(&code[start + matched.len()..]);
                if arguments.get(1).is_some_and(|error| is_text(error)) {
                    wrong.push(format!("{}: Result<{}>", file.display(), arguments.join(", ")));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "use sys::error::Failure or an error type of the module:\n{}",
        wrong.join("\n")
    );
}
