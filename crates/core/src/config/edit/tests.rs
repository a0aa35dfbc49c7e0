//! Edits change only what they should.

use super::*;
use crate::config::backend::Backend;
use proptest::prelude::*;
use serde_json::{Value, json};
use sys::error::Hinted;

const AT: &str = "2026-02-03T10:00:00Z";
const NOW: &str = "2026-02-03T12:00:00Z";

fn set_last_run(source: &str, updates: &[LastRun<'_>]) -> Result<String, EditError> {
    super::set_last_run(source, updates, NOW.parse().unwrap())
}

fn set(source: &str, path: &str, name: Option<&str>) -> String {
    let update = LastRun { workspace: Path::new(path), name, at: AT.parse().unwrap() };
    set_last_run(source, &[update]).unwrap()
}

#[test]
fn a_last_run_is_replaced_in_place() {
    for (source, expected) in [
        (
            r#"{"workspaces":[{"path":"/a","lastRun":null}]}"#,
            r#"{"workspaces":[{"path":"/a","lastRun":"2026-02-03T10:00:00Z"}]}"#,
        ),
        (
            "\u{feff}{ \"workspaces\" : [ { \"lastRun\" :  \"old\" , \"p\\u0061th\" : \"\\/a\" } ] }\r\n",
            "\u{feff}{ \"workspaces\" : [ { \"lastRun\" :  \"2026-02-03T10:00:00Z\" , \"p\\u0061th\" : \"\\/a\" } ] }\r\n",
        ),
        (
            r#"{"workspaces":[{"path":"/x","lastRun":1}],"workspaces":[{"path":"/x","path":"/a","lastRun":1,"lastRun":{"b":[2]}}]}"#,
            r#"{"workspaces":[{"path":"/x","lastRun":1}],"workspaces":[{"path":"/x","path":"/a","lastRun":1,"lastRun":"2026-02-03T10:00:00Z"}]}"#,
        ),
    ] {
        assert_eq!(set(source, "/a", None), expected);
    }
}

#[test]
fn a_new_key_matches_the_layout_around_it() {
    for (source, name, expected) in [
        (r#"{"workspaces":[{"path":"/a"}]}"#, None, r#"{"workspaces":[{"path":"/a","lastRun":"T"}]}"#),
        (
            r#"{"workspaces":[{ "path": "/a" }]}"#,
            None,
            r#"{"workspaces":[{ "path": "/a", "lastRun": "T" }]}"#,
        ),
        (
            "{\"workspaces\": [\n\t{\n\t\t\"path\": \"/a\",\n\t\t\"interval\": \"1h\"\n\t}\n]}",
            None,
            "{\"workspaces\": [\n\t{\n\t\t\"path\": \"/a\",\n\t\t\"interval\": \"1h\",\n\t\t\"lastRun\": \"T\"\n\t}\n]}",
        ),
        (
            "{\"workspaces\": [\r\n  {\r\n    \"path\": \"/a\"\r\n  }]}",
            Some("n"),
            "{\"workspaces\": [\r\n  {\r\n    \"path\": \"/a\",\r\n    \"lastRuns\": {\r\n      \"n\": \"T\"\r\n    }\r\n  }]}",
        ),
        (
            r#"{"workspaces":[{"path":"/a","lastRuns":{}}]}"#,
            Some("n"),
            r#"{"workspaces":[{"path":"/a","lastRuns":{"n":"T"}}]}"#,
        ),
        (
            r#"{"workspaces":[{"path":"/a","lastRuns":{ "m": null }}]}"#,
            Some("n"),
            r#"{"workspaces":[{"path":"/a","lastRuns":{ "m": null, "n": "T" }}]}"#,
        ),
        (
            r#"{"workspaces":[{"path":"/a","lastRuns":{"\u006e":1}}]}"#,
            Some("n"),
            r#"{"workspaces":[{"path":"/a","lastRuns":{"\u006e":"T"}}]}"#,
        ),
        (
            r#"{"workspaces":[{"path":"/a","lastRuns":null}]}"#,
            Some("q\"\n"),
            r#"{"workspaces":[{"path":"/a","lastRuns":{"q\"\n":"T"}}]}"#,
        ),
    ] {
        assert_eq!(set(source, "/a", name), expected.replace("\"T\"", &format!("\"{AT}\"")));
    }
}

#[test]
fn several_runs_are_written_at_once_and_unknown_workspaces_are_skipped() {
    let at: Timestamp = AT.parse().unwrap();
    let update = |workspace, name| LastRun { workspace: Path::new(workspace), name, at };
    let source = r#"{"workspaces":[{"path":"/a"},{"path":"/b/","lastRun":null},7,{"path":"/a"}]}"#;
    let updates = [
        update("/b", None),
        update("/a", Some("n")),
        update("/a", Some("m")),
        update("/a", None),
        update("/z", None),
    ];
    assert_eq!(
        set_last_run(source, &updates).unwrap().replace(AT, "T"),
        r#"{"workspaces":[{"path":"/a","lastRuns":{"n":"T","m":"T"},"lastRun":"T"},{"path":"/b/","lastRun":"T"},7,{"path":"/a"}]}"#
    );
    assert_eq!(set_last_run("", &updates).unwrap(), "");
    assert!(set_last_run("{", &updates).is_err());
}

#[test]
fn a_last_run_is_never_set_back_except_from_the_future() {
    for (said, expected) in [
        ("2026-02-03T09:00:00Z", AT),
        ("2026-02-03T10:00:00.001Z", "2026-02-03T10:00:00.001Z"),
        (NOW, NOW),
        ("2026-02-03T13:00:00+01:00", "2026-02-03T13:00:00+01:00"),
        ("2026-02-03T12:00:00.001Z", AT),
        ("2099-01-01T00:00:00Z", AT),
    ] {
        let own = |at: &str| format!(r#"{{"workspaces":[{{"lastRun": "{at}", "path":"/a"}}]}}"#);
        assert_eq!(set(&own(said), "/a", None), own(expected));
        let named = |at: &str| format!(r#"{{"workspaces":[{{"lastRuns": {{"n": "{at}"}}, "path":"/a"}}]}}"#);
        assert_eq!(set(&named(said), "/a", Some("n")), named(expected));
    }
}

#[test]
fn a_concurrent_edit_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (path, lock) = (folder.path().join("config.json"), folder.path().join("config.lock"));
    std::fs::write(&path, r#"{"workspaces":[{"path":"/a"}]}"#).unwrap();
    let rounds = std::cell::Cell::new(0);
    let edit = |text: &str| {
        // One program renames another file over it, then another writes to that.
        let others = [r#"{"x":1,"workspaces":[{"path":"/a"}]}"#, r#"{"x":2,"workspaces":[{"path":"/a"}]}"#];
        let round = rounds.replace(rounds.get() + 1);
        let beside = if round == 0 { folder.path().join("new") } else { path.clone() };
        if let Some(other) = others.get(round) {
            std::fs::write(&beside, other).unwrap();
            std::fs::rename(&beside, &path).unwrap();
        }
        let update = LastRun { workspace: Path::new("/a"), name: None, at: AT.parse().unwrap() };
        set_last_run(text, &[update])
    };
    apply(&path, &lock, edit).unwrap();
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        format!(r#"{{"x":2,"workspaces":[{{"path":"/a","lastRun":"{AT}"}}]}}"#)
    );
    assert_eq!(rounds.get(), 3);
}

fn new(path: &str) -> NewWorkspace<'_> {
    NewWorkspace {
        path: Path::new(path),
        name: None,
        interval: Some("30m".parse().unwrap()),
        cron: None,
        tz: None,
        agent: None,
    }
}

#[test]
fn a_workspace_is_added_in_the_style_of_the_file() {
    let pretty = "{\n  \"workspaces\": [\n    {\n      \"path\": \"/a\",\n      \"interval\": \"30m\",\n      \"lastRun\": null\n    }\n  ]\n}\n";
    for source in ["", " \n", "{}", "{\"workspaces\": []}"] {
        let added = add_workspace(source, &new("/a")).unwrap();
        let value: Value = serde_json::from_str(&added).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(pretty).unwrap(), "{added}");
    }
    assert_eq!(add_workspace("", &new("/a")).unwrap(), pretty);
    assert_eq!(add_workspace("{\n  \"workspaces\": []\n}\n", &new("/a")).unwrap(), pretty);
    let two = add_workspace(pretty, &new("/b")).unwrap();
    assert_eq!(two, pretty.replace("\n    }\n  ]", "\n    },\n    {\n      \"path\": \"/b\",\n      \"interval\": \"30m\",\n      \"lastRun\": null\n    }\n  ]"));
    assert_eq!(remove_workspace(&two, Path::new("/b")).unwrap(), pretty);
    assert_eq!(remove_workspace(&two, Path::new("/a")).unwrap(), pretty.replace("/a", "/b"));
    assert_eq!(remove_workspace(pretty, Path::new("/a")).unwrap(), "{\n  \"workspaces\": []\n}\n");
    assert_eq!(
        add_workspace(r#"{"workspaces":[{"path":"/a"}]}"#, &new("/b")).unwrap(),
        r#"{"workspaces":[{"path":"/a"},{"path":"/b","interval":"30m","lastRun":null}]}"#
    );
    assert_eq!(
        add_workspace("{\"x\": 1}", &new("/b")).unwrap(),
        r#"{"x": 1, "workspaces": [{"path": "/b", "interval": "30m", "lastRun": null}]}"#
    );
    assert_eq!(
        add_workspace("{\"x\": 1}", &NewWorkspace { agent: Some(&Backend::Codex), ..new("/b") }).unwrap(),
        r#"{"x": 1, "workspaces": [{"path": "/b", "interval": "30m", "agent": "codex", "lastRun": null}]}"#
    );
}

#[test]
fn existing_workspaces_are_not_added_and_missing_ones_not_removed() {
    let source = r#"{"workspaces":[{"path":"/a"}]}"#;
    assert_eq!(
        add_workspace(source, &new("/a/")).unwrap_err().line(),
        "workspace /a/ is already in config.json; edit its entry there"
    );
    assert_eq!(
        remove_workspace(source, Path::new("/b")).unwrap_err().line(),
        "workspace /b is not in config.json; see: murmur list"
    );
    assert!(add_workspace("{\"workspaces\": 7}", &new("/a")).is_err());
}

#[test]
fn the_file_is_written_only_when_it_changes_and_never_when_invalid() {
    let folder = tempfile::tempdir().unwrap();
    let (path, lock) = (folder.path().join("config.json"), folder.path().join("config.lock"));
    let edit = |text: &str| {
        set_last_run(text, &[LastRun { workspace: Path::new("/a"), name: None, at: AT.parse().unwrap() }])
    };
    apply(&path, &lock, edit).unwrap();
    assert!(!path.exists(), "nothing to write");
    std::fs::write(&path, "{\"workspaces\": [\n  {\"path\": \"/a\"]}").unwrap();
    assert_eq!(
        apply(&path, &lock, edit).unwrap_err().line(),
        format!(
            "{}:2:16: this is not JSON: expected `,` or `}}`; correct it there or just before",
            path.display()
        )
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"workspaces\": [\n  {\"path\": \"/a\"]}");
    apply(&folder.path().join("new.json"), &lock, |text| add_workspace(text, &new("/a"))).unwrap();
    assert!(folder.path().join("new.json").exists());
}

/// JSON with varying whitespace, escapes and order, and duplicate keys.
#[derive(Debug, Clone)]
enum Json {
    Plain(String),
    List(Vec<(String, Json)>),
    Object(Vec<(String, String, String, Json)>),
}

impl Json {
    fn write(&self, out: &mut String) {
        match self {
            Self::Plain(text) => out.push_str(text),
            Self::List(parts) => {
                out.push('[');
                for (index, (space, part)) in parts.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    out.push_str(space);
                    part.write(out);
                    out.push_str(space);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (space, key, colon, value)) in members.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    out.push_str(&format!("{space}{key}{colon}"));
                    value.write(out);
                    out.push_str(space);
                }
                out.push('}');
            }
        }
    }
}

fn space() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "", " ", "\n  ", "\r\n\t", "  \n"]).prop_map(str::to_owned)
}

