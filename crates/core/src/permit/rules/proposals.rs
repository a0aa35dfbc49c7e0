//! The rules that a person can choose from to decide on calls like this one in future, narrowest first.

use serde_json::Value;
use shell_guard::call::Call;
use shell_guard::line::Command;
use std::path::Path;

use super::call_paths::PATH_TOOLS;
use super::entry::{append_rule, exact_patterns};
use super::{Action, Reading, Rules, Wildcard, decide, file_proposals, web};

/// Commands whose arguments a rule may leave open: they don't run programs that their arguments name as a matter of
/// course.
const COMMANDS: &[&str] = &[
    "bun test",
    "cargo bench",
    "cargo build",
    "cargo check",
    "cargo clippy",
    "cargo doc",
    "cargo fmt",
    "cargo test",
    "cat",
    "docker images",
    "docker logs",
    "docker ps",
    "gh issue list",
    "gh issue view",
    "gh pr checks",
    "gh pr create",
    "gh pr diff",
    "gh pr list",
    "gh pr view",
    "gh run list",
    "gh run view",
    "git add",
    "git blame",
    "git commit",
    "git diff",
    "git log",
    "git push",
    "git show",
    "git status",
    "git switch",
    "go build",
    "go test",
    "go vet",
    "grep",
    "kubectl describe",
    "kubectl get",
    "kubectl logs",
    "ls",
    "mypy",
    "npm ci",
    "npm test",
    "pnpm test",
    "pytest",
    "ruff check",
    "ruff format",
    "uv lock",
    "uv sync",
    "wc",
    "yarn test",
];
/// Commands that run the script named by the next word.
const RUNNERS: &[&str] = &["bun run", "npm run", "pnpm run", "yarn run"];
/// Arguments that a person may not think of.
const UNEXPECTED_ARGUMENTS: &[(&str, &str)] =
    &[("cat", OUTSIDE), ("git push", "--force"), ("grep", OUTSIDE), ("ls", OUTSIDE)];
const OUTSIDE: &str = "files outside the workspace";
/// Tools whose calls are of a kind, and the key that names it.
const KINDS: &[(&str, &str)] = &[("Agent", "subagent_type"), ("Skill", "skill"), ("Task", "subagent_type")];
/// The most patterns in a proposed rule.
const MAX_PATTERNS: usize = 4;

/// A rule that could be added for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Its patterns; none for every call of the tool.
    pub patterns: Vec<String>,
    /// The calls that it covers, in words.
    pub covers: String,
}

/// The rules that would apply `action` to `call`, narrowest first. If the guard has doubts about the call, only one for
/// exactly this call.
#[must_use]
pub fn proposals(call: &Call, action: Action, reading: Reading<'_>) -> Vec<Proposal> {
    let only_this = |patterns| Proposal { patterns, covers: "only this call".to_owned() };
    let mut all: Vec<Proposal> = exact_patterns(call, reading.links).map(only_this).into_iter().collect();
    if !reading.doubted {
        all.extend(wider(call, action, reading));
    }
    all.retain(|rule| rule.decides(call, action, reading));
    all
}

impl Proposal {
    /// Whether the rule alone would apply `action` to `call`.
    fn decides(&self, call: &Call, action: Action, reading: Reading<'_>) -> bool {
        let file = Path::new("permissions.toml");
        let text = append_rule("", file, &call.tool, action, &self.patterns);
        let rules = text.ok().and_then(|text| Rules::parse(text.as_bytes(), file).ok());
        rules.is_some_and(|rules| decide(&[&rules], call, reading).is_some_and(|rule| rule.action == action))
    }
}

fn wider(call: &Call, action: Action, reading: Reading<'_>) -> Vec<Proposal> {
    if let Some(line) = call.command() {
        let commands = (reading.commands)(line).unwrap_or_default();
        return with_any_arguments(&commands, action).into_iter().collect();
    }
    let text = |key: &str| call.input.get(key).and_then(Value::as_str);
    match call.tool.as_str() {
        tool if PATH_TOOLS.contains(&tool) => file_proposals::folders(call, reading),
        "WebFetch" => {
            let host = text("url").and_then(web::host);
            let rule = |host| Proposal {
                patterns: vec![format!("domain:{host}")],
                covers: format!("every page of {host}"),
            };
            host.map(rule).into_iter().collect()
        }
        tool => {
            let key = KINDS.iter().find(|(of, _)| *of == tool).map(|(_, key)| *key);
            let kind = key.and_then(|key| Some((key, text(key).filter(|kind| is_name(kind))?)));
            let of_kind = kind.map(|(key, kind)| Proposal {
                patterns: vec![format!("*\"{key}\":\"{kind}\"*")],
                covers: format!("every {tool} of {kind}"),
            });
            let every = Proposal { patterns: Vec::new(), covers: format!("every call of {tool}") };
            of_kind.into_iter().chain([every]).collect()
        }
    }
}

