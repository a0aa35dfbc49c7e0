//! Tests which rule decides on a call. A minimal shell parser reads the command lines.

use super::*;
use serde_json::{Value, json};
use shell_guard::call::{Call, CallPlace, ProtectedPaths};
use shell_guard::line::{Command, Doubt};
use std::path::{Path, PathBuf};

mod files;
mod lines;
mod paths;

const FILE: &str = "/c/permissions.toml";

fn rules(text: &str) -> Rules {
    Rules::parse(text.as_bytes(), Path::new(FILE)).unwrap()
}

/// One rule for `Bash` a line: `allow git push:*`.
fn bash(lines: &[&str]) -> Rules {
    let rule = |line: &&str| {
        let (action, pattern) = line.split_once(' ').unwrap();
        format!("[[rules]]\ntool = \"Bash\"\naction = \"{action}\"\npattern = '''{pattern}'''\n")
    };
    rules(&lines.iter().map(rule).collect::<String>())
}

/// Commands with `;` and `&&` between them, `> file` and `NAME=value` at them, and what `timeout N`, `find -delete
/// -exec` and `cat <<<` run; a word with `$` in it is not known, and a line with an open quote cannot be read.
pub(in crate::permit) fn commands(line: &str) -> Result<Vec<Command>, Doubt> {
    if line.contains('\'') {
        return Err(Doubt("an open quote".to_owned()));
    }
    Ok(line.split(['&', ';']).map(str::trim).filter(|part| !part.is_empty()).map(command).collect())
}

fn command(part: &str) -> Command {
    let (text, file) = part.split_once('>').map_or((part, None), |(text, file)| (text, Some(file.trim())));
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let first = words.iter().position(|word| !word.contains('=')).unwrap_or(words.len());
    let sets = words.drain(..first).filter_map(|word| word.split('=').next()).map(str::to_owned).collect();
    let inner = match words.as_slice() {
        ["timeout", _, inner @ ..] => vec![command(&inner.join(" "))],
        ["find", "-delete", "-exec", inner @ ..] => vec![command(&inner.join(" "))],
        ["cat", "<<<", inner @ ..] => vec![command(&inner.join(" "))],
        _ => Vec::new(),
    };
    if let Some(at) = words.iter().position(|word| *word == "<<<") {
        words.truncate(at);
    }
    let writes = file.map(|file| (!file.contains('$')).then(|| file.to_owned()));
    Command {
        text: words.join(" "),
        is_known: !text.contains('$'),
        sets,
        writes: writes.into_iter().collect(),
        inner,
    }
}

/// `/w/out` and `/w/deep/up` are links, and `/w/round` leads to itself; `/w` itself is one to `/mnt/w`.
fn links(path: &Path) -> Option<PathBuf> {
    let target = match path.to_str()? {
        "/w" => "/mnt/w",
        "/mnt/w/out" => "/etc",
        "/mnt/w/deep/up" => "../..",
        "/mnt/w/round" => "round",
        "/mnt/w/dangling" => "/etc/new",
        _ => return None,
    };
    Some(target.into())
}

fn call(tool: &str, input: Value) -> Call {
    let place = CallPlace {
        cwd: "/w".into(),
        workspace: "/w".into(),
        home: "/home/me".into(),
        own: ProtectedPaths::default(),
    };
    Call { tool: tool.to_owned(), input, place }
}

fn reading(doubted: bool) -> Reading<'static> {
    Reading { commands: &commands, links: &links, doubted }
}

/// `allow 1`: what the first rule that matches says, and its number.
fn said(rules: &Rules, call: &Call) -> String {
    decide(&[rules], call, reading(false))
        .map_or_else(|| "-".to_owned(), |matched| format!("{} {}", matched.action, matched.number))
}

fn said_of(rules: &Rules, line: &str) -> String {
    said(rules, &call("Bash", json!({ "command": line })))
}

#[test]
fn the_first_rule_that_matches_decides_and_the_first_file_comes_first() {
    let project = bash(&["allow git push origin main", "deny git push:*"]);
    let global = bash(&["allow git:*"]);
    let decide = |line: &str| {
        let matched = decide(&[&project, &global], &call("Bash", json!({ "command": line })), reading(false));
        matched.map(|matched| (matched.action, matched.number, matched.pattern.unwrap()))
    };
    assert_eq!(
        decide("git push origin main").unwrap(),
        (Action::Allow, 1, "git push origin main".to_owned())
    );
    assert_eq!(decide("git push -f").unwrap(), (Action::Deny, 2, "git push:*".to_owned()));
    assert_eq!(decide("git log").unwrap(), (Action::Allow, 1, "git:*".to_owned()));
    assert_eq!(decide("make"), None);
}

