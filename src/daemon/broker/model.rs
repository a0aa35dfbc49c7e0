//! Decisions by a model: sends a hook's request to the provider in config.toml and returns its decision to the hook.
//!
//! Every request gets an answer: anything but a clear approval denies, and nothing waits for a person. It runs outside
//! the daemon's loop, in the connection's task and a thread.
//!
//! `access` finds the provider and key, `prompt` builds the prompt, `wire` formats it for each provider, `http` sends
//! it, and `decision` parses the model's decision.

mod access;
mod decision;
mod http;
mod prompt;
mod wire;

use access::{Access, AccessError};
use decision::{Decision, DecisionError};
use http::HttpError;
use murmur_core::config::settings::{Provider, Secret};
use murmur_core::permit::decision::{DecidedBy, DecisionKind};
use murmur_core::permit::request::{Answer, Request};
use murmur_rpc::envelope::{Request as RpcRequest, payload, response_line};
use prompt::PromptError;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use sys::error::Hinted;
use sys::paths::SettingsDir;
use tokio::io::{AsyncWriteExt, copy, sink};
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};
use wire::WireError;

/// How many requests run at once. Others wait in their own connections until they time out.
const AT_ONCE: usize = 4;

/// How long an answer may take, even if the hook would wait longer.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(30);

/// Asks models. One clone for each client.
#[derive(Debug, Clone)]
pub struct Models {
    settings: SettingsDir,
    keys: Arc<BTreeMap<Provider, Secret>>,
    permits: Arc<Semaphore>,
}

/// Why no model can be asked at all.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Unreachable(AccessError);

impl Hinted for Unreachable {
    fn hint(&self) -> Option<String> {
        self.0.hint()
    }
}

impl Unreachable {
    /// Whether a daemon with a different environment might have a key.
    #[must_use]
    pub fn depends_on_environment(&self) -> bool {
        matches!(self.0, AccessError::NoKey { .. })
    }
}

/// Returns the model that would be asked, as `provider/model`, without asking it.
pub fn configured_model(settings: &Path, keys: &BTreeMap<Provider, Secret>) -> Result<String, Unreachable> {
    Access::find(settings, keys).map(|access| access.to_string()).map_err(Unreachable)
}

/// Why there is no decision.
#[derive(Debug, thiserror::Error)]
enum ModelError {
    #[error("only a person can decide this, and the request is for a model")]
    NotForModels,
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error("cannot ask {model}")]
    Http { model: String, source: HttpError },
    #[error("{model} returned an invalid decision")]
    Wire { model: String, source: WireError },
    #[error("{model} returned an invalid decision")]
    Decision { model: String, source: DecisionError },
    #[error("no model answered within {}", humantime::format_duration(*.0))]
    Timeout(Duration),
    #[error("cannot start a thread to ask a model")]
    Thread(#[source] io::Error),
    #[error("asking a model failed")]
    Broken,
}

impl Hinted for ModelError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Access(error) => error.hint(),
            Self::Prompt(error) => error.hint(),
            _ => None,
        }
    }
}

/// A model's decision on a call.
#[derive(Debug)]
struct ModelDecision {
    /// `provider/model`.
    model: String,
    decision: Decision,
    reason: String,
}

/// Serves `stream` until `asked`, sent as `line`, is answered or the hook is gone.
pub async fn serve(stream: UnixStream, line: RpcRequest, asked: Request, models: Models) {
    let (mut reading, mut writing) = stream.into_split();
    let mut unread = sink();
    tokio::select! {
        answer = models.answer(asked) => {
            let response = response_line(&line.msg_type, &line.id, payload(&answer).as_deref());
            let _gone = writing.write_all(&response).await;
        }
        // A hook that reports a timeout still gets the answer: the limit here expires at the same time.
        _gone = copy(&mut reading, &mut unread) => return,
    }
    // Keep reading: if the hook wrote to a closed socket, it might not receive the answer either.
    let _ended = writing.shutdown().await;
    let _gone = copy(&mut reading, &mut unread).await;
}

impl Models {
    /// Uses the model in config.toml of `settings`, read for each request. `keys` are for providers without a key
    /// there.
    #[must_use]
    pub fn new(settings: &SettingsDir, keys: BTreeMap<Provider, Secret>) -> Self {
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        Self { settings: settings.clone(), keys: Arc::new(keys), permits }
    }

    async fn answer(&self, request: Request) -> Answer {
        let id = request.id(0);
        let (kind, reason, by) = match self.decision(request).await {
            Ok(ModelDecision { model, decision, reason }) => {
                let (kind, reason) = match decision {
                    Decision::Allow => (DecisionKind::Allow, format!("{model} allows it: {reason}")),
                    Decision::Deny => (DecisionKind::Deny, format!("{model} denies it: {reason}")),
                    Decision::Unsure => {
                        (DecisionKind::Deny, format!("{model} is not sure, so the call is denied: {reason}"))
                    }
                };
                (kind, reason, DecidedBy::Model(model))
            }
            Err(error) => {
                (DecisionKind::Deny, format!("{}; the call is denied", error.line()), DecidedBy::Failure)
            }
        };
        Answer { decision: kind, reason: Some(reason), answers: None, by, id, answered_by: None }
    }

    async fn decision(&self, request: Request) -> Result<ModelDecision, ModelError> {
        // The hook never sends these to a model.
        if request.is_question() || request.doubt.is_some() {
            return Err(ModelError::NotForModels);
        }
        let limit = request
            .wait
            .map_or(MAX_ANSWER_TIME, |wait| Duration::from_secs(wait.into()).min(MAX_ANSWER_TIME));
        let until = Instant::now() + limit;
        // Reject a long prompt before waiting.
        let prompt = prompt::about(&request)?;
        drop(request);
        let late = |_| ModelError::Timeout(limit);
        let permit = timeout_at(until, Arc::clone(&self.permits).acquire_owned()).await.map_err(late)?;
        let permit = permit.map_err(|_| ModelError::Broken)?;
        let (to, decision) = oneshot::channel();
        let (settings, keys) = (self.settings.settings(), Arc::clone(&self.keys));
        let ask = move || {
            let permit: OwnedSemaphorePermit = permit;
            let access = Access::find(&settings, &keys).map_err(ModelError::from);
            let decision = access.and_then(|access| ask(&access, &prompt, until.into_std(), limit));
            // Before the answer, so that a client that has it can send the next request.
            drop(permit);
            let _gone = to.send(decision);
        };
        // Not a runtime thread: the daemon would wait for it at shutdown.
        std::thread::Builder::new().name("model".to_owned()).spawn(ask).map_err(ModelError::Thread)?;
        timeout_at(until, decision).await.map_err(late)?.map_err(|_| ModelError::Broken)?
    }
}

/// Asks the model, blocking until it answers or the time is up.
fn ask(
    access: &Access,
    prompt: &str,
    until: std::time::Instant,
    limit: Duration,
) -> Result<ModelDecision, ModelError> {
    let model = access.to_string();
    let call = wire::call(access, prompt);
    let left = until.saturating_duration_since(std::time::Instant::now());
    let body = http::post(&call, left).map_err(|error| match error {
        HttpError::Timeout => ModelError::Timeout(limit),
        source => ModelError::Http { model: model.clone(), source },
    })?;
    let text = wire::text(access.provider, &body)
        .map_err(|source| ModelError::Wire { model: model.clone(), source })?;
    let (decision, reason) = decision::read(&text, access.key.reveal())
        .map_err(|source| ModelError::Decision { model: model.clone(), source })?;
    Ok(ModelDecision { model, decision, reason })
}

#[cfg(test)]
mod tests;
