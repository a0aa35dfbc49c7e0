//! murmur itself with a real agent: beats through the guard, an approval and a failure, and a conversation that is
//! resumed.

mod codex;
mod codex_acp;
mod gemini;
mod goose;
mod interrupt;
mod opencode;

use std::fs::DirBuilder;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use murmur_core::config::backend::Capability;
use serde_json::{Value, json};

use crate::permits::{Watch, call, configure};
use crate::place::Place;

/// The name of these checks among the scenarios.
pub(super) const NAME: &str = "beats";

/// The id of a hosted agent.
const HOSTED: &str = "hosted";

/// A check of a kind of beat.
pub(super) struct Check {
    pub(super) name: &'static str,
    /// Whether it is for this agent.
    pub(super) is_for: fn(&super::Agent) -> bool,
    run: fn(&mut Agent) -> Result<()>,
}

/// The checks.
pub(super) const CHECKS: [Check; 22] = [
    Check { name: "denied", is_for: |_| true, run: denied },
    Check { name: "allowed", is_for: |_| true, run: |agent| answered(agent, true) },
    Check {
        name: "denied-by-person",
        is_for: |agent| agent.name != "codex-acp",
        run: |agent| answered(agent, false),
    },
    Check { name: "failed", is_for: |_| true, run: failed },
    Check { name: "timeout", is_for: |_| true, run: timed_out },
    Check { name: "resumed", is_for: |_| true, run: resumed },
    Check { name: "interrupt", is_for: |_| true, run: interrupt::interrupted },
    Check { name: "untrusted", is_for: |agent| agent.has(Capability::Trust), run: untrusted },
    Check {
        name: "instructions",
        is_for: |agent| !["claude-agent-acp", "gemini"].contains(&agent.name),
        run: instructed,
    },
    Check { name: "sandbox", is_for: |agent| agent.name == "codex", run: codex::sandboxed },
    Check { name: "shell-killed", is_for: |agent| agent.name == "codex", run: codex::shell_killed },
    Check {
        name: "shell-killed-for-a-reader",
        is_for: |agent| agent.name == "codex",
        run: codex::shell_killed_for_a_reader,
    },
    Check { name: "patch-in-command", is_for: |agent| agent.name == "codex", run: codex::patch_in_command },
    Check { name: "elsewhere", is_for: |agent| agent.name == "codex", run: codex::elsewhere },
    Check { name: "mcp", is_for: |agent| agent.name == "codex", run: codex::mcp },
    Check { name: "own-agent", is_for: |agent| agent.name == "acp", run: opencode::own_agent },
    Check { name: "own-permissions", is_for: |agent| agent.name == "acp", run: opencode::own_permissions },
    Check { name: "plugins", is_for: |agent| agent.name == "goose", run: goose::plugins },
    Check { name: "here", is_for: |agent| agent.name == "codex-acp", run: codex_acp::here },
    Check { name: "denied-hosted", is_for: |agent| agent.name == "codex-acp", run: codex_acp::denied },
    Check { name: "unseen", is_for: |agent| agent.name == "goose", run: goose::unseen },
    Check { name: "no-login", is_for: |agent| agent.name == "gemini", run: gemini::not_logged_in },
];

/// An agent in a place of its own.
pub(super) struct Agent {
    /// Its name in `agent`.
    name: &'static str,
    /// What decides on calls that no rule covers, if it can.
    checker: &'static str,
    pub(super) place: Place,
}

/// Runs the check with this number with the real `program`.
pub(super) fn run(number: usize, agent: &super::Agent, program: &Path) -> Result<()> {
    let mut placed = Agent::new(agent, program)?;
    (CHECKS[number].run)(&mut placed)?;
    let unknown = placed.place.folder.path().join("data/unknown.json");
    ensure!(!unknown.exists(), "murmur doesn't know {}", std::fs::read_to_string(&unknown)?);
    Ok(())
}

pub(super) fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

