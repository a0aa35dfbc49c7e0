//! The pulses of the real Claude Code: of a session that a person starts, whose
//! settings have other hooks and rules, and of a beat and a hosted agent, which need no setup.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::live::Events;
use crate::permits::configure;
use crate::place::Place;

/// What an agent did, according to its activity: states, tools and actions.
const DID: [&str; 6] = [
    "starting  session began (startup)",
    "running  Go.",
    "running Bash echo one",
    "running Bash exit 3",
    "idle  ATTENTION: done",
    "exited  session ended (other)",
];

/// A user's settings: a rule, and another hook.
const FOREIGN: &str = r#"{
  "permissions": { "deny": ["Bash(touch forbidden)"] },
  "hooks": {
    "PostToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "cat >> \"$HOME/foreign\"" }] }
    ]
  }
}
"#;

/// A call that succeeds, one that fails, and one that a user's rule forbids.
fn script() -> Value {
    let call = |id: &str, command: &str| json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]);
    json!([
        call("toolu_1", "echo one"),
        call("toolu_2", "exit 3"),
        call("toolu_3", "touch forbidden"),
        [{"type": "text", "text": "ATTENTION: done"}],
    ])
}

/// A home whose settings have a rule and another hook.
fn foreign(place: &Place) -> Result<()> {
    let folder = place.folder.path().join("home/.claude");
    std::fs::create_dir_all(&folder)?;
    Ok(std::fs::write(folder.join("settings.json"), FOREIGN)?)
}

/// The same home with the hooks that write pulses added.
fn set_up(place: &Place) -> Result<()> {
    foreign(place)?;
    place.run(&["setup", "hooks"])?;
    // It wrote its own pulse and removed it.
    place.run(&["setup", "hooks", "--check"])?;
    Ok(())
}

fn json_lines(path: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// An agent's pulse, and all its actions.
fn pulse(place: &Place, agent: &str) -> Result<(Value, Vec<Value>)> {
    let data = place.folder.path().join("data");
    let path = data.join(format!("heartbeats/{agent}.json"));
    let pulse = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    let activity = json_lines(&data.join("agents").join(agent).join("activity.jsonl"))?;
    let pulse: Value = serde_json::from_slice(&pulse)?;
    // The end of a turn, and of a session, keeps the last call.
    let mut expected = activity.last().context("no activity")?.clone();
    let is_call = |line: &&Value| line["tool_name"] != "";
    let call = activity.iter().rev().find(is_call).context("no call")?;
    for kept in ["tool_name", "last_action", "tool_use_id", "duration_ms"] {
        expected[kept] = call[kept].clone();
    }
    ensure!(pulse == expected, "the last of {activity:?} is not {pulse}");
    Ok((pulse, activity))
}

/// An activity in the form of `DID`.
fn did(activity: &[Value]) -> Vec<String> {
    let text = |pulse: &Value, key: &str| pulse[key].as_str().unwrap_or("?").to_owned();
    let line = |pulse: &Value| {
        format!("{} {} {}", text(pulse, "state"), text(pulse, "tool_name"), text(pulse, "last_action"))
    };
    activity.iter().map(line).collect()
}

/// The only agent with a pulse.
fn only_agent(place: &Place) -> Result<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(place.folder.path().join("data/heartbeats"))? {
        names.push(entry?.path().file_stem().context("no name")?.to_string_lossy().into_owned());
    }
    ensure!(names.len() == 1, "pulses of {names:?}");
    Ok(names.remove(0))
}

/// The calls ran, the failed one has its error, and the forbidden one was not made.
fn calls_are_told(place: &Place, activity: &[Value]) -> Result<()> {
    let failed = activity.iter().find(|pulse| pulse["tool_use_id"] == "toolu_2").context("no failed call")?;
    ensure!(failed["error"] == "Exit code 3" && failed["duration_ms"].is_u64(), "{failed}");
    ensure!(activity.iter().all(|pulse| pulse["tool_use_id"] != "toolu_3"), "{activity:?}");
    ensure!(!place.folder.path().join("site/forbidden").exists(), "the rule was not obeyed");
    Ok(())
}

