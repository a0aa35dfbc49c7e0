//! How `just conformance` compares two recordings, and which Claude Code it chooses; without the real one.

#[path = "../conformance/choice.rs"]
mod choice;
#[path = "../conformance/compare.rs"]
mod compare;

use std::path::{Path, PathBuf};

use choice::Choice;
use compare::compare;
use fake_claude::replay::Fixture;

use crate::fake_claude::fixture;

fn recorded(name: &str) -> Fixture {
    Fixture::load(Path::new(&fixture(name))).unwrap()
}

/// The same recording as if another version had made it.
fn as_version(mut run: Fixture, version: &str) -> Fixture {
    let text = String::from_utf8(run.stdout).unwrap();
    run.stdout = text.replace("\"claude_code_version\":\"2.1.329\"", version).into_bytes();
    run
}

#[test]
fn runs_of_two_versions_agree_if_only_the_version_differs() {
    let newer = as_version(recorded("ok"), "\"claude_code_version\":\"2.1.999\"");
    assert_ne!(newer.stdout, recorded("ok").stdout);
    let differences = compare(&newer, &recorded("ok"));
    assert!(differences.is_empty(), "{differences:?}");
}

#[test]
fn changed_behavior_of_a_newer_version_is_a_difference() {
    let newer = as_version(recorded("attention"), "\"claude_code_version\":\"2.1.999\"");
    let differences: Vec<String> = compare(&newer, &recorded("ok")).iter().map(ToString::to_string).collect();
    assert!(differences.iter().any(|one| one.starts_with("outcome:")), "{differences:?}");
    // A new line is a difference, whatever murmur does with it.
    let mut longer = recorded("ok");
    longer.stdout.extend_from_slice(b"{\"type\":\"new_kind\"}\n");
    let differences = compare(&longer, &recorded("ok"));
    assert_eq!(differences.len(), 1, "{differences:?}");
}

#[test]
fn a_path_or_an_exact_version_chooses_the_real_one() {
    let parse = |path: Option<&str>, version: Option<&str>| {
        Choice::parse(path.map(PathBuf::from), version.map(str::to_owned))
    };
    let this = file!();
    let here = format!("{}/{this}", env!("CARGO_MANIFEST_DIR"));
    assert_eq!(parse(None, None), Ok(Choice::Pinned));
    assert_eq!(parse(Some(""), Some("")), Ok(Choice::Pinned));
    assert_eq!(parse(None, Some("2.1.330")), Ok(Choice::Version("2.1.330".into())));
    assert_eq!(parse(Some(&here), None), Ok(Choice::Path(here.clone().into())));
    for (path, version, said) in [
        (None, Some("latest"), "latest is not an exact version; write it like 2.1.330"),
        (None, Some("2.1"), "2.1 is not an exact version"),
        (None, Some("../2.1.3"), "../2.1.3 is not an exact version"),
        (None, Some("2..330"), "2..330 is not an exact version"),
        (Some("/none"), None, "no file at MURMUR_REAL_CLAUDE: /none"),
        (Some(here.as_str()), Some("2.1.330"), "not both"),
    ] {
        let refused = parse(path, version).unwrap_err();
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn a_name_is_either_a_recorded_or_an_acted_scenario() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for entry in std::fs::read_dir(root.join("acted")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap();
        assert!(!root.join("claude").join(name).exists(), "{} has both", name.display());
    }
}
