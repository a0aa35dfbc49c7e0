//! The real Claude Code under murmur's hook: guarded calls are refused, a person's answer counts, a question is
//! answered, and a waiting beat continues after the daemon was killed.

use std::fs::DirBuilder;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use sys::clock;

use crate::place::{MCP_SERVER, Place};

/// `murmur permission list --watch --json`, or the same for questions.
pub(crate) struct Watch {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watch {
    pub(crate) fn follow(place: &Place, kind: &str) -> Result<Self> {
        let mut child = place.murmur(&[kind, "list", "--watch", "--json"]).stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().context("no stdout")?;
        Ok(Self { child, lines: BufReader::new(stdout).lines() })
    }

    /// The next request.
    pub(crate) fn opened(&mut self) -> Result<Value> {
        for line in self.lines.by_ref() {
            let line: Value = serde_json::from_str(&line?)?;
            if line["opened"].is_object() {
                return Ok(line["opened"].clone());
            }
        }
        bail!("nothing waits any more")
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) fn call(id: &str, command: &str) -> Value {
    json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}])
}

pub(crate) fn configure(place: &Place, more: &Value) -> Result<()> {
    let at = |name: &str| place.folder.path().join(name);
    std::fs::write(at("site/HEARTBEAT.md"), "Look after it.\n")?;
    // A heartbeat that never ran is due at once: a daemon would run it next to the check's own beat.
    let ran = clock::rfc3339(clock::now());
    let mut entry = json!({ "path": at("site"), "cron": "0 0 1 1 *", "maxTurns": 9, "lastRun": ran });
    for (key, value) in more.as_object().into_iter().flatten() {
        match (value, entry.as_object_mut()) {
            (Value::Null, Some(entry)) => _ = entry.remove(key),
            _ => entry[key] = value.clone(),
        }
    }
    std::fs::write(at("data/config.json"), json!({ "workspaces": [entry] }).to_string())?;
    Ok(())
}

/// Rules that deny every call, so that no beat begins.
const BROKEN_RULES: [(&str, Break); 2] = [
    ("the rules cannot be read", |place| {
        Ok(std::fs::create_dir_all(place.folder.path().join("data/config/permissions.toml"))?)
    }),
    ("the rules are wrong", |place| {
        let folder = place.folder.path().join("data/config");
        std::fs::create_dir_all(&folder)?;
        Ok(std::fs::write(folder.join("permissions.toml"), "[[rules]\n")?)
    }),
];

/// The ways in which a hook can fail, and how to cause each.
const FAILURES: [(&str, Break); 7] = [
    ("the daemon is away", |place| configure(place, &json!({ "permissionsChecker": "manual" }))),
    ("the daemon does not answer", |place| {
        let socket = place.folder.path().join("data/murmur.sock");
        // It is never accepted, and stays open until the process ends.
        std::mem::forget(std::os::unix::net::UnixListener::bind(socket)?);
        configure(place, &json!({ "permissionsChecker": "manual", "approvalWait": "1s" }))
    }),
    ("the decision cannot be written down", |place| {
        Ok(std::fs::create_dir_all(place.folder.path().join("data/decisions.jsonl"))?)
    }),
    ("the hook is killed", |place| place.replace_hook("kill -9 $$")),
    ("the hook's shell is killed", |place| place.replace_hook("kill -9 $PPID")),
    ("the hook panics", |place| place.replace_hook("exit 101")),
    ("the hook cannot be executed", |place| place.replace_hook("").and_then(|()| place.forbid_hook())),
];

/// Causes a failure.
type Break = fn(&Place) -> Result<()>;

pub(crate) fn the_hook_fails_closed(claude: &Path) -> Result<()> {
    let script = json!([call("toolu_1", "touch made"), [{ "type": "text", "text": "HEARTBEAT_OK" }]]);
    for (name, break_it) in FAILURES {
        let place = broken(claude, &script, break_it).context(name)?;
        let ended = place.murmur(&["beat", "--json"]).output()?;
        let entry: Value = serde_json::from_slice(&ended.stdout).context(name)?;
        ensure!(ended.status.code() == Some(1) && entry["outcome"] == "error", "{name}: {entry}");
        ensure!(entry["denials"] == json!(["Bash"]), "{name}: {entry}");
        ensure!(!place.folder.path().join("site/made").exists(), "{name}: the call ran");
    }
    for (name, break_it) in BROKEN_RULES {
        let place = broken(claude, &script, break_it).context(name)?;
        let ended = place.murmur(&["beat", "--json"]).output()?;
        let entry: Value = serde_json::from_slice(&ended.stdout)?;
        let why = entry["error"].as_str().unwrap_or_default();
        ensure!(ended.status.code() == Some(1), "{name}: {}", ended.status);
        ensure!(why.starts_with("every call would be denied: "), "{name}: {entry}");
        ensure!(!place.folder.path().join("site/made").exists(), "{name}: the call ran");
    }
    Ok(())
}

/// The hook's shell is killed before a call of an MCP tool, whether it says that it only reads or not. Without
/// `onFailure`, Claude Code runs the call, which ends the beat.
pub(crate) fn the_hooks_shell_is_killed(claude: &Path) -> Result<()> {
    let mark = json!([{ "type": "tool_use", "id": "toolu_1", "name": "mcp__own__mark", "input": {} }]);
    let script = json!([mark, [{ "type": "text", "text": "HEARTBEAT_OK" }]]);
    for hint in ["", "reads"] {
        let place = broken(claude, &script, |place| place.replace_hook("kill -9 $PPID"))?;
        let at = |name: &str| place.folder.path().join(name);
        std::fs::write(at("server.js"), MCP_SERVER)?;
        let args = json!([at("server.js"), at("site/ran"), hint]);
        let servers =
            json!({ "mcpServers": { "own": { "type": "stdio", "command": "node", "args": args } } });
        std::fs::write(at("home/.claude.json"), servers.to_string())?;
        let ended = place.murmur(&["beat", "--json"]).output()?;
        let entry: Value = serde_json::from_slice(&ended.stdout)?;
        let error = entry["error"].as_str().unwrap_or_default();
        ensure!(entry["outcome"] == "error", "{hint}: {entry}");
        let expected = if at("site/ran").exists() {
            "a call ran without a decision: "
        } else {
            "murmur's hook failed: "
        };
        ensure!(error.starts_with(&format!("{expected}mcp__own__mark")), "{hint}: {entry}");
    }
    Ok(())
}

