//! The script: which turn answers which request.
//!
//! Input: the script's JSON, then requests. Output: a delay and a turn for each. Pure, except for counting how
//! often an error was played.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

/// Appears in the first block of a subagent's system prompt.
pub(crate) const SUBAGENT: &str = "cc_is_subagent=true";

/// A script: one list of turns, or one for the main agent and one for its subagents.
pub(crate) struct Script {
    main: Vec<Turn>,
    subagent: Option<Vec<Turn>>,
    plain: Turn,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "not a script; write a list of turns, each a list of blocks: \
        [[{\"type\":\"text\",\"text\":\"HEARTBEAT_OK\"}]]"
)]
enum Form {
    One(Vec<TurnForm>),
    Two(TwoForm),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TwoForm {
    main: Vec<TurnForm>,
    subagent: Option<Vec<TurnForm>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TurnForm {
    Content(Vec<Value>),
    Full(FullForm),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FullForm {
    #[serde(default)]
    content: Vec<Value>,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default)]
    end_delay_ms: u64,
    status: Option<u16>,
    #[serde(default)]
    error: Value,
    #[serde(default)]
    headers: std::collections::BTreeMap<String, String>,
    times: Option<u64>,
}

struct Turn {
    content: Vec<Value>,
    delay: Duration,
    end_delay: Duration,
    headers: Vec<(String, String)>,
    error: Option<ErrorTurn>,
}

/// An API error.
pub(crate) struct ErrorTurn {
    /// The HTTP status; 0 if the connection is closed without an answer.
    pub(crate) status: u16,
    pub(crate) error: Value,
    pub(crate) headers: Vec<(String, String)>,
    /// The number of times it is still played before the turn's content.
    left: AtomicU64,
}

/// The response to a request.
pub(crate) enum Play<'a> {
    /// Blocks, a delay between the last one and the end of the message, and headers.
    Content(&'a [Value], Duration, &'a [(String, String)]),
    Error(&'a ErrorTurn),
}

impl Script {
    pub(crate) fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        let (main, subagent) = match serde_json::from_slice(text)? {
            Form::One(turns) => (turns, None),
            Form::Two(form) => (form.main, form.subagent),
        };
        let turns = |forms: Vec<TurnForm>| forms.into_iter().map(Turn::from).collect();
        let plain = Turn::from(TurnForm::Content(vec![json!({"type": "text", "text": "ok"})]));
        Ok(Self { main: turns(main), subagent: subagent.map(turns), plain })
    }

    /// Returns the turn for a request with this number of assistant messages, each a completed turn. After the
    /// last turn, it repeats. A request without tools doesn't come from the agent itself and gets `ok`.
    pub(crate) fn choose(&self, request: &Value, done: usize) -> (Duration, Play<'_>) {
        let tools = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        let turns = match &self.subagent {
            Some(turns) if is_subagent(request) => turns,
            _ => &self.main,
        };
        match turns.get(done).or(turns.last()) {
            Some(turn) if tools => (turn.delay, turn.play()),
            _ => (Duration::ZERO, self.plain.play()),
        }
    }
}

fn is_subagent(request: &Value) -> bool {
    let blocks = request["system"].as_array().map(Vec::as_slice).unwrap_or_default();
    blocks.iter().filter_map(|block| block["text"].as_str()).any(|text| text.contains(SUBAGENT))
}

impl Turn {
    fn play(&self) -> Play<'_> {
        let take = |left: u64| if left == u64::MAX { Some(left) } else { left.checked_sub(1) };
        match &self.error {
            Some(error) if error.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() => {
                Play::Error(error)
            }
            _ => Play::Content(&self.content, self.end_delay, &self.headers),
        }
    }
}

impl From<TurnForm> for Turn {
    fn from(form: TurnForm) -> Self {
        let full = match form {
            TurnForm::Content(content) => FullForm { content, ..FullForm::default() },
            TurnForm::Full(full) => full,
        };
        let headers: Vec<_> = full.headers.into_iter().collect();
        let error = full.status.map(|status| ErrorTurn {
            status,
            error: full.error,
            headers: headers.clone(),
            left: AtomicU64::new(full.times.unwrap_or(u64::MAX)),
        });
        let [delay, end_delay] = [full.delay_ms, full.end_delay_ms].map(Duration::from_millis);
        Self { content: full.content, delay, end_delay, headers, error }
    }
}
