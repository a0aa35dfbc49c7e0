//! Compares fake-claude under other names with other agents: Codex, and OpenCode as an ACP agent.
//!
//! Input: `fixtures/codex` and `fixtures/acp`, and names such as `codex`, `acp`, `codex/ok` or `codex/beats` (`beats.rs`). Each scenario is run on the
//! real CLI with fake-model, and on fake-claude with the same script. Output: the differences of their conversations.

mod acp;
mod beats;
mod codex;
mod scenario;
mod shape;
mod talk;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fake_claude::replay::Fixture;

use crate::real;
use scenario::Scenario;
use talk::Protocol;

/// An agent.
struct Agent {
    /// The name of its fixtures.
    name: &'static str,
    /// Its name on the PATH.
    program: &'static str,
    /// The npm package, its version, and the executable in it.
    package: (&'static str, &'static str, &'static str),
    /// A variable with the path of another executable.
    variable: &'static str,
}

const AGENTS: [Agent; 2] = [
    Agent {
        name: "codex",
        program: "codex",
        package: (
            "@openai/codex",
            "0.169.0",
            "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        ),
        variable: "MURMUR_REAL_CODEX",
    },
    Agent {
        name: "acp",
        program: "opencode",
        package: ("opencode-ai", "1.18.33", "node_modules/opencode-linux-x64/bin/opencode"),
        variable: "MURMUR_REAL_OPENCODE",
    },
];

/// Why an agent is not checked.
enum Missing {
    /// The path in a variable doesn't exist.
    Chosen(String),
    /// The pinned version cannot be installed.
    Pinned(String),
}

/// Whether a name on the command line belongs to this module.
pub(crate) fn is_one(name: &str) -> bool {
    AGENTS.iter().any(|agent| name == agent.name || name.starts_with(&format!("{}/", agent.name)))
}

/// Records or checks the scenarios with these names. Returns whether they agree; `None` if a chosen CLI is missing.
pub(crate) fn run(record: bool, names: &[String], say: fn(&str)) -> Result<Option<bool>> {
    let mut agree = true;
    for agent in &AGENTS {
        let wanted = names.iter().filter(|name| name.split('/').next() == Some(agent.name));
        let wanted: Vec<Option<&str>> =
            wanted.map(|name| name.split_once('/').map(|(_, rest)| rest)).collect();
        if wanted.is_empty() {
            continue;
        }
        let program = match agent.find() {
            Ok(program) => program,
            Err(Missing::Pinned(why)) => {
                say(&format!("{}: skipped: {why}", agent.name));
                continue;
            }
            Err(Missing::Chosen(why)) => {
                say(&format!("error: {why}"));
                return Ok(None);
            }
        };
        say(&format!("{}: with {}", agent.name, fake_claude::replay::ask_version(&program)));
        let (runs_beats, wanted) = (
            !record && wanted.iter().any(|name| name.is_none_or(|name| name == beats::NAME)),
            wanted.into_iter().filter(|name| *name != Some(beats::NAME)).collect::<Vec<_>>(),
        );
        if runs_beats {
            let (good, all) = beats::run(agent.name, agent.program, &program, say)?;
            say(&format!("{}/{}: {good} of {all} checks pass", agent.name, beats::NAME));
            agree &= good == all;
        }
        if wanted.is_empty() {
            continue;
        }
        let scenarios = Scenario::all(&agent.folder(), &wanted)?;
        let mut alike = 0;
        for scenario in &scenarios {
            let name = format!("{}/{}", agent.name, scenario.name);
            if record {
                let fixture =
                    agent.real(&program, scenario, &agent.folder()).with_context(|| name.clone())?;
                say(&format!("recorded {name}: {:?}, {} bytes", fixture.run.end, fixture.stdout.len()));
                continue;
            }
            match agent.differences(&program, scenario) {
                Ok(differences) if differences.is_empty() => {
                    say(&format!("{name}: agrees"));
                    alike += 1;
                }
                Ok(differences) => differences.iter().for_each(|line| say(&format!("{name}: {line}"))),
                Err(error) => say(&format!("{name}: {error:#}")),
            }
        }
        if !record {
            say(&format!("{}: {alike} of {} scenarios agree", agent.name, scenarios.len()));
            agree &= alike == scenarios.len();
        }
    }
    Ok(Some(agree))
}

impl Agent {
    fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(self.name)
    }

    /// The real CLI.
    fn find(&self) -> Result<PathBuf, Missing> {
        if let Some(path) = std::env::var_os(self.variable).filter(|path| !path.is_empty()) {
            let path = PathBuf::from(path);
            let missing = format!("no file at {}: {}", self.variable, path.display());
            return if path.is_file() { Ok(path) } else { Err(Missing::Chosen(missing)) };
        }
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            let why = format!("the real CLI is only fetched for linux-x64; set {}", self.variable);
            return Err(Missing::Pinned(why));
        }
        let (package, version, binary) = self.package;
        let binary = real::package(package, version).map_err(Missing::Pinned)?.join(binary);
        let missing = format!("npm installed no {}", binary.display());
        if binary.is_file() { Ok(binary) } else { Err(Missing::Pinned(missing)) }
    }

    fn protocol(&self) -> Box<dyn Protocol> {
        if self.name == "codex" { Box::<codex::Codex>::default() } else { Box::<acp::Acp>::default() }
    }

    /// Records the scenario from the real CLI into a folder of its name in `into`.
    fn real(&self, program: &Path, scenario: &Scenario, into: &Path) -> Result<Fixture> {
        let stage = scenario::Stage::set(scenario, self.program, program)?;
        stage.run(scenario, || self.protocol(), into, true)
    }

    fn fake(&self, scenario: &Scenario, into: &Path) -> Result<Fixture> {
        let program = crate::built::built("fake-claude")?;
        let stage = scenario::Stage::set(scenario, self.program, Path::new(&program))?;
        stage.run(scenario, || self.protocol(), into, false)
    }

    /// The differences between the real one and the fake.
    fn differences(&self, program: &Path, scenario: &Scenario) -> Result<Vec<String>> {
        let folder = tempfile::tempdir()?;
        let real = self.real(program, scenario, &folder.path().join("real"))?;
        let fake = self.fake(scenario, &folder.path().join("fake"))?;
        let shapes = |fixture: &Fixture| shape::shapes(fixture, &|line| self.protocol().shape(line));
        let (of_real, of_fake) = (shapes(&real), shapes(&fake));
        if of_real.len() < 3 {
            bail!("the real one said nothing: {}", String::from_utf8_lossy(&real.stderr));
        }
        let mut differences = shape::differences(&of_real, &of_fake);
        if real.run.end != fake.run.end {
            differences
                .push(format!("end: the real one has {:?}, the fake {:?}", real.run.end, fake.run.end));
        }
        Ok(differences)
    }
}