/// Whether a text has only characters of names.
fn is_name(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | ':' | '.');
    text.starts_with(|letter: char| letter.is_ascii_alphanumeric()) && text.chars().all(is_letter)
}

/// The rule for these commands with other arguments, where these may be left open.
fn with_any_arguments(commands: &[Command], action: Action) -> Option<Proposal> {
    let mut run = Vec::new();
    commands.iter().for_each(|command| gather(command, &mut run));
    // A rule that denies matches if any command does.
    if action == Action::Deny && run.len() > 1 {
        return None;
    }
    let (mut patterns, mut covers): (Vec<String>, Vec<String>) = Default::default();
    for text in run {
        let pattern = if let Some(stem) = stem(text) {
            let unexpected = UNEXPECTED_ARGUMENTS.iter().find(|(command, _)| *command == stem);
            let even = unexpected.map(|(_, arguments)| format!(", even {arguments}")).unwrap_or_default();
            covers.push(format!("{stem} with any arguments{even}"));
            format!("{stem}:*")
        } else {
            Wildcard::parse(text).filter(|pattern| pattern.exact() == Some(text))?;
            text.to_owned()
        };
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    covers.dedup();
    let is_wider = !covers.is_empty() && patterns.len() <= MAX_PATTERNS;
    is_wider.then(|| Proposal { patterns, covers: covers.join("; ") })
}

/// Adds the texts of the commands that are run, without wrappers.
fn gather<'a>(command: &'a Command, run: &mut Vec<&'a str>) {
    if command.inner.is_empty() {
        run.push(&command.text);
    }
    command.inner.iter().for_each(|inner| gather(inner, run));
}

