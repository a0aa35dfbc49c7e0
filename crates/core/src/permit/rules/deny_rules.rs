//! The deny list as rules, for backends that don't have one. Its patterns are those of Claude Code's
//! `--disallowedTools`.

use super::file::pattern;
use super::{Action, Rule, Rules, Tool, Wildcard};
use toml::Spanned;

/// What the deny list is called in reasons.
const NAME: &str = "the deny list";

/// The tools that write a file. A backend may have one tool for all of it, so a pattern for one is for each of them.
const WRITERS: [&str; 2] = ["Edit", "Write"];

impl Rules {
    /// Rules that deny what `patterns` match: `Bash(sudo *)`, or `Edit` for every call of a tool. A pattern that can't
    /// be parsed could match every call of its tool.
    #[must_use]
    pub fn denying<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Self {
        let rules = patterns.into_iter().flat_map(deny).collect();
        Self { file: NAME.to_owned(), rules, manager: None }
    }
}

fn deny(text: &str) -> Vec<Rule> {
    let text = text.trim();
    let inside = text.strip_suffix(')').and_then(|text| text.split_once('('));
    let (name, call) = inside.map_or((text, None), |(name, call)| (name, Some(call)));
    let names = if WRITERS.contains(&name) { WRITERS.to_vec() } else { vec![name] };
    names.into_iter().filter_map(|name| rule(name, call)).collect()
}

fn rule(name: &str, call: Option<&str>) -> Option<Rule> {
    let tool = Tool { text: name.to_owned(), name: Wildcard::parse(name)? };
    let pattern = call.and_then(|call| pattern(Spanned::new(0..0, call.to_owned()), &tool).ok());
    Some(Rule { tool, action: Action::Deny, patterns: pattern.into_iter().collect(), line: 1 })
}

#[cfg(test)]
mod tests {
    use super::super::{Matched, Reading, decide};
    use super::*;
    use crate::permit::deny_list::DEFAULT;
    use serde_json::{Value, json};
    use shell_guard::call::{Call, CallPlace, ProtectedPaths};
    use shell_guard::shell;

    fn denies(patterns: &[&str], tool: &str, input: Value) -> Option<Matched> {
        let rules = Rules::denying(patterns.iter().copied());
        let place = CallPlace {
            cwd: "/w".into(),
            workspace: "/w".into(),
            home: "/home/u".into(),
            own: ProtectedPaths::default(),
        };
        let call = Call { tool: tool.to_owned(), input, place };
        let reading = Reading { commands: &shell::commands, links: &|_| None, doubted: false };
        decide(&[&rules], &call, reading)
    }

    #[test]
    fn the_built_in_patterns_are_rules() {
        let bash = |command: &str| denies(&DEFAULT, "Bash", json!({ "command": command }));
        for command in ["sudo ls", "cd x && sudo ls", "mkfs.ext4 /dev/sda", "shred a", "rm -rf /", "reboot"] {
            let matched = bash(command).unwrap();
            assert_eq!((matched.file.as_str(), matched.action), ("the deny list", Action::Deny), "{command}");
        }
        assert_eq!(bash("ls -l"), None);
        assert_eq!(bash("git commit -m sudo"), None);
    }

    #[test]
    fn a_name_alone_denies_every_call_of_the_tool() {
        assert!(denies(&["mcp__mail"], "mcp__mail__send", json!({})).is_some());
        assert!(denies(&["WebFetch"], "WebFetch", json!({ "url": "http://a" })).is_some());
        assert!(denies(&["WebFetch"], "Bash", json!({ "command": "ls" })).is_none());
        for tool in ["Edit", "Write"] {
            assert!(denies(&["Edit"], tool, json!({ "file_path": "/w/a" })).is_some());
            assert!(denies(&["Write(secret/**)"], tool, json!({ "file_path": "/w/secret/a" })).is_some());
            assert!(denies(&["Write(secret/**)"], tool, json!({ "file_path": "/w/a" })).is_none());
        }
    }

    #[test]
    fn a_pattern_that_cannot_be_parsed_denies_every_call_of_its_tool() {
        let ls = || json!({ "command": "ls" });
        assert!(denies(&["Bash(:*)"], "Bash", ls()).is_some());
        assert!(denies(&["Bash()"], "Bash", ls()).is_some());
        assert!(denies(&["Edit(../x)"], "Write", json!({ "file_path": "/w/a" })).is_some());
        assert!(denies(&["bash(ls)", "", "()"], "Bash", ls()).is_none());
    }
}