fn colon() -> impl Strategy<Value = String> {
    prop::sample::select(vec![":", ": ", " : ", ":\n"]).prop_map(str::to_owned)
}

fn pick(choices: &[&str]) -> impl Strategy<Value = Json> + use<> {
    prop::sample::select(choices.iter().map(ToString::to_string).collect::<Vec<_>>()).prop_map(Json::Plain)
}

fn foreign() -> impl Strategy<Value = Json> {
    let leaf = pick(&[
        "null",
        "true",
        "-1.5e3",
        "\"\"",
        "\"lastRun\"",
        "\"}],{\\\"\"",
        "\"\\u00e9é\\n\"",
        "[]",
        "{}",
    ]);
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec((space(), inner.clone()), 0..3).prop_map(Json::List),
            members(prop::collection::vec((key(&["\"lastRun\"", "\"x\"", "\"path\"", "\"\""]), inner), 0..3)),
        ]
    })
}

fn key(choices: &[&str]) -> impl Strategy<Value = String> + use<> {
    prop::sample::select(choices.iter().map(ToString::to_string).collect::<Vec<_>>())
}

fn members(of: impl Strategy<Value = Vec<(String, Json)>>) -> impl Strategy<Value = Json> {
    (of, space(), colon()).prop_map(|(members, space, colon)| {
        Json::Object(
            members.into_iter().map(|(key, value)| (space.clone(), key, colon.clone(), value)).collect(),
        )
    })
}

