//! Rules for paths, hosts and the inputs of other tools.

use super::*;

/// What `action` with `pattern` says of a call of `tool` for the path.
fn of_path(tool: &str, action: &str, pattern: &str, key: &str, path: &str) -> bool {
    let rules =
        rules(&format!("[[rules]]\ntool = \"{tool}\"\naction = \"{action}\"\npattern = '''{pattern}'''\n"));
    said(&rules, &call(tool, json!({ key: path }))) != "-"
}

#[test]
fn a_path_is_allowed_only_if_it_matches_both_as_written_and_resolved() {
    for (pattern, path, expected) in [
        ("/src/**", "/w/src/a.rs", true),
        ("/src/**", "src/a.rs", true),
        ("/src/**", "./src/x/../a.rs", true),
        ("/src/**", "/mnt/w/src/a.rs", true),
        ("/src/**", "/w/src/../a.rs", false),
        ("/src/**", "src/../../etc/passwd", false),
        ("/**", "/w/out/passwd", false),
        ("/**", "out/../etc/passwd", false),
        ("/**", "/w/dangling", false),
        ("/**", "/w/round", false),
        ("/**", "/w/deep/up/x", false),
        ("/**", "/wx/a", false),
        ("/src", "/w/src", true),
        ("/src", "/w/src/a", false),
        ("//etc/**", "/etc/passwd", true),
        ("//w/out/**", "/w/out/passwd", false),
        ("~/notes/**", "~/notes/a", true),
        ("~/notes/**", "/home/me/notes/a", true),
        ("~/notes/**", "/home/you/notes/a", false),
        ("*.md", "a.md", true),
        ("*.md", "b/a.md", false),
        ("**/*.md", "b/a.md", true),
        ("**", "/etc/passwd", false),
    ] {
        assert_eq!(of_path("Edit", "allow", pattern, "file_path", path), expected, "{pattern} for {path}");
    }
    assert!(of_path("NotebookEdit", "allow", "/**", "notebook_path", "a.ipynb"));
    assert!(!of_path("Edit", "allow", "/**", "another_key", "a"));
}

#[test]
fn a_path_is_denied_if_it_matches_as_written_or_resolved() {
    for (pattern, path, expected) in [
        ("/secrets", "/w/secrets/a/b", true),
        ("/secrets", "src/../secrets/a", true),
        ("/secrets", "/mnt/w/secrets", true),
        ("//etc/**", "/w/out/passwd", true),
        ("//etc/**", "/w/dangling", true),
        ("//etc/**", "/w/round", true),
        ("//w/out/**", "/etc/passwd", true),
        ("**/.env", "a/b/.env", true),
        ("**/.env", "/mnt/w/.env", true),
        ("//etc/**", "/w/etc/a", false),
        ("/secrets", "/w/src/a", false),
    ] {
        assert_eq!(of_path("Read", "deny", pattern, "file_path", path), expected, "{pattern} for {path}");
    }
    assert!(of_path("Edit", "deny", "/secrets", "another_key", "a"), "where it is not known");
}

#[test]
fn outside_of_its_workspace_an_agent_has_no_patterns_of_its_own() {
    let allow = rules("[[rules]]\ntool = \"Edit\"\naction = \"allow\"\npattern = \"*\"\n");
    let mut call = call("Edit", json!({ "file_path": "passwd" }));
    assert_eq!(said(&allow, &call), "allow 1");
    call.place.cwd = "/w/out".into();
    assert_eq!(said(&allow, &call), "-");
    call.place.cwd = "/etc".into();
    assert_eq!(said(&allow, &call), "-");
}

#[test]
fn a_search_counts_as_every_folder_that_it_names() {
    let rules = rules("[[rules]]\ntool = \"Glob\"\naction = \"allow\"\npattern = \"/**\"\n");
    for (input, expected) in [
        (json!({ "pattern": "**/*.rs" }), "allow 1"),
        (json!({ "pattern": "src/*.rs", "path": "/w/deep" }), "allow 1"),
        (json!({ "pattern": "/etc/*" }), "-"),
        (json!({ "pattern": "/*" }), "-"),
        (json!({ "pattern": "../*" }), "-"),
        (json!({ "pattern": "*/../../*" }), "-"),
        (json!({ "pattern": "{../..,x}/*" }), "-"),
        (json!({ "pattern": "~/*" }), "-"),
        (json!({ "pattern": "out/*" }), "-"),
        (json!({ "pattern": "*", "path": "/etc" }), "-"),
    ] {
        assert_eq!(said(&rules, &call("Glob", input.clone())), expected, "{input}");
    }
}

#[test]
fn a_fetch_is_matched_by_its_host_and_everything_else_by_its_input() {
    let rules = rules(
        "[[rules]]\ntool = \"WebFetch\"\naction = \"deny\"\npattern = \"domain:evil.com\"\n[[rules]]\ntool = \"WebFetch\"\naction = \"allow\"\npatterns = [\"domain:example.com\", \"https://docs.rs/*\"]\n[[rules]]\ntool = \"mcp__db\"\naction = \"deny\"\npattern = '*\"table\":\"users\"*'\n",
    );
    for (url, expected) in [
        ("https://example.com/a", "allow 2"),
        ("https://docs.rs/serde", "allow 2"),
        ("https://evil.com", "deny 1"),
        ("https://example.com@evil.com", "deny 1"),
        ("https://else.com", "-"),
    ] {
        assert_eq!(said(&rules, &call("WebFetch", json!({ "url": url }))), expected, "{url}");
    }
    assert_eq!(said(&rules, &call("mcp__db__drop", json!({ "z": 1, "table": "users" }))), "deny 3");
    assert_eq!(said(&rules, &call("mcp__db__drop", json!({ "table": "logs" }))), "-");
}
