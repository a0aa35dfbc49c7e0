//! Plays a script instead of a recording: the script has the model's messages, and the hooks and the
//! host decide its tool calls. No tool is ever executed.
//!
//! Input: the instructions, the arguments and stdin. Output: the stream's lines, and how the process ends.
//! Statements about the real Claude Code were measured on 2.1.197 and 2.1.329, and are documented in
//! `fixtures/acted/README.md`.

mod actor;
mod api;
mod approval;
pub(crate) mod background;
mod calls;
mod decision;
mod failure;
pub(crate) mod hooks;
mod lines;
mod plan;
mod servers;
mod session;
mod settings;
mod subagent;
pub(crate) mod tools;
mod turn;
mod version;

use std::path::PathBuf;

use fake_claude::replay::End;
use serde_json::json;
use sys::error::Failure;

use crate::argv::{self, Asked};
use crate::faults::Fault;
use crate::instructions::Instructions;
use crate::live::inbox::{Halt, Inbox, Next};
use crate::player::{self, Player};
use crate::script::Script;
use actor::Actor;
use servers::Servers;
use session::Session;
use settings::Settings;
use version::Version;

const NO_MARKER: &str = "Error: No deferred tool marker found in the resumed session. Either the session was not \
deferred, the marker is stale (tool already ran), or it exceeds the tail-scan window. Provide a prompt to continue the \
conversation.";

/// Acts out `script` and returns how to end. `prompt` is that of a beat; a live agent has none.
pub(crate) fn run(
    instructions: &Instructions,
    asked: &Asked,
    script: &Script,
    version: &str,
    prompt: Option<&[u8]>,
) -> Result<End, Failure> {
    match act(instructions, asked, script, version, prompt) {
        Ok(end) => Ok(end),
        Err(Halt::Failed(failure)) => Err(failure),
        Err(Halt::Refused(refusal)) => {
            crate::print_error(&refusal.to_string());
            Ok(End::Code(1))
        }
    }
}

fn no_id(id: &str) -> String {
    format!(
        "Error: --resume requires a valid session ID or session title when used with --print. Usage: claude -p --resume \
         <session-id|title>. Provided value \"{id}\" is not a UUID and does not match any session title."
    )
}

fn act(
    instructions: &Instructions,
    asked: &Asked,
    script: &Script,
    version: &str,
    prompt: Option<&[u8]>,
) -> Result<End, Halt> {
    let cwd = std::env::current_dir()
        .map_err(|error| Failure::new("cannot determine the current folder").because(&error))?;
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").unwrap_or_else(|| PathBuf::from("/")).join(".claude");
    let claude = set("CLAUDE_CONFIG_DIR").unwrap_or_else(home);
    let version = Version::parse(version);
    let mut settings = Settings::read(asked, &claude, &cwd, &version).map_err(Halt::Refused)?;
    if instructions.faults.has(Fault::NoHooks) {
        settings.forget_hooks();
    }
    let id = asked.resume.as_deref().or(asked.session_id.as_deref());
    let mut session = Session::open(id, &claude, cwd, version, asked.skips())?;
    if let Some(id) = asked.resume.as_deref().filter(|_| !session.load()) {
        let is_id = uuid::Uuid::try_parse(id).is_ok();
        let why = if is_id { format!("No conversation found with session ID: {id}") } else { no_id(id) };
        let more = json!({"subtype": "error_during_execution", "is_error": true, "stop_reason": null,
            "duration_ms": 0, "duration_api_ms": 0, "errors": [why]});
        player::print(format!("{}\n", lines::result(&session, 0, &[], &more)).as_bytes())?;
        return Err(Halt::Refused(why.into()));
    }
    let servers = Servers::start(asked, &claude, &session, &settings)?;
    session.servers = servers.listed().to_vec();
    let inbox = if prompt.is_some() { Inbox::closed() } else { Inbox::open() };
    let deferred = session.deferred();
    let prompt = prompt.map(|prompt| String::from_utf8_lossy(prompt).into_owned());
    let silent = prompt.as_ref().is_some_and(|prompt| prompt.trim().is_empty());
    if asked.resume.is_some() && silent && deferred.is_none() {
        let nothing = prompt.as_ref().is_none_or(String::is_empty);
        return Err(Halt::Refused(if nothing { NO_MARKER.into() } else { argv::blank() }));
    }
    let done = session.messages();
    let asks = asked.permission_prompt_tool.as_deref() == Some("stdio");
    let player = Player::open(instructions)?;
    let (begun, kept) = (false, None);
    let mut actor = Actor {
        asked,
        script,
        session,
        settings,
        player,
        inbox,
        asks,
        done,
        begun,
        kept,
        cost: instructions.cost,
        spent: 0.0,
        logged_in: !instructions.faults.has(Fault::NotLoggedIn),
        scale: instructions.scale,
        tasks: Vec::new(),
        begun_tasks: 0,
        subagent_messages: 0,
        held: Vec::new(),
    };
    let mut failed = false;
    if let Some(call) = deferred {
        failed = actor.resume(&call)?;
    }
    match prompt {
        Some(_) if silent && asked.resume.is_some() => {}
        Some(prompt) => failed = actor.answer(&prompt.into(), false)?,
        None => loop {
            failed = match actor.inbox.next_before(actor.next_end())? {
                Next::Message(message) => actor.answer(&message.content, asked.replay)?,
                Next::Due => actor.notify_next_end()?.unwrap_or(failed),
                Next::End => break,
            };
            actor.inbox.turn_is_over();
        },
    }
    failed = actor.wait_for_tasks()?.unwrap_or(failed);
    actor.finish()?;
    Ok(instructions.end(End::Code(failed.into())))
}
