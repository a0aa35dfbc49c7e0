//! Checks other agents: Codex, and agents that speak ACP.
//!
//! Input: `fixtures/codex` and `fixtures/acp`, and names such as `codex`, `acp`, `codex/ok`, `codex/beats`
//! (`beats.rs`) or `codex/beats/denied`. Each scenario is run on the real CLI with fake-model, and on fake-claude with
//! the same script, with the pinned and the newest version; an agent without fixtures has only beats. Output: the
//! differences of their conversations, and a table (`compare.rs`).

mod acp;
mod beats;
mod codex;
mod compare;
mod recorded;
mod scenario;
mod shape;
mod talk;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fake_claude::replay::{Fixture, ask_version};
use murmur_core::config::backend::{Backend, Capability};

use crate::real;
use compare::Version;
use scenario::Scenario;
use talk::Protocol;

/// An agent.
struct Agent {
    /// The name of its fixtures.
    name: &'static str,
    /// Its name in `agent`.
    backend: &'static str,
    /// Its name on the PATH.
    program: &'static str,
    /// The npm package, its version, and the executable in it.
    package: (&'static str, &'static str, &'static str),
    /// A variable with the path of another executable.
    variable: &'static str,
}

const AGENTS: [Agent; 6] = [
    Agent {
        name: "codex",
        backend: "codex",
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
        backend: "acp:opencode",
        program: "opencode",
        package: ("opencode-ai", "1.18.33", "node_modules/opencode-linux-x64/bin/opencode"),
        variable: "MURMUR_REAL_OPENCODE",
    },
    Agent {
        name: "claude-agent-acp",
        backend: "acp:claude-agent-acp",
        program: "claude-agent-acp",
        package: (
            "@agentclientprotocol/claude-agent-acp",
            "0.101.0",
            "node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js",
        ),
        variable: "MURMUR_REAL_CLAUDE_AGENT_ACP",
    },
    Agent {
        name: "codex-acp",
        backend: "acp:codex-acp",
        program: "codex-acp",
        package: (
            "@agentclientprotocol/codex-acp",
            "2.6.0",
            "node_modules/@agentclientprotocol/codex-acp/dist/index.js",
        ),
        variable: "MURMUR_REAL_CODEX_ACP",
    },
    Agent {
        name: "goose",
        backend: "acp:goose",
        program: "goose",
        package: (
            "@aaif/goose-binary-linux-x64",
            "1.52.0",
            "node_modules/@aaif/goose-binary-linux-x64/bin/goose",
        ),
        variable: "MURMUR_REAL_GOOSE",
    },
    Agent {
        name: "gemini",
        backend: "acp:gemini",
        program: "gemini",
        package: ("@google/gemini-cli", "0.61.0", "node_modules/@google/gemini-cli/bundle/gemini.js"),
        variable: "MURMUR_REAL_GEMINI",
    },
];

/// The word that leaves out the newest version, and makes a missing pinned one a failure.
const PINNED: &str = "pinned";

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

/// Records or checks the scenarios with these names. Returns whether they agree; `None` if a CLI is missing that has to
/// be there.
pub(crate) fn run(record: bool, names: &[String], say: fn(&str)) -> Result<Option<bool>> {
    let mut agree = true;
    let is_pinned = names.iter().any(|name| name == PINNED);
    for agent in &AGENTS {
        let wanted = names.iter().filter(|name| name.split('/').next() == Some(agent.name));
        let wanted: Vec<Option<&str>> =
            wanted.map(|name| name.split_once('/').map(|(_, rest)| rest)).collect();
        if wanted.is_empty() {
            continue;
        }
        let mut versions = match agent.find() {
            Ok(found) => vec![found],
            Err(Missing::Pinned(why)) if !is_pinned => {
                say(&format!("{}: skipped: {why}", agent.name));
                continue;
            }
            Err(Missing::Pinned(why) | Missing::Chosen(why)) => {
                say(&format!("error: {why}"));
                return Ok(None);
            }
        };
        if record {
            agent.record(&versions[0].program, &wanted, say)?;
            continue;
        }
        if !is_pinned {
            match agent.newest(&versions[0]) {
                Ok(newest) => versions.extend(newest),
                Err(why) => say(&format!("{}: newest version not checked: {why}", agent.name)),
            }
        }
        agree &= compare::compare(agent, &versions, &wanted, say)?;
    }
    Ok(Some(agree))
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

impl Agent {
    fn folder(&self) -> PathBuf {
        fixtures().join(self.name)
    }

    /// The real CLI: the chosen one, else the pinned version.
    fn find(&self) -> Result<Version, Missing> {
        if let Some(path) = self.chosen() {
            let missing = format!("no file at {}: {}", self.variable, path.display());
            return match path.is_file() {
                true => Ok(Version { name: ask_version(&path), program: path }),
                false => Err(Missing::Chosen(missing)),
            };
        }
        self.installed(self.package.1).map_err(Missing::Pinned)
    }

    /// The executable that a variable names.
    fn chosen(&self) -> Option<PathBuf> {
        std::env::var_os(self.variable).filter(|path| !path.is_empty()).map(PathBuf::from)
    }

    /// The newest version, unless that is `found` or one was chosen.
    fn newest(&self, found: &Version) -> Result<Option<Version>, String> {
        if self.chosen().is_some() {
            return Ok(None);
        }
        let newest = real::newest_of(self.package.0)?;
        if newest == found.name { Ok(None) } else { self.installed(&newest).map(Some) }
    }

    /// A version, from the cache or npm.
    fn installed(&self, version: &str) -> Result<Version, String> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(format!("the real CLI is only fetched for linux-x64; set {}", self.variable));
        }
        let (package, _, binary) = self.package;
        let program = real::package(package, version)?.join(binary);
        let missing = format!("npm installed no {}", program.display());
        if program.is_file() { Ok(Version { name: version.to_owned(), program }) } else { Err(missing) }
    }

    /// Records the scenarios with these names.
    fn record(&self, program: &Path, wanted: &[Option<&str>], say: fn(&str)) -> Result<()> {
        let (beats, scenarios): (Vec<_>, Vec<_>) =
            wanted.iter().copied().partition(|name| *name == Some(beats::NAME));
        if !beats.is_empty() {
            let new = || beats::Agent::new(self, program);
            recorded::record(new, self.name == "codex", &fixtures().join(beats::NAME).join(self.name), say)?;
        }
        if scenarios.is_empty() {
            return Ok(());
        }
        for scenario in Scenario::all(&self.folder(), &scenarios)? {
            let name = format!("{}/{}", self.name, scenario.name);
            let fixture = self.real(program, &scenario, &self.folder()).with_context(|| name.clone())?;
            say(&format!("recorded {name}: {:?}, {} bytes", fixture.run.end, fixture.stdout.len()));
        }
        Ok(())
    }

    /// Whether its backend has this capability.
    fn has(&self, capability: Capability) -> bool {
        self.backend.parse::<Backend>().is_ok_and(|backend| backend.has(capability))
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
