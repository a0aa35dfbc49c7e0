//! What starts the real Claude Code besides time, and what keeps it from starting: changed files, new commits, failures
//! in a row, and what is missing.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::limits::{heartbeat, says};
use crate::permits::configure;
use crate::place::Place;
use crate::unattended::{Log, beat, requests};

/// A workspace whose agent makes this call in each beat.
fn calling(claude: &Path, call: impl FnOnce(&Path) -> Value) -> Result<Place> {
    let mut place = Place::new(claude, &json!([[]]))?;
    let mut call = call(&place.folder.path().join("site"));
    call["type"] = json!("tool_use");
    call["id"] = json!("toolu_01");
    place.play(&json!([[call], [{ "type": "text", "text": "HEARTBEAT_OK" }]]))?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    Ok(place)
}

fn outcome(place: &Place, expected: &str) -> Result<Value> {
    let line = beat(place)?;
    ensure!(line["outcome"] == expected, "not {expected}: {line}");
    Ok(line)
}

/// Changed files start a beat once, and those that its own agent writes start none.
pub(crate) fn changed_files(claude: &Path) -> Result<()> {
    let place = calling(
        claude,
        |site| json!({ "name": "Write", "input": { "file_path": site.join("notes/own.md"), "content": "own" } }),
    )?;
    let notes = place.folder.path().join("site/notes");
    std::fs::create_dir(&notes)?;
    configure(&place, &json!({ "when": { "changed": "notes/**" } }))?;
    outcome(&place, "ok")?;
    ensure!(notes.join("own.md").exists(), "it wrote nothing");
    let skipped = outcome(&place, "skipped")?;
    ensure!(skipped["summary"] == "nothing changed in notes/**", "{skipped}");
    std::fs::write(notes.join("a-persons.md"), "new")?;
    outcome(&place, "ok")?;
    ensure!(requests(&place)?.contains("a-persons.md"), "it isn't told what changed");
    outcome(&place, "skipped")?;
    Ok(())
}

/// New commits start a beat once, and those of its own agent start none.
pub(crate) fn new_commits(claude: &Path) -> Result<()> {
    const GIT: &str = "git -c user.name=x -c user.email=x@example.com";
    let place = calling(claude, |_| {
        let command = format!("{GIT} commit --quiet --allow-empty -m own");
        json!({ "name": "Bash", "input": { "command": command, "description": "Commit" } })
    })?;
    let git = |script: &str| -> Result<String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(place.folder.path().join("site"));
        let output = command.env("HOME", place.folder.path().join("home")).output()?;
        ensure!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    };
    git(&format!("git init --quiet && {GIT} commit --quiet --allow-empty -m one"))?;
    configure(&place, &json!({ "when": { "git": "new-commits" } }))?;
    outcome(&place, "ok")?;
    ensure!(git("git log --format=%s")? == "own\none\n", "it committed nothing");
    let skipped = outcome(&place, "skipped")?;
    ensure!(skipped["summary"] == "no new commits", "{skipped}");
    git(&format!("{GIT} commit --quiet --allow-empty -m two"))?;
    outcome(&place, "ok")?;
    outcome(&place, "skipped")?;
    Ok(())
}

/// A file that changes starts a heartbeat without a schedule, once it stays unchanged.
pub(crate) fn on_a_change(claude: &Path) -> Result<()> {
    let place = Place::new(claude, &says("HEARTBEAT_OK"))?;
    let inbox = place.folder.path().join("site/inbox");
    std::fs::create_dir(&inbox)?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    configure(&place, &json!({ "cron": null, "on": { "path": "inbox/**" } }))?;
    place.run(&["start"])?;
    let mut log = Log::follow(&place)?;
    let waits = heartbeat(&place)?;
    ensure!(waits["running"] == Value::Null && waits["nextRun"] == Value::Null, "{waits}");
    for name in ["one", "two"] {
        std::fs::write(inbox.join(name), "new")?;
    }
    let ran = log.next()?;
    ensure!(ran["outcome"] == "ok", "{ran}");
    Ok(())
}

