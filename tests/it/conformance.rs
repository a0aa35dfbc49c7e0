//! How `just conformance` compares two recordings, and which Claude Code it chooses; without the real one.

#[path = "../conformance/agreement.rs"]
mod agreement;
#[path = "../conformance/choice.rs"]
mod choice;
#[path = "../conformance/compare.rs"]
mod compare;
#[path = "../conformance/known.rs"]
mod known;

use std::path::{Path, PathBuf};

use agreement::Agreement;
use choice::Choice;
use compare::compare;
use fake_claude::replay::Fixture;
use known::{Known, Version};
use murmur_agent::parser::{Dialect, Parser};
use serde_json::Value;

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

#[test]
fn the_page_on_versions_is_made_from_the_measurements() {
    let page = std::fs::read_to_string(known::path(known::PAGE)).unwrap();
    assert_eq!(Known::read().unwrap().page(&page).unwrap(), page, "run: just conformance versions");
    let order = ["2.1.89 (Claude Code)", "2.1.110", "2.1.1000"].map(|text| Version::parse(text).unwrap());
    assert!(order.is_sorted() && order[0].to_string() == "2.1.89");
    assert_eq!(Version::parse("2.1"), None);
}

/// Everything that stands under `needs` in a file.
fn needs(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("needs").and_then(Value::as_array).into_iter().flatten();
            let own = own.filter_map(Value::as_str).map(str::to_owned);
            own.chain(fields.values().flat_map(needs)).collect()
        }
        Value::Array(items) => items.iter().flat_map(needs).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn what_a_scenario_needs_is_a_capability_and_what_proves_one_is_a_scenario() {
    let known = Known::read().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let read = |path: &Path| -> Value { serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap() };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(root.join("acted")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.extend(
        std::fs::read_dir(root.join("claude"))
            .unwrap()
            .map(|entry| entry.unwrap().path().join("scenario.json")),
    );
    for path in files {
        for need in needs(&read(&path)) {
            assert!(known.capabilities.iter().any(|one| one.name == need), "{need} in {}", path.display());
        }
    }
    for one in &known.capabilities {
        match one.proof.as_deref().map(|proof| proof.split_once('/').ok_or(proof)) {
            Some(Ok((file, case))) => {
                let file = read(&root.join("acted").join(format!("{file}.json")));
                assert!(file["cases"][case].is_object(), "{}", one.name);
            }
            Some(Err(scenario)) => assert!(root.join("claude").join(scenario).is_dir(), "{}", one.name),
            None => assert!(one.probe.is_some(), "{}", one.name),
        }
    }
}

#[test]
fn a_version_agrees_or_lacks_something_or_differs() {
    let needs = ["defer".to_owned()];
    let lacks = |need: &str| need == "defer";
    let (agrees, lacking) = (Agreement::of(false, &needs, lacks), Agreement::of(true, &needs, lacks));
    assert_eq!(agrees, Agreement::Ok);
    assert_eq!(lacking.to_string(), "can't: defer");
    // It has what is needed, and differs all the same.
    let differs = Agreement::of(true, &needs, |_| false);
    assert_eq!(differs, Agreement::Differs);
    assert_eq!(agrees.and(lacking.clone()), lacking);
    assert_eq!(lacking.and(differs).to_string(), "differs");
}

#[test]
fn murmur_knows_everything_in_the_recordings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for (folder, dialect) in
        [("claude", Dialect::StreamJson), ("codex", Dialect::CodexAppServer), ("acp", Dialect::Acp)]
    {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let Ok(output) = std::fs::read(entry.unwrap().path().join("stdout")) else { continue };
            let mut parser = Parser::new(dialect);
            parser.feed(&output, &mut |_| {});
            parser.finish(&mut |_| {});
            let unknown: Vec<(&str, u64)> = parser.unknown().iter().collect();
            assert_eq!(unknown, [], "{folder}");
        }
    }
}
