//! docs/reference/json.md: every object that `--json` prints has exactly the fields that its section names; so do
//! journal lines and docs/reference/journal.md. docs/reference/host-protocol.md has its own tests.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::page::{Page, code};
use super::shell::Shell;
use crate::env::Env;

/// A bit of everything: a workspace that waits for an answer, one that is done, one with an error; a capture; a hosted
/// agent.
const SCENE: &str = r#"
mkdir -p ~/site ~/shop ~/gone ~/.config/murmur
echo Look >~/site/HEARTBEAT.md; echo Look >~/shop/HEARTBEAT.md; echo Look >~/gone/HEARTBEAT.md
printf '[[rules]]\ntool = "Bash"\naction = "deny"\npattern = "git push -f"\n' >~/.config/murmur/permissions.toml
echo 'permissions-checker = "manual"' >~/.config/murmur/config.toml
for folder in site shop gone; do murmur add ~/$folder; done
rm -r ~/gone
derun run --session-id done -- echo built
murmur beat ~/shop
fake_call Bash '{"command":"git pull"}'
echo '{"script":[[{"type":"text","text":"Hello"}]]}' >~/shop/.fake-claude.json
murmur start
murmur agent start Hello --agent-id mender --worktree ~/shop
until_line 'git pull' murmur permission list --watch
"#;

/// How it ends.
const END: &str = "murmur agent stop --all --force; murmur stop";

/// A command, the section of the page with its object, and fields that this setup doesn't produce.
const OBJECTS: [(&str, &str, &[&str]); 20] = [
    (
        "murmur status --json",
        "`murmur status`",
        &[
            "backend",
            "denied",
            "waitingReason",
            "lastRunAhead",
            "on",
            "repositoryUntrusted",
            "holds",
            "held",
            "paused",
            "enabled",
            "failures",
            "nextReason",
            "dropped",
            "neverRuns",
            "budgets",
        ],
    ),
    (
        "murmur permission list --json",
        "`murmur permission list`",
        &["heartbeat", "doubt", "defers", "expiresAt"],
    ),
    ("murmur question list --json", "`murmur permission list`", EVERY_FIELD),
    ("murmur show shop --json | jq -c 'del(.beat)'", "`murmur show`", &["beat"]),
    ("murmur list --json", "`murmur list`", &[]),
    ("murmur rules check 'Bash(ls)' --json", "`murmur rules check`", &[]),
    ("murmur rules check 'Bash(git push -f)' --json", "`murmur rules check`", &[]),
    ("murmur rules check 'Bash(sudo ls)' --json", "`murmur rules check`", &[]),
    ("murmur rules list --json", "`murmur rules list`", &[]),
    ("murmur service status --json || true", "`murmur service status`", &[]),
    ("murmur usage --json", "`murmur usage`", &[]),
    ("murmur capture list --json", "`murmur capture list`", &[]),
    ("murmur agent list --json", "`murmur agent list`", &["backend"]),
    ("murmur config path --json", "`murmur config path`", &[]),
    ("murmur config check --json", "`murmur config path`", &[]),
    ("murmur gc --json", "`murmur gc`", &["path", "what", "bytes", "why"]),
    ("murmur doctor --json || true", "`murmur doctor`", &[]),
    ("murmur beat ~/shop --dry-run --json | jq -c '.environment = {}'", "`murmur beat --dry-run`", &[]),
    ("murmur setup hooks --dry-run --json", "`murmur setup hooks`", &["tookMs"]),
    (
        "murmur setup hooks --quiet; murmur setup hooks --check --json",
        "`murmur setup hooks`",
        &["outcome", "rewritten", "diff"],
    ),
];

/// Commands without an object.
const EVERY_FIELD: &[&str] = &[
    "id",
    "kind",
    "agent",
    "workspace",
    "heartbeat",
    "tool",
    "input",
    "cwd",
    "doubt",
    "state",
    "defers",
    "askedAt",
    "expiresAt",
];

/// The prose under a heading that begins like this.
fn section(page: &Page, heading: &str) -> String {
    let text: String = page.prose().map(|(_, prose)| prose).collect();
    let from = text.find(&format!("\n## {heading}")).unwrap_or_else(|| panic!("no section {heading}"));
    let rest = &text[from + 1..];
    rest[..rest.find("\n## ").unwrap_or(rest.len())].to_owned()
}

/// The fields that a section names: those that its list explains, and all in its code.
fn named(section: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[A-Za-z_]+").unwrap());
    let words = |text: &str| {
        let code = code(1, text).into_iter().map(|(_, code)| code);
        code.flat_map(|code| WORD.find_iter(&code).map(|word| word.as_str().to_owned()).collect::<Vec<_>>())
            .collect::<BTreeSet<_>>()
    };
    let items = section.split("\n- ").skip(1).filter(|item| item.starts_with('`'));
    let first = items.filter_map(|item| Some(item.split_once(": ")?.0)).flat_map(words).collect();
    (first, words(section))
}

/// Every key of an object and of its contents.
fn keys(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                into.insert(name.clone());
                if name != "input" {
                    keys(value, into);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, into)),
        _ => {}
    }
}

/// The keys of what a command prints.
fn printed(shell: &mut Shell<'_>, command: &str) -> BTreeSet<String> {
    let ran = shell.run(command);
    let object: Value =
        serde_json::from_str(&ran.printed).unwrap_or_else(|_| panic!("{command}: {}", ran.printed));
    let mut found = BTreeSet::new();
    keys(&object, &mut found);
    // Every object has this key, except a line of the journal.
    let has_schema = found.remove("schema") && ran.printed.starts_with("{\"schema\":\"");
    assert_ne!(has_schema, command.contains("log"), "{command}: {}", ran.printed);
    found
}

#[test]
fn every_json_object_has_the_documented_fields() {
    let env = Env::for_as_long_as(super::DEADLINE);
    let page = Page::read("docs/reference/json.md");
    let mut shell = Shell::new(&env);
    let ran = shell.run_all(SCENE);
    assert_eq!(ran.code, Some(0), "{}", ran.printed);
    let mut wrong = String::new();
    for (command, heading, absent) in OBJECTS {
        let found = printed(&mut shell, command);
        let (rows, all) = named(&section(&page, heading));
        for key in found.difference(&all) {
            wrong += &format!("{command} prints {key}, of which the page says nothing\n");
        }
        for row in rows.difference(&found).filter(|row| !absent.contains(&row.as_str())) {
            wrong += &format!("{command} does not print {row}, which the page names\n");
        }
    }
    let lines = named(&section(&Page::read("docs/reference/journal.md"), "A line of the journal")).1;
    for key in printed(&mut shell, "murmur log --json -n 1").difference(&lines) {
        wrong += &format!("the journal has {key}, of which its page says nothing\n");
    }
    let ran = shell.run(END);
    assert_eq!(ran.code, Some(0), "{}", ran.printed);
    let left = shell.left_over();
    assert!(wrong.is_empty() && left.is_empty(), "{wrong}{left:?}");
}
