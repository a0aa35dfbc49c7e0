//! Describes what the files of a repository would do, one line per effect, for the person who decides.
//!
//! Unknown keys are shown as they are in the file, so that nothing is hidden.

pub mod markdown;

use super::collect::{ClaudeFile, FileKind};
use serde_json::{Map, Value};

/// Settings whose value is a command that Claude Code runs, or an object with one.
const COMMANDS: [&str; 9] = [
    "apiKeyHelper",
    "awsAuthRefresh",
    "awsCredentialExport",
    "fileSuggestion",
    "gcpAuthRefresh",
    "otelHeadersHelper",
    "proxyAuthHelper",
    "statusLine",
    "subagentStatusLine",
];

/// Returns the effects of `file`, in the order of the file, with text from it unchanged.
#[must_use]
pub fn of(file: &ClaudeFile) -> Vec<String> {
    let text = String::from_utf8_lossy(&file.bytes);
    let base = file.name.rsplit('/').next().unwrap_or_default();
    let is_settings = base.starts_with("settings") && base.ends_with(".json");
    match file.kind {
        FileKind::Named => vec!["is used by one of the files above".to_owned()],
        FileKind::Instructions => vec![counted(text.lines().count(), "line of instructions for the agent")],
        FileKind::Configuration if base == ".mcp.json" => object(&text, |object| {
            let servers = object.get("mcpServers").and_then(Value::as_object);
            servers.into_iter().flatten().map(|(name, server)| of_server(name, server)).collect()
        }),
        FileKind::Configuration if is_settings => {
            object(&text, |object| object.iter().flat_map(|(key, value)| of_setting(key, value)).collect())
        }
        FileKind::Configuration if base.ends_with(".md") => {
            let (front, body) = markdown::split(&text);
            let mut effects: Vec<String> = Vec::new();
            effects.extend(markdown::settings(front).into_iter().map(|line| format!("sets {line}")));
            let run = markdown::shell(body);
            effects.extend(run.into_iter().map(|command| format!("runs in the shell when used: {command}")));
            if effects.is_empty() {
                effects.push(counted(text.lines().count(), "line for the agent, when used"));
            }
            effects
        }
        FileKind::Configuration => {
            vec![format!("{} bytes; the other files can run or read it", file.bytes.len())]
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    let (first, rest) = what.split_once(' ').unwrap_or((what, ""));
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {first}{s} {rest}")
}

fn object(text: &str, effects: impl FnOnce(Map<String, Value>) -> Vec<String>) -> Vec<String> {
    match serde_json::from_str(text) {
        Ok(object) => effects(object),
        Err(_) => vec![format!("is not a JSON object, so its effect is unknown: {text}")],
    }
}

fn of_server(name: &str, server: &Value) -> String {
    let words = |key: &str| {
        let values = server.get(key).and_then(Value::as_array).into_iter().flatten();
        values.map(|value| format!(" {}", text(value))).collect::<String>()
    };
    let pairs = |key: &str| {
        let values = server.get(key).and_then(Value::as_object).into_iter().flatten();
        values.map(|(name, value)| format!(" {name}={}", text(value))).collect::<String>()
    };
    let more = server.as_object().into_iter().flatten();
    let known = ["command", "args", "env", "url", "headers", "type"];
    let more = more.filter(|(key, _)| !known.contains(&key.as_str()));
    let more: String = more.map(|(key, value)| format!(", {key}: {}", text(value))).collect();
    let mut effect = match server.get("command") {
        Some(command) => format!("starts MCP server {name}: {}{}", text(command), words("args")),
        None => format!("connects to MCP server {name}: {}", server.get("url").map(text).unwrap_or_default()),
    };
    for (key, word) in [("env", ", with"), ("headers", ", with headers")] {
        let pairs = pairs(key);
        if !pairs.is_empty() {
            effect.push_str(word);
            effect.push_str(&pairs);
        }
    }
    effect + &more
}

fn of_setting(key: &str, value: &Value) -> Vec<String> {
    let members = || value.as_object().into_iter().flatten();
    match key {
        "$schema" => Vec::new(),
        "env" => members().map(|(name, value)| format!("sets {name}={}", text(value))).collect(),
        "hooks" => members().flat_map(|(event, groups)| of_hooks(event, groups)).collect(),
        "permissions" => members()
            .flat_map(|(key, value)| match value {
                Value::Array(rules) => {
                    rules.iter().map(|rule| format!("permissions {key}: {}", text(rule))).collect()
                }
                value => vec![format!("permissions {key}: {}", text(value))],
            })
            .collect(),
        "enabledPlugins" => {
            members().map(|(name, value)| format!("plugin {name}: {}", text(value))).collect()
        }
        "extraKnownMarketplaces" => {
            members().map(|(name, value)| format!("plugins from {name}: {}", text(value))).collect()
        }
        key if COMMANDS.contains(&key) => {
            vec![format!("runs as {key}: {}", text(value.get("command").unwrap_or(value)))]
        }
        key => vec![format!("sets {key} to {}", text(value))],
    }
}

fn of_hooks(event: &str, groups: &Value) -> Vec<String> {
    let mut effects = Vec::new();
    for group in groups.as_array().into_iter().flatten() {
        let matcher = group.get("matcher").map(text).filter(|matcher| !matcher.is_empty());
        let matcher = matcher.map(|matcher| format!(" for {matcher}")).unwrap_or_default();
        for hook in group.get("hooks").and_then(Value::as_array).into_iter().flatten() {
            effects.push(match hook.get("command") {
                Some(command) => format!("runs at {event}{matcher}: {}", text(command)),
                None => format!("has a hook at {event}{matcher}: {hook}"),
            });
        }
    }
    if effects.is_empty() {
        effects.push(format!("has hooks at {event}: {groups}"));
    }
    effects
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effects(name: &str, text: &str) -> Vec<String> {
        let (kind, bytes) = (FileKind::Configuration, text.as_bytes().to_vec());
        of(&ClaudeFile { name: name.to_owned(), kind, hash: String::new(), bytes })
    }

    #[test]
    fn settings_show_what_they_run_and_set() {
        let text = r#"{"env":{"ANTHROPIC_BASE_URL":"http://x"},"apiKeyHelper":"./key","statusLine":{"type":"command","command":"./s"},
            "hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"./h"},{"type":"http","url":"u"}]}]},
            "permissions":{"allow":["Bash(*)"],"defaultMode":"plan"},"enabledPlugins":{"p@m":true},"model":"opus"}"#;
        let mut found = effects(".claude/settings.json", text);
        found.sort();
        assert_eq!(
            found,
            [
                "has a hook at PreToolUse for Bash: {\"type\":\"http\",\"url\":\"u\"}",
                "permissions allow: Bash(*)",
                "permissions defaultMode: plan",
                "plugin p@m: true",
                "runs as apiKeyHelper: ./key",
                "runs as statusLine: ./s",
                "runs at PreToolUse for Bash: ./h",
                "sets ANTHROPIC_BASE_URL=http://x",
                "sets model to opus",
            ]
        );
        let broken = effects(".claude/settings.json", "{,}");
        assert_eq!(broken, ["is not a JSON object, so its effect is unknown: {,}"]);
    }

    #[test]
    fn servers_show_their_command_and_its_arguments() {
        let text = r#"{"mcpServers":{"a":{"command":"node","args":["x.js",1],"env":{"K":"v"}},"b":{"type":"http","url":"http://y","headers":{"A":"b"},"headersHelper":"./h"}}}"#;
        assert_eq!(
            effects(".mcp.json", text),
            [
                "starts MCP server a: node x.js 1, with K=v",
                "connects to MCP server b: http://y, with headers A=b, headersHelper: ./h",
            ]
        );
    }
}
