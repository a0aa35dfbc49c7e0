//! Tests permissions.toml as a file: valid content, added rules, and permissions.toml.default.

use super::*;
use crate::config::settings::Settings;
use crate::permit::question::QuestionSet;
use sys::error::Hinted;

#[test]
fn a_file_is_read_and_its_rules_are_numbered() {
    let rules = rules(
        "# mine\n[[rules]]\ntool = \"Bash\"\naction = \"deny\"\npatterns = [\"git push:*\", \"rm *\"]\n\n[[rules]]\naction = \"allow\"\ntool = \"mcp__db\"\n\n[manager]\nallowed_patterns = [\"murmur:*\", \"git :*\"]\n",
    );
    let shown: Vec<String> = rules
        .iter()
        .map(|rule| {
            format!(
                "{}: {} {} {:?}",
                rule.line(),
                rule.action(),
                rule.tool(),
                rule.patterns().collect::<Vec<_>>()
            )
        })
        .collect();
    assert_eq!(shown, ["2: deny Bash [\"git push:*\", \"rm *\"]", "7: allow mcp__db []"]);
    assert_eq!(
        (rules.file(), rules.manager().unwrap()),
        (FILE, &["murmur:*".to_owned(), "git :*".to_owned()][..])
    );
    assert_eq!(Rules::parse(b"", Path::new(FILE)).unwrap().iter().len(), 0);
}

#[test]
fn invalid_rules_are_errors_with_position_and_hint() {
    let rule = |members: &str| format!("[[rules]]\n{members}\n");
    for (text, expected) in [
        ("[[rule]]".to_owned(), "1:3: unknown key \"rule\"; did you mean \"rules\"?"),
        (rule("tool = \"Bash\""), "1:1: \"action\" is missing; add this key, or remove the entry"),
        (
            rule("tool = \"bash\"\naction = \"deny\""),
            "2:8: tool \"bash\": no tool is called that; did you mean \"Bash\"?",
        ),
        (
            "rules = [[\"Bash\", \"allow\"]]".to_owned(),
            "1:10: \"rules\" cannot contain a list; write a table such as [[rules]]",
        ),
        (
            "manager = [[\"git *\"]]".to_owned(),
            "1:11: \"manager\" cannot be a list; write a table such as [manager]",
        ),
        (rule("action = \"deny\""), "1:1: \"tool\" is missing; add this key, or remove the entry"),
        (
            rule("tool = \"Bash\"\naction = \"ask\""),
            "3:10: \"action\": \"ask\" is not known; write \"allow\", \"deny\" or \"pass\"",
        ),
        (
            rule("tool = \"Bash\"\naction = \"deny\"\npatern = \"x\""),
            "4:1: unknown key \"patern\"; did you mean \"pattern\"?",
        ),
        (
            rule("tool = \"Bash\"\naction = \"deny\"\npattern = \"x\"\npatterns = [\"y\"]"),
            "4:11: both \"pattern\" and \"patterns\" are given; put all of them into \"patterns\"",
        ),
        (
            rule("tool = \"Bash\"\naction = \"deny\"\npatterns = []"),
            "4:12: \"patterns\" is empty; add a pattern, or remove \"patterns\" to match every call of the tool",
        ),
        (
            rule("tool = \"Bash\"\naction = \"deny\"\npatterns = [\"a\", \":*\"]"),
            "4:18: pattern \":*\": it is empty; write \"*\" to match everything",
        ),
        (
            rule("tool = \"Bash(git *)\"\naction = \"deny\""),
            "2:8: tool \"Bash(git *)\": the part in parentheses is a pattern; write tool = \"Bash\" and pattern = \"git push:*\"",
        ),
        (
            rule("tool = \"\"\naction = \"deny\""),
            "2:8: tool \"\": not a tool name; write one such as \"Bash\", \"mcp__server\" or \"*\"",
        ),
        (
            rule("tool = \"Edit\"\naction = \"deny\"\npattern = \"/../x\""),
            "4:11: pattern \"/../x\": it contains `..`; write the path without it",
        ),
        (
            rule("tool = \"WebFetch\"\naction = \"deny\"\npattern = \"domain:\""),
            "4:11: pattern \"domain:\": it has no host; write domain:example.com, or domain:*.example.com for its subdomains",
        ),
        (
            "[manager]\nallowed_patterns = [\"Bash(x)\"]".to_owned(),
            "2:21: pattern \"Bash(x)\": it does not name a command; write one such as \"murmur:*\"",
        ),
        ("[manager]\n".to_owned(), "1:1: \"allowed_patterns\" is missing; add this key, or remove the entry"),
        ("x = ".to_owned(), "1:5: "),
    ] {
        let error = Rules::parse(text.as_bytes(), Path::new(FILE)).unwrap_err().line();
        assert!(error.starts_with(&format!("{FILE}:{expected}")), "{text}\n{error}");
    }
}

