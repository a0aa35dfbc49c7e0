//! The daemon's RPC handlers. `ping` and `detach` are answered here and `host.*` by [`agents`]; requests for a model go
//! to [`model`]. Everything else becomes a [`Command`] for the loop, which answers it.

use super::agents;
use super::broker::model::Models;
use super::broker::{AnswerCommand, BrokerCommand, Cursor};
use super::broker::{hook_connection, model};
use super::claims;
use super::client::{Attached, Beats, Ping};
use super::heartbeats::HeartbeatRef;
use super::notifier_process::NotifierPid;
use super::status::{Status, StatusRequest};
use murmur_core::id::{AgentId, BeatId};
use murmur_core::permit::request::{self, Approver, RequestId};
use murmur_rpc::caller::Caller;
use murmur_rpc::envelope::{Request, payload, unknown};
use murmur_rpc::feed::Reader;
use murmur_rpc::serve::{Answer, Service};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use sys::error::{Failure, Hinted};
use sys::failure;
use sys::paths::DataDir;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};

/// The supported message types.
pub const MESSAGE_TYPES: [&str; 9] =
    ["ping", "status", "beat", "attach", "detach", "stop", "host.*", "permission.*", "question.*"];

/// A command for the loop, and where its answer goes. If the client is gone, the answer is dropped.
#[derive(Debug)]
pub enum Command {
    /// Returns the status.
    Status(StatusRequest, oneshot::Sender<Status>),
    /// Follows the events, from a number on.
    Attach(Option<u64>, ReplyTo<(Attached, Reader)>),
    /// Starts a beat now.
    Beat(HeartbeatRef, ReplyTo<StartedBeat>),
    /// Stops the daemon. Answered before it stops.
    Stop(Beats, ReplyTo<()>),
    /// A command for the broker.
    Broker(BrokerCommand),
}

/// Where an answer or an error goes.
pub type ReplyTo<T> = oneshot::Sender<Result<T, Failure>>;

/// A started beat.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StartedBeat {
    /// Its id.
    pub beat: BeatId,
    /// Its agent's id.
    pub agent: AgentId,
}

#[derive(Debug, Default, Deserialize)]
struct From {
    #[serde(default)]
    from: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct After {
    #[serde(default)]
    after: Option<Cursor>,
}

#[derive(Debug, Deserialize)]
struct Stop {
    beats: Beats,
}

/// Handles the requests of a client.
#[derive(Debug, Clone)]
pub struct RpcHandlers {
    about: Arc<Ping>,
    is_stopping: Arc<AtomicBool>,
    commands: mpsc::Sender<Command>,
    dir: DataDir,
    /// The PATH to find and run agents with, once known.
    path: Arc<OnceLock<OsString>>,
    models: Models,
    notifier: NotifierPid,
}

impl RpcHandlers {
    /// Answers a ping with `about` and sends commands to `commands`. While that is full, clients wait. `models` decides
    /// requests for a model, and `notifier` may answer requests.
    #[must_use]
    pub fn new(
        about: Ping,
        is_stopping: Arc<AtomicBool>,
        commands: mpsc::Sender<Command>,
        dir: DataDir,
        path: Arc<OnceLock<OsString>>,
        models: Models,
        notifier: NotifierPid,
    ) -> Self {
        Self { about: Arc::new(about), is_stopping, commands, dir, path, models, notifier }
    }

    async fn command<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, Failure> {
        let (to, answer) = oneshot::channel();
        let stopping = || failure!("the daemon is stopping"; "wait for the next daemon; see: murmur status");
        self.commands.send(command(to)).await.map_err(|_| stopping())?;
        answer.await.map_err(|_| stopping())
    }