impl Agent {
    /// This agent, whose real CLI is `program`.
    pub(super) fn new(agent: &super::Agent, program: &Path) -> Result<Self> {
        let place = Place::new(program, &json!([]))?;
        DirBuilder::new().mode(0o700).create(place.folder.path().join("data"))?;
        let home = place.folder.path().join("home");
        std::os::unix::fs::symlink(program, home.join("bin").join(agent.program))?;
        let url = format!("http://127.0.0.1:{}/v1", place.port());
        let [codex, opencode] = [".codex", ".config/opencode"].map(|folder| home.join(folder));
        for folder in [&codex, &opencode] {
            std::fs::create_dir_all(folder)?;
        }
        // Without its own sandbox, whose programs may be missing here.
        let provider = format!(
            "[model_providers.fake]\nname = \"fake\"\nbase_url = {url:?}\nwire_api = \"responses\"\n"
        );
        let settings =
            "model = \"gpt-5.5\"\nmodel_provider = \"fake\"\nsandbox_mode = \"danger-full-access\"\n";
        std::fs::write(codex.join("config.toml"), format!("{settings}{provider}"))?;
        let model = json!({ "name": "m1", "tool_call": true, "cost": { "input": 3, "output": 15 },
            "limit": { "context": 200_000, "output": 8000 } });
        let provider = json!({ "npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": { "baseURL": url },
            "models": { "m1": model } });
        let settings = json!({ "model": "fake/m1", "autoupdate": false, "provider": { "fake": provider } });
        std::fs::write(opencode.join("opencode.json"), settings.to_string())?;
        let settings = format!(
            "[acp.goose]\nenv = {{ GOOSE_PROVIDER = \"openai\", GOOSE_MODEL = \"gpt-4o\", GOOSE_DISABLE_KEYRING = \"1\", \
             OPENAI_HOST = \"http://127.0.0.1:{port}\", OPENAI_API_KEY = \"x\" }}\n\
             [acp.gemini]\nenv = {{ GEMINI_API_KEY = \"x\", GEMINI_MODEL = \"gemini-2.5-pro\", \
             GOOGLE_GEMINI_BASE_URL = \"http://127.0.0.1:{port}\" }}\n",
            port = place.port()
        );
        DirBuilder::new().mode(0o700).create(place.folder.path().join("data/config"))?;
        std::fs::write(place.folder.path().join("data/config/config.toml"), settings)?;
        let checker = if agent.has(Capability::Asks) { "deny" } else { "off" };
        Ok(Self { name: agent.backend, checker, place })
    }

    /// Prepares a beat whose model plays `script`.
    pub(super) fn prepare(&mut self, script: &Value, checker: impl Into<Value>) -> Result<()> {
        self.prepare_for(script, checker, "15m")
    }

    /// The same for a beat that may take this long.
    fn prepare_for(&mut self, script: &Value, checker: impl Into<Value>, timeout: &str) -> Result<()> {
        self.place.play(script)?;
        let entry = json!({ "agent": self.name, "maxTurns": null, "permissionsChecker": checker.into(),
            "timeout": timeout });
        configure(&self.place, &entry)
    }

    /// Whether a request to the model has all of `words`.
    fn was_told(&self, words: &[&str]) -> Result<bool> {
        let mut found = false;
        for entry in std::fs::read_dir(self.place.requests())? {
            let request = String::from_utf8_lossy(&std::fs::read(entry?.path())?).into_owned();
            found |= words.iter().all(|word| request.contains(word));
        }
        Ok(found)
    }

    /// A call of a command that it asks about, as its model makes it.
    fn asks(&self, command: &str) -> Value {
        match self.name {
            "acp:goose" => {
                json!([{ "type": "tool_use", "id": "call_1", "name": "shell", "input": { "command": command } }])
            }
            // It asks only to leave its sandbox.
            "acp:codex-acp" => {
                let input = json!({ "command": command, "sandbox_permissions": "require_escalated",
                    "justification": "It writes." });
                json!([{ "type": "tool_use", "id": "call_1", "name": "Bash", "input": input }])
            }
            _ => call("call_1", command),
        }
    }

    /// What the hosted agent says in its first turn.
    fn said_by_hosted(&self) -> Result<String> {
        let follow = ["attach", HOSTED, "--from", "0", "--json"];
        let mut attached = self.place.murmur(&follow).stdout(Stdio::piped()).spawn()?;
        let mut said = String::new();
        for line in BufReader::new(attached.stdout.take().context("no stdout")?).lines() {
            let line: Value = serde_json::from_str(&line?)?;
            match line["event_type"].as_str() {
                Some("chat") if line["payload"]["role"] == "assistant" => {
                    said.push_str(line["payload"]["text"].as_str().unwrap_or_default());
                }
                Some("result") => {
                    ensure!(line["payload"]["isError"] == false, "{line}");
                    break;
                }
                _ => {}
            }
        }
        drop((attached.kill(), attached.wait()));
        Ok(said)
    }

