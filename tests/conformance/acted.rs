//! Scenarios that are acted and not recorded: what hooks and hosts answer decides how a run goes on.
//!
//! In come `fixtures/acted/*.json` (`fake-claude/README.md`); each case is run on the real CLI with fake-model and on
//! fake-claude with the same script. Out go the differences.

mod essence;
pub(crate) mod stage;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fake_claude::replay::ask_version;
use serde::Deserialize;
use serde_json::{Value, json};

use stage::{Agent, Stage};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/acted");

/// A file of cases that have much in common.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    #[serde(rename = "about")]
    _about: String,
    /// What a case is where it says nothing else.
    #[serde(default)]
    base: Value,
    cases: BTreeMap<String, Value>,
}

impl File {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("reading {}", path.display()))
    }

    /// The cases by their names, each with what all have.
    pub(crate) fn cases(&self) -> impl Iterator<Item = Result<(&str, Case)>> {
        self.cases.iter().map(|(name, own)| {
            let mut whole = self.base.clone();
            merge(&mut whole, own);
            Ok((name.as_str(), Case::read(whole).with_context(|| name.clone())?))
        })
    }
}

/// One case.
#[derive(Debug)]
pub(crate) struct Case {
    /// fake-model's script.
    pub(crate) model: Value,
    pub(crate) first: Run,
    /// A second run, that resumes the session of the first.
    pub(crate) second: Option<Run>,
}

impl Case {
    fn read(mut whole: Value) -> Result<Self> {
        let fields = whole.as_object_mut().context("not an object")?;
        let model = fields.remove("model").context("without a model")?;
        let second = fields.remove("then").map(serde_json::from_value).transpose()?;
        Ok(Self { model, first: serde_json::from_value(whole)?, second })
    }
}

/// One run of the agent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    prompt: Option<String>,
    /// The value of `--settings`: an object, or the text itself.
    pub(crate) settings: Option<Value>,
    /// In place of `settings`: the command of one `PreToolUse` hook for all tools.
    hook: Option<String>,
    /// In place of `hook`: what it prints as its `hookSpecificOutput`.
    decision: Option<Value>,
    /// What else that hook's entry has.
    #[serde(default)]
    entry: BTreeMap<String, Value>,
    #[serde(default)]
    pub(crate) argv: Vec<String>,
    #[serde(default)]
    files: BTreeMap<PathBuf, String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// `false`: without a credential.
    #[serde(default = "yes")]
    login: bool,
    /// Without `--dangerously-skip-permissions`.
    #[serde(default)]
    careful: bool,
    /// With `--permission-prompt-tool stdio`.
    #[serde(default)]
    asks: bool,
    /// With `--input-format stream-json`; the prompt is its only message.
    #[serde(default)]
    live: bool,
    /// The answers to `can_use_tool`, one after the other; `"close"` closes stdin.
    #[serde(default)]
    answers: Vec<Value>,
}

fn yes() -> bool {
    true
}

impl Run {
    /// The value of `--settings`.
    fn settings(&self) -> Option<String> {
        let decided = self.decision.as_ref().map(|decision| {
            let mut decision = decision.clone();
            decision["hookEventName"] = "PreToolUse".into();
            format!("echo '{}'", json!({"hookSpecificOutput": decision}))
        });
        let hook = self.hook.clone().or(decided).map(|command| {
            let mut entry = json!({"type": "command", "command": command, "timeout": 20});
            for (name, value) in &self.entry {
                entry[name] = value.clone();
            }
            json!({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [entry]}]}})
        });
        let settings = hook.or_else(|| self.settings.clone())?;
        Some(settings.as_str().map_or_else(|| settings.to_string(), str::to_owned))
    }
}

/// The names of the files, each a name on the command line.
pub(crate) fn names() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(FOLDER).with_context(|| format!("reading {FOLDER}"))? {
        let path = entry?.path();
        // The folder's README is no case.
        let is_case = path.extension().is_some_and(|extension| extension == "json");
        names.extend(path.file_stem().filter(|_| is_case).map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// Runs all cases of a file; the differences, each a line.
pub(crate) fn differences(claude: &Path, name: &str) -> Result<Vec<String>> {
    let file = File::read(&Path::new(FOLDER).join(format!("{name}.json")))?;
    let version = ask_version(claude);
    let mut differences = Vec::new();
    for read in file.cases() {
        let (case, read) = read.with_context(|| name.to_owned())?;
        let case_name = format!("{name}/{case}");
        let of = |agent: Agent<'_>| run(&read, agent).with_context(|| case_name.clone());
        let (real, fake) = (of(Agent::Real(claude))?, of(Agent::Fake(&version))?);
        if real.is_empty() {
            bail!("{case_name}: the real one did nothing");
        }
        for (real, fake) in real.iter().zip(&fake) {
            differences.extend(real.minus(fake).into_iter().map(|said| format!("{case}: {said}")));
        }
    }
    Ok(differences)
}

fn merge(base: &mut Value, own: &Value) {
    if base.is_null() {
        *base = json!({});
    }
    for (name, value) in own.as_object().into_iter().flatten() {
        base[name] = value.clone();
    }
}

fn run(case: &Case, agent: Agent<'_>) -> Result<Vec<essence::Essence>> {
    let stage = Stage::set(agent, &case.model)?;
    let first = stage.run(&case.first, None)?;
    let mut all = vec![first];
    if let (Some(second), Some(session)) = (&case.second, all[0].session.clone()) {
        all.push(stage.run(second, Some(&session))?);
    }
    Ok(all)
}