/// The program and the subcommand of a command whose arguments may be left open.
fn stem(text: &str) -> Option<&str> {
    let begins =
        |stem: &str| text.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    if let Some(runner) = RUNNERS.iter().find(|runner| begins(runner)) {
        let script = text.get(runner.len() + 1..)?.split(' ').next()?;
        return text.get(..=runner.len() + script.len()).filter(|_| is_name(script));
    }
    COMMANDS.iter().find(|stem| begins(stem)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use shell_guard::call::{CallPlace, ProtectedPaths};
    use shell_guard::shell;

    fn proposed(tool: &str, input: Value, action: Action, doubted: bool) -> Vec<Vec<String>> {
        let place = CallPlace {
            cwd: "/w".into(),
            workspace: "/w".into(),
            home: "/home/me".into(),
            own: ProtectedPaths::default(),
        };
        let call = Call { tool: tool.to_owned(), input, place };
        let reading = Reading { commands: &shell::commands, links: &|_| None, doubted };
        proposals(&call, action, reading).into_iter().map(|rule| rule.patterns).collect()
    }

    fn bash(line: &str) -> Vec<Vec<String>> {
        proposed("Bash", json!({ "command": line }), Action::Allow, false)
    }

    #[test]
    fn commands_that_are_known_may_have_other_arguments() {
        for (line, expected) in [
            ("git push origin main", vec![vec!["git push origin main"], vec!["git push:*"]]),
            ("git add *", vec![vec!["git add:*"]]),
            ("ls *.txt", vec![vec!["ls:*"]]),
            ("npm run test:unit -- -v", vec![vec!["npm run test:unit -- -v"], vec!["npm run test:unit:*"]]),
            (
                "cd src && timeout 9 cargo test -q 2>&1 | tail -5",
                vec![
                    vec!["cd src && timeout 9 cargo test -q 2>&1 | tail -5"],
                    vec!["cd src", "cargo test:*", "tail -5"],
                ],
            ),
        ] {
            assert_eq!(bash(line), expected, "{line}");
        }
    }

    #[test]
    fn other_commands_are_proposed_exactly() {
        for line in [
            "rm -r build",
            "git -C x push",
            "git pushx",
            "npm run $SCRIPT",
            "npm run",
            "PATH=. git status",
            "git status > /etc/motd",
            "murmur allow 1",
            "cat $FILE",
            "curl https://a.b/c",
        ] {
            assert_eq!(bash(line), [[line]], "{line}");
        }
        let command = json!({ "command": "git push" });
        assert_eq!(proposed("Bash", command.clone(), Action::Allow, true), [["git push"]]);
        assert_eq!(proposed("Bash", command, Action::Deny, false), [["git push"], ["git push:*"]]);
        let two = json!({ "command": "cd x && git push" });
        assert_eq!(proposed("Bash", two, Action::Deny, false), [["cd x && git push"]]);
    }

    #[test]
    fn files_pages_and_mcp_tools_have_a_wider_rule() {
        let edit = |path: &str| proposed("Edit", json!({ "file_path": path }), Action::Allow, false);
        assert_eq!(edit("/w/src/a/b.rs"), [["//w/src/a/b.rs"], ["/src/a/**"], ["/src/**"]]);
        assert_eq!(edit("/w/src/b.rs"), [["//w/src/b.rs"], ["/src/**"]]);
        for path in ["/w/b.rs", "/etc/hosts", "/w/.git/hooks/x", "/w/src/.x/y"] {
            assert_eq!(edit(path), [[format!("/{path}")]], "{path}");
        }
        let several = json!({ "file_paths": ["/w/src/a/b.rs", "/w/src/c.rs"] });
        let several = proposed("Edit", several, Action::Allow, false);
        assert_eq!(several, [vec!["//w/src/a/b.rs", "//w/src/c.rs"], vec!["/src/**"]]);
        let url = json!({ "url": "https://a.b/c" });
        assert_eq!(proposed("WebFetch", url, Action::Allow, false), [["https://a.b/c"], ["domain:a.b"]]);
        let query = proposed("mcp__db__query", json!({ "q": 1 }), Action::Allow, false);
        assert_eq!(query, [vec![r#"{"q":1}"#.to_owned()], vec![]]);
    }

    #[test]
    fn tools_that_read_have_a_rule_for_the_workspace() {
        let of = |tool: &str, input: Value| proposed(tool, input, Action::Allow, false);
        assert_eq!(of("Read", json!({ "file_path": "/w/b.rs" })), [["//w/b.rs"], ["/**"]]);
        assert_eq!(of("Read", json!({ "file_path": "/etc/hosts" })), [["//etc/hosts"]]);
        let grep = |path: &str| of("Grep", json!({ "pattern": "x", "path": path }));
        assert_eq!(of("Grep", json!({ "pattern": "x" })), [["/**"]]);
        assert_eq!(grep("src"), [["/src"], ["/src/**"], ["/**"]]);
        assert_eq!(grep("/w/src/a"), [["/src/a"], ["/src/a/**"], ["/src/**"], ["/**"]]);
        assert_eq!(grep("/w/.git"), [["/.git"], ["/**"]]);
        assert_eq!(grep("/etc"), [["//etc"]]);
        assert_eq!(of("LS", json!({ "path": "/w" })), [["/**"]]);
        assert_eq!(of("Glob", json!({ "pattern": "src/**/*.rs" })), [["/**"]]);
        let glob = of("Glob", json!({ "pattern": "a/*.rs", "path": "/w/src" }));
        assert_eq!(glob, [vec!["/src", "/src/a"], vec!["/src/**"], vec!["/**"]]);
        assert_eq!(of("Glob", json!({ "pattern": "../*" })), [["//w", "//"]]);
        assert_eq!(of("Glob", json!({ "pattern": "*/../../*" })), Vec::<Vec<String>>::new());
        assert_eq!(proposed("Grep", json!({}), Action::Deny, false), [["/**"]]);
    }

    #[test]
    fn other_tools_have_a_rule_for_their_kind_and_for_all_of_them() {
        let of = |tool: &str, input: Value| proposed(tool, input, Action::Allow, false);
        let search = of("WebSearch", json!({ "query": "murmur" }));
        assert_eq!(search, [vec![r#"{"query":"murmur"}"#.to_owned()], vec![]]);
        let task = of("Task", json!({ "prompt": "find *", "subagent_type": "Explore" }));
        assert_eq!(task, [vec![r#"*"subagent_type":"Explore"*"#.to_owned()], vec![]]);
        let odd = of("Skill", json!({ "skill": "*", "args": "\"skill\":\"x\"" }));
        assert_eq!(odd, [Vec::<String>::new()]);
    }

    #[test]
    fn a_file_behind_a_link_is_matched_in_every_form() {
        let place = CallPlace {
            cwd: "/w".into(),
            workspace: "/w".into(),
            home: "/home/me".into(),
            own: ProtectedPaths::default(),
        };
        let links = |path: &Path| (path == Path::new("/w/docs")).then(|| "/srv/docs".into());
        let reading = Reading { commands: &shell::commands, links: &links, doubted: false };
        let of = |tool: &str, input: Value| {
            let call = Call { tool: tool.to_owned(), input, place: place.clone() };
            let rules = proposals(&call, Action::Allow, reading).into_iter();
            rules.map(|rule| rule.patterns).collect::<Vec<_>>()
        };
        assert_eq!(of("Edit", json!({ "file_path": "/w/docs/a" })), [["//w/docs/a", "//srv/docs/a"]]);
        assert_eq!(of("Grep", json!({ "path": "docs" })), [["//w/docs", "//srv/docs"]]);
    }
}