fn entry() -> impl Strategy<Value = Json> {
    let path = (
        key(&["\"path\"", "\"p\\u0061th\""]),
        pick(&["\"/a\"", "\"/b\"", "\"\\/a\"", "\"/\\u0061\"", "\"/é\\\\\""]),
    )
        .boxed();
    let last = (
        key(&["\"lastRun\"", "\"last\\u0052un\""]),
        prop_oneof![pick(&["null", "\"2020-01-01T00:00:00Z\""]), foreign()],
    );
    let named = (key(&["\"n\"", "\"\\u006e\"", "\"m\""]), pick(&["null", "\"2020-01-01T00:00:00Z\""]));
    let runs = (
        key(&["\"lastRuns\""]),
        prop_oneof![members(prop::collection::vec(named, 0..3)), pick(&["null", "{ }"])],
    );
    let other = (key(&["\"interval\"", "\"x\"", "\"last Run\"", "\"é\""]), foreign());
    let member = prop_oneof![3 => path.clone(), 2 => last, 2 => runs, 3 => other];
    members((path, prop::collection::vec(member, 0..5)).prop_flat_map(|(path, mut rest)| {
        rest.push(path);
        Just(rest).prop_shuffle()
    }))
}

fn config() -> impl Strategy<Value = String> {
    let list = prop::collection::vec((space(), prop_oneof![5 => entry(), 1 => foreign()]), 0..4)
        .prop_map(Json::List)
        .boxed();
    let member = prop_oneof![2 => (key(&["\"workspaces\"", "\"work\\u0073paces\""]), list.clone()), 1 => (key(&["\"y\"", "\"maxConcurrent\""]), foreign())];
    let root = members((prop::collection::vec(member, 0..3), list).prop_map(|(mut rest, list)| {
        rest.push(("\"workspaces\"".to_owned(), list));
        rest
    }));
    (root, any::<bool>(), space()).prop_map(|(root, mark, space): (Json, bool, String)| {
        let mut out = String::from(if mark { "\u{feff}" } else { "" });
        out.push_str(&space);
        root.write(&mut out);
        out.push_str(&space);
        out
    })
}

