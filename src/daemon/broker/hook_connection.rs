//! Serves one hook's connection: it sends a request, waits, and may report that its time is up
//! (docs/reference/daemon-protocol.md).
//!
//! In: the hook's lines. Out: one answer. If the hook hangs up, its agent is gone and the request is closed; a hook
//! that loses the daemon sends its request to the next one.

use super::BrokerCommand;
use super::requests::Timeout;
use crate::daemon::rpc_handlers::Command;
use murmur_core::permit::request::{Answer, DEFERRED, EXPIRED, LATE, Request, RequestId, WAITING};
use murmur_rpc::envelope::{Request as RpcRequest, payload, response_line};
use murmur_rpc::frame::{Lines, MAX_LINE};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};

/// Serves `stream` until `asked`, sent as `line`, is answered or the hook is gone.
pub async fn serve(stream: UnixStream, line: RpcRequest, asked: Request, commands: mpsc::Sender<Command>) {
    let (reading, writing) = stream.into_split();
    let lines = Lines::new(reading, MAX_LINE, None);
    let hook = asked.hook.clone();
    let (sender, answer) = oneshot::channel();
    let (to, id) = oneshot::channel();
    let command = BrokerCommand::Ask(Box::new(asked), sender, to);
    if commands.send(Command::Broker(command)).await.is_err() {
        return;
    }
    let Ok(id) = id.await else { return };
    let mut connection = HookConnection { id, hook, lines, writing, commands };
    if connection.until_answered(line, answer).await.is_none() {
        let gone = BrokerCommand::Disconnected { id: connection.id, hook: connection.hook };
        // If the daemon is ending, the hook sends its request to the next one.
        let _ending = connection.commands.send(Command::Broker(gone)).await;
        return;
    }
    // Keep reading: if the hook just reported a timeout to a closed socket, it might not receive the answer either.
    let _ended = connection.writing.shutdown().await;
    while let Ok(Some(_)) = connection.lines.next().await {}
}

struct HookConnection {
    id: RequestId,
    hook: String,
    lines: Lines<OwnedReadHalf>,
    writing: OwnedWriteHalf,
    commands: mpsc::Sender<Command>,
}

impl HookConnection {
    /// Returns `None` if the hook left without an answer.
    async fn until_answered(
        &mut self,
        asked: RpcRequest,
        mut answer: oneshot::Receiver<Answer>,
    ) -> Option<()> {
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => {
                    // Closed if the daemon ends or another connection replaced this one.
                    let payload = serde_json::to_value(answer.ok()?).ok()?;
                    return self.say(&asked, payload).await;
                }
                line = self.lines.next() => {
                    let line: RpcRequest = serde_json::from_slice(line.ok()??).ok()?;
                    let says = |key| line.payload.get(key).and_then(Value::as_bool).unwrap_or(false);
                    // The second key is that of earlier hooks.
                    let (may_defer, waits) = (says("mayDefer") || says("may_defer"), says("waits"));
                    if line.msg_type != LATE {
                        return None;
                    }
                    let (to, late) = oneshot::channel();
                    let (id, hook) = (self.id.clone(), self.hook.clone());
                    let command = BrokerCommand::TimedOut { id, hook, may_defer, waits, to };
                    self.commands.send(Command::Broker(command)).await.ok()?;
                    let outcome = match late.await.ok()? {
                        Timeout::Answered => continue,
                        Timeout::Expired => EXPIRED,
                        Timeout::Deferred(_) => DEFERRED,
                        Timeout::Waits => WAITING,
                    };
                    let payload = json!({ "outcome": outcome, "id": self.id.as_str() });
                    self.say(&line, payload).await?;
                    if outcome != WAITING {
                        return Some(());
                    }
                }
            }
        }
    }

    async fn say(&mut self, asked: &RpcRequest, answer: Value) -> Option<()> {
        let response = response_line(&asked.msg_type, &asked.id, payload(&answer).as_deref());
        self.writing.write_all(&response).await.ok()
    }
}