    async fn ask(&self, request: &Request, caller: &Caller) -> Result<Answer, Failure> {
        let is_answer = matches!(&*request.msg_type, "permission.respond" | "question.respond");
        // The notifier passes on a person's answers. It has checked who sent them.
        if !(is_answer && self.notifier.is(caller)) {
            check(&request.msg_type, caller)?;
        }
        match request.msg_type.as_str() {
            "ping" => {
                let stopping = self.is_stopping.load(Ordering::Relaxed);
                Ok(Answer::payload(&Ping { stopping, ..(*self.about).clone() }))
            }
            "status" => {
                let wanted =
                    if request.payload.is_null() { StatusRequest::default() } else { read(request)? };
                Ok(Answer::payload(&self.command(|to| Command::Status(wanted, to)).await?))
            }
            "beat" => {
                let which = read(request)?;
                Ok(Answer::payload(&self.command(|to| Command::Beat(which, to)).await??))
            }
            "attach" => {
                let From { from } = if request.payload.is_null() { From::default() } else { read(request)? };
                let (attached, reader) = self.command(|to| Command::Attach(from, to)).await??;
                Ok(Answer::Attach(payload(&attached)?, reader))
            }
            "detach" => Ok(Answer::Detach(payload(&json!({}))?)),
            "stop" => {
                let Stop { beats } = read(request)?;
                self.command(|to| Command::Stop(beats, to)).await??;
                Ok(Answer::payload(&json!({ "pid": self.about.pid, "beats": beats })))
            }
            request::REQUEST | request::QUESTION => {
                let asked: request::Request = read(request)?;
                claims::check(&self.dir, &asked, caller)?;
                let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
                let line = Request { payload: Value::Null, ..request.clone() };
                match asked.whom {
                    Approver::Person => {
                        tokio::spawn(hook_connection::serve(theirs, line, asked, self.commands.clone()))
                    }
                    Approver::Model => tokio::spawn(model::serve(theirs, line, asked, self.models.clone())),
                };
                Ok(Answer::HandOver(ours))
            }
            "permission.list" | "question.list" => {
                let After { after } =
                    if request.payload.is_null() { After::default() } else { read(request)? };
                Ok(Answer::payload(
                    &self.command(|to| Command::Broker(BrokerCommand::List(after, to))).await?,
                ))
            }
            "permission.respond" | "question.respond" => {
                let command = AnswerCommand { answerer: caller.answerer(), ..read(request)? };
                Ok(Answer::payload(
                    &self.command(|to| Command::Broker(BrokerCommand::Respond(command, to))).await??,
                ))
            }
            other if other.starts_with(agents::PREFIX) => {
                agents::answer(&self.dir, self.path.get().map(OsString::as_os_str), request).await
            }
            other => Err(unknown(other, &MESSAGE_TYPES)),
        }
    }
}

impl Service for RpcHandlers {
    async fn answer(&self, request: &Request, caller: &Caller) -> Answer {
        self.ask(request, caller).await.unwrap_or_else(Answer::Refusal)
    }
}

/// Checks that `caller` may send this: an agent's processes may send requests and read; a manager may also control
/// other agents. Everything else is for people.
fn check(msg_type: &str, caller: &Caller) -> Result<(), Failure> {
    match msg_type {
        "ping" | "status" | "attach" | "detach" | request::REQUEST | request::QUESTION => Ok(()),
        "permission.list" | "question.list" | "host.list" | "host.status" | "host.attach" => Ok(()),
        "host.discover" | "host.spawn" | "host.send" | "host.interrupt" | "host.stop" => {
            caller.require_manager("control other agents")
        }
        "permission.respond" | "question.respond" => caller.require_person("answer requests"),
        "beat" => caller.require_person("start beats"),
        "stop" => caller.require_person("stop the daemon"),
        _ => caller.require_person("send this"),
    }
}

fn read<T: DeserializeOwned>(request: &Request) -> Result<T, Failure> {
    let read = T::deserialize(&request.payload);
    read.map_err(|error| {
        // serde reduces an error to text without its hint; only an invalid id has one.
        let id = request.payload.get("id").and_then(Value::as_str);
        let hint = id.and_then(|id| RequestId::parse(id).err()).and_then(|error| error.hint());
        failure!("invalid payload for {:?}", request.msg_type)
            .because(&error)
            .hint(hint.unwrap_or_else(|| "see docs/reference/daemon-protocol.md".to_owned()))
    })
}
