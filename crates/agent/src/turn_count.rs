//! Counts the model's responses in each turn of an agent, for backends whose results don't say how many there were.
//!
//! A backend that reports the tokens of each request has one response per report. Otherwise a response is everything
//! that the agent says and calls until calls return; what shows in no event isn't counted.

use crate::event::Event;

/// The responses since the last result.
#[derive(Debug, Default)]
pub struct TurnCount {
    /// Reports of tokens.
    requests: u64,
    /// Responses, as far as texts and calls tell.
    responses: u64,
    /// Whether a response has begun, and none of its calls has returned.
    is_open: bool,
    /// Calls without a result.
    calls: Vec<String>,
}

/// How many calls without a result to remember; the oldest is forgotten first.
const CALLS: usize = 256;

impl TurnCount {
    /// Processes the next event. For the result of a turn, returns the number of its responses, unless there was none.
    pub fn see(&mut self, event: &Event<'_>) -> Option<u64> {
        match event {
            // A resumed agent may have repeated its conversation.
            Event::Session { .. } => *self = Self::default(),
            Event::Usage(_) => self.requests += 1,
            Event::Text { parent, .. } if parent.is_empty() => self.respond(),
            // A call may be announced again.
            Event::ToolUse { parent, id, .. }
                if parent.is_empty() && self.calls.iter().all(|call| *call != **id) =>
            {
                self.respond();
                if self.calls.len() == CALLS {
                    self.calls.remove(0);
                }
                self.calls.push(id.clone().into_owned());
            }
            Event::ToolResult { parent, id, .. } if parent.is_empty() => {
                self.calls.retain(|call| *call != **id);
                self.is_open = false;
            }
            Event::Result(_) => {
                return Some(std::mem::take(self).so_far()).filter(|count| *count > 0);
            }
            _ => {}
        }
        None
    }

    /// The responses since the last result.
    #[must_use]
    pub fn so_far(&self) -> u64 {
        if self.requests > 0 { self.requests } else { self.responses }
    }

    fn respond(&mut self) {
        self.responses += u64::from(!self.is_open);
        self.is_open = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::{Dialect, Parser};

    fn counts(dialect: Dialect, output: &str) -> Vec<Option<u64>> {
        let (mut count, mut parser, mut counts) = (TurnCount::default(), Parser::new(dialect), Vec::new());
        parser.feed(output.as_bytes(), &mut |event| {
            let counted = count.see(&event);
            if matches!(event, Event::Result(_)) {
                counts.push(counted);
            }
        });
        counts
    }

    #[test]
    fn codex_reports_tokens_once_per_response() {
        let turn = |requests: usize| {
            let usage = "{\"method\":\"thread/tokenUsage/updated\",\"params\":{\"tokenUsage\":{\"last\":{\"outputTokens\":1}}}}\n";
            let end = "{\"method\":\"turn/completed\",\"params\":{\"turn\":{\"status\":\"completed\"}}}\n";
            usage.repeat(requests) + end
        };
        assert_eq!(
            counts(Dialect::CodexAppServer, &(turn(2) + &turn(0) + &turn(1))),
            [Some(2), None, Some(1)]
        );
    }

    #[test]
    fn what_an_acp_agent_says_and_calls_until_a_result_is_one_response() {
        let update = |update: &str| {
            format!("{{\"method\":\"session/update\",\"params\":{{\"update\":{{{update}}}}}}}\n")
        };
        let says = update(r#""sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}"#);
        let call = |id: &str| {
            update(&format!(
                r#""sessionUpdate":"tool_call_update","toolCallId":"{id}","kind":"execute","status":"in_progress","rawInput":{{"command":"ls"}}"#
            ))
        };
        let result = |id: &str| {
            update(&format!(r#""sessionUpdate":"tool_call_update","toolCallId":"{id}","status":"completed""#))
        };
        let end = "{\"id\":\"murmur-prompt:1\",\"result\":{\"stopReason\":\"end_turn\"}}\n".to_owned();
        let whole = [
            says.clone(),
            says.clone(),
            call("a"),
            call("b"),
            result("a"),
            // Announced again, although another call of the response has returned.
            call("b"),
            result("b"),
            says,
            end.clone(),
            end,
        ];
        assert_eq!(counts(Dialect::Acp, &whole.concat()), [Some(2), None]);
    }
}
