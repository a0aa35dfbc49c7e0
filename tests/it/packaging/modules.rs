//! The Nix modules have an option for each key of a workspace that users write.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::root;

/// The keys of a workspace that users write.
fn keys() -> BTreeSet<String> {
    let schema = murmur_core::config::schema::schema().to_value();
    let properties = schema["$defs"]["WorkspaceEntry"]["properties"].as_object().unwrap();
    properties.keys().filter(|key| !matches!(key.as_str(), "lastRun" | "lastRuns")).cloned().collect()
}

#[test]
fn the_options_of_a_workspace_are_the_keys_of_the_schema() {
    let module = fs::read_to_string(root().join("nix/modules/workspace.nix")).unwrap();
    let (_, options) = module.split_once("\n  options = {\n").unwrap();
    let name = |line: &str| {
        let (name, _) = line.strip_prefix("    ")?.split_once(" = ")?;
        name.chars().all(char::is_alphabetic).then(|| name.to_owned())
    };
    assert_eq!(options.lines().filter_map(name).collect::<BTreeSet<_>>(), keys());
}

#[test]
fn the_all_keys_test_has_every_key() {
    let text = fs::read_to_string(root().join("tests/nix/modules/every-key.json")).unwrap();
    let config: Value = serde_json::from_str(&text).unwrap();
    let workspaces = config["workspaces"].as_array().unwrap().iter();
    let used = workspaces.flat_map(|workspace| workspace.as_object().unwrap().keys().cloned());
    assert_eq!(used.collect::<BTreeSet<_>>(), keys());
}
