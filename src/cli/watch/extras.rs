//! The cost and the context of an agent: from the events of its host, and from what it wrote before.

use super::super::show::hosted_capture;
use derun::cli::captures;
use murmur_agent::backend::dialect;
use murmur_agent::event::Event as AgentEvent;
use murmur_agent::parser::Parser;
use murmur_core::id::AgentId;
use murmur_host::event::Derived;
use murmur_rpc::envelope::Event;
use serde_json::Value;
use sys::clock;
use sys::paths::DataDir;

/// How much of an agent's output is read, from its end, in bytes.
const RECENT: u64 = 4 << 20;

/// How much is read at once, in bytes.
const BLOCK: usize = 256 << 10;

/// What is known of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Extras {
    /// Its cost so far, in US dollars.
    pub(super) cost: Option<f64>,
    /// The tokens of its last request.
    pub(super) context: Option<u64>,
    /// How many fit.
    pub(super) window: Option<u64>,
}

impl Extras {
    /// What an event of a host says.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let payload = &event.payload;
        let number = |of: &Value, name: &str| of.get(name).and_then(Value::as_u64);
        let usd = |name: &str| payload.get(name).and_then(Value::as_f64);
        // A request sends the whole context so far.
        let sent = |of: &Value| {
            let parts = ["input", "cacheRead", "cacheWrite"].into_iter().filter_map(|name| number(of, name));
            Some(parts.sum()).filter(|sum| *sum > 0)
        };
        Some(match &*event.event_type {
            "cost" => Self { cost: usd("usd"), ..Self::default() },
            // A result has only the sum of its requests.
            "result" => {
                let is_one = number(payload, "numTurns") == Some(1);
                let context = payload.get("usage").filter(|_| is_one).and_then(sent);
                Self { cost: usd("costUsd"), context, window: None }
            }
            "usage" => Self { context: sent(payload), ..Self::default() },
            "compaction" => Self { context: number(payload, "postTokens"), ..Self::default() },
            "session" => {
                let model = payload.get("model").and_then(Value::as_str).unwrap_or_default();
                Self { window: window(model), ..Self::default() }
            }
            _ => return None,
        })
    }

    /// Applies what is newer.
    pub(super) fn update(&mut self, news: Self) {
        self.cost = news.cost.or(self.cost);
        self.context = news.context.or(self.context);
        self.window = news.window.or(self.window);
    }

    /// Applies what the agent itself wrote.
    fn take(&mut self, event: &AgentEvent<'_>) {
        match event {
            AgentEvent::MessageTokens { tokens, .. } => {
                let sent = tokens.input.saturating_add(tokens.cache_read).saturating_add(tokens.cache_write);
                self.context = Some(sent).filter(|sent| *sent > 0).or(self.context);
            }
            AgentEvent::Cost { .. }
            | AgentEvent::Result(_)
            | AgentEvent::Usage(_)
            | AgentEvent::Compaction(_)
            | AgentEvent::Session { .. } => {
                let line = Derived::Agent(event).line("", 0);
                let news = serde_json::from_slice(&line).ok().and_then(|event| Self::of(&event));
                news.into_iter().for_each(|news| self.update(news));
            }
            _ => {}
        }
    }
}

/// The last part of the output of `agent`; `None` if there is none.
pub(super) fn past(agent: &str, dir: &DataDir) -> Option<Extras> {
    let (backend, capture) = hosted_capture(&AgentId::parse(agent).ok()?, dir)?;
    let session = captures::existing().ok()??.session(capture.as_str()).ok()?;
    let (mut extras, mut parser) = (Extras::default(), Parser::new(dialect(&backend)));
    let mut at = session.end().ok()?.saturating_sub(RECENT);
    loop {
        let page = session.read(at, BLOCK, clock::now()).ok()?;
        parser.feed(&page.bytes, &mut |event| extras.take(&event));
        if page.next() == at {
            return Some(extras);
        }
        at = page.next();
    }
}

/// How many tokens fit into the context of a model, if that is known.
fn window(model: &str) -> Option<u64> {
    match model {
        model if model.ends_with("[1m]") => Some(1_000_000),
        model if model.starts_with("claude-") => Some(200_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(kind: &str, payload: Value) -> Event {
        let line = json!({ "event_type": kind, "agent_id": "a", "offset": 0, "payload": payload });
        serde_json::from_value(line).unwrap()
    }

    #[test]
    fn cost_and_context_are_those_of_the_last_request() {
        let mut extras = Extras::default();
        for (kind, payload) in [
            ("session", json!({ "model": "claude-x" })),
            ("usage", json!({ "input": 1, "cacheRead": 2, "cacheWrite": 3, "output": 9 })),
            ("cost", json!({ "usd": 0.5 })),
            ("result", json!({ "numTurns": 3, "costUsd": 0.75, "usage": { "input": 99 } })),
        ] {
            extras.update(Extras::of(&event(kind, payload)).unwrap());
        }
        assert_eq!(extras, Extras { cost: Some(0.75), context: Some(6), window: Some(200_000) });
        extras.update(Extras::of(&event("compaction", json!({ "postTokens": 4 }))).unwrap());
        assert_eq!((extras.context, Extras::of(&event("tool_use", json!({})))), (Some(4), None));
    }

    #[test]
    fn the_output_of_an_agent_has_the_tokens_of_each_message() {
        let lines = concat!(
            r#"{"type":"system","subtype":"init","session_id":"s","model":"claude-x","tools":[]}"#,
            "\n",
            r#"{"type":"assistant","message":{"id":"m","model":"claude-x","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":5,"cache_read_input_tokens":20,"cache_creation_input_tokens":30,"output_tokens":7}}}"#,
            "\n",
            r#"{"type":"result","subtype":"success","is_error":false,"num_turns":2,"total_cost_usd":0.25,"session_id":"s","result":"x","usage":{"input_tokens":99,"output_tokens":9}}"#,
            "\n",
        );
        let mut extras = Extras::default();
        Parser::new(dialect(&Default::default())).feed(lines.as_bytes(), &mut |event| extras.take(&event));
        assert_eq!(extras, Extras { cost: Some(0.25), context: Some(55), window: Some(200_000) });
    }
}
