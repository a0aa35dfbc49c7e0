//! OpenCode's configuration, from its variables: `OPENCODE_CONFIG_CONTENT` and `OPENCODE_PERMISSION`.
//!
//! Input: the environment. Output: the settings that matter here, and the permission for a call.

use serde_json::{Value, json};

const TOOLS: [&str; 11] =
    ["bash", "edit", "glob", "grep", "invalid", "read", "skill", "task", "todowrite", "webfetch", "write"];

/// The settings.
#[derive(Debug)]
pub(super) struct Config {
    value: Value,
}

/// The permission for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Allow,
    Ask,
    Deny,
}

impl Config {
    pub(super) fn read() -> Self {
        let parsed = |name: &str| -> Value {
            std::env::var(name).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
        };
        Self::of(parsed("OPENCODE_CONFIG_CONTENT"), parsed("OPENCODE_PERMISSION"))
    }

    fn of(mut value: Value, own: Value) -> Self {
        if !value.is_object() {
            value = json!({});
        }
        let rules = |value: Value| if value.is_string() { json!({"*": value}) } else { value };
        let mut permission = rules(value["permission"].take());
        for (key, rule) in rules(own).as_object().into_iter().flatten() {
            permission[key] = rule.clone();
        }
        value["permission"] = permission;
        Self { value }
    }

    /// The permission for a call of this tool with `subject`: a command, a path, an address.
    pub(super) fn action(&self, tool: &str, subject: &str) -> Action {
        let key = if matches!(tool, "write" | "edit" | "patch") { "edit" } else { tool };
        let rules = &self.value["permission"];
        let default = json!(if key == "doom_loop" { "ask" } else { "allow" });
        let found = [&rules[key], &rules["*"]].into_iter().find(|rule| !rule.is_null()).unwrap_or(&default);
        let word = match found {
            Value::Object(patterns) => {
                let fits = patterns.iter().filter(|(pattern, _)| matches(pattern, subject));
                fits.max_by_key(|(pattern, _)| pattern.len()).map_or(&default, |(_, action)| action)
            }
            word => word,
        };
        match word.as_str() {
            Some("ask") => Action::Ask,
            Some("deny") => Action::Deny,
            _ => Action::Allow,
        }
    }

    /// Whether the tool doesn't exist: it is unknown, or denied completely. `server_tool` is an MCP server's.
    pub(super) fn lacks(&self, tool: &str) -> bool {
        let key = if matches!(tool, "write" | "edit" | "patch") { "edit" } else { tool };
        let known = TOOLS.contains(&tool) || tool.contains('_');
        !known || self.value["permission"][key] == "deny"
    }

    /// The available tools.
    pub(super) fn tools(&self) -> Vec<&'static str> {
        TOOLS.into_iter().filter(|tool| !self.lacks(tool)).collect()
    }

    /// Whether the model continues after the user has rejected a call.
    pub(super) fn continues(&self) -> bool {
        self.value["experimental"]["continue_loop_on_deny"] == true
    }

    pub(super) fn model(&self) -> &str {
        self.value["model"].as_str().unwrap_or("opencode/big-pickle")
    }

    /// The settings of a model, `PROVIDER/NAME`.
    pub(super) fn of_model(&self, model: &str) -> &Value {
        let (provider, name) = model.split_once('/').unwrap_or((model, ""));
        &self.value["provider"][provider]["models"][name]
    }
}

/// Whether a pattern with `*` matches.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((begin, rest)) => text.strip_prefix(begin).is_some_and(|text| {
            rest.is_empty() || (0..=text.len()).any(|at| text.get(at..).is_some_and(|end| matches(rest, end)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_permissions_take_precedence_over_the_files() {
        let file = json!({"permission": {"bash": {"*": "allow", "git *": "deny"}, "read": "deny"}});
        let config = Config::of(file, json!({"*": "ask", "read": "allow"}));
        assert_eq!(config.action("bash", "git push"), Action::Deny);
        assert_eq!(config.action("bash", "echo a"), Action::Allow);
        assert_eq!(config.action("write", "/w/a"), Action::Ask);
        assert_eq!(config.action("read", "/w/a"), Action::Allow);
        let config = Config::of(Value::Null, "ask".into());
        assert_eq!(config.action("bash", ""), Action::Ask);
        assert_eq!(Config::of(Value::Null, Value::Null).action("bash", ""), Action::Allow);
    }
}
