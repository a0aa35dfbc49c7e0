//! How much may wait for a person at once, so that no agent fills the daemon's memory or a person's list.

use super::requests::{Open, Requests};
use crate::permit::request::Request;
use serde_json::Value;

/// How many calls may wait at once: clients of the daemon beyond them are left for people.
const MOST: usize = 192;

/// How many of one agent's.
const MOST_OF_ONE: usize = 96;

/// How much memory the calls that wait may take, in bytes.
const BYTES: usize = 32 << 20;

/// How much those of one agent may take.
const BYTES_OF_ONE: usize = 8 << 20;

/// Why `request` finds no room among `requests`; `None` if it does. What is known already has its room.
pub(super) fn refusal<D>(requests: &Requests<D>, request: &Request) -> Option<String> {
    if requests.is_known(request) {
        return None;
    }
    let go_on = "go on without it, or try it later";
    let all = requests.all();
    let waiting = || all.iter().map(|(_, open)| open).filter(|open| !open.is_answered());
    let own = || waiting().filter(|open| open.request.agent == request.agent);
    if waiting().count() >= MOST {
        return Some(format!("{MOST} calls wait for a person already; {go_on}"));
    }
    if own().count() >= MOST_OF_ONE {
        return Some(format!("{MOST_OF_ONE} calls of this agent wait for a person already; {go_on}"));
    }
    let bytes = memory(&request.input);
    if bytes > BYTES_OF_ONE {
        return Some("the call is too long to be shown to a person; make it shorter".to_owned());
    }
    let taken = |open: &Open<D>| open.bytes;
    if own().map(|open| taken(open)).sum::<usize>() + bytes > BYTES_OF_ONE
        || waiting().map(|open| taken(open)).sum::<usize>() + bytes > BYTES
    {
        return Some(format!("the calls that wait for a person already are too long together; {go_on}"));
    }
    None
}

/// About how much memory `value` takes, in bytes: more than its text, where it has many small parts.
pub(super) fn memory(value: &Value) -> usize {
    let own = size_of::<Value>();
    own + match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(memory).sum(),
        // An entry is a node of a tree, half of which is empty.
        Value::Object(entries) => {
            let entry =
                |(key, value): (&String, &Value)| 2 * size_of::<String>() + key.len() + own + memory(value);
            entries.iter().map(entry).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// One whose input takes about `bytes`, and is short as a text.
    fn request(agent: &str, number: usize, bytes: usize) -> Request {
        let call = json!({ "agent": agent, "session": "s", "tool_use_id": number.to_string(), "tool": "Bash",
            "input": vec![0; bytes / size_of::<Value>()], "cwd": "/w", "workspace": "/w", "project": "w", "whom": "person", "hook": "h" });
        serde_json::from_value(call).unwrap()
    }

    /// How many of `asked` calls of `bytes` find room, of agents that ask in turn.
    fn taken(asked: usize, agents: usize, bytes: usize) -> usize {
        let mut requests: Requests<()> = Requests::default();
        let mut found = 0;
        for number in 0..asked {
            let request = request(&format!("agent-{}", number % agents), number, bytes);
            if refusal(&requests, &request).is_none() {
                requests.ask(request.clone(), (), crate::sys::clock::now());
                found += 1;
                assert_eq!(refusal(&requests, &request), None, "it has its room");
            }
        }
        found
    }

    #[test]
    fn one_agent_leaves_room_for_others_and_all_of_them_have_a_limit() {
        assert_eq!((taken(100, 1, 10), taken(200, 3, 10)), (96, 192));
        assert_eq!((taken(10, 1, 900_000), taken(40, 9, 900_000)), (9, 37));
        assert_eq!(taken(1, 1, 9 << 20), 0);
    }

    #[test]
    fn many_small_parts_take_more_memory_than_their_text() {
        assert!(memory(&json!("x".repeat(1000))) < 1100);
        assert!(memory(&json!(vec![0; 1000])) >= 1000 * size_of::<Value>());
        assert!(memory(&json!({ "key": [1, { "a": "b" }] })) > 5 * size_of::<Value>());
    }
}
