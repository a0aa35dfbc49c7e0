//! The real Claude Code while nobody watches: an overloaded API, gates, budgets, MCP servers, watchdogs, pauses and
//! retention.

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sys::clock;

use crate::permits::configure;
use crate::place::Place;

/// `murmur log --follow --json`.
pub(crate) struct Log {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Log {
    pub(crate) fn follow(place: &Place) -> Result<Self> {
        let mut child = place.murmur(&["log", "--follow", "--json"]).stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().context("no stdout")?;
        Ok(Self { child, lines: BufReader::new(stdout).lines() })
    }

    pub(crate) fn next(&mut self) -> Result<Value> {
        Ok(serde_json::from_str(&self.lines.next().context("the log ended")??)?)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A beat that an overloaded API fails is retried, and once it gets through, nothing is left of the failure.
pub(crate) fn an_overload_is_retried(claude: &Path) -> Result<()> {
    let overloaded =
        json!({ "status": 529, "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let mut place = Place::new(claude, &json!([overloaded]))?;
    let started = place.murmur(&["start"]).env("CLAUDE_CODE_MAX_RETRIES", "1").output()?;
    ensure!(started.status.success(), "{started:?}");
    let mut log = Log::follow(&place)?;
    configure(&place, &json!({ "lastRun": null, "retry": { "max": 1, "backoff": "1s" } }))?;
    let failed = log.next()?;
    ensure!(failed["outcome"] == "error" && failed["retryable"] == true, "{failed}");
    let done = json!([{ "type": "text", "text": "HEARTBEAT_OK" }]);
    place.play(&json!([done, done, done]))?;
    let retried = log.next()?;
    ensure!(retried["outcome"] == "ok", "{retried}");
    let status: Value = serde_json::from_slice(&place.run(&["status", "--json"])?.stdout)?;
    ensure!(status["heartbeats"][0]["failures"] == Value::Null, "{status}");
    Ok(())
}

/// A beat that ends because Claude Code can't reach the API, which leaves no HTTP status, may be retried.
pub(crate) fn an_unreachable_api_is_retried(claude: &Path) -> Result<()> {
    let place = Place::new(claude, &json!([]))?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    configure(&place, &json!({}))?;
    let mut command = place.murmur(&["beat", "--json"]);
    let unreachable =
        ended(command.env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9").env("CLAUDE_CODE_MAX_RETRIES", "1"))?;
    ensure!(unreachable["outcome"] == "error" && unreachable["retryable"] == true, "{unreachable}");
    ensure!(unreachable["timedOut"] == Value::Null && unreachable["exit"]["code"] == 1, "{unreachable}");
    Ok(())
}

/// A beat whose time is up while Claude Code still tries an overloaded API again, or one that it can't reach, may be
/// retried.
pub(crate) fn a_timeout_during_retries(claude: &Path) -> Result<()> {
    let overloaded =
        json!({ "status": 529, "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let place = Place::new(claude, &json!([overloaded]))?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    configure(&place, &json!({ "timeout": "8s" }))?;
    let overloaded = beat(&place)?;
    let unreachable =
        ended(place.murmur(&["beat", "--json"]).env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"))?;
    for beat in [overloaded, unreachable] {
        ensure!(beat["outcome"] == "error" && beat["retryable"] == true, "{beat}");
        ensure!(beat["timedOut"] == true, "{beat}");
    }
    Ok(())
}

/// A gate that finds nothing keeps the agent from starting, its output reaches the prompt, and success is verified.
pub(crate) fn gates(claude: &Path) -> Result<()> {
    let done = json!([{ "type": "text", "text": "HEARTBEAT_OK" }]);
    let place = Place::new(claude, &json!([done]))?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    for (name, script) in [
        ("nothing.sh", "echo nothing new; exit 78"),
        ("new.sh", "echo 3 new mails"),
        ("check.sh", "echo the site is still down; exit 1"),
    ] {
        let path = place.folder.path().join("site").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755))?;
    }
    configure(&place, &json!({ "when": "./nothing.sh" }))?;
    let skipped: Value = serde_json::from_slice(&place.run(&["beat", "--json"])?.stdout)?;
    ensure!(skipped["outcome"] == "skipped" && skipped["summary"] == "nothing new", "{skipped}");
    ensure!(skipped["sessionId"] == Value::Null && skipped["costUsd"] == Value::Null, "{skipped}");
    let printed = skipped["gateCapture"].as_str().context("its gate's output is not captured")?;
    let shown = place.run(&["capture", "show", printed])?.stdout;
    ensure!(shown == b"== when: ./nothing.sh\nnothing new\n", "{}", String::from_utf8_lossy(&shown));

    configure(&place, &json!({ "when": "./new.sh", "verify": "./check.sh" }))?;
    let claimed: Value = serde_json::from_slice(&place.run(&["beat", "--json"])?.stdout)?;
    ensure!(claimed["outcome"] == "attention", "{claimed}");
    let summary = claimed["summary"].as_str().unwrap_or_default();
    ensure!(summary.contains("the site is still down"), "{claimed}");
    let asked = requests(&place)?;
    ensure!(asked.contains("3 new mails"), "the gate's output is not in the prompt");
    Ok(())
}

/// Everything that the model was asked.
pub(crate) fn requests(place: &Place) -> Result<String> {
    let mut all = String::new();
    for entry in std::fs::read_dir(place.requests())? {
        all.push_str(&String::from_utf8_lossy(&std::fs::read(entry?.path())?));
    }
    Ok(all)
}

/// The line of a beat, which may be an error.
pub(crate) fn beat(place: &Place) -> Result<Value> {
    ended(&mut place.murmur(&["beat", "--json"]))
}

/// The journal line that `beat` prints.
fn ended(beat: &mut Command) -> Result<Value> {
    let output = beat.output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).context(said)
}

/// A beat over its cost limit ends as an error, and its cost holds the workspace until the month ends.
pub(crate) fn budget(claude: &Path) -> Result<()> {
    let call = json!([{ "type": "tool_use", "id": "toolu_01", "name": "Bash", "input": { "command": "touch ran" } }]);
    let place = Place::new(claude, &json!([call, [{ "type": "text", "text": "HEARTBEAT_OK" }]]))?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    configure(&place, &json!({ "maxBudgetUsd": 0.0001, "budget": { "month": "0.0001 USD" } }))?;
    let exceeded = beat(&place)?;
    ensure!(exceeded["outcome"] == "error", "{exceeded}");
    let error = "exceeded maxBudgetUsd: Reached maximum budget ($0.0001)";
    ensure!(exceeded["error"] == error, "{exceeded}");
    ensure!(exceeded["costUsd"].as_f64().is_some_and(|cost| cost > 0.0001), "{exceeded}");
    // On a busy machine, Claude Code can start the call before it knows what the answer cost.
    let refused = place.murmur(&["beat"]).output()?;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(!refused.status.success() && said.contains("the budget of 0.0001 USD a month"), "{said}");
    let usage: Value = serde_json::from_slice(&place.run(&["usage", "--json"])?.stdout)?;
    // `usage` adds billionths of a dollar; 2.1.110 reports 0.00033000000000000005.
    let cost = |value: &Value| value["costUsd"].as_f64().context("no cost");
    ensure!((cost(&usage["total"])? - cost(&exceeded)?).abs() < 1e-9, "{exceeded} {usage}");

    configure(&place, &json!({ "budget": { "day": "1 tokens" } }))?;
    let refused = place.murmur(&["beat"]).output()?;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(!refused.status.success() && said.contains("the budget of 1 tokens a day"), "{said}");
    Ok(())
}

/// A required MCP server that can't start costs nothing; one that only the agent can start, and that dies, makes the
/// beat an error.
pub(crate) fn dead_mcp_server(claude: &Path) -> Result<()> {
    let place = Place::new(claude, &json!([[{ "type": "text", "text": "HEARTBEAT_OK" }]]))?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    configure(&place, &json!({ "requires": ["mail"] }))?;
    let unknown = beat(&place)?;
    let why = "the required MCP server \"mail\" is not configured";
    ensure!(unknown["error"].as_str().is_some_and(|error| error.starts_with(why)), "{unknown}");
    ensure!(unknown["exit"] == Value::Null && requests(&place)?.is_empty(), "{unknown}");
    let serve_with = |command: &str| {
        let servers =
            json!({ "mcpServers": { "mail": { "type": "stdio", "command": command, "args": [] } } });
        std::fs::write(place.folder.path().join("home/.claude.json"), servers.to_string())
    };
    serve_with("/nonexistent/mail-server")?;
    let missing = beat(&place)?;
    let why =
        "the required MCP server \"mail\" cannot start: /nonexistent/mail-server: No such file or directory";
    ensure!(missing["error"].as_str().is_some_and(|error| error.starts_with(why)), "{missing}");
    ensure!(missing["exit"] == Value::Null && requests(&place)?.is_empty(), "{missing}");

    serve_with("false")?;
    let died = beat(&place)?;
    let why = "the required MCP server \"mail\" cannot start: it ended with exit status: 1";
    ensure!(died["error"].as_str().is_some_and(|error| error.starts_with(why)), "{died}");
    ensure!(died["exit"] == Value::Null && requests(&place)?.is_empty(), "{died}");
    // murmur doesn't start what only the agent can expand.
    serve_with("${MAIL_SERVER:-false}")?;
    let died = beat(&place)?;
    let why = "a required MCP server is not available: \"mail\" did not start";
    ensure!(died["error"] == why, "{died}");
    Ok(())
}

/// A model that says nothing, and a command that does not end, are ended by the watchdog that the journal line names.
pub(crate) fn watchdogs(claude: &Path) -> Result<()> {
    let silent = json!([{ "delay_ms": 600_000, "content": [{ "type": "text", "text": "HEARTBEAT_OK" }] }]);
    let place = Place::new(claude, &silent)?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    configure(&place, &json!({ "idleTimeout": "3s" }))?;
    let silent = beat(&place)?;
    ensure!(silent["watchdog"] == "idleTimeout" && silent["outcome"] == "error", "{silent}");
    let error = silent["error"].as_str().unwrap_or_default();
    ensure!(error.starts_with("no output from the model for 3s"), "{silent}");

    let call = json!([{ "type": "tool_use", "id": "toolu_01", "name": "Bash", "input": { "command": "tail -f /dev/null" } }]);
    let place = Place::new(claude, &json!([call, [{ "type": "text", "text": "HEARTBEAT_OK" }]]))?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    configure(&place, &json!({ "toolTimeout": "3s" }))?;
    let stuck = beat(&place)?;
    ensure!(stuck["watchdog"] == "toolTimeout" && stuck["outcome"] == "error", "{stuck}");
    Ok(())
}

/// A due heartbeat waits while it is paused and outside its active hours, and costs nothing meanwhile.
pub(crate) fn pause_and_active_hours(claude: &Path) -> Result<()> {
    let done = json!([{ "type": "text", "text": "HEARTBEAT_OK" }]);
    let place = Place::new(claude, &json!([done, done]))?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    let tomorrow = clock::now().to_zoned(jiff::tz::TimeZone::UTC).tomorrow()?.strftime("%a");
    let hours = json!({ "lastRun": null, "tz": "UTC", "activeHours": format!("{tomorrow} 00:00-24:00 UTC") });
    configure(&place, &hours)?;
    place.run(&["start"])?;
    let heartbeat = || -> Result<Value> {
        let mut status: Value = serde_json::from_slice(&place.run(&["status", "--json"])?.stdout)?;
        Ok(status["heartbeats"][0].take())
    };
    let waits = heartbeat()?;
    ensure!(waits["running"] == Value::Null, "{waits}");
    place.run(&["pause", "--all", "--reason", "release day"])?;
    let mut log = Log::follow(&place)?;
    configure(&place, &json!({ "lastRun": null }))?;
    // The daemon reads the configuration before it answers, and would have started it.
    let paused = heartbeat()?;
    ensure!(paused["paused"]["reason"] == "release day" && paused["running"] == Value::Null, "{paused}");
    ensure!(requests(&place)?.is_empty(), "the model was asked");
    place.run(&["resume", "--all"])?;
    let ran = log.next()?;
    ensure!(ran["outcome"] == "ok", "{ran}");
    Ok(())
}

/// Garbage collection removes the old capture of a beat, and keeps its heartbeat's newest one.
pub(crate) fn retention(claude: &Path) -> Result<()> {
    let done = json!([{ "type": "text", "text": "HEARTBEAT_OK" }]);
    let place = Place::new(claude, &json!([done, done, done]))?;
    std::fs::create_dir_all(place.folder.path().join("data/config"))?;
    configure(&place, &json!({}))?;
    let (old, new) = (beat(&place)?, beat(&place)?);
    ensure!(old["outcome"] == "ok" && new["outcome"] == "ok", "{old} {new}");
    let collect = |args: &[&str]| -> Result<String> {
        let output = place.run(args)?;
        Ok(String::from_utf8(output.stdout)?)
    };
    let kept = collect(&["gc", "--dry-run"])?;
    ensure!(kept.contains("nothing to remove"), "{kept}");
    let id = |line: &Value| line["capture"].as_str().unwrap_or("none").to_owned();
    // Larger than the smallest `max`: what follows a capture in its file isn't read.
    let sessions = place.folder.path().join("home/.local/state/derun/sessions");
    let file = sessions.join(format!("{}.zst", id(&old)));
    std::fs::File::options().append(true).open(file)?.set_len(2 << 20)?;
    let settings = place.folder.path().join("data/config/config.toml");
    std::fs::write(settings, "[captures]\nmax = \"1MiB\"\n")?;
    let removed = collect(&["gc"])?;
    ensure!(removed.contains(&id(&old)) && !removed.contains(&id(&new)), "{removed}");
    let again = collect(&["gc"])?;
    ensure!(again.contains("nothing to remove"), "{again}");
    place.run(&["capture", "show", &id(&new)])?;
    Ok(())
}
