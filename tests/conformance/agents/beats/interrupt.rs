//! Interrupts of hosted agents while a command runs.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sys::fifo;

use super::{Agent, HOSTED, text};
use crate::permits::call;

/// The agents whose commands, or their children, run on after an interrupt.
const RUN_ON: [&str; 2] = ["acp:goose", "acp:codex-acp"];

/// An interrupt ends the turn and not the agent, which goes on with the next message.
pub(super) fn interrupted(agent: &mut Agent) -> Result<()> {
    let root = agent.place.folder.path().to_path_buf();
    let settings = root.join("data/config/config.toml");
    let configured = std::fs::read_to_string(&settings)?;
    std::fs::write(&settings, format!("permissions-checker = \"off\"\n{configured}"))?;
    let begun = root.join("site/begun");
    fifo::make(&begun)?;
    let own =
        |command| if agent.name == "acp:codex-acp" { call("call_1", command) } else { agent.asks(command) };
    agent.prepare(&json!([own("tail -f /dev/null & echo $! > begun; wait"), text("Done.")]), "off")?;
    agent.place.run(&["agent", "start", "--backend", agent.name, "--agent-id", HOSTED, "Go"])?;
    let follow = ["attach", HOSTED, "--from", "0", "--json"];
    let mut attached = agent.place.murmur(&follow).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(attached.stdout.take().context("no stdout")?).lines();
    // Blocks until the command has begun.
    let pid = std::fs::read_to_string(&begun)?;
    let command = Path::new("/proc").join(pid.trim());
    ensure!(command.exists(), "no command {pid:?}");
    agent.place.run(&["agent", "interrupt", HOSTED])?;
    let mut until_idle = |turns: u64| -> Result<Vec<Value>> {
        let mut seen = Vec::new();
        for line in lines.by_ref() {
            let line: Value = serde_json::from_str(&line?)?;
            let state = &line["payload"]["state"];
            let is_idle =
                line["event_type"] == "state" && state == "idle" && line["payload"]["turns"] == turns;
            seen.push(line);
            if is_idle {
                break;
            }
        }
        Ok(seen)
    };
    let turn = until_idle(1)?;
    let result = turn.iter().find(|event| event["event_type"] == "result").context("no result")?;
    ensure!(result["payload"]["isError"] == true, "{result}");
    let runs_on = RUN_ON.contains(&agent.name);
    if runs_on {
        ensure!(command.exists(), "the command ended with its turn");
        // goose may answer no message before.
        let command = Pid::from_raw(pid.trim().parse()?).context("no PID")?;
        kill_process(command, Signal::KILL)?;
    }
    agent.place.play(&json!([text("Went on."), text("Went on."), text("Went on.")]))?;
    agent.place.run(&["agent", "send", HOSTED, "Go on"])?;
    let turn = until_idle(2)?;
    let result = turn.iter().find(|event| event["event_type"] == "result").context("no second result")?;
    ensure!(result["payload"]["isError"] == false, "{result}");
    let said = turn.iter().filter(|event| event["event_type"] == "chat");
    let said: Vec<&str> = said.filter_map(|event| event["payload"]["text"].as_str()).collect();
    ensure!(said.concat().contains("Went on."), "{said:?}");
    drop((attached.kill(), attached.wait()));
    ensure!(runs_on || !command.exists(), "the command runs on");
    agent.place.run(&["agent", "stop", HOSTED]).map(drop)
}
