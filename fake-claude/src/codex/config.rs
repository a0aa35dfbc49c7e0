//! Codex's arguments and configuration: `-c KEY=VALUE`, which overrides `config.toml` and `hooks.json`.
//!
//! Input: the arguments and Codex's folder. Output: the settings that matter here, or Codex's error message.

use std::path::Path;

use serde_json::{Value, json};
use sys::error::Failure;
use sys::failure;

/// Where hooks given by `-c` come from, in Codex's words.
pub(super) const FLAGS: &str = "/<session-flags>/config.toml";

/// The settings.
#[derive(Debug, Default)]
pub(super) struct Config {
    /// Those of the arguments.
    pub(super) flags: Value,
    /// Those of the user's file.
    user: Value,
    /// The sources of hooks: a path, its name for clients, and the hooks by event.
    pub(super) sources: Vec<(String, &'static str, Value)>,
}

/// Checks the arguments and returns the values of `-c`.
pub(super) fn parse(argv: &[String]) -> Result<Vec<String>, Failure> {
    let (mut words, mut serves) = (Vec::new(), false);
    let mut left = argv.iter();
    while let Some(word) = left.next() {
        match word.as_str() {
            "-c" | "--config" => words.extend(left.next().cloned()),
            "--enable" => words.extend(left.next().map(|name| format!("features.{name}=true"))),
            "--disable" => words.extend(left.next().map(|name| format!("features.{name}=false"))),
            "--listen" | "-m" | "--model" => drop(left.next()),
            // Codex accepts it, but it has no effect.
            "--dangerously-bypass-hook-trust" => {}
            "app-server" if !serves => serves = true,
            _ => {
                return Err(failure!(
                    "error: unexpected argument '{word}' found\n\nUsage: codex app-server [OPTIONS] [COMMAND]\n\n\
                     For more information, try '--help'."
                ));
            }
        }
    }
    if serves { Ok(words) } else { Err("Error: stdin is not a terminal".into()) }
}

impl Config {
    /// Reads the configuration. Rejects what Codex rejects.
    pub(super) fn read(words: &[String], home: &Path) -> Result<Self, Failure> {
        let mut flags = json!({});
        for word in words {
            merge(&mut flags, flag(word)?);
        }
        let path = home.join("config.toml");
        let user = match std::fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text)
                .map_err(|error| Failure::new("Error loading config.toml").because(&error))?,
            Err(_) => json!({}),
        };
        let hooks = home.join("hooks.json");
        // A file that isn't JSON has no hooks.
        let text = std::fs::read(&hooks).unwrap_or_default();
        let file: Value = serde_json::from_slice(&text).unwrap_or_default();
        let sources = vec![
            (hooks.display().to_string(), "user", file["hooks"].clone()),
            (path.display().to_string(), "user", user["hooks"].clone()),
            (FLAGS.to_owned(), "sessionFlags", flags["hooks"].clone()),
        ];
        let config = Self { flags, user, sources };
        if config.text(&["approval_policy"]) == Some("untrusted") {
            return Err(
                "Error: approval_policy = \"untrusted\" is no longer supported; remove this setting".into()
            );
        }
        Ok(config)
    }

    /// Adds the `config` of `thread/start`.
    pub(super) fn add(&mut self, config: &Value) {
        for (key, value) in config.as_object().into_iter().flatten() {
            let nested = key.rsplit('.').fold(value.clone(), |inner, part| json!({part: inner}));
            merge(&mut self.flags, nested);
        }
        if let Some(last) = self.sources.last_mut() {
            last.2 = self.flags["hooks"].clone();
        }
    }

    /// Returns a setting.
    pub(super) fn get(&self, path: &[&str]) -> &Value {
        let find = |root| path.iter().fold(root, |value: &Value, key| &value[*key]);
        Some(find(&self.flags)).filter(|value| !value.is_null()).unwrap_or_else(|| find(&self.user))
    }

    pub(super) fn text(&self, path: &[&str]) -> Option<&str> {
        self.get(path).as_str()
    }

    /// Returns a setting of the model's provider.
    pub(super) fn provider(&self, key: &str) -> &Value {
        self.get(&["model_providers", self.text(&["model_provider"]).unwrap_or("openai"), key])
    }

    pub(super) fn model(&self) -> &str {
        self.text(&["model"]).unwrap_or("gpt-6.1-sol")
    }
}

/// Parses `KEY=VALUE`; a value that isn't TOML is text.
fn flag(word: &str) -> Result<Value, Failure> {
    let parse = |text: &str| toml::from_str::<Value>(text).ok();
    let (key, value) = word
        .split_once('=')
        .ok_or_else(|| Failure::new("Error: Invalid override (missing '=')").about(word))?;
    let text = || parse(&format!("{key} = {}", json!(value)));
    parse(&format!("{key} = {value}"))
        .or_else(text)
        .ok_or_else(|| Failure::new("Error: Invalid override").about(word))
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_toml_or_text() {
        let words =
            ["model=gpt-5.5", "a.b=1", "a.\"c d\"=[{x=\"y\"}]", "hooks.state={\"/<f>:0\"={enabled=true}}"];
        let config = Config::read(&words.map(str::to_owned), Path::new("/none")).unwrap();
        assert_eq!(config.model(), "gpt-5.5");
        assert_eq!(config.flags["a"], json!({"b": 1, "c d": [{"x": "y"}]}));
        assert_eq!(config.get(&["hooks", "state", "/<f>:0", "enabled"]), true);
        assert!(Config::read(&["approval_policy=untrusted".to_owned()], Path::new("/none")).is_err());
    }
}