    /// The processes that work in its folders.
    fn processes(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc")? {
            let path = entry?.path();
            // Other users' processes and those that end meanwhile can't be read.
            let Ok(cwd) = std::fs::read_link(path.join("cwd")) else { continue };
            if cwd.starts_with(self.place.folder.path()) {
                found.push(std::fs::read_to_string(path.join("cmdline")).unwrap_or_default());
            }
        }
        Ok(found)
    }

    /// The line of the last beat.
    fn line(&self) -> Result<Value> {
        let line = self.place.run(&["log", "--json", "-n", "1"])?.stdout;
        let line: Value = serde_json::from_slice(&line)?;
        ensure!(line["backend"] == self.name, "{line}");
        Ok(line)
    }
}

fn denied(agent: &mut Agent) -> Result<()> {
    agent.prepare(&json!([agent.asks("sudo ls"), text("HEARTBEAT_OK")]), agent.checker)?;
    agent.place.murmur(&["beat"]).output()?;
    let line = agent.line()?;
    ensure!(line["denials"] == json!(["Bash"]), "{line}");
    if agent.name == "acp:codex-acp" {
        // It offers no denial after which the turn goes on.
        let error = "reported an error: the turn was canceled, after the guard refused Bash(sudo ls)";
        ensure!(line["error"] == error, "{line}");
        let decisions = std::fs::read_to_string(agent.place.folder.path().join("data/decisions.jsonl"))?;
        ensure!(decisions.contains("\"by\":{\"kind\":\"guard\""), "{decisions}");
        return Ok(());
    }
    ensure!(line["summary"] == "HEARTBEAT_OK, but the guard refused Bash(sudo ls)", "{line}");
    // Gemini reports no call that was denied.
    ensure!(line["numTurns"] == if agent.name == "acp:gemini" { 1 } else { 2 }, "{line}");
    Ok(())
}

