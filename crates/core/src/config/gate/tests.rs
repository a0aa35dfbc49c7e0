use super::*;
use crate::config::checked::{Check, from_json};
use crate::config::limit::Notices;
use std::path::Path;

fn read<T: Check>(json: &str) -> Result<T, String> {
    let read = from_json::<T>(json).map_err(|_| "another kind".to_owned())?;
    read.map_err(|failure| failure.line())
}

/// The gates, with their limits.
fn when(json: &str) -> Result<Vec<String>, String> {
    let shown = |gate: &Gate| format!("{} ({})", gate.condition, gate.timeout);
    read::<When>(json).map(|when| when.0.iter().map(shown).collect())
}

#[test]
fn a_program_arguments_and_objects_are_gates() {
    for (json, expected) in [
        (r#""./changed.sh""#, &["./changed.sh (30s)"][..]),
        (r#""make""#, &["make (30s)"]),
        (r#"["./my gate.sh","--since","1 d"]"#, &["'./my gate.sh' --since '1 d' (30s)"]),
        (r#"["./a"]"#, &["./a (30s)"]),
        (r#"{"run":["./a.sh","./b.sh"]}"#, &["./a.sh ./b.sh (30s)"]),
        (r#"{"run":"./a"}"#, &["./a (30s)"]),
        (r#"{"run":["./a","b"],"timeout":"2m"}"#, &["./a b (2m)"]),
        (r#"{"changed":"src"}"#, &["changed src (30s)"]),
        (
            r#"{"changed":["src/**/*.{rs,toml}","./docs/"],"timeout":"1s"}"#,
            &["changed src/**/*.{rs,toml}, ./docs/ (1s)"],
        ),
        (r#"{"git":"new-commits"}"#, &["git new-commits (30s)"]),
        (r#"{"url":"https://example.org/feed"}"#, &["url https://example.org/feed (30s)"]),
        (r#"[{"run":"./a"},{"git":"new-commits"}]"#, &["./a (30s)", "git new-commits (30s)"]),
    ] {
        assert_eq!(
            when(json).as_deref(),
            Ok(&expected.iter().map(ToString::to_string).collect::<Vec<_>>()[..]),
            "{json}"
        );
    }
    let verify = read::<Verify>(r#"[{"run":"./check.sh"},{"run":"./b","timeout":"1h"}]"#).unwrap();
    let shown: Vec<String> = verify.0.iter().map(|one| format!("{one} ({})", one.timeout)).collect();
    assert_eq!(shown, ["./check.sh (5m)", "./b (1h)"]);
}

#[test]
fn every_wrong_gate_says_what_is_wrong() {
    for (json, expected) in [
        ("null", "another kind"),
        ("1", "another kind"),
        ("[1]", "another kind"),
        (r#"{"run":null}"#, "another kind"),
        ("[]", "the list is empty"),
        (
            r#"["./a.sh","./b.sh"]"#,
            r#"["./a.sh", "./b.sh"] may be one program with arguments, or several programs; write {"run": ["./a.sh", "./b.sh"]} for one, or [{"run": "./a.sh"}, {"run": "./b.sh"}] for several"#,
        ),
        (r#"["/usr/bin/a","../b"]"#, "may be one program with arguments, or several"),
        ("{}", "an object needs exactly one of run, changed, git and url"),
        (r#"{"timeout":"1s"}"#, "an object needs exactly one of"),
        (r#"{"run":"./a","git":"new-commits"}"#, "an object needs exactly one of"),
        (r#"{"runs":"./a"}"#, "unknown key \"runs\""),
        (r#"{"run":"./a","timout":"1s"}"#, "unknown key \"timout\""),
        (r#""""#, "\"\" is not a program"),
        (r#""-x""#, "\"-x\" is not a program"),
        (r#"["a\u0000b"]"#, "is not a program"),
        (r#"["a","b\u0000"]"#, "an argument has a NUL character"),
        (r#""./a --since 1d""#, "\"./a --since 1d\" has spaces, and no shell splits it; write a list"),
        (r#""~/a""#, "\"~/a\" is not expanded"),
        (r#"["./a",{"run":"./b"}]"#, "a list has either a program and its arguments, or objects"),
        (r#"{"run":[]}"#, "the list is empty"),
        (r#"{"run":["a",["b"]]}"#, "an argument is not a string"),
        (r#"{"run":{"run":"a"}}"#, "an object is not a program"),
        (r#"{"run":"./a","timeout":"soon"}"#, "\"soon\" is not an interval"),
        (r#"{"run":"./a","timeout":"0s"}"#, "\"0s\" is too short; write at least \"1s\""),
        (r#"{"run":"./a","timeout":[]}"#, "\"timeout\" is not a time"),
        (r#"{"changed":[]}"#, "\"changed\" names no path"),
        (r#"{"changed":{}}"#, "\"changed\" names no path"),
        (r#"{"changed":[["a"]]}"#, "\"changed\" has a wrong value"),
        (r#"{"changed":""}"#, "\"\" is not a path"),
        (r#"{"changed":"/etc"}"#, "\"/etc\" leaves the workspace"),
        (r#"{"changed":"a/../../b"}"#, "leaves the workspace"),
        (r#"{"changed":"src/[a"}"#, "\"src/[a\" is not a glob"),
        (r#"{"git":"commits"}"#, "\"git\" has a wrong value; write \"new-commits\""),
        (r#"{"url":"ftp://a"}"#, "\"ftp://a\" is not the URL of a page"),
        (r#"{"url":"https://"}"#, "is not the URL of a page"),
        (r#"{"url":"https://a b"}"#, "is not the URL of a page"),
        (r#"{"url":["https://a"]}"#, "\"url\" is not a string"),
    ] {
        let error = when(json).unwrap_err();
        assert!(error.contains(expected), "{json}: {error}");
    }
    for (json, expected) in [
        (r#"{"git":"new-commits"}"#, "\"git new-commits\" verifies nothing"),
        (r#"[{"changed":"a"}]"#, "\"changed a\" verifies nothing"),
        ("[]", "the list is empty"),
    ] {
        let error = read::<Verify>(json).unwrap_err();
        assert!(error.contains(expected), "{json}: {error}");
    }
}

#[test]
fn a_heartbeat_adds_gates_only_if_the_user_allows_it() {
    let user = Gates { when: read(r#""./a""#).unwrap(), verify: Verify::default() };
    let front =
        Gates { when: read(r#"{"run":"./b","timeout":"10h"}"#).unwrap(), verify: read(r#""./c""#).unwrap() };
    let mut notices = Notices::default();
    let both = user.joined(&front, GateSource::Workspace, &mut notices).unwrap();
    let shown = |gate: &Gate| format!("{} ({})", gate.condition, gate.timeout);
    assert_eq!(both.when.0.iter().map(shown).collect::<Vec<_>>(), ["./a (30s)", "./b (6h)"]);
    assert_eq!(both.verify.0.len(), 1);
    assert_eq!(notices.lines().len(), 1, "{notices:?}");
    for (when, verify, key) in
        [(front.when, Verify::default(), "when"), (When::default(), front.verify, "verify")]
    {
        let refused = user.joined(&Gates { when, verify }, GateSource::Config, &mut notices).unwrap_err();
        assert!(refused.line().starts_with(&format!("{key} in HEARTBEAT.md is not allowed")), "{refused:?}");
    }
    assert_eq!(user.joined(&Gates::default(), GateSource::Config, &mut notices), Ok(user));
}

#[test]
fn a_job_keeps_its_gates() {
    let when: When =
        read(r#"[{"run":["a","b"]},{"changed":"c"},{"git":"new-commits"},{"url":"http://d"}]"#).unwrap();
    let json = serde_json::to_string(&when.0).unwrap();
    assert_eq!(serde_json::from_str::<Box<[Gate]>>(&json).unwrap(), when.0, "{json}");
}

#[test]
fn looking_for_matches_begins_at_the_folders_before_globs() {
    for (patterns, roots) in [
        (&["src/**/*.rs", "docs/"][..], &["docs", "src"][..]),
        (&["src", "src/deep/**"], &["src"]),
        (&["*.md"], &[""]),
        (&["."], &[""]),
        (&["a/b*", "a/bc/d"], &["a"]),
    ] {
        let patterns: Vec<Box<str>> = patterns.iter().map(|pattern| Box::from(*pattern)).collect();
        let found = Patterns::new(&patterns).unwrap();
        assert_eq!(found.roots(), roots.iter().map(Path::new).collect::<Vec<_>>(), "{patterns:?}");
    }
    let found = Patterns::new(&["src/**/*.rs".into(), "docs".into()]).unwrap();
    for (path, expected) in
        [("src/a.rs", true), ("src/a/b.rs", true), ("a.rs", false), ("docs", true), ("src", false)]
    {
        assert_eq!(found.is_match(Path::new(path)), expected, "{path}");
    }
}
