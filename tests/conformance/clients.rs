//! Tests `murmur mcp` with other projects' MCP clients: the official inspector's CLI and the real
//! Claude Code, whose calls come from fake-model. Each lists, reads and waits. (rmcp's own client is in
//! crates/derun's tests.)

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::real;
use crate::run::{Model, QUIET};

const MURMUR: &str = env!("CARGO_BIN_EXE_murmur");
const INSPECTOR: &str = "@modelcontextprotocol/inspector";
const INSPECTOR_VERSION: &str = "0.15.0";
const TOOLS: [&str; 4] =
    ["derun_get_session", "derun_list_sessions", "derun_read_output", "derun_wait_output"];

/// A store with one ended session, `conformed`.
struct Store {
    root: TempDir,
}

impl Store {
    fn make() -> Result<Self> {
        let root = tempfile::tempdir()?;
        let store = Self { root };
        let ran = Command::new(MURMUR)
            .args(["run", "--session-id", "conformed", "--", "sh", "-c", "echo one; echo two >&2"])
            .env_clear()
            .env("DERUN_STATE_ROOT", store.state())
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        ensure!(ran.success(), "murmur run: {ran}");
        Ok(store)
    }

    fn state(&self) -> PathBuf {
        self.root.path().join("state")
    }
}

/// What every client must have received: the results of list, read and wait, and the error for a missing
/// session.
fn expect(list: &Value, read: &Value, wait: &Value, missing: &str) -> Result<()> {
    ensure!(list["sessions"][0]["session_id"] == "conformed", "listed: {list}");
    let mut texts: Vec<(&str, &str)> = read["chunks"]
        .as_array()
        .context("no chunks")?
        .iter()
        .map(|chunk| (chunk["channel"].as_str().unwrap_or("?"), chunk["text"].as_str().unwrap_or("?")))
        .collect();
    // There is no order between two pipes.
    texts.sort_unstable();
    ensure!(texts == [("stderr", "two\n"), ("stdout", "one\n")], "read: {read}");
    ensure!(read["next_cursor"] == "8" && read["eof"] == true, "read: {read}");
    ensure!(
        wait["next_cursor"] == "8" && wait["eof"] == true && wait["timed_out"] == false,
        "waited: {wait}"
    );
    ensure!(missing.contains("session not found: nosuch"), "missing: {missing}");
    for answer in [list, read, wait] {
        ensure!(answer["schema_version"] == "v1alpha1", "no schema version: {answer}");
    }
    Ok(())
}

/// The inspector's CLI: one process per call.
pub(crate) fn inspector() -> Result<Option<String>> {
    let folder = match real::package(INSPECTOR, INSPECTOR_VERSION) {
        Ok(folder) => folder,
        Err(why) => return Ok(Some(why)),
    };
    let store = Store::make()?;
    let ask = |method: &[&str]| -> Result<Value> {
        let output = Command::new("node")
            .arg(folder.join("node_modules/.bin/mcp-inspector"))
            .args(["--cli", "-e"])
            .arg(format!("DERUN_STATE_ROOT={}", store.state().display()))
            .args([MURMUR, "mcp", "--method"])
            .args(method)
            .stdin(Stdio::null())
            .output()
            .context("running the inspector")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success() && said.is_empty(), "inspector {method:?}: {} {said}", output.status);
        serde_json::from_slice(&output.stdout).with_context(|| format!("inspector {method:?}"))
    };
    let listed = ask(&["tools/list"])?;
    let names = listed["tools"].as_array().context("no tools")?;
    let mut names: Vec<&str> = names.iter().filter_map(|tool| tool["name"].as_str()).collect();
    names.sort_unstable();
    ensure!(names == TOOLS, "tools: {names:?}");
    let call = |tool: &str, args: &[&str]| {
        let mut words = vec!["tools/call", "--tool-name", tool];
        for arg in args {
            words.extend(["--tool-arg", arg]);
        }
        ask(&words)
    };
    let list = call("derun_list_sessions", &["limit=5"])?;
    let read = call("derun_read_output", &["session_id=conformed"])?;
    let wait = call("derun_wait_output", &["session_id=conformed", "cursor=8"])?;
    let missing = call("derun_read_output", &["session_id=nosuch"])?;
    ensure!(missing["isError"] == true, "no error: {missing}");
    let answers = [list, read, wait].map(|mut answer| answer["structuredContent"].take());
    expect(&answers[0], &answers[1], &answers[2], &missing["content"].to_string())?;
    Ok(None)
}

/// The real Claude Code; the model calls the tools.
pub(crate) fn claude(claude: &Path) -> Result<()> {
    let store = Store::make()?;
    let call = |id: &str, tool: &str, input: Value| json!([{"type": "tool_use", "id": id, "name": format!("mcp__derun__{tool}"), "input": input}]);
    let script = json!([
        call("toolu_1", "derun_list_sessions", json!({})),
        call("toolu_2", "derun_read_output", json!({"session_id": "conformed"})),
        call("toolu_3", "derun_wait_output", json!({"session_id": "conformed", "cursor": "8"})),
        call("toolu_4", "derun_read_output", json!({"session_id": "nosuch"})),
        [{"type": "text", "text": "HEARTBEAT_OK"}],
    ]);
    let place = store.root.path();
    let [script_file, config] = ["script.json", "mcp.json"].map(|name| place.join(name));
    std::fs::write(&script_file, script.to_string())?;
    let printed = Command::new(MURMUR).args(["mcp", "--print-config"]).output()?;
    std::fs::write(&config, &printed.stdout)?;
    let home = place.join("home");
    std::fs::create_dir(&home)?;
    let model = Model::start(&script_file)?;
    let output = Command::new(claude)
        .args(["--print", "look", "--verbose", "--output-format", "stream-json"])
        .args(["--dangerously-skip-permissions", "--strict-mcp-config", "--mcp-config"])
        .arg(&config)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", &home)
        .env("ANTHROPIC_API_KEY", "scripted")
        .env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", model.port))
        .env("DERUN_STATE_ROOT", store.state())
        .envs(QUIET.map(|name| (name, "1")))
        .current_dir(place)
        .stdin(Stdio::null())
        .output()?;
    ensure!(output.status.success(), "claude: {} {}", output.status, String::from_utf8_lossy(&output.stderr));
    let results: Vec<String> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|event| event["type"] == "user")
        .filter_map(|event| Some(event["message"]["content"][0]["content"].as_str()?.to_owned()))
        .collect();
    let [list, read, wait, missing] = &results[..] else { anyhow::bail!("tool results: {results:?}") };
    expect(&serde_json::from_str(list)?, &serde_json::from_str(read)?, &serde_json::from_str(wait)?, missing)
}
