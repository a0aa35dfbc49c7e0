//! Runs a scenario, on the real CLI with fake-model or on fake-claude with the fixture, and records it.
//!
//! Both run with their own environment, home and workspace, and without any network except loopback.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, pipe, sink};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use fake_claude::replay::{Fixture, RecordPlan, Stdin, Streams, lines, record_through};
use tempfile::TempDir;

use crate::built::built;
use crate::conversation::Conversation;
use crate::facts::Facts;
use crate::scenario::Scenario;

/// Isolates the real CLI.
pub(crate) const QUIET: [&str; 5] = [
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_TELEMETRY",
    "IS_SANDBOX",
];

/// How long Claude Code waits for `SessionEnd` hooks; by default 1.5 s, which is not enough on a busy machine.
pub(crate) const PATIENT: (&str, &str) = ("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS", "60000");

/// A home, a workspace and a folder for temporary files, removed on drop.
struct Place {
    root: TempDir,
    home: PathBuf,
    workspace: PathBuf,
}

impl Place {
    fn make(scenario: &Scenario) -> Result<Self> {
        let root = tempfile::tempdir()?;
        let [home, workspace] = ["home", "workspace"].map(|name| root.path().join(name));
        for folder in [&home, &workspace] {
            std::fs::create_dir(folder)?;
        }
        scenario.write_files(&workspace)?;
        Ok(Self { root, home, workspace })
    }

    fn record(
        &self,
        scenario: &Scenario,
        (program, version): (&Path, &str),
        own: &[(&str, String)],
        into: &Path,
    ) -> Result<Fixture> {
        let mut env: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME".into(), self.home.clone().into()),
            ("CLAUDE_CODE_TMPDIR".into(), self.root.path().into()),
            ("TERM".into(), "dumb".into()),
            ("TZ".into(), "UTC".into()),
        ];
        env.extend(QUIET.map(|name| (name.into(), "1".into())));
        env.extend(own.iter().map(|(name, value)| (name.into(), value.into())));
        env.extend(scenario.env.iter().map(|(name, value)| (name.into(), value.into())));
        let plan = RecordPlan {
            name: scenario.name.clone(),
            into: into.into(),
            program: program.into(),
            version: version.to_owned(),
            argv: scenario.argv().into_iter().map(OsString::from).collect(),
            cwd: self.workspace.clone(),
            env,
            only_env: true,
            stdin: match scenario.messages {
                Some(_) => Stdin::Inherit,
                None => Stdin::Bytes(scenario.prompt()),
            },
            grace: None,
        };
        let (stdin, to) = pipe()?;
        let mut host = Conversation::begin(scenario.messages.as_deref().unwrap_or_default(), to);
        let streams = Streams { stdin: stdin.as_fd(), stdout: &mut host, stderr: &mut sink() };
        let recorded = record_through(&plan, streams).with_context(|| scenario.name.clone())?;
        Ok(recorded.fixture)
    }
}

/// Records the scenario from the real CLI into a folder of its name in `into`.
pub(crate) fn real(claude: &Path, version: &str, scenario: &Scenario, into: &Path) -> Result<Fixture> {
    let place = Place::make(scenario)?;
    let script = place.root.path().join("script.json");
    std::fs::write(&script, scenario.script(&place.workspace))?;
    let model = Model::start(&script)?;
    let mut env = vec![("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", model.port))];
    if scenario.login {
        env.push(("ANTHROPIC_API_KEY", "scripted".to_owned()));
    }
    place.record(scenario, (claude, version), &env, into)
}

/// Records the scenario from fake-claude, which plays `fixture`.
pub(crate) fn fake(fixture: &Path, version: &str, scenario: &Scenario, into: &Path) -> Result<Fixture> {
    let place = Place::make(scenario)?;
    let env = [("FAKE_CLAUDE_FIXTURE", fixture.display().to_string())];
    place.record(scenario, (Path::new(&built("fake-claude")?), version), &env, into)
}

/// How murmur reads a recording.
pub(crate) fn facts(run: &Fixture) -> Facts {
    let lines: Vec<_> =
        lines(&run.stdout).map(|line| serde_json::from_slice(line).unwrap_or_default()).collect();
    Facts::of(&lines, &String::from_utf8_lossy(&run.stderr), run.run.end, "")
}

/// A running fake-model. It ends with its stdin, so it doesn't outlive this process.
pub(crate) struct Model {
    child: Child,
    pub(crate) port: u16,
}

impl Model {
    /// Plays `script`.
    pub(crate) fn start(script: &Path) -> Result<Self> {
        Self::start_with(script, &[])
    }

    /// The same with more arguments.
    pub(crate) fn start_with(script: &Path, arguments: &[&OsStr]) -> Result<Self> {
        let mut child = Command::new(built("fake-model")?)
            .arg(script)
            .args(arguments)
            .arg("--until-stdin-closes")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting fake-model")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no stdout")?).read_line(&mut line)?;
        let port = line.trim().strip_prefix("listening ").and_then(|port| port.parse().ok());
        let model = Self { child, port: port.unwrap_or_default() };
        port.with_context(|| format!("fake-model said {line:?}"))?;
        Ok(model)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        drop(self.child.wait());
    }
}
