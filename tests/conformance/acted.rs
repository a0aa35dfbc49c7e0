//! Acted scenarios, which are not recorded: the answers of hooks and hosts decide how a run continues.
//!
//! Input: `fixtures/acted/*.json` (`fake-claude/README.md`); each case is run on the real CLI with fake-model and on
//! fake-claude with the same script. Output: the differences.

mod essence;
pub(crate) mod stage;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fake_claude::replay::End;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::facts::Facts;
use crate::pool::Part;
use crate::report::Report;
use essence::Essence;
use stage::{Agent, Stage};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/acted");

/// A file of cases with much in common.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    #[serde(rename = "about")]
    _about: String,
    /// The defaults of a case.
    #[serde(default)]
    base: Value,
    cases: BTreeMap<String, Value>,
}

impl File {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("reading {}", path.display()))
    }

    /// The file with this name.
    pub(crate) fn load(name: &str) -> Result<Self> {
        Self::read(&Path::new(FOLDER).join(format!("{name}.json")))
    }

    /// The names of the cases.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.cases.keys().map(String::as_str)
    }

    /// The cases by name, each with the file's defaults.
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
    /// A second run, which resumes the session of the first.
    pub(crate) second: Option<Run>,
    /// The capabilities without which a version behaves differently.
    needs: Vec<String>,
}

impl Case {
    fn read(mut whole: Value) -> Result<Self> {
        let fields = whole.as_object_mut().context("not an object")?;
        let mut model = fields.remove("model").context("without a model")?;
        expand(&mut model);
        let second = fields.remove("then").map(serde_json::from_value).transpose()?;
        let needs = fields.remove("needs").map(serde_json::from_value).transpose()?.unwrap_or_default();
        Ok(Self { model, first: serde_json::from_value(whole)?, second, needs })
    }
}

/// One run of the agent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    prompt: Option<String>,
    /// The value of `--settings`: an object, or the text itself.
    pub(crate) settings: Option<Value>,
    /// Instead of `settings`: the command of one `PreToolUse` hook for all tools.
    hook: Option<String>,
    /// Instead of `hook`: what it prints as its `hookSpecificOutput`.
    decision: Option<Value>,
    /// The other members of that hook's entry.
    #[serde(default)]
    entry: BTreeMap<String, Value>,
    #[serde(default)]
    pub(crate) argv: Vec<String>,
    #[serde(default)]
    files: BTreeMap<PathBuf, String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// `false`: without credentials.
    #[serde(default = "yes")]
    login: bool,
    /// Without `--dangerously-skip-permissions`.
    #[serde(default)]
    careful: bool,
    /// With `--permission-prompt-tool stdio`.
    #[serde(default)]
    asks: bool,
    /// Once its output nearly fills the pipe, it isn't read for a second.
    #[serde(default)]
    pauses: bool,
    /// With `--input-format stream-json`; the prompt is its only message.
    #[serde(default)]
    live: bool,
    /// The answers to `can_use_tool`, in order; `"close"` closes stdin.
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

/// The names of the files, each of which can be given on the command line.
pub(crate) fn names() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(FOLDER).with_context(|| format!("reading {FOLDER}"))? {
        let path = entry?.path();
        // The folder's README is not a case.
        let is_case = path.extension().is_some_and(|extension| extension == "json");
        names.extend(path.file_stem().filter(|_| is_case).map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// Runs one case on the real CLI and on fake-claude, as the same version; also returns the facts of the real one.
pub(crate) fn compare(part: &Part) -> Result<(Report, Facts)> {
    let file = File::load(&part.check)?;
    let found = file.cases().find_map(|read| match read {
        Ok((name, case)) => (name == part.case).then_some(Ok(case)),
        Err(error) => Some(Err(error)),
    });
    let case = found.with_context(|| format!("no such case: {}", part.case))??;
    let real = run(&case, Agent::Real(&part.claude))?;
    let fake = run(&case, Agent::Fake(&part.version))?;
    let report = Report {
        facts: real.facts.differences(&fake.facts),
        shapes: real.essences.iter().zip(&fake.essences).flat_map(|(real, fake)| real.minus(fake)).collect(),
        needs: case.needs,
        unknown: real.facts.unknown.clone(),
        ..Report::default()
    };
    Ok((report, real.facts))
}

/// The facts of a case on the real CLI.
pub(crate) fn probe(claude: &Path, case: &Value) -> Result<Facts> {
    Ok(run(&Case::read(case.clone())?, Agent::Real(claude))?.facts)
}

/// Replaces each `{"text":TEXT,"times":N}` by a text block with the repeated text.
fn expand(model: &mut Value) {
    let times = model["text"].is_string().then(|| model["times"].as_u64()).flatten();
    if let Some(times) = times.and_then(|times| usize::try_from(times).ok()) {
        *model = json!({"type": "text", "text": model["text"].as_str().unwrap_or_default().repeat(times)});
    } else if let Some(list) = model.as_array_mut() {
        list.iter_mut().for_each(expand);
    }
}

fn merge(base: &mut Value, own: &Value) {
    if base.is_null() {
        *base = json!({});
    }
    for (name, value) in own.as_object().into_iter().flatten() {
        base[name] = value.clone();
    }
}

/// The results of all runs of a case.
struct Acted {
    essences: Vec<Essence>,
    facts: Facts,
}

fn run(case: &Case, agent: Agent<'_>) -> Result<Acted> {
    let stage = Stage::set(agent, &case.model)?;
    let home = stage.root.path().canonicalize()?;
    let mut runs = vec![stage.perform(&case.first, None)?];
    let mut essences = vec![Essence::of(&runs[0], &home)];
    if let (Some(second), Some(session)) = (&case.second, essences[0].session.clone()) {
        runs.push(stage.perform(second, Some(&session))?);
        essences.push(Essence::of(&runs[1], &home));
    }
    let (mut lines, mut told, mut stderr) = (Vec::new(), String::new(), String::new());
    let mut end = End::Code(0);
    for run in &runs {
        // The folder is not a fact.
        let placed = |text: &str| text.replace(&*home.to_string_lossy(), "");
        lines.extend(serde_json::from_str::<Vec<Value>>(&placed(
            &Value::from(run.lines.clone()).to_string(),
        ))?);
        told.push_str(&run.told);
        stderr.push_str(&run.stderr);
        end = run.end();
    }
    Ok(Acted { facts: Facts::of(&lines, &stderr, end, &told), essences })
}
