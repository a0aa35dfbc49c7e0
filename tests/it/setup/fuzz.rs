//! Random settings files through setup, setup and remove: equal to the start, everything foreign intact.

use murmur_agent::settings::HookProgram;
use murmur_claude_files::setup::change::{SetupOutcome, remove_hooks, set_up};
use murmur_claude_files::setup::undo::{UndoOutcome, undo};
use murmur_claude_files::setup::wanted::Wanted;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

const PATH: &str = "settings.json";

/// The events that have pulses, and some more.
const EVENTS: [&str; 7] = [
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "SessionEnd",
];

fn wanted(folder: &str) -> Wanted {
    Wanted::of(&HookProgram::at(format!("{folder}/murmur-hook").into())).unwrap()
}

/// JSON with its own whitespace.
#[derive(Debug, Clone)]
enum Json {
    Leaf(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// The layout of a whole file, and how much single places differ from it.
#[derive(Debug, Clone)]
struct Layout {
    newline: &'static str,
    unit: &'static str,
    colon: &'static str,
    comma: &'static str,
    pad: &'static str,
    /// Objects and arrays deeper than this are on one line.
    depth: usize,
    /// Which places have odd whitespace, in order.
    odd: Vec<bool>,
}

impl Layout {
    fn write(&self, json: &Json, depth: usize, place: &mut usize, out: &mut String) {
        let (brackets, parts): (_, Vec<(Option<&String>, &Json)>) = match json {
            Json::Leaf(text) => return out.push_str(text),
            Json::List(parts) => (["[", "]"], parts.iter().map(|part| (None, part)).collect()),
            Json::Object(parts) => (["{", "}"], parts.iter().map(|(key, part)| (Some(key), part)).collect()),
        };
        let lines = depth < self.depth && !self.unit.is_empty();
        out.push_str(brackets[0]);
        for (index, (key, part)) in parts.iter().enumerate() {
            if index > 0 {
                self.odd(place, out);
                out.push(',');
            }
            match lines {
                true => *out += &format!("{}{}", self.newline, self.unit.repeat(depth + 1)),
                false => out.push_str(if index > 0 { self.comma } else { self.pad }),
            }
            self.odd(place, out);
            if let Some(key) = key {
                *out += &format!("{key}{}", self.colon);
            }
            self.write(part, depth + 1, place, out);
        }
        match lines && !parts.is_empty() {
            true => *out += &format!("{}{}", self.newline, self.unit.repeat(depth)),
            false => out.push_str(self.pad),
        }
        out.push_str(brackets[1]);
    }

    fn odd(&self, place: &mut usize, out: &mut String) {
        *place += 1;
        if self.odd[*place % self.odd.len()] {
            out.push_str([" ", "\t", "\r\n", "\n\n"][*place % 4]);
        }
    }
}

fn layout() -> impl Strategy<Value = Layout> {
    let pick = prop::sample::select::<&'static str>;
    (
        pick(vec!["\n", "\n", "\r\n"]),
        pick(vec!["  ", "  ", "    ", "\t", "", " "]),
        pick(vec![": ", ": ", ":", " : "]),
        pick(vec![" ", ""]),
        pick(vec!["", " "]),
        0_usize..8,
        prop::collection::vec(prop::bool::weighted(0.05), 31..97),
    )
        .prop_map(|(newline, unit, colon, comma, pad, depth, odd)| Layout {
            newline,
            unit,
            colon,
            comma,
            pad,
            depth,
            odd,
        })
}

fn leaf() -> impl Strategy<Value = Json> {
    let leaves = [
        "null",
        "true",
        "1e9",
        "-0",
        "\"\"",
        "\"a\\\"b\\\\\"",
        "\"ä\u{1f600}\"",
        "\"\\ud800\"",
        "\"]},{[\"",
        "\"murmur-hook Stop\"",
        "123456789012345678901234567890",
        "\"\u{2028}\"",
    ];
    prop::sample::select(leaves.to_vec()).prop_map(|leaf| Json::Leaf(leaf.to_owned()))
}

fn key(names: &[&str]) -> impl Strategy<Value = String> + Clone + use<> {
    prop::sample::select(names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>())
}

fn foreign() -> impl Strategy<Value = Json> {
    leaf().prop_recursive(3, 16, 4, |inner| {
        let member = (key(&["a", "hooks", "Stop", "", "matcher", "h\\u006foks", "ä"]), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Json::List),
            prop::collection::vec(member, 0..4).prop_map(Json::Object),
        ]
    })
}

/// A foreign group, in any form.
fn group() -> impl Strategy<Value = Json> {
    let command = key(&[
        "mine",
        "jq . | tee /tmp/log",
        "murmur beat",
        "'/a/murmur-hook' PreToolUse || exit 2",
        "x \\u0026\\u0026 y",
    ]);
    let hook = (command.clone(), prop::option::of(foreign())).prop_map(|(command, more)| {
        let mut members = vec![
            ("\"type\"".to_owned(), Json::Leaf("\"command\"".to_owned())),
            ("\"command\"".to_owned(), Json::Leaf(command)),
        ];
        members.extend(more.map(|more| ("\"timeout\"".to_owned(), more)));
        Json::Object(members)
    });
    let matcher = prop::option::of(key(&["*", "", "Bash", "Edit|Write"]));
    let nested = (matcher.clone(), prop::collection::vec(hook, 0..3)).prop_map(|(matcher, hooks)| {
        let mut members: Vec<_> =
            matcher.map(|matcher| ("\"matcher\"".to_owned(), Json::Leaf(matcher))).into_iter().collect();
        members.push(("\"hooks\"".to_owned(), Json::List(hooks)));
        Json::Object(members)
    });
    let flat = (matcher, command).prop_map(|(matcher, command)| {
        let matcher = matcher.map(|matcher| ("\"matcher\"".to_owned(), Json::Leaf(matcher)));
        Json::Object(matcher.into_iter().chain([("\"command\"".to_owned(), Json::Leaf(command))]).collect())
    });
    prop_oneof![6 => nested, 2 => flat, 1 => foreign()]
}

fn hooks() -> impl Strategy<Value = Json> {
    let own = (key(&EVENTS), prop::collection::vec(group(), 0..4).prop_map(Json::List));
    let others = ["PreToolUse", "Notification", "stop", "St\\u006fp2"];
    let other = (
        key(&others),
        prop_oneof![3 => prop::collection::vec(group(), 0..3).prop_map(Json::List), 1 => foreign()],
    );
    prop::collection::vec(prop_oneof![3 => own, 1 => other], 0..6).prop_map(Json::Object)
}

/// A settings file to which hooks can be added.
fn settings() -> impl Strategy<Value = String> {
    let other = (key(&["model", "permissions", "env", "$schema", "ä", "hook", "disableAllHooks"]), foreign());
    let hook = (key(&["hooks", "hooks", "h\\u006foks"]), hooks());
    let members = prop::collection::vec(prop_oneof![2 => other, 1 => hook], 0..6);
    let blank = prop::sample::select(vec!["", "", "\n", "\r\n", " \n\t"]);
    let whole = (members, layout(), any::<bool>(), blank.clone(), blank.clone()).prop_map(
        |(members, layout, mark, before, after)| {
            let mut out = String::from(if mark { "\u{feff}" } else { "" });
            out.push_str(before);
            layout.write(&Json::Object(members), 0, &mut 0, &mut out);
            out + after
        },
    );
    prop_oneof![30 => whole, 1 => blank.prop_map(str::to_owned)]
}

/// The value of the text, with lone surrogates made readable.
fn value(text: &str) -> Value {
    let body = text.trim_start_matches('\u{feff}').replace("\\ud800", "?");
    if body.trim().is_empty() { json!({}) } else { serde_json::from_str(&body).unwrap() }
}

/// The same without what setup may have emptied.
fn pruned(mut value: Value) -> Value {
    let Some(hooks) = value.get_mut("hooks").and_then(Value::as_object_mut) else { return value };
    hooks.retain(|event, groups| !EVENTS.contains(&event.as_str()) || *groups != json!([]));
    if hooks.is_empty() {
        value.as_object_mut().unwrap().remove("hooks");
    }
    value
}

/// Checks that `after` is `before` with one more group at the end of each event.
fn has_all_and_ours(before: &Value, after: &Value, folder: &str) -> Result<(), TestCaseError> {
    let mut left = after.clone();
    for event in EVENTS {
        let groups = left["hooks"][event].as_array_mut().unwrap();
        let own = groups.pop().unwrap();
        prop_assert_eq!(&own["hooks"][0]["command"], &json!(format!("'{folder}/murmur-hook' {event}")));
        prop_assert_eq!(own["hooks"].as_array().unwrap().len(), 1);
    }
    prop_assert_eq!(pruned(left), pruned(before.clone()));
    Ok(())
}

/// Whether every byte of `one` except whitespace is in `other`, in this order.
fn is_within(one: &str, other: &str) -> bool {
    let mut rest = other.bytes();
    one.bytes().filter(|byte| !byte.is_ascii_whitespace()).all(|byte| rest.any(|found| found == byte))
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn setup_twice_and_remove_restore_every_byte(source in settings()) {
        let path = Path::new(PATH);
        let (once, outcome) = set_up(&source, &wanted("/a b"), path).unwrap();
        prop_assert_eq!(outcome, SetupOutcome::Configured);
        has_all_and_ours(&value(&source), &value(&once), "/a b")?;
        prop_assert!(is_within(&source, &once), "{}", once);
        let (twice, outcome) = set_up(&once, &wanted("/a b"), path).unwrap();
        prop_assert_eq!((&twice, outcome), (&once, SetupOutcome::AlreadyConfigured));
        prop_assert_eq!(undo(&twice, Some(source.as_bytes()), path).unwrap(), UndoOutcome::Restored);
        // Another version in between is undone as well.
        let (moved, outcome) = set_up(&twice, &wanted("/c"), path).unwrap();
        prop_assert_eq!(outcome, SetupOutcome::Updated);
        has_all_and_ours(&value(&source), &value(&moved), "/c")?;
        prop_assert_eq!(undo(&moved, Some(source.as_bytes()), path).unwrap(), UndoOutcome::Restored);
        // Without the backup, everything foreign is still there.
        let (out, outcome) = remove_hooks(&moved, path).unwrap();
        prop_assert_eq!(outcome, SetupOutcome::Removed);
        prop_assert_eq!(pruned(value(&out)), pruned(value(&source)));
        prop_assert_eq!(remove_hooks(&out, path).unwrap(), (out, SetupOutcome::NotConfigured));
    }

    #[test]
    fn an_edit_in_between_is_kept(source in settings(), own in group(), at in 0_usize..7, relaid in any::<bool>()) {
        let path = Path::new(PATH);
        let (text, _) = set_up(&source, &wanted("/a"), path).unwrap();
        let own = { let mut out = String::new(); LINE.write(&own, 0, &mut 0, &mut out); value(&out) };
        let edit = |value: &mut Value| {
            value["edited"] = json!([1]);
            let hooks = value.as_object_mut().unwrap().entry("hooks").or_insert(json!({})).as_object_mut().unwrap();
            let groups = hooks.entry(EVENTS[at]).or_insert(json!([])).as_array_mut().unwrap();
            groups.push(own.clone());
        };
        let mut edited = value(&text);
        edit(&mut edited);
        let edited = if relaid { serde_json::to_string_pretty(&edited).unwrap() } else { edited.to_string() };
        let mut expected = value(&source);
        edit(&mut expected);
        let out = match undo(&edited, Some(source.as_bytes()), path).unwrap() {
            UndoOutcome::TakenOut(out) => out,
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(pruned(value(&out)), pruned(expected));
        prop_assert_eq!(set_up(&edited, &wanted("/a"), path).unwrap(), (edited, SetupOutcome::AlreadyConfigured));
    }

    #[test]
    fn any_file_is_changed_correctly_or_refused(source in "[{}\\[\\]\":, \n\tahoks/*\\\\]{0,60}") {
        match set_up(&source, &wanted("/a"), Path::new(PATH)) {
            Ok((text, _)) => {
                has_all_and_ours(&value(&source), &value(&text), "/a")?;
                prop_assert_eq!(undo(&text, Some(source.as_bytes()), Path::new(PATH)).unwrap(), UndoOutcome::Restored);
            }
            Err(problem) => prop_assert!(problem.place().is_some(), "{}", problem),
        }
    }
}

/// Everything on one line.
static LINE: std::sync::LazyLock<Layout> = std::sync::LazyLock::new(|| Layout {
    newline: "",
    unit: "",
    colon: ":",
    comma: "",
    pad: "",
    depth: 0,
    odd: vec![false],
});