#[test]
fn a_line_is_denied_if_any_command_is_and_allowed_if_all_are() {
    let rules =
        bash(&["deny git push:*", "allow git:*", "allow ls:*", "allow timeout 9 make", "allow cat:*"]);
    for (line, expected) in [
        ("git status", "allow 2"),
        ("git status && git log", "allow 2"),
        ("git status && ls -l", "allow 3"),
        ("git status && make", "-"),
        ("make; git push", "deny 1"),
        ("timeout 5 git push -f", "deny 1"),
        ("/usr/bin/git push", "deny 1"),
        ("timeout 5 git status", "allow 2"),
        ("timeout 5 timeout 5 ls", "allow 3"),
        ("timeout 5 make", "-"),
        ("timeout 9 make", "allow 4"),
        ("timeout 9 make x", "-"),
        ("git pushx", "allow 2"),
        ("find -delete -exec ls", "-"),
        ("find -delete -exec git push", "deny 1"),
        ("cat <<< make", "-"),
        ("cat <<< ls", "allow 5"),
        ("", "-"),
    ] {
        assert_eq!(said_of(&rules, line), expected, "{line}");
    }
}

#[test]
fn pass_leaves_the_call_to_the_policy() {
    let rules = bash(&["allow git status", "pass git:*", "allow *"]);
    for (line, expected) in [
        ("git status", "allow 1"),
        ("git log", "pass 2"),
        ("ls; git log", "pass 2"),
        ("git status; ls", "allow 3"),
        ("ls", "allow 3"),
    ] {
        assert_eq!(said_of(&rules, line), expected, "{line}");
    }
}

#[test]
fn lines_with_unknown_or_hidden_effects_are_allowed_only_verbatim() {
    let rules = bash(&[
        "allow git:*",
        "allow echo:*",
        "allow cd:*",
        "allow murmur:*",
        "allow git add $FILE",
        "deny git push:*",
    ]);
    for (line, expected) in [
        ("git add $OTHER", "-"),
        ("git add $FILE", "allow 5"),
        (" git add $FILE\n", "allow 5"),
        ("git add $FILE; echo a", "-"),
        ("PATH=. git status", "-"),
        ("timeout 5 PATH=. git status", "-"),
        ("PATH=.; git status", "-"),
        ("file=a git status", "allow 1"),
        ("https_proxy=x git status", "-"),
        ("git log > /w/log", "allow 1"),
        ("git log > log", "allow 1"),
        ("git log > /mnt/w/log", "allow 1"),
        ("git log > /dev/null", "allow 1"),
        ("git log > ../x", "-"),
        ("git log > /w/../etc/x", "-"),
        ("git log > out/x", "-"),
        ("git log > dangling", "-"),
        ("git log > round/x", "-"),
        ("git log > ~/x", "-"),
        ("git log > $LOG", "-"),
        ("cd /etc; echo x > passwd", "-"),
        ("cd /etc; echo x > /w/passwd", "allow 3"),
        ("murmur status", "allow 4"),
        ("murmur permission respond 1 allow", "-"),
        ("/bin/murmur question respond 1", "-"),
        ("murmur allow 1", "-"),
        ("mm --data-dir /x -q deny 1", "-"),
        ("murmur --color=never answer last 2", "-"),
        ("murmur log answer", "allow 4"),
        ("PATH=. git push", "deny 6"),
        ("git push > /etc/x", "deny 6"),
    ] {
        assert_eq!(said_of(&rules, line), expected, "{line}");
    }
}

#[test]
fn an_unreadable_line_is_denied_by_its_pieces_and_allowed_only_verbatim() {
    let rules = bash(&["deny git push:*", "allow echo 'x", "allow *"]);
    for (line, expected) in [
        ("echo 'x", "allow 2"),
        ("echo 'y", "-"),
        ("echo 'y; git  push -f", "deny 1"),
        ("echo $(git push)'", "deny 1"),
        ("echo 'git pushx", "-"),
    ] {
        assert_eq!(said_of(&rules, line), expected, "{line}");
    }
    let list = call("Bash", json!({ "command": "ls" }));
    let all = self::rules("[[rules]]\ntool = \"*\"\naction = \"allow\"");
    assert_eq!(decide(&[&all, &bash(&["allow ls:*"])], &list, reading(true)), None);
    let exact = bash(&["allow ls"]);
    assert!(decide(&[&exact], &list, reading(true)).is_some());
}

#[test]
fn a_tool_pattern_is_a_name_a_wildcard_or_an_mcp_server() {
    for (name, tool, expected) in [
        ("Bash", "Bash", true),
        ("bash*", "Bash", false),
        ("Bash", "BashOutput", false),
        ("Bash*", "BashOutput", true),
        ("*", "Anything", true),
        ("*Edit", "MultiEdit", true),
        ("mcp__db", "mcp__db__query", true),
        ("mcp__db", "mcp__db2__query", false),
        ("mcp__db__query", "mcp__db__query", true),
        ("mcp__db__query", "mcp__db__query__more", false),
        ("mcp__db__*", "mcp__db__query", true),
        ("mcp__*__query", "mcp__db__query", true),
        ("mcp__", "mcp____x", false),
    ] {
        let rules = rules(&format!("[[rules]]\ntool = \"{name}\"\naction = \"deny\"\n"));
        assert_eq!(said(&rules, &call(tool, json!({}))) == "deny 1", expected, "{name} for {tool}");
    }
}