/// A person answers.
fn answered(agent: &mut Agent, is_allowed: bool) -> Result<()> {
    let is_beat = agent.checker != "off";
    let checker = if is_beat { json!("manual") } else { Value::Null };
    agent.prepare(&json!([agent.asks("touch approved"), text("HEARTBEAT_OK")]), checker)?;
    agent.place.run(&["start"])?;
    let mut watch = Watch::follow(&agent.place, "permission")?;
    let begin = if is_beat {
        &["beat"][..]
    } else {
        &["agent", "start", "--backend", agent.name, "--agent-id", HOSTED, "Go"]
    };
    let begun = agent.place.murmur(begin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let request = watch.opened()?;
    let approved = agent.place.folder.path().join("site/approved");
    ensure!(request["tool"] == "Bash" && !approved.exists(), "{request}");
    agent
        .place
        .run(&[if is_allowed { "allow" } else { "deny" }, request["id"].as_str().context("no id")?])?;
    begun.wait_with_output()?;
    if !is_beat {
        agent.said_by_hosted()?;
        agent.place.run(&["agent", "stop", HOSTED])?;
        let journal = agent.place.run(&["log", "--json"])?.stdout;
        ensure!(journal.is_empty(), "{}", String::from_utf8_lossy(&journal));
        ensure!(approved.exists() == is_allowed, "ran: {}", approved.exists());
        return Ok(());
    }
    let line = agent.line()?;
    let denials = if is_allowed { Value::Null } else { json!(["Bash"]) };
    ensure!(line["outcome"] == "ok" && line["denials"] == denials && line["unguarded"].is_null(), "{line}");
    ensure!(approved.exists() == is_allowed, "ran: {}, {line}", approved.exists());
    Ok(())
}

/// The repository's own settings of every agent ask for a program to be run, and nobody trusts them.
fn untrusted(agent: &mut Agent) -> Result<()> {
    let site = agent.place.folder.path().join("site");
    let (ran, user) = (site.join("ran"), agent.place.folder.path().join("home/.codex/config.toml"));
    let git = Command::new("git").args(["init", "--quiet"]).current_dir(&site).status()?;
    ensure!(git.success(), "git: {git}");
    for folder in [".claude", ".codex", ".agents/plugins/own/hooks"] {
        std::fs::create_dir_all(site.join(folder))?;
    }
    let hook = json!({ "hooks": [{ "type": "command", "command": format!("touch {}", ran.display()) }] });
    let server = json!({ "command": "touch", "args": [&ran] });
    let files = [
        (
            ".claude/settings.json",
            json!({ "hooks": { "SessionStart": [&hook], "UserPromptSubmit": [&hook] } }).to_string(),
        ),
        (".mcp.json", json!({ "mcpServers": { "own": &server } }).to_string()),
        (".codex/config.toml", format!("[mcp_servers.own]\ncommand = \"touch\"\nargs = [{ran:?}]\n")),
        (".agents/plugins/own/plugin.json", json!({ "name": "own", "version": "1.0.0" }).to_string()),
        (
            ".agents/plugins/own/hooks/hooks.json",
            json!({ "hooks": { "SessionStart": [&hook], "UserPromptSubmit": [&hook] } }).to_string(),
        ),
        (".agents/plugins/own/.mcp.json", json!({ "mcpServers": { "own": &server } }).to_string()),
        (
            "opencode.json",
            json!({ "mcp": { "own": { "type": "local", "command": ["touch", &ran] } } }).to_string(),
        ),
    ];
    for (name, text) in files {
        std::fs::write(site.join(name), text)?;
    }
    agent.prepare(&json!([text("HEARTBEAT_OK")]), "off")?;
    let before = std::fs::read(&user)?;
    agent.place.run(&["beat"])?;
    let line = agent.line()?;
    ensure!(line["outcome"] == "ok", "{line}");
    ensure!(!ran.exists(), "the repository's program ran");
    ensure!(std::fs::read(&user)? == before, "{} was changed", user.display());
    Ok(())
}

fn failed(agent: &mut Agent) -> Result<()> {
    let refusal =
        json!({ "status": 400, "error": { "type": "invalid_request_error", "message": "scripted refusal" } });
    agent.prepare(&json!([refusal]), agent.checker)?;
    let beat = agent.place.murmur(&["beat"]).output()?;
    let line = agent.line()?;
    let says = line["error"].as_str().is_some_and(|error| error.contains("scripted refusal"));
    ensure!(!beat.status.success() && line["outcome"] == "error" && says, "{line}");
    ensure!(line["retryable"].is_null(), "{line}");
    Ok(())
}

/// The model takes longer than the beat may.
fn timed_out(agent: &mut Agent) -> Result<()> {
    let late = json!({ "delay_ms": 600_000, "content": text("HEARTBEAT_OK") });
    agent.prepare_for(&json!([late]), agent.checker, "15s")?;
    agent.place.murmur(&["beat"]).output()?;
    let line = agent.line()?;
    ensure!(line["outcome"] == "error" && line["timedOut"] == true, "{line}");
    let left = agent.processes()?;
    ensure!(left.is_empty(), "still running: {left:?}");
    Ok(())
}

fn resumed(agent: &mut Agent) -> Result<()> {
    agent.prepare(&json!([text("HEARTBEAT_OK")]), agent.checker)?;
    agent.place.run(&["beat"])?;
    let session = agent.line()?["sessionId"].as_str().context("no session")?.to_owned();
    if agent.name == "acp:gemini" {
        gemini::age_conversations(&agent.place)?;
    }
    agent.place.play(&json!([text("Resumed.")]))?;
    let start =
        ["agent", "start", "--backend", agent.name, "--agent-id", HOSTED, "--resume", &session, "Go on"];
    agent.place.run(&start)?;
    let said = agent.said_by_hosted()?;
    ensure!(said.contains("Resumed."), "{said}");
    // The model is told the earlier conversation.
    let knows = agent.was_told(&["Go on", "HEARTBEAT_OK", "Look after it"])?;
    ensure!(knows, "no request has both turns");
    Ok(())
}

/// What a repository's AGENTS.md says.
fn instructed(agent: &mut Agent) -> Result<()> {
    let site = agent.place.folder.path().join("site");
    std::fs::write(site.join("AGENTS.md"), "The backup is called zephyr.\n")?;
    agent.prepare(&json!([text("HEARTBEAT_OK")]), "off")?;
    agent.place.run(&["beat"])?;
    ensure!(agent.was_told(&["called zephyr"])?, "no request has it");
    Ok(())
}
