//! A scenario: the model's script and the environment of the run. fake-claude/README.md describes the file.
//!
//! Input: `fixtures/claude/<name>/scenario.json`. Output: the scenario, with real paths.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use murmur_agent::invocation::{BeatOptions, beat_args};
use serde::Deserialize;
use serde_json::Value;

/// The placeholder for the workspace in a scenario's script.
const WORKSPACE: &str = "/workspace";
const PROMPT: &str = "Do what HEARTBEAT.md of this workspace says.\n";
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    #[serde(skip)]
    pub(crate) name: String,
    #[serde(rename = "about")]
    _about: String,
    model: Value,
    prompt: Option<String>,
    /// Messages to a hosted agent, each sent when the last one is answered.
    pub(crate) messages: Option<Vec<Value>>,
    #[serde(default)]
    argv: Vec<String>,
    #[serde(default)]
    files: BTreeMap<PathBuf, Content>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    #[serde(default = "yes")]
    pub(crate) login: bool,
    /// The capabilities without which a version behaves differently.
    #[serde(default)]
    pub(crate) needs: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Lines { line: String, times: usize },
}

fn yes() -> bool {
    true
}

impl Scenario {
    /// The scenarios with these names, or all, sorted by name.
    pub(crate) fn all(fixtures: &Path, names: &[String]) -> Result<Vec<Self>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(fixtures).with_context(|| format!("reading {}", fixtures.display()))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if names.is_empty() || names.contains(&name) {
                found.push(Self::load(fixtures, &name)?);
            }
        }
        if found.is_empty() || found.len() < names.len() {
            bail!("no such scenario in {}: {names:?}", fixtures.display());
        }
        found.sort_by(|one, two| one.name.cmp(&two.name));
        Ok(found)
    }

    fn load(fixtures: &Path, name: &str) -> Result<Self> {
        let path = fixtures.join(name).join("scenario.json");
        let text = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let scenario: Self =
            serde_json::from_slice(&text).with_context(|| format!("reading {}", path.display()))?;
        Ok(Self { name: name.to_owned(), ..scenario })
    }

    /// The arguments of a beat, and the scenario's own.
    pub(crate) fn argv(&self) -> Vec<String> {
        let options = BeatOptions { max_turns: 3, max_budget: None, deny: Some(&[]), model: None };
        let mut argv = beat_args(options);
        argv.extend(self.argv.iter().cloned());
        argv
    }

    /// What is piped into the run.
    pub(crate) fn prompt(&self) -> Vec<u8> {
        self.prompt.as_deref().unwrap_or(PROMPT).as_bytes().to_vec()
    }

    /// The model's script for a run in `workspace`.
    pub(crate) fn script(&self, workspace: &Path) -> String {
        self.model.to_string().replace(WORKSPACE, &workspace.to_string_lossy())
    }

    /// Puts the scenario's files into `workspace`.
    pub(crate) fn write_files(&self, workspace: &Path) -> Result<()> {
        for (name, content) in &self.files {
            let text = match content {
                Content::Text(text) => text.clone(),
                Content::Lines { line, times } => format!("{line}\n").repeat(*times),
            };
            let path = workspace.join(name);
            std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(())
    }
}
