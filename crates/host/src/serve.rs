//! The host's socket: turns requests into commands to the loop that owns the agent.

use super::protocol::{
    AgentInfo, Attach, Attached, HOST_PROTOCOL_VERSION, Pong, REQUEST_TYPES, Send, Status, Stop, Wait, Waits,
};
use super::state::State;
use murmur_agent::settings::HookProgram;
use murmur_core::id::AgentId;
use murmur_rpc::caller::Caller;
use murmur_rpc::envelope::{Request, payload, response_line, unknown};
use murmur_rpc::feed::Feed;
use murmur_rpc::serve::{Answer, Service};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use sys::error::Failure;
use sys::failure;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};

/// A command to the loop.
#[derive(Debug)]
pub(super) enum Command {
    /// Report the agent's status.
    Status(oneshot::Sender<Status>),
    /// Send a message to the agent; replies with the new state or an error.
    Send(String, oneshot::Sender<Result<State, Failure>>),
    /// Interrupt the current turn; replies with the state or an error.
    Interrupt(oneshot::Sender<Result<State, Failure>>),
    /// End the agent.
    Stop {
        /// At once.
        force: bool,
        /// The grace period.
        grace: Duration,
        /// Receives the final state.
        reply: oneshot::Sender<State>,
    },
    /// List requests that wait for a person.
    Requests(oneshot::Sender<Waits>),
    /// A hook waits for a person until the first channel closes. Notifies the second one once the time limit is paused.
    Wait(Wait, oneshot::Receiver<()>, oneshot::Sender<()>),
}

/// Handles requests.
#[derive(Debug, Clone)]
pub(super) struct Handlers {
    agent_id: AgentId,
    feed: Arc<Feed>,
    commands: mpsc::Sender<Command>,
}

/// The error once the loop has ended.
const OVER: &str = "the agent has ended";

impl Handlers {
    pub(super) fn new(info: &AgentInfo, feed: &Arc<Feed>, commands: mpsc::Sender<Command>) -> Self {
        Self { agent_id: info.agent_id.clone(), feed: Arc::clone(feed), commands }
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, Failure> {
        let (reply, receiver) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| OVER)?;
        receiver.await.map_err(|_| OVER.into())
    }

    /// The hook's end of the connection: it waits until it disconnects.
    async fn wait(&self, wait: Wait, request: &Request) -> Result<UnixStream, Failure> {
        let (ours, mut theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
        let (waiting, until) = oneshot::channel();
        self.ask(|reply| Command::Wait(wait, until, reply)).await?;
        let taken = response_line(&request.msg_type, &request.id, payload(&json!({})).as_deref());
        tokio::spawn(async move {
            let _waiting: oneshot::Sender<()> = waiting;
            let _gone = theirs.write_all(&taken).await;
            while theirs.read(&mut [0; 256]).await.is_ok_and(|count| count > 0) {}
        });
        Ok(ours)
    }

    async fn result(&self, request: &Request, caller: &Caller) -> Result<Answer, Failure> {
        let given = &request.payload;
        Ok(match &*request.msg_type {
            "ping" => Answer::payload(&Pong {
                protocol_version: HOST_PROTOCOL_VERSION.to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                agent_id: self.agent_id.clone(),
                pid: std::process::id(),
            }),
            "status" => Answer::payload(&self.ask(Command::Status).await?),
            "list" => Answer::payload(&json!({ "agents": [self.ask(Command::Status).await?] })),
            "attach" => {
                let Attach { from } = read(given)?;
                let next = self.feed.next();
                if from.is_some_and(|from| from > next) {
                    let from = from.unwrap_or_default();
                    return Err(
                        failure!("offset {from} is in the future; the next event is {next}"; "attach from {next}"),
                    );
                }
                let attached = Attached { from: from.unwrap_or(next), next };
                Answer::Attach(payload(&attached)?, self.feed.reader(Some(attached.from)))
            }
            "detach" => Answer::Detach(payload(&json!({}))?),
            "send" => {
                caller.require_manager("direct agents")?;
                let Send { text } = read(given)?;
                if text.trim().is_empty() {
                    return Err("the message is empty".into());
                }
                Answer::payload(&self.ask(|reply| Command::Send(text, reply)).await??)
            }
            "interrupt" => {
                caller.require_manager("direct agents")?;
                Answer::payload(&self.ask(Command::Interrupt).await??)
            }
            "stop" => {
                caller.require_manager("direct agents")?;
                let stop: Stop = read(given)?;
                let (force, grace) = (stop.force, stop.grace_period()?);
                Answer::payload(&self.ask(|reply| Command::Stop { force, grace, reply }).await?)
            }
            "requests" => Answer::payload(&self.ask(Command::Requests).await?),
            "wait" => {
                require_hook(caller)?;
                Answer::HandOver(self.wait(read(given)?, request).await?)
            }
            other => return Err(unknown(other, &REQUEST_TYPES)),
        })
    }
}

impl Service for Handlers {
    async fn answer(&self, request: &Request, caller: &Caller) -> Answer {
        self.result(request, caller).await.unwrap_or_else(Answer::Refusal)
    }
}

/// Requires that murmur's hook is asking: waiting pauses the agent's time limit.
fn require_hook(caller: &Caller) -> Result<(), Failure> {
    let hook =
        HookProgram::find().map_err(|error| Failure::new("cannot find murmur-hook").because(&error))?;
    let own = Path::new("/proc/self/exe");
    if caller.runs(&[hook.program(), own]) { Ok(()) } else { Err("only murmur-hook can send wait".into()) }
}

/// Parses a payload; a missing one counts as an empty object.
fn read<T: DeserializeOwned>(payload: &Value) -> Result<T, Failure> {
    let empty = json!({});
    let payload = if payload.is_null() { &empty } else { payload };
    T::deserialize(payload).map_err(|error| Failure::new("invalid payload").because(&error))
}