/// A session that a person starts, with hooks set up next to others.
pub(crate) fn of_a_session(claude: &Path) -> Result<()> {
    let place = Place::new(claude, &script())?;
    set_up(&place)?;
    let mut child = place
        .claude(&["--print", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"])
        .arg("--dangerously-skip-permissions")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let message = json!({"type": "user", "message": {"role": "user", "content": "Go."}});
    stdin.write_all(format!("{message}\n").as_bytes())?;
    let mut session = None;
    let mut lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
    for line in lines.by_ref() {
        let line: Value = serde_json::from_str(&line?)?;
        session = session.or_else(|| line["session_id"].as_str().map(str::to_owned));
        if line["type"] == "result" {
            break;
        }
    }
    let session = session.context("no session")?;
    let agent = format!("claude-{session}");
    let (idle, _) = pulse(&place, &agent)?;
    ensure!(idle["state"] == "idle" && idle["pid"] == child.id(), "its PID is {}: {idle}", child.id());
    ensure!(idle["workspace"] == place.folder.path().join("site").to_string_lossy().as_ref(), "{idle}");
    drop(stdin);
    for line in lines {
        line?;
    }
    ensure!(child.wait()?.success());

    let (_, activity) = pulse(&place, &agent)?;
    ensure!(did(&activity) == DID, "it did {:#?}", did(&activity));
    ensure!(activity.iter().all(|pulse| pulse["session_id"] == session.as_str()), "{activity:?}");
    calls_are_told(&place, &activity)?;
    let foreign = json_lines(&place.folder.path().join("home/foreign"))?;
    ensure!(foreign.len() == 1 && foreign[0]["tool_use_id"] == "toolu_1", "the other hook read {foreign:?}");
    place.run(&["setup", "hooks", "--remove"])?;
    let settings = std::fs::read_to_string(place.folder.path().join("home/.claude/settings.json"))?;
    ensure!(settings == FOREIGN, "what is left is {settings}");
    Ok(())
}

/// What murmur starts: with nothing set up, and if the user has set up hooks as well.
pub(crate) fn of_what_murmur_starts(claude: &Path) -> Result<()> {
    for (name, prepare) in [("nothing set up", foreign as fn(&Place) -> Result<()>), ("set up", set_up)] {
        beat(claude, prepare).with_context(|| format!("a beat, {name}"))?;
        host(claude, prepare).with_context(|| format!("a host, {name}"))?;
    }
    Ok(())
}

fn beat(claude: &Path, prepare: fn(&Place) -> Result<()>) -> Result<()> {
    let place = Place::new(claude, &script())?;
    prepare(&place)?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    configure(&place, &json!({}))?;
    let said = place.murmur(&["beat", "--json"]).output()?;
    let entry: Value = serde_json::from_slice(&said.stdout)?;
    ensure!(entry["denials"] == json!(["Bash"]), "{entry}");
    let (_, activity) = pulse(&place, &only_agent(&place)?)?;
    let mut did = did(&activity);
    ensure!(did.len() == DID.len() && did[1].starts_with("running  "), "it did {did:#?}");
    did[1] = DID[1].to_owned();
    ensure!(did == DID, "it did {did:#?}");
    calls_are_told(&place, &activity)
}

fn host(claude: &Path, prepare: fn(&Place) -> Result<()>) -> Result<()> {
    let place = Place::new(claude, &script())?;
    prepare(&place)?;
    place.run(&["start"])?;
    // By default, a hosted agent's calls need a person's approval.
    configure(&place, &json!({ "permissionsChecker": "off" }))?;
    place.run(&["host", "spawn", "Go.", "--agent-id", "conformed"])?;
    let mut events = Events::follow(&place)?;
    events.until_state("idle")?;
    let status: Value =
        serde_json::from_slice(&place.run(&["host", "status", "conformed", "--json"])?.stdout)?;
    let (idle, _) = pulse(&place, "conformed")?;
    ensure!(idle["agent_id"] == "conformed" && idle["pid"] == status["agentPid"], "{idle} and {status}");
    place.run(&["host", "stop", "conformed"])?;
    events.until_state("exited")?;
    let (_, activity) = pulse(&place, "conformed")?;
    ensure!(did(&activity) == DID, "it did {:#?}", did(&activity));
    calls_are_told(&place, &activity)
}