/// `text` with a rule for exactly this call.
fn added(text: &str, call: &Call, action: Action) -> Result<String, EntryError> {
    let file = Path::new(FILE);
    append_rule(text, file, &call.tool, action, &only_this(call, file, &|_| None)?)
}

#[test]
fn a_rule_for_one_call_matches_only_it_and_keeps_the_rest_of_the_file() {
    let bash = |line: &str| call("Bash", json!({ "command": line }));
    let before = "# mine\n[manager]\nallowed_patterns = [\"a\"]";
    let odd = "git commit -m \"it's \\\\ \u{7f}ä\"";
    let text = added(before, &bash(odd), Action::Allow).unwrap();
    assert!(text.starts_with(&format!("{before}\n\n[[rules]]\n")), "{text}");
    assert_eq!(said_of(&rules(&text), odd), "allow 1");
    let edit = |path: &str| call("Edit", json!({ "file_path": path, "new_string": "x" }));
    let text = added(&text, &edit("/w/src/a.rs"), Action::Deny).unwrap();
    assert_eq!(said(&rules(&text), &edit("src/a.rs")), "deny 2");
    let text = added("", &call("WebFetch", json!({ "url": "https://a.b/c" })), Action::Allow).unwrap();
    assert_eq!(text, "[[rules]]\ntool = \"WebFetch\"\naction = \"allow\"\npattern = \"https://a.b/c\"\n");
    let fetch = |url: &str| said(&rules(&text), &call("WebFetch", json!({ "url": url })));
    assert_eq!([fetch("https://a.b/c"), fetch("https://a.b/d")], ["allow 1", "-"]);
    for inexact in [bash("ls *"), bash("a:*"), edit("/w/[a]"), call("Grep", json!({ "pattern": "x" }))] {
        let error = added("", &inexact, Action::Allow).unwrap_err();
        assert!(matches!(error, EntryError::Inexact { .. }), "{error}");
    }
    let wrong = ["rules = []", "nonsense"];
    assert!(wrong.iter().all(|text| added(text, &bash("ls"), Action::Allow).is_err()));
}