fn value(text: &str) -> Value {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn a_last_run_changes_its_own_value_and_no_other_byte(
        source in config(), path in prop::sample::select(vec!["/a", "/b", "/é\\"]), name in prop::option::of(Just("n")),
    ) {
        let after = set(&source, path, name);
        let mut expected = value(&source);
        let own = expected["workspaces"].as_array_mut().unwrap().iter_mut().find(|entry| entry["path"] == path);
        match own {
            None => prop_assert_eq!(&after, &source),
            Some(entry) => {
                match name {
                    None => entry["lastRun"] = json!(AT),
                    Some(name) if entry["lastRuns"].is_object() => entry["lastRuns"][name] = json!(AT),
                    Some(name) => entry["lastRuns"] = json!({ name: AT }),
                }
                prop_assert_eq!(value(&after), expected, "{}", source);
                // Without the common prefix and suffix, one gap is left in each text.
                let start = source.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count();
                let room = source.len().min(after.len()) - start;
                let end = source.bytes().rev().zip(after.bytes().rev()).take(room).take_while(|(one, other)| one == other).count();
                let new = after.get(start..after.len() - end);
                prop_assert!(new.is_none_or(|new| new.len() <= AT.len() + 60), "{:?}", new);
                prop_assert_eq!(set(&after, path, name), after);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn adding_and_removing_a_workspace_restores_the_file(source in config()) {
        let before = value(&source);
        let added = add_workspace(&source, &new("/new \"one\"")).unwrap();
        let mut expected = before.clone();
        expected["workspaces"].as_array_mut().unwrap().push(json!({"path": "/new \"one\"", "interval": "30m", "lastRun": null}));
        prop_assert_eq!(value(&added), expected);
        let removed = remove_workspace(&added, Path::new("/new \"one\"")).unwrap();
        prop_assert_eq!(value(&removed), before.clone());
        if !before["workspaces"].as_array().unwrap().is_empty() {
            prop_assert_eq!(removed, source);
        }
    }
}
