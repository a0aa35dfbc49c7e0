//! Imitates an agent that speaks the Agent Client Protocol: `opencode` 1.18.33 with `acp`, JSON-RPC over stdin and
//! stdout.
//!
//! Input: the arguments, the instructions and the client's messages. Output: the messages of the real agent.
//! `fake-claude/README.md` lists the differences.

mod call;
mod client;
mod config;
mod permission;
mod requests;
mod session;
mod tool;
mod turn;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::ending;
use crate::faults::Fault;
use crate::instructions::Instructions;
use crate::rpc::{self, Halt, Peer, RpcEvent, replay};
use crate::script::Script;
use config::Config;
use session::Session;
use sys::error::Failure;

/// The version that it reports by default.
const VERSION: &str = "1.18.33";

/// The agent.
struct Acp<'a> {
    instructions: &'a Instructions,
    script: Option<&'a Script>,
    config: Config,
    /// Its own folder.
    home: PathBuf,
    version: String,
    peer: Peer,
    sessions: BTreeMap<String, Session>,
    /// Prompts to answer: the request's id and parameters.
    queued: VecDeque<(Value, Value)>,
    replies: Vec<Value>,
    /// The session whose turn runs.
    running: Option<String>,
    cancelled: bool,
    asked: u64,
    /// What the client offers.
    client: Value,
    /// The id of the last terminal.
    terminal: Value,
}

/// Runs with these arguments.
pub(crate) fn run(argv: &[String]) -> Result<ExitCode, Failure> {
    if crate::helped(argv) {
        return Ok(ExitCode::SUCCESS);
    }
    let instructions = Instructions::read()?;
    let version = instructions.version.clone().unwrap_or_else(|| VERSION.into());
    if argv.iter().any(|word| word == "--version" || word == "-v") {
        crate::print(&format!("{version}\n"));
        return Ok(ExitCode::SUCCESS);
    }
    // The signal kills the real one.
    if instructions.faults.has(Fault::IgnoreTerm) || instructions.faults.has(Fault::SuccessAfterTerm) {
        ending::catch_term(&instructions.faults, 143)
            .map_err(|error| Failure::from(format!("cannot catch signals: {error}")))?;
    }
    rpc::begin(&instructions, argv)?;
    let is_adapter = crate::name().ends_with("-acp");
    if !is_adapter && !argv.iter().any(|word| word == "acp" || word == "--acp") {
        crate::print_error("Error: it only acts with acp");
        return Ok(ExitCode::FAILURE);
    }
    if instructions.say_nothing() {
        return Err(crate::nothing());
    }
    let script = instructions.script.as_ref().map(Script::read).transpose()?;
    if script.is_none() && !instructions.echo {
        return replay::run(&instructions, &crate::fixture(&instructions, &version)?, &|_| {});
    }
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    let data = data.ok_or_else(|| Failure::from("neither XDG_DATA_HOME nor HOME is set"))?;
    let mut acp = Acp {
        peer: Peer::open(&instructions)?,
        instructions: &instructions,
        script: script.as_ref(),
        config: Config::read(),
        home: data.join("opencode"),
        version,
        sessions: BTreeMap::new(),
        queued: VecDeque::new(),
        replies: Vec::new(),
        running: None,
        cancelled: false,
        asked: 0,
        client: Value::Null,
        terminal: Value::Null,
    };
    let ended = acp.serve();
    rpc::end(&instructions, ended)
}

impl Acp<'_> {
    /// Answers until stdin ends.
    fn serve(&mut self) -> Result<(), Halt> {
        loop {
            match self.queued.pop_front() {
                Some((id, params)) => self.answer(&id, &params)?,
                None => self.step(None)?,
            }
        }
    }

    /// Handles the next event, waiting at most until `due`.
    fn step(&mut self, due: Option<Instant>) -> Result<(), Halt> {
        match self.peer.hear(due) {
            RpcEvent::Message(message) if message["method"].is_string() => self.hear(&message)?,
            RpcEvent::Message(message) => self.replies.push(message),
            RpcEvent::End => {
                self.peer.ended();
                return Err(Halt::End);
            }
            RpcEvent::Hook(_) | RpcEvent::Released | RpcEvent::Open | RpcEvent::Due => {}
        }
        Ok(())
    }

    /// The same within a turn, which may be canceled.
    fn wait(&mut self, due: Option<Instant>) -> Result<(), Halt> {
        self.step(due)?;
        if self.cancelled { Err(Halt::Interrupted) } else { Ok(()) }
    }

    /// Lets this time pass while handling events.
    fn pass(&mut self, time: Duration) -> Result<(), Halt> {
        let due = Instant::now() + time;
        while Instant::now() < due {
            self.wait(Some(due))?;
        }
        Ok(())
    }

    /// Writes a message of a turn when the gate lets it through.
    fn line(&mut self, message: &Value) -> Result<(), Halt> {
        while !self.peer.passes() {
            self.wait(None)?;
        }
        self.peer.say(message)
    }

    /// Writes an update of the running turn.
    fn update(&mut self, kind: &str, fields: Value) -> Result<(), Halt> {
        let message = updated(self.running.as_deref().unwrap_or_default(), kind, fields);
        self.line(&message)
    }

    fn reply(&mut self, id: &Value, result: &Value) -> Result<(), Halt> {
        self.peer.say(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn refuse(&mut self, id: &Value, code: i32, message: &str, data: &Value) -> Result<(), Halt> {
        let error = json!({"code": code, "message": message, "data": data});
        self.peer.say(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
    }
}

/// An update of a session.
fn updated(session: &str, kind: &str, mut fields: Value) -> Value {
    fields["sessionUpdate"] = kind.into();
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": fields}})
}
