//! Imitates `codex` 0.169.0: `--version`, and `app-server`, JSON-RPC over stdin and stdout, one message per line.
//!
//! Input: the arguments, the instructions and the client's messages. Output: the messages of the real Codex; its
//! hooks are run and nothing else. `fake-claude/README.md` lists the differences.

mod approval;
mod call;
mod config;
mod failure;
mod hooks;
mod patch;
mod replayed;
mod requests;
mod thread;
mod turn;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::ending;
use crate::instructions::Instructions;
use crate::rpc::{self, Halt, HookEnd, Peer, RpcEvent, replay};
use crate::script::Script;
use config::Config;
use replayed::ReplayedHooks;
use sys::error::Failure;
use thread::Thread;

/// The version that it reports by default.
const VERSION: &str = "0.169.0";

/// The agent.
struct Codex<'a> {
    instructions: &'a Instructions,
    script: Option<&'a Script>,
    config: Config,
    /// Codex's own folder.
    home: PathBuf,
    cwd: PathBuf,
    version: String,
    client: Value,
    peer: Peer,
    threads: BTreeMap<String, Thread>,
    /// Turns to start: the request's id and parameters.
    queued: VecDeque<(Value, Value)>,
    /// Texts added to the running turn.
    steered: Vec<Value>,
    replies: Vec<Value>,
    hook: Option<HookEnd>,
    /// The id of the request to interrupt the turn.
    interrupt: Option<Value>,
    /// The ids of the current thread and turn.
    running: Option<(String, String)>,
    asked: u64,
    /// The pending request to the client.
    unanswered: Option<u64>,
}

/// Codex's folder.
fn codex_home() -> Result<PathBuf, Failure> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = set("CODEX_HOME").or_else(|| set("HOME").map(|home| home.join(".codex")));
    home.ok_or_else(|| Failure::from("neither CODEX_HOME nor HOME is set"))
}

/// `login status`: whether auth.json exists, whatever it contains.
fn login_status() -> Result<ExitCode, Failure> {
    let is_logged_in = codex_home()?.join("auth.json").is_file();
    crate::print_error(if is_logged_in { "Logged in using ChatGPT" } else { "Not logged in" });
    Ok(if is_logged_in { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs with these arguments.
pub(crate) fn run(argv: &[String]) -> Result<ExitCode, Failure> {
    if crate::helped(argv) {
        return Ok(ExitCode::SUCCESS);
    }
    let instructions = Instructions::read()?;
    let version = instructions.version.clone().unwrap_or_else(|| VERSION.into());
    if argv.iter().any(|word| word == "--version" || word == "-V") {
        crate::print(&format!("codex-cli {version}\n"));
        return Ok(ExitCode::SUCCESS);
    }
    if argv == ["login", "status"] {
        return login_status();
    }
    let parsed = config::parse(argv);
    ending::catch_term(&instructions.faults, 0)
        .map_err(|error| Failure::from(format!("cannot catch signals: {error}")))?;
    rpc::begin(&instructions, argv)?;
    let words = match parsed {
        Ok(words) => words,
        Err(failure) => {
            crate::print_error(&failure.to_string());
            return Ok(ExitCode::from(2));
        }
    };
    if instructions.say_nothing() {
        return Err(crate::nothing());
    }
    let script = instructions.script.as_ref().map(Script::read).transpose()?;
    let home = codex_home()?;
    let cwd = std::env::current_dir()
        .map_err(|error| Failure::from(format!("cannot determine the current folder: {error}")))?;
    let config = match Config::read(&words, &home) {
        Ok(config) => config,
        Err(failure) => {
            crate::print_error(&failure.to_string());
            return Ok(ExitCode::FAILURE);
        }
    };
    if script.is_none() && !instructions.echo {
        let hooks = ReplayedHooks::of(&config, instructions.fixture.as_deref());
        return replay::run(&instructions, &crate::fixture(&instructions, &version)?, &|line| {
            hooks.ask(line)
        });
    }
    let mut codex = Codex {
        peer: Peer::open(&instructions)?,
        instructions: &instructions,
        script: script.as_ref(),
        config,
        home,
        cwd,
        version,
        client: Value::Null,
        threads: BTreeMap::new(),
        queued: VecDeque::new(),
        steered: Vec::new(),
        replies: Vec::new(),
        hook: None,
        interrupt: None,
        running: None,
        asked: 0,
        unanswered: None,
    };
    let ended = codex.serve();
    rpc::end(&instructions, ended)
}

impl Codex<'_> {
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
            RpcEvent::Hook(end) => self.hook = Some(end),
            RpcEvent::End => {
                self.peer.ended();
                return Err(Halt::End);
            }
            RpcEvent::Released | RpcEvent::Open | RpcEvent::Due => {}
        }
        Ok(())
    }

    /// The same within a turn, which may be interrupted.
    fn wait(&mut self, due: Option<Instant>) -> Result<(), Halt> {
        self.step(due)?;
        if self.interrupt.is_some() { Err(Halt::Interrupted) } else { Ok(()) }
    }

    /// Lets this time pass while handling events.
    fn pass(&mut self, time: Duration) -> Result<(), Halt> {
        let due = Instant::now() + time;
        while Instant::now() < due {
            self.wait(Some(due))?;
        }
        Ok(())
    }

    /// Writes a message of a turn when the gate lets it through, or the turn is interrupted.
    fn line(&mut self, message: &Value) -> Result<(), Halt> {
        while self.interrupt.is_none() && !self.peer.passes() {
            self.wait(None)?;
        }
        self.peer.say(message)
    }

    /// Writes a notification of the running turn.
    fn notify(&mut self, method: &str, params: Value) -> Result<(), Halt> {
        let message = self.notification(method, params);
        self.line(&message)
    }

    fn notification(&self, method: &str, mut params: Value) -> Value {
        if let Some((thread, turn)) = &self.running {
            params["threadId"] = thread.as_str().into();
            if !matches!(
                method,
                "thread/status/changed" | "serverRequest/resolved" | "turn/started" | "turn/completed"
            ) {
                params["turnId"] = turn.as_str().into();
            }
        }
        json!({"method": method, "params": params, "emittedAtMs": thread::milliseconds()})
    }

    fn status(&mut self, status: &Value) -> Result<(), Halt> {
        self.notify("thread/status/changed", json!({"status": status}))
    }

    fn reply(&mut self, id: &Value, result: &Value) -> Result<(), Halt> {
        self.peer.say(&json!({"id": id, "result": result}))
    }

    fn refuse(&mut self, id: &Value, code: i32, message: &str) -> Result<(), Halt> {
        self.peer.say(&json!({"id": id, "error": {"code": code, "message": message}}))
    }
}

/// Prints an error to stderr in the form of Codex's log.
fn log_error(module: &str, text: &str) {
    crate::print_error(&format!(
        "\u{1b}[2m2026-01-01T00:00:00.000000Z\u{1b}[0m \u{1b}[31mERROR\u{1b}[0m \
         \u{1b}[2m{module}\u{1b}[0m\u{1b}[2m:\u{1b}[0m \u{1b}[3merror\u{1b}[0m\u{1b}[2m=\u{1b}[0m{text}"
    ));
}
