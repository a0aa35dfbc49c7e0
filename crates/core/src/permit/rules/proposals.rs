//! The rules that a person can choose from to decide on calls like this one in future, narrowest first.

use serde_json::Value;
use shell_guard::call::Call;
use shell_guard::line::Command;
use std::path::Path;

use super::call_paths::PATH_TOOLS;
use super::entry::{append_rule, exact_pattern, is_plain_path};
use super::{Action, Reading, Rules, Wildcard, decide, web};

/// Commands whose arguments a rule may leave open: they don't run programs that their arguments name as a matter of course.
const COMMANDS: &[&str] = &[
    "bun test",
    "cargo bench",
    "cargo build",
    "cargo check",
    "cargo clippy",
    "cargo doc",
    "cargo fmt",
    "cargo test",
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
    "kubectl describe",
    "kubectl get",
    "kubectl logs",
    "mypy",
    "npm ci",
    "npm test",
    "pnpm test",
    "pytest",
    "ruff check",
    "ruff format",
    "uv lock",
    "uv sync",
    "yarn test",
];
/// Commands that run the script named by the next word.
const RUNNERS: &[&str] = &["bun run", "npm run", "pnpm run", "yarn run"];
/// Arguments that a person may not think of.
const SURPRISES: &[(&str, &str)] = &[("git push", "--force")];
/// The most patterns in a proposed rule.
const MOST: usize = 4;

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
    let exact = exact_pattern(call);
    let exact =
        exact.map(|pattern| Proposal { patterns: vec![pattern], covers: "only this call".to_owned() });
    let mut all: Vec<Proposal> = exact.into_iter().collect();
    if !reading.doubted {
        let decides = |rule: &Proposal| rule.decides(call, action, reading);
        all.extend(wider(call, action, reading).into_iter().filter(decides));
    }
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
        "Glob" | "Grep" | "LS" => Vec::new(),
        tool if PATH_TOOLS.contains(&tool) => {
            let path = text("file_path").or_else(|| text("notebook_path"));
            path.map_or_else(Vec::new, |path| folders(path, &call.place.workspace))
        }
        "WebFetch" => {
            let host = text("url").and_then(web::host);
            let rule = |host| Proposal {
                patterns: vec![format!("domain:{host}")],
                covers: format!("every page of {host}"),
            };
            host.map(rule).into_iter().collect()
        }
        tool if tool.starts_with("mcp__") => {
            vec![Proposal { patterns: Vec::new(), covers: format!("every call of {tool}") }]
        }
        _ => Vec::new(),
    }
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
            let surprise = SURPRISES.iter().find(|(command, _)| *command == stem);
            let even = surprise.map(|(_, arguments)| format!(", even {arguments}")).unwrap_or_default();
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
    let is_wider = !covers.is_empty() && patterns.len() <= MOST;
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
        let is_name =
            |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | ':' | '.');
        let is_plain = script.starts_with(|letter: char| letter.is_ascii_alphanumeric());
        return text.get(..=runner.len() + script.len()).filter(|_| is_plain && script.chars().all(is_name));
    }
    COMMANDS.iter().find(|stem| begins(stem)).copied()
}

/// Rules for the files in the folder of `path`, and in the topmost folder, if these are inside the workspace.
fn folders(path: &str, workspace: &Path) -> Vec<Proposal> {
    let inside = Path::new(path).strip_prefix(workspace).ok().filter(|_| is_plain_path(path));
    let Some(folder) = inside.and_then(|inside| inside.parent()?.to_str()) else { return Vec::new() };
    let top = folder.split('/').next().unwrap_or_default();
    if top.is_empty() || folder.split('/').any(|name| name.starts_with('.')) {
        return Vec::new();
    }
    let rule = |folder: &str| Proposal {
        patterns: vec![format!("/{folder}/**")],
        covers: format!("every file in {folder}/"),
    };
    let mut rules = vec![rule(folder)];
    if top != folder {
        rules.push(rule(top));
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use shell_guard::call::{Place, ProtectedPaths};
    use shell_guard::shell;

    fn proposed(tool: &str, input: Value, action: Action, doubted: bool) -> Vec<Vec<String>> {
        let place = Place {
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
        let url = json!({ "url": "https://a.b/c" });
        assert_eq!(proposed("WebFetch", url, Action::Allow, false), [["https://a.b/c"], ["domain:a.b"]]);
        let query = proposed("mcp__db__query", json!({ "q": 1 }), Action::Allow, false);
        assert_eq!(query, [vec![r#"{"q":1}"#.to_owned()], vec![]]);
    }
}
