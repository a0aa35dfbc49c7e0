use super::change::{SetupOutcome, remove_hooks, set_up};
use super::file::{Backup, Changed, Plan, SettingsFile, Stage, backup_of, change_watched};
use super::flat::fix_flat;
use super::flaw::flaws;
use super::undo::{UndoOutcome, undo};
use super::wanted::Wanted;
use super::{SetupError, plan};
use insta::assert_snapshot;
use murmur_agent::settings::HookProgram;
use serde_json::json;
use std::path::Path;
use sys::error::Hinted;

const PATH: &str = "/h/settings.json";

fn wanted(folder: &str) -> Wanted {
    Wanted::of(&HookProgram::at(format!("{folder}/murmur-hook").into())).unwrap()
}

/// Two events, enough to show the format.
fn two() -> Wanted {
    let hook = |event: &str| json!({ "type": "command", "command": format!("'/b/murmur-hook' {event}"), "timeout": 5 });
    Wanted(vec![
        ("PostToolUse".to_owned(), json!({ "matcher": "*", "hooks": [hook("PostToolUse")] })),
        ("Stop".to_owned(), json!({ "hooks": [hook("Stop")] })),
    ])
}

/// The text with the two events; checks that undoing restores it.
fn set(source: &str) -> String {
    let (text, outcome) = set_up(source, &two(), Path::new(PATH)).unwrap();
    assert_eq!(outcome, SetupOutcome::Configured);
    assert_eq!(
        set_up(&text, &two(), Path::new(PATH)).unwrap(),
        (text.clone(), SetupOutcome::AlreadyConfigured)
    );
    assert_eq!(undo(&text, Some(source.as_bytes()), Path::new(PATH)).unwrap(), UndoOutcome::Restored);
    text
}

#[test]
fn a_blank_file_becomes_a_complete_one() {
    let expected = r#"{
  "hooks": {
    "PostToolUse": [
      {
        "matcher": "*",
        "hooks": [
          {
            "type": "command",
            "command": "'/b/murmur-hook' PostToolUse",
            "timeout": 5
          }
        ]
      }
    ],
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "'/b/murmur-hook' Stop",
            "timeout": 5
          }
        ]
      }
    ]
  }
}
"#;
    assert_eq!(set(""), expected);
    assert_eq!(set(" \n"), expected);
    assert_eq!(set("{}\n"), expected);
    assert_eq!(set("{}"), expected.trim_end());
    assert_eq!(set("\u{feff}"), format!("\u{feff}{expected}"));
    assert_eq!(set("{ }\r\n"), expected.replace('\n', "\r\n"));
}