/// A heartbeat that keeps failing runs less often, which is reported once; a person resumes it.
pub(crate) fn breaker(claude: &Path) -> Result<()> {
    let refused = json!({ "status": 400, "error": { "type": "invalid_request_error", "message": "no" } });
    let mut place = Place::new(claude, &json!([refused]))?;
    place.run(&["start"])?;
    let mut log = Log::follow(&place)?;
    configure(&place, &json!({ "lastRun": null, "cron": null, "interval": "1h", "breaker": 2 }))?;
    let one = log.next()?;
    outcome(&place, "error")?;
    let (two, report) = (log.next()?, log.next()?);
    ensure!(one["outcome"] == "error" && two["outcome"] == "error", "{one} {two}");
    ensure!(report["outcome"] == "attention" && report["kind"] == "failing", "{report}");
    let held = heartbeat(&place)?;
    ensure!(held["held"]["why"] == "2 failures in a row", "{held}");
    place.play(&says("HEARTBEAT_OK"))?;
    place.run(&["resume", "site"])?;
    let resumed = heartbeat(&place)?;
    ensure!(resumed["held"] == Value::Null && resumed["failures"] == Value::Null, "{resumed}");
    outcome(&place, "ok")?;
    Ok(())
}

/// What is missing is found before the agent starts, and costs nothing.
pub(crate) fn preflight(claude: &Path) -> Result<()> {
    let place = Place::new(claude, &says("HEARTBEAT_OK"))?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    let fails = |line: &Value, why: &str| -> Result<()> {
        ensure!(line["error"].as_str().is_some_and(|error| error.contains(why)), "not {why}: {line}");
        ensure!(line["exit"] == Value::Null && requests(&place)?.is_empty(), "{line}");
        Ok(())
    };
    configure(&place, &json!({ "minFree": "9999TiB" }))?;
    fails(&beat(&place)?, "less than \"minFree\", 9999 TiB")?;
    configure(&place, &json!({}))?;
    let mut logged_out = place.murmur(&["beat", "--json"]);
    // Any of its variables could supply credentials.
    let variables: Vec<_> = logged_out.get_envs().map(|(name, _)| name.to_owned()).collect();
    let is_its_own = |name: &str| name.starts_with("ANTHROPIC_") || name.starts_with("CLAUDE_");
    for name in variables.iter().filter(|name| name.to_str().is_some_and(is_its_own)) {
        logged_out.env_remove(name);
    }
    let output = logged_out.output()?;
    fails(&serde_json::from_slice(&output.stdout)?, "not logged in")?;
    let output = place.murmur(&["beat", "--json"]).env("PATH", "/usr/bin:/bin").output()?;
    fails(&serde_json::from_slice(&output.stdout)?, "claude not found")?;
    outcome(&place, "ok")?;
    Ok(())
}

/// A capture that is larger than allowed keeps its beginning and end, and says what is missing.
pub(crate) fn large_capture(claude: &Path) -> Result<()> {
    let text = format!("ATTENTION: begin {} the end", "0123456789 ".repeat(150_000));
    let place = Place::new(claude, &says(&text))?;
    std::fs::create_dir_all(place.folder.path().join("data/config"))?;
    let settings = place.folder.path().join("data/config/config.toml");
    std::fs::write(settings, "[captures]\nmax-per-run = \"1MiB\"\n")?;
    configure(&place, &json!({}))?;
    let line = outcome(&place, "attention")?;
    let capture = line["capture"].as_str().unwrap_or_default();
    let shown = place.run(&["capture", "show", capture, "--raw"])?;
    let (kept, note) = (String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
    ensure!(kept.len() <= 1 << 20, "{} bytes are kept", kept.len());
    let is_whole = kept.starts_with("{\"type\":\"system\"") && kept.trim_end().ends_with('}');
    ensure!(is_whole && kept.contains("\"subtype\":\"init\""), "its beginning or end is missing: {kept}");
    ensure!(note.contains("were not kept"), "{note}");
    Ok(())
}