#[test]
fn a_rule_hides_no_character_of_its_call() {
    let hidden = "echo \u{202e}evil\u{200b} \u{7f}\u{e0041}\u{9b}hidden";
    let call = call("Bash", json!({ "command": hidden }));
    let text = added("", &call, Action::Allow).unwrap();
    assert!(
        text.contains(r#"pattern = "echo \U0000202eevil\U0000200b \U0000007f\U000e0041\U0000009bhidden""#),
        "{text}"
    );
    assert_eq!(said_of(&rules(&text), hidden), "allow 1");
    assert_eq!(said_of(&rules(&text), "echo evil hidden"), "-");
}

#[test]
fn the_shipped_rules_deny_what_they_claim_and_no_ordinary_work() {
    let text = include_str!("../../../../../../permissions.toml.default");
    let shipped = rules(text);
    let (write, edit) = (
        |path: &str| said(&shipped, &call("Write", json!({ "file_path": path }))),
        |path: &str| said(&shipped, &call("Edit", json!({ "file_path": path }))),
    );
    for line in ["git push -f", "git push --force origin main"] {
        assert_eq!(said_of(&shipped, line), "deny 1", "{line}");
    }
    for path in [
        "/w/.claude/settings.json",
        "/w/.claude/settings.local.json",
        "/w/app/.claude/hooks/a.sh",
        "/w/.claude/skills/a/SKILL.md",
        "/w/.git/hooks/pre-commit",
        "/w/HEARTBEAT.md",
        "/w/app/HEARTBEAT.md",
    ] {
        assert_eq!([edit(path), write(path)], ["deny 2", "deny 3"], "{path}");
    }
    for line in ["git push", "git commit -m x", "npm publish", "cargo test"] {
        assert_eq!(said_of(&shipped, line), "-", "{line}");
    }
    for path in ["/w/src/a.rs", "/w/.env", "/w/.gitignore", "/w/CLAUDE.md", "/w/.claude/worktrees/a/src/a.rs"]
    {
        assert_eq!([edit(path), write(path)], ["-", "-"], "{path}");
    }
    assert!(shipped.manager().is_none());
    let examples: String = text
        .lines()
        .filter_map(|line| line.strip_prefix("#| "))
        .fold(String::new(), |all, line| all + line + "\n");
    let examples = rules(&examples);
    assert!(examples.iter().len() > 5 && examples.manager().is_some());
}

#[test]
fn the_examples_of_the_guide_are_right() {
    fn block<'a>(page: &'a str, language: &str, number: usize) -> &'a str {
        let fence = format!("```{language}\n");
        page.split(fence.as_str()).nth(number).unwrap().split("```").next().unwrap()
    }
    let guard = include_str!("../../../../../../docs/reference/guard.md");
    let guide = include_str!("../../../../../../docs/reference/permissions.md");
    let named = rules(block(guard, "toml", 1));
    assert_eq!(said_of(&named, "git config core.hooksPath .githooks"), "allow 2");
    let rules = rules(block(guide, "toml", 1));
    assert_eq!(said_of(&rules, "git push -f"), "deny 1");
    assert_eq!(said(&rules, &call("Edit", json!({ "file_path": "src/a.rs" }))), "allow 2");
    let settings = Settings::parse(block(guide, "toml", 2).as_bytes(), Path::new(FILE)).unwrap();
    assert!(settings.llm.is_some() && settings.asking.approval_wait.is_some());
    let input = json!({ "questions": [
        { "question": "Which?", "header": "Database", "options": [{ "label": "Postgres" }] },
        { "question": "What?", "header": "Checks", "multiSelect": true, "options": [{ "label": "Lint" }, { "label": "Test" }] },
        { "question": "Name?", "options": [{ "label": "x" }] },
    ] });
    let answers = QuestionSet::parse(&input)
        .unwrap()
        .answers(&serde_json::from_str(block(guide, "json", 1)).unwrap())
        .unwrap();
    assert_eq!(answers.into_values().collect::<Vec<_>>(), ["call it murmur", "Lint, Test", "Postgres"]);
}

#[test]
fn every_mistake_in_rules_is_reported() {
    let text = "\
[[rules]]
tool = \"bash\"
action = \"deny\"

[[rules]]
tool = \"Bash\"
action = \"alow\"
patterns = [
    \"\",
    \"ls\",
]

[[rules]]
tol = \"Read\"
action = \"deny\"

[[rules]]
tool = \"Edit\"
action = \"deny\"
pattern = \"a\"
patterns = [\"b\"]

[[rules]]
tool = \"WebFetch\"
action = \"deny\"
patterns = [\"domain:\", \"\"]

[manager]
allowed_patterns = [\"a(b)\"]
";
    let problem = Rules::parse(text.as_bytes(), Path::new("/p")).unwrap_err();
    let said: Vec<String> = problem.all().map(Hinted::line).collect();
    let expected = [
        "/p:2:8: tool \"bash\": no tool is called that; did you mean \"Bash\"?",
        "/p:7:10: \"action\": \"alow\" is not known; write \"allow\", \"deny\" or \"pass\"",
        "/p:9:5: pattern \"\": it is empty; write \"*\" to match everything",
        "/p:14:1: unknown key \"tol\"; did you mean \"tool\"?",
        "/p:20:11: both \"pattern\" and \"patterns\" are given; put all of them into \"patterns\"",
        "/p:26:13: pattern \"domain:\": it has no host; write domain:example.com, or domain:*.example.com for its subdomains",
        "/p:26:24: pattern \"\": it is empty; write \"*\" to match everything",
        "/p:29:21: pattern \"a(b)\": it does not name a command; write one such as \"murmur:*\"",
    ];
    assert_eq!(said, expected);
}