#[test]
fn new_entries_match_the_surrounding_format() {
    assert_snapshot!(set(r#"{"model":"opus"}"#), @r#"{"model":"opus","hooks":{"PostToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"'/b/murmur-hook' PostToolUse","timeout":5}]}],"Stop":[{"hooks":[{"type":"command","command":"'/b/murmur-hook' Stop","timeout":5}]}]}}"#);
    assert_snapshot!(set(r#"{ "model": "opus", "hooks": {} }"#), @r#"{ "model": "opus", "hooks": { "PostToolUse": [{ "matcher": "*", "hooks": [{ "type": "command", "command": "'/b/murmur-hook' PostToolUse", "timeout": 5 }] }], "Stop": [{ "hooks": [{ "type": "command", "command": "'/b/murmur-hook' Stop", "timeout": 5 }] }] } }"#);
    assert_snapshot!(set("{\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{ \"hooks\": [{ \"type\": \"command\", \"command\": \"mine\" }] }\n\t\t],\n\t\t\"PostToolUse\": []\n\t},\n\t\"model\" : \"opus\"\n}"), @r#"
    {
    	"hooks": {
    		"Stop": [
    			{ "hooks": [{ "type": "command", "command": "mine" }] },
    			{ "hooks": [{ "type": "command", "command": "'/b/murmur-hook' Stop", "timeout": 5 }] }
    		],
    		"PostToolUse": [
    			{
    				"matcher": "*",
    				"hooks": [
    					{
    						"type": "command",
    						"command": "'/b/murmur-hook' PostToolUse",
    						"timeout": 5
    					}
    				]
    			}
    		]
    	},
    	"model" : "opus"
    }
    "#);
    assert_snapshot!(set("{\n    \"hooks\": {\n        \"Stop\": [{\n            \"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]\n        }]\n    }\n}\n"), @r#"
    {
        "hooks": {
            "Stop": [{
                "hooks": [{"type": "command", "command": "mine"}]
            }, {
                "hooks": [
                    {
                        "type": "command",
                        "command": "'/b/murmur-hook' Stop",
                        "timeout": 5
                    }
                ]
            }],
            "PostToolUse": [
                {
                    "matcher": "*",
                    "hooks": [
                        {
                            "type": "command",
                            "command": "'/b/murmur-hook' PostToolUse",
                            "timeout": 5
                        }
                    ]
                }
            ]
        }
    }
    "#);
}

#[test]
fn another_path_is_replaced_in_place_and_one_entry_remains() {
    for source in ["", "{}", r#"{"hooks":{"Stop":[{"hooks":[]}],"X":null},"model":1}"#, "{\n \"a\": [ ]\n}"] {
        let old = set_up(source, &wanted("/a"), Path::new(PATH)).unwrap().0;
        let (new, outcome) = set_up(&old, &wanted("/b"), Path::new(PATH)).unwrap();
        assert_eq!(
            (&new, outcome),
            (&set_up(source, &wanted("/b"), Path::new(PATH)).unwrap().0, SetupOutcome::Updated)
        );
        assert_eq!(undo(&new, Some(source.as_bytes()), Path::new(PATH)).unwrap(), UndoOutcome::Restored);
    }
    let source = r#"{"hooks": {
  "PostToolUse": [
    {"matcher": "Bash", "hooks": [{"type": "command", "command": "murmur-hook PostToolUse"}, {"type": "command", "command": "mine"}]},
    {"matcher": "*", "hooks": [{"type": "command", "command": "'/a/murmur' hook PostToolUse"}]},
    {"matcher": ".*", "command": "/a/murmur-hook PostToolUse"},
    {"matcher": "*", "hooks": [{"type": "command", "command": "murmur-hook PostToolUse"}]}
  ],
  "Notification": [{"hooks": [{"type": "command", "command": "murmur-hook Notification"}]}],
  "PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "murmur-hook PreToolUse || exit 2"}]}]
}}"#;
    let (text, outcome) = set_up(source, &two(), Path::new(PATH)).unwrap();
    assert_eq!(outcome, SetupOutcome::Updated);
    assert_snapshot!(text, @r#"
    {"hooks": {
      "PostToolUse": [
        {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]},
        {"matcher": "*", "hooks": [{"type": "command", "command": "'/b/murmur-hook' PostToolUse", "timeout": 5}]}
      ],
      "PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "murmur-hook PreToolUse || exit 2"}]}],
      "Stop": [
        {
          "hooks": [
            {
              "type": "command",
              "command": "'/b/murmur-hook' Stop",
              "timeout": 5
            }
          ]
        }
      ]
    }}
    "#);
    assert_snapshot!(remove_hooks(&text, Path::new(PATH)).unwrap().0, @r#"
    {"hooks": {
      "PostToolUse": [
        {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}
      ],
      "PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "murmur-hook PreToolUse || exit 2"}]}]
    }}
    "#);
}

#[test]
fn the_last_of_duplicate_keys_stays_active() {
    let source = r#"{"hooks":{"Stop":7},"hooks":{"Stop":[{"hooks":[{"type":"command","command":"dead"}]}],"Stop":[]}}"#;
    let text = set(source);
    let (out, _) = remove_hooks(&text, Path::new(PATH)).unwrap();
    assert_eq!(out, source);
    let source = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"dead"}]}]},"a":1,"hooks":{}}"#;
    assert_eq!(remove_hooks(&set(source), Path::new(PATH)).unwrap().0, source);
}