/// An environment with a data folder in which `break_it` was applied.
fn broken(claude: &Path, script: &Value, break_it: Break) -> Result<Place> {
    let place = Place::new(claude, script)?;
    DirBuilder::new().mode(0o700).create(place.folder.path().join("data"))?;
    configure(&place, &json!({}))?;
    break_it(&place)?;
    Ok(place)
}

/// The journal's last line.
fn journal(place: &Place) -> Result<Vec<Value>> {
    let said = place.run(&["log", "--json"])?;
    String::from_utf8(said.stdout)?.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

pub(crate) fn a_person_decides(claude: &Path) -> Result<()> {
    let question = json!([{ "question": "Which one?", "header": "Pick", "multiSelect": false,
        "options": [{ "label": "A", "description": "one" }, { "label": "B", "description": "two" }] }]);
    let script = json!([
        call("toolu_1", "sudo true"),
        call("toolu_2", "touch allowed"),
        call("toolu_3", "touch denied"),
        [{ "type": "tool_use", "id": "toolu_4", "name": "AskUserQuestion", "input": { "questions": question } }],
        [{ "type": "text", "text": "HEARTBEAT_OK" }],
    ]);
    let place = Place::new(claude, &script)?;
    place.run(&["start"])?;
    configure(&place, &json!({ "permissionsChecker": "manual", "approvalWait": "60s" }))?;
    let (mut calls, mut questions) =
        (Watch::follow(&place, "permission")?, Watch::follow(&place, "question")?);
    let beat = place.murmur(&["beat", "--verbose", "--json"]).stdout(Stdio::piped()).spawn()?;

    let respond = |row: &Value, words: &[&str], command: &str| -> Result<()> {
        ensure!(row["input"]["command"] == command, "{row}");
        let id = row["id"].as_str().context("no id")?;
        place.run(&[&["permission", "respond", id], words].concat()).map(drop)
    };
    respond(&calls.opened()?, &["allow"], "touch allowed")?;
    respond(&calls.opened()?, &["deny", "--reason", "not that one"], "touch denied")?;
    let asked = questions.opened()?;
    let id = asked["id"].as_str().context("no id")?;
    let wrong = place.murmur(&["question", "respond", id, "{\"q1\":3}"]).output()?;
    ensure!(!wrong.status.success(), "a choice that does not exist was taken");
    place.run(&["question", "respond", id, "{\"q1\":2}"])?;

    let beat = beat.wait_with_output()?;
    let entry: Value = serde_json::from_slice(&beat.stdout)?;
    ensure!(entry["outcome"] == "attention", "{entry}");
    ensure!(entry["summary"] == "HEARTBEAT_OK, but the guard refused Bash(sudo true)", "{entry}");
    let turns = entry["turns"].as_array().context("no turns")?;
    let outputs: Vec<&str> = turns
        .iter()
        .flat_map(|turn| turn["toolCalls"].as_array().into_iter().flatten())
        .filter_map(|call| call["output"].as_str())
        .collect();
    let [guarded, _, denied, answered] = outputs[..] else { bail!("{outputs:?}") };
    ensure!(guarded.contains("`sudo true` is refused"), "{guarded}");
    ensure!(denied.contains("not that one"), "{denied}");
    ensure!(answered.contains("\"Which one?\"=\"B\""), "{answered}");
    let site = place.folder.path().join("site");
    ensure!(site.join("allowed").exists() && !site.join("denied").exists());
    Ok(())
}

pub(crate) fn a_beat_waits_for_its_answer(claude: &Path) -> Result<()> {
    let script = json!([call("toolu_1", "touch made"), [{ "type": "text", "text": "HEARTBEAT_OK" }]]);
    let place = Place::new(claude, &script)?;
    place.run(&["start"])?;
    let defer = json!({ "permissionsChecker": "manual", "approval": "defer", "approvalWait": "1s" });
    configure(&place, &defer)?;
    let waited = place.run(&["beat", "--json"])?;
    let waited: Value = serde_json::from_slice(&waited.stdout)?;
    let id = waited["waiting"].as_str().with_context(|| format!("it does not wait: {waited}"))?;
    ensure!(waited["outcome"] == "attention", "{waited}");
    ensure!(!place.folder.path().join("site/made").exists(), "it did not wait");

    place.kill_daemon()?;
    place.run(&["start"])?;
    // The next line of the journal is that of the resumed beat.
    let mut log = place.murmur(&["log", "--follow", "--json"]).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(log.stdout.take().context("no stdout")?).lines();
    let first = lines.next().context("no line")??;
    ensure!(first.contains(id), "{first}");
    place.run(&["permission", "respond", id, "allow"])?;
    let second: Value = serde_json::from_str(&lines.next().context("no second line")??)?;
    log.kill()?;
    log.wait()?;
    ensure!(second["resumes"] == id && second["outcome"] == "ok", "{second}");
    ensure!(second["sessionId"] == waited["sessionId"], "{second}");
    ensure!(place.folder.path().join("site/made").exists(), "the call did not run");
    ensure!(journal(&place)?.len() == 2);
    Ok(())
}
