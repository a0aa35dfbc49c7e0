//! A model decides: what a hook asks of one goes to the provider that config.toml names, and its answer is the hook's.
//!
//! In comes a request, out goes an answer, always: whatever is not a plain yes denies, and nothing of it waits for a
//! person. The daemon's loop knows nothing of it: a question is its connection's, and asked on a thread of its own.
//!
//! `access` is whom to ask and with which key, `prompt` what is said, `wire` how each provider wants it, `http` the way
//! there and back, `judgement` what the model says.

mod access;
mod http;
mod judgement;
mod prompt;
mod wire;

use crate::config::settings::{Provider, Secret};
use crate::permit::decision::{By, Verdict};
use crate::permit::request::{Answer, Request};
use crate::rpc::envelope::{Request as Line, Response};
use access::{Access, AccessError};
use http::HttpError;
use judgement::{JudgementError, Word};
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

/// How many questions are under way at once. The next one waits, in its own connection and as long as it has time.
const AT_ONCE: usize = 4;

/// How long an answer may take, whatever time the hook has.
const LONGEST: Duration = Duration::from_secs(30);

/// Asks models. One clone for each client.
#[derive(Debug, Clone)]
pub struct Models {
    settings: SettingsDir,
    keys: Arc<BTreeMap<Provider, Secret>>,
    places: Arc<Semaphore>,
}

/// Why no model can be asked, whatever the question.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Unreachable(AccessError);

impl Hinted for Unreachable {
    fn hint(&self) -> Option<String> {
        self.0.hint()
    }
}

impl Unreachable {
    /// Whether a daemon that was started with another environment may be able to.
    #[must_use]
    pub fn is_of_environment(&self) -> bool {
        matches!(self.0, AccessError::NoKey { .. })
    }
}

/// The model that would be asked, as `provider/model`. Nobody is asked.
///
/// # Errors
/// [`Unreachable`]: the file `settings` names no model or no key that can be used, and `keys` has none.
pub fn reached(settings: &Path, keys: &BTreeMap<Provider, Secret>) -> Result<String, Unreachable> {
    Access::find(settings, keys).map(|access| access.to_string()).map_err(Unreachable)
}

/// Why there is no judgement.
#[derive(Debug, thiserror::Error)]
enum ModelError {
    #[error("this is for a person to decide, and only a model is asked")]
    NotForModels,
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error("{model} cannot be asked: {error}")]
    Http { model: String, error: HttpError },
    #[error("{model} answered what is no decision: {error}")]
    Wire { model: String, error: WireError },
    #[error("{model} answered what is no decision: {error}")]
    Judgement { model: String, error: JudgementError },
    #[error("no model answered within {}", humantime::format_duration(*.0))]
    Late(Duration),
    #[error("cannot start a thread to ask a model: {0}")]
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

/// What a model says of a call.
#[derive(Debug)]
struct Judgement {
    /// `provider/model`.
    model: String,
    word: Word,
    reason: String,
}

/// Serves `stream`, on which `asked` was asked as `line`, until it is answered or the hook is gone.
pub async fn serve(stream: UnixStream, line: Line, asked: Request, models: Models) {
    let (mut reading, mut writing) = stream.into_split();
    let mut unread = sink();
    tokio::select! {
        answer = models.answer(asked) => {
            let payload = serde_json::to_value(answer).map_err(|error| error.to_string().into());
            let response = Response::new(line.msg_type, line.id, payload);
            let _gone = writing.write_all(&response.line()).await;
        }
        // A hook whose time is up says so, and is told the answer all the same: here the time is up as well.
        _gone = copy(&mut reading, &mut unread) => return,
    }
    // What it may say meanwhile is to find somebody, or whoever carries it would not bring the answer either.
    let _ended = writing.shutdown().await;
    let _gone = copy(&mut reading, &mut unread).await;
}

impl Models {
    /// Asks the model that config.toml in `settings` names, read anew each time. `keys` is for providers of which it
    /// has no key.
    #[must_use]
    pub fn new(settings: &SettingsDir, keys: BTreeMap<Provider, Secret>) -> Self {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        Self { settings: settings.clone(), keys: Arc::new(keys), places }
    }

    async fn answer(&self, request: Request) -> Answer {
        let id = request.id(0);
        let (verdict, reason, by) = match self.judgement(request).await {
            Ok(Judgement { model, word, reason }) => {
                let (verdict, reason) = match word {
                    Word::Allow => (Verdict::Allow, format!("{model} allows it: {reason}")),
                    Word::Deny => (Verdict::Deny, format!("{model} denies it: {reason}")),
                    Word::Unsure => {
                        (Verdict::Deny, format!("{model} is not sure, so the call is denied: {reason}"))
                    }
                };
                (verdict, reason, By::Model(model))
            }
            Err(error) => (Verdict::Deny, format!("{}; the call is denied", error.line()), By::Failure),
        };
        Answer { verdict, reason: Some(reason), answers: None, by, id, answered_by: None }
    }

    async fn judgement(&self, request: Request) -> Result<Judgement, ModelError> {
        // The hook asks neither of a model; whoever else does is told no.
        if request.is_question() || request.doubt.is_some() {
            return Err(ModelError::NotForModels);
        }
        let limit = request.wait.map_or(LONGEST, |wait| Duration::from_secs(wait.into()).min(LONGEST));
        let until = Instant::now() + limit;
        // What is too long is known before it waits.
        let prompt = prompt::about(&request)?;
        drop(request);
        let late = |_| ModelError::Late(limit);
        let place = timeout_at(until, Arc::clone(&self.places).acquire_owned()).await.map_err(late)?;
        let place = place.map_err(|_| ModelError::Broken)?;
        let (to, judgement) = oneshot::channel();
        let (settings, keys) = (self.settings.settings(), Arc::clone(&self.keys));
        let ask = move || {
            let place: OwnedSemaphorePermit = place;
            let access = Access::find(&settings, &keys).map_err(ModelError::from);
            let judgement = access.and_then(|access| ask(&access, &prompt, until.into_std(), limit));
            // Before the answer, so that whoever has one can ask the next.
            drop(place);
            let _heard = to.send(judgement);
        };
        // Not one of the runtime's threads, for which the daemon would wait at its end.
        std::thread::Builder::new().name("model".to_owned()).spawn(ask).map_err(ModelError::Thread)?;
        timeout_at(until, judgement).await.map_err(late)?.map_err(|_| ModelError::Broken)?
    }
}

/// Asks, and blocks until there is an answer or the time is up.
fn ask(
    access: &Access,
    prompt: &str,
    until: std::time::Instant,
    limit: Duration,
) -> Result<Judgement, ModelError> {
    let model = access.to_string();
    let call = wire::call(access, prompt);
    let left = until.saturating_duration_since(std::time::Instant::now());
    let body = http::post(&call, left).map_err(|error| match error {
        HttpError::Late => ModelError::Late(limit),
        error => ModelError::Http { model: model.clone(), error },
    })?;
    let text = wire::text(access.provider, &body)
        .map_err(|error| ModelError::Wire { model: model.clone(), error })?;
    let (word, reason) = judgement::read(&text, access.key.reveal())
        .map_err(|error| ModelError::Judgement { model: model.clone(), error })?;
    Ok(Judgement { model, word, reason })
}

#[cfg(test)]
mod tests;
