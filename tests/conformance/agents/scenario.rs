//! A scenario for another agent, and the environment in which it runs. fake-claude/README.md describes the file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{pipe, sink};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fake_claude::replay::{Fixture, RecordPlan, Stdin, Streams, ask_version, record_through};
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use super::talk::{Protocol, Talk};
use crate::run::Model;

/// The placeholder for the workspace in a scenario.
const WORKSPACE: &str = "/workspace";

/// A scenario.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    #[serde(skip)]
    pub(super) name: String,
    #[serde(rename = "about")]
    _about: String,
    model: Value,
    /// The messages, each sent when the turn before it has ended.
    #[serde(default = "one_prompt")]
    pub(super) prompts: Vec<String>,
    /// The messages to a second process, which resumes the conversation.
    pub(super) resume: Option<String>,
    /// The answers to the agent's requests, in order: a decision, or a complete response.
    #[serde(default)]
    pub(super) answers: Vec<Value>,
    /// Interrupts the first turn: `command` when a command runs, `question` when a request is open.
    pub(super) interrupt: Option<String>,
    /// Codex: the approval policy. OpenCode: the permissions.
    #[serde(default)]
    pub(super) asks: Value,
    /// Codex: the command of a `PreToolUse` hook.
    pub(super) hook: Option<String>,
    /// Codex: hooks of other events that do nothing.
    #[serde(default)]
    pub(super) pulses: Vec<String>,
    /// Codex: `false`: without the hash that makes the hook trusted.
    #[serde(default = "yes")]
    pub(super) trusted: bool,
    /// More settings. Codex: values of `-c`. OpenCode: keys of its configuration.
    #[serde(default)]
    pub(super) settings: Value,
    #[serde(default)]
    files: BTreeMap<PathBuf, String>,
    /// Codex: `false`: without a key.
    #[serde(default = "yes")]
    pub(super) login: bool,
}

fn one_prompt() -> Vec<String> {
    vec!["Do what HEARTBEAT.md of this workspace says.".into()]
}

fn yes() -> bool {
    true
}

impl Scenario {
    /// The scenarios with these names, or all, sorted by name.
    pub(super) fn all(fixtures: &Path, wanted: &[Option<&str>]) -> Result<Vec<Self>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(fixtures).with_context(|| format!("reading {}", fixtures.display()))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let path = fixtures.join(&name).join("scenario.json");
            if path.is_file() && (wanted.contains(&None) || wanted.contains(&Some(&name))) {
                let text = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
                let scenario: Self =
                    serde_json::from_slice(&text).with_context(|| format!("reading {}", path.display()))?;
                found.push(Self { name, ..scenario });
            }
        }
        if found.is_empty() {
            bail!("no such scenario in {}: {wanted:?}", fixtures.display());
        }
        found.sort_by(|one, two| one.name.cmp(&two.name));
        Ok(found)
    }
}

/// A home, a workspace, a model, and the agent on a PATH.
pub(super) struct Stage {
    root: TempDir,
    program: PathBuf,
    script: PathBuf,
    model: Model,
}

impl Stage {
    /// Creates an environment in which `name` is this program.
    pub(super) fn set(scenario: &Scenario, name: &str, program: &Path) -> Result<Self> {
        let root = tempfile::tempdir()?;
        let at = |name: &str| root.path().join(name);
        for folder in ["home", "workspace", "bin", "tmp"] {
            std::fs::create_dir(at(folder))?;
        }
        let link = at("bin").join(name);
        std::os::unix::fs::symlink(program, &link)?;
        for (name, text) in &scenario.files {
            std::fs::write(at("workspace").join(name), text)?;
        }
        let workspace = at("workspace").canonicalize()?;
        std::fs::write(
            at("script.json"),
            scenario.model.to_string().replace(WORKSPACE, &workspace.to_string_lossy()),
        )?;
        let model = Model::start(&at("script.json"))?;
        Ok(Self { script: at("script.json"), program: link, model, root })
    }

    /// Runs the scenario and records it into a folder of its name in `into`. The second process, if any, continues the
    /// recording of the first.
    pub(super) fn run(
        &self,
        scenario: &Scenario,
        protocol: impl Fn() -> Box<dyn Protocol>,
        into: &Path,
        is_real: bool,
    ) -> Result<Fixture> {
        let (first, conversation) = self.once(scenario, protocol(), None, into, is_real)?;
        if scenario.resume.is_none() {
            return Ok(first);
        }
        let conversation = conversation.context("no conversation to resume")?;
        Ok(self.once(scenario, protocol(), Some(conversation), into, is_real)?.0)
    }

    fn once(
        &self,
        scenario: &Scenario,
        protocol: Box<dyn Protocol>,
        resume: Option<String>,
        into: &Path,
        is_real: bool,
    ) -> Result<(Fixture, Option<String>)> {
        let at = |name: &str| self.root.path().join(name);
        let mut env: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME".into(), at("home").into()),
            ("TMPDIR".into(), at("tmp").into()),
            ("TERM".into(), "dumb".into()),
            ("TZ".into(), "UTC".into()),
            ("LANG".into(), "C.UTF-8".into()),
        ];
        let own = protocol.env(scenario, self.model.port);
        env.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
        if !is_real {
            env.push(("FAKE_CLAUDE_SCRIPT".into(), self.script.clone().into()));
        }
        let cwd = at("workspace").canonicalize()?;
        let plan = RecordPlan {
            name: scenario.name.clone(),
            into: into.into(),
            program: self.program.clone().into(),
            version: ask_version(&self.program),
            argv: protocol.argv(scenario, self.model.port).into_iter().map(OsString::from).collect(),
            cwd: cwd.clone(),
            env,
            only_env: true,
            stdin: Stdin::Inherit,
            grace: None,
        };
        let (stdin, to) = pipe()?;
        let mut talk = Talk::begin(protocol, scenario, &cwd, resume, to);
        let streams = Streams { stdin: stdin.as_fd(), stdout: &mut talk, stderr: &mut sink() };
        let recorded = record_through(&plan, streams).with_context(|| scenario.name.clone())?;
        Ok((recorded.fixture, talk.conversation()))
    }
}