#[test]
fn what_cannot_be_added_to_is_reported_with_its_position() {
    let refused = |source: &str| set_up(source, &two(), Path::new(PATH)).unwrap_err().line();
    let sources = [
        "{\n  \"model\": \"opus\", // mine\n}",
        "{\"a\": 1,}",
        "{\n  \"ä\": tru\n}",
        "{\"a\": {",
        "\u{feff}nope",
        "{} {}",
        "[]",
        "\n \"text\"",
        "{\"hooks\": []}",
        "{\"hooks\": null}",
        "{\n  \"hooks\": {\"Stop\": {}}}",
        "{\"hooks\": {\"PostToolUse\": \"x\"}}",
    ];
    assert_snapshot!(sources.map(refused).join("\n"), @"
    /h/settings.json:2:20: JSON has no comments, and Claude Code ignores the file; correct it there or just before, and run this again
    /h/settings.json:1:9: this is not JSON (trailing comma), and Claude Code ignores the file; correct it there or just before, and run this again
    /h/settings.json:2:8: this is not JSON (expected ident), and Claude Code ignores the file; correct it there or just before, and run this again
    /h/settings.json:1:7: this is not JSON (EOF while parsing an object), and Claude Code ignores the file; correct it there or just before, and run this again
    /h/settings.json:1:1: this is not JSON (expected ident), and Claude Code ignores the file; correct it there or just before, and run this again
    /h/settings.json:1:4: this is not JSON (trailing characters), and Claude Code ignores the file; correct it there or just before, and run this again
    /h/settings.json:1:1: it is an array, not an object; correct it; Claude Code ignores the file
    /h/settings.json:2:2: it is a string, not an object; correct it; Claude Code ignores the file
    /h/settings.json:1:11: hooks is an array, so hooks cannot be added; make it an object, {}, or remove it
    /h/settings.json:1:11: hooks is null, so hooks cannot be added; make it an object, {}, or remove it
    /h/settings.json:2:21: hooks.Stop is an object, so hooks cannot be added; make it an array, [], or remove it
    /h/settings.json:1:27: hooks.PostToolUse is a string, so hooks cannot be added; make it an array, [], or remove it
    ");
}

#[test]
fn flat_entries_are_named_and_nested_on_demand() {
    let source = r#"{
  "permissions": { "deny": ["Bash(rm *)"] },
  "hooks": {
    "PostToolUse": [
      { "matcher": ".*", "command": "my-custom-hook", "timeout": 9 },
      {
        "matcher": "Edit",
        "command": "other"
      },
      { "matcher": "*", "hooks": [{ "command": "typeless" }, { "type": "shell" }, { "type": "prompt" }, 7] }
    ],
    "Stop": [ "x", {} ],
    "NoSuchEvent": [{ "command": "harmless" }]
  },
  "disableAllHooks": true
}
"#;
    let named = |source: &str| {
        flaws(source).iter().map(|flaw| flaw.at(Path::new(PATH))).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(named(source), @r#"
    /h/settings.json:15:3: disableAllHooks is true: Claude Code runs no hooks, not even murmur's; remove it to enable them
    /h/settings.json:5:7: hooks.PostToolUse[0] has its command next to the matcher (flat form): Claude Code 2.1.197 silently ignores the whole file because of it, so your permissions.deny has no effect, 2.1.329 ignores the entry; `murmur setup hooks --fix-flat` rewrites it as {"matcher", "hooks": [...]}
    /h/settings.json:6:7: hooks.PostToolUse[1] has its command next to the matcher (flat form): Claude Code 2.1.197 silently ignores the whole file because of it, so your permissions.deny has no effect, 2.1.329 ignores the entry; `murmur setup hooks --fix-flat` rewrites it as {"matcher", "hooks": [...]}
    /h/settings.json:10:35: hooks.PostToolUse[2].hooks[0] has no "type": Claude Code 2.1.197 silently ignores the whole file because of it, so your permissions.deny has no effect, 2.1.329 ignores the entry; add "type": "command" and a command, or remove it
    /h/settings.json:10:62: hooks.PostToolUse[2].hooks[1] has the unknown type "shell": Claude Code 2.1.197 silently ignores the whole file because of it, so your permissions.deny has no effect, 2.1.329 ignores the entry; add "type": "command" and a command, or remove it
    /h/settings.json:10:83: hooks.PostToolUse[2].hooks[2] has no string "prompt": Claude Code 2.1.197 silently ignores the whole file because of it, so your permissions.deny has no effect, 2.1.329 ignores the entry; add one, or remove it
    /h/settings.json:10:105: hooks.PostToolUse[2].hooks[3] is a number, not an object: Claude Code 2.1.197 silently ignores the whole file because of it, so your permissions.deny has no effect, 2.1.329 ignores the entry; add "type": "command" and a command, or remove it
    /h/settings.json:12:15: hooks.Stop[0] is a string, not an object: Claude Code 2.1.197 silently ignores the whole file because of it, so your permissions.deny has no effect, 2.1.329 ignores the entry; make it {"matcher", "hooks": [...]}, or remove it
    /h/settings.json:12:20: hooks.Stop[1] has no array "hooks": Claude Code 2.1.197 silently ignores the whole file because of it, so your permissions.deny has no effect, 2.1.329 ignores the entry; make it {"matcher", "hooks": [...]}, or remove it
    "#);
    let (text, rewritten) = fix_flat(source, Path::new(PATH)).unwrap();
    assert_eq!(rewritten, ["hooks.PostToolUse[0]", "hooks.PostToolUse[1]"]);
    assert_snapshot!(text, @r#"
    {
      "permissions": { "deny": ["Bash(rm *)"] },
      "hooks": {
        "PostToolUse": [
          { "matcher": ".*", "hooks": [{ "type": "command", "command": "my-custom-hook", "timeout": 9 }] },
          {
            "matcher": "Edit",
            "hooks": [
              {
                "type": "command",
                "command": "other"
              }
            ]
          },
          { "matcher": "*", "hooks": [{ "command": "typeless" }, { "type": "shell" }, { "type": "prompt" }, 7] }
        ],
        "Stop": [ "x", {} ],
        "NoSuchEvent": [{ "command": "harmless" }]
      },
      "disableAllHooks": true
    }
    "#);
    assert_eq!(flaws(&text).len(), flaws(source).len() - 2);
    assert_eq!(fix_flat(&text, Path::new(PATH)).unwrap(), (text, vec![]));
}

/// Sets up a file that another process replaces with `late` at each of `stages`.
fn raced(
    before: Option<&str>,
    late: &[(Stage, Option<&str>)],
) -> (Result<Changed<plan::Decision>, SetupError>, Option<String>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let (path, lock) = (folder.path().join("settings.json"), folder.path().join("lock"));
    if let Some(before) = before {
        std::fs::write(&path, before).unwrap();
    }
    let mut late = late.iter();
    let mut next = late.next();
    let mut stages = |stage: Stage, real: &Path| {
        if let Some((_, text)) = next.filter(|(when, _)| *when == stage) {
            match text {
                Some(text) => {
                    let other = real.with_file_name("other");
                    std::fs::write(&other, text).unwrap();
                    std::fs::rename(other, real).unwrap();
                }
                None => std::fs::remove_file(real).unwrap(),
            }
            next = late.next();
        }
    };
    let decide = |found: SettingsFile<'_>| plan::set_up(found, &two(), Path::new(PATH));
    let changed = change_watched(&path, &lock, decide, &mut stages);
    assert_eq!(next, None, "every stage came");
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    let backup = backup_of(&path.canonicalize().unwrap_or(path.clone())).exists();
    (changed, std::fs::read_to_string(&path).ok(), left - 1 - usize::from(backup))
}

#[test]
fn a_concurrent_edit_is_never_lost() {
    let edited = "{\n  \"edited\": 1\n}\n";
    for stage in [Stage::Decided, Stage::Replacing] {
        for before in [None, Some("{}\n"), Some("{\"model\":\"opus\"}")] {
            let (changed, text, left) = raced(before, &[(stage, Some(edited))]);
            assert_eq!(changed.unwrap().plan.decision.outcome, SetupOutcome::Configured);
            assert_eq!((text.unwrap(), left), (set(edited), 1), "{stage:?} {before:?}");
        }
        let again = "{\"edited\":2}";
        let (changed, text, _) = raced(Some("{}"), &[(stage, Some(edited)), (stage, Some(again))]);
        assert_eq!(changed.unwrap().before.unwrap(), again.as_bytes());
        assert_eq!(text.unwrap(), set(again));
        let (changed, text, _) = raced(Some("{\"a\":1}"), &[(stage, None)]);
        assert_eq!(changed.unwrap().before, None);
        assert_eq!(text.unwrap(), set(""));
        // Set up concurrently: nothing to do.
        let (changed, text, _) = raced(Some("{}"), &[(stage, Some(&set(edited)))]);
        assert_eq!(changed.unwrap().plan.decision.outcome, SetupOutcome::AlreadyConfigured);
        assert_eq!(text.unwrap(), set(edited));
        // Broken concurrently: that version stays.
        let (changed, text, left) = raced(Some("{}"), &[(stage, Some("{torn"))]);
        assert!(matches!(changed, Err(SetupError::Wrong(_))));
        assert_eq!((text.unwrap().as_str(), left), ("{torn", 1));
    }
}

#[test]
fn a_backup_is_never_replaced_by_a_text_with_our_hooks() {
    let decided = |file: &str, backup: Option<&str>| {
        let found = SettingsFile { file: Some(file.as_bytes()), backup: backup.map(str::as_bytes) };
        plan::set_up(found, &wanted("/b"), Path::new(PATH)).unwrap()
    };
    let old = set_up("{}", &wanted("/a"), Path::new(PATH)).unwrap().0;
    assert_eq!(decided(&old, Some("{}")).backup, Backup::Keep);
    assert_eq!(decided(&old, None).backup, Backup::Write);
    // A file with only murmur's hooks was created by setup.
    let made = set_up("", &wanted("/a"), Path::new(PATH)).unwrap().0;
    assert_eq!(decided(&made, None).backup, Backup::Keep);
    assert_eq!(decided("{}", Some("{\"a\":1}")).backup, Backup::Write);
    let Plan { next, backup, .. } = decided("{}", None);
    assert_eq!(backup, Backup::Write);
    let text = String::from_utf8(next.unwrap()).unwrap();
    assert_eq!(decided(&text, Some("{}")).backup, Backup::Keep);
}

#[test]
fn without_a_matching_backup_only_our_entries_are_removed() {
    let text = set("{\"a\":1}");
    let undone = |backup: Option<&str>| undo(&text, backup.map(str::as_bytes), Path::new(PATH)).unwrap();
    assert_eq!(undone(Some("{\"a\":1}")), UndoOutcome::Restored);
    for backup in [None, Some("{\"a\":2}"), Some("{torn"), Some(text.as_str())] {
        assert_eq!(undone(backup), UndoOutcome::TakenOut("{\"a\":1}".to_owned()));
    }
    assert_eq!(undo(&set(""), None, Path::new(PATH)).unwrap(), UndoOutcome::Gone);
    // There was a file, whatever happened to it.
    let kept = UndoOutcome::TakenOut("{}\n".to_owned());
    assert_eq!(undo(&set(""), Some(b"{\"x\":1}"), Path::new(PATH)).unwrap(), kept);
    assert_eq!(undo("{}", Some(b"{}"), Path::new(PATH)).unwrap(), UndoOutcome::NotConfigured);
}
