//! Limits on waiting requests, so that no agent fills the daemon's memory or a person's list.

use super::body::Body;
use super::requests::Requests;
use murmur_core::permit::request::Request;

/// How many calls may wait at once; the daemon's remaining connections are for people.
const MAX_WAITING: usize = 192;

/// How many calls of one agent may wait at once.
const MAX_PER_AGENT: usize = 96;

/// How much memory waiting calls may take if the disk is full, in bytes.
const MAX_BYTES: usize = 32 << 20;

/// How much memory those of one agent may take, in bytes.
const MAX_BYTES_PER_AGENT: usize = 8 << 20;

/// Why the new `request` exceeds a limit; `None` if it does not.
pub(super) fn over_count<D>(requests: &Requests<D>, request: &Request) -> Option<String> {
    let go_on = "continue without it, or try again later";
    let all = requests.all();
    let waiting = || all.iter().map(|(_, open)| open).filter(|open| !open.is_answered());
    let own = || waiting().filter(|open| open.request.agent == request.agent);
    if waiting().count() >= MAX_WAITING {
        return Some(format!("{MAX_WAITING} calls are already waiting for a person; {go_on}"));
    }
    if own().count() >= MAX_PER_AGENT {
        return Some(format!(
            "{MAX_PER_AGENT} calls of this agent are already waiting for a person; {go_on}"
        ));
    }
    None
}

/// Why the `input` of `request` must not be kept in memory; `None` if it may be or is on disk.
pub(super) fn over_memory<D>(requests: &Requests<D>, request: &Request, input: &Body) -> Option<String> {
    if input.memory() == 0 {
        return None;
    }
    let all = requests.all();
    let waiting = || all.iter().map(|(_, open)| open).filter(|open| !open.is_answered());
    let own = waiting().filter(|open| open.request.agent == request.agent);
    let is_too_much = own.map(|open| open.input.memory()).sum::<usize>() + input.memory()
        > MAX_BYTES_PER_AGENT
        || waiting().map(|open| open.input.memory()).sum::<usize>() + input.memory() > MAX_BYTES;
    is_too_much.then(|| "the disk is full, so the request cannot be kept; try again later".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::path::Path;

    /// A request whose input takes about `bytes` of memory.
    fn request(agent: &str, number: usize, bytes: usize) -> Request {
        let call = json!({ "agent": agent, "session": "s", "toolUseId": number.to_string(), "tool": "Bash",
            "input": vec![0; bytes / size_of::<Value>()], "cwd": "/w", "workspace": "/w", "project": "w", "whom": "person", "hook": "h" });
        serde_json::from_value(call).unwrap()
    }

    /// How many of `asked` calls of `bytes` are accepted from agents taking turns; long inputs go to `folder`.
    fn accepted(asked: usize, agents: usize, bytes: usize, folder: &Path) -> usize {
        let mut requests: Requests<()> = Requests::default();
        let mut found = 0;
        for number in 0..asked {
            let request = request(&format!("agent-{}", number % agents), number, bytes);
            let input = Body::on_disk(&request.input, folder);
            let refused =
                over_count(&requests, &request).or_else(|| over_memory(&requests, &request, &input));
            if refused.is_none() {
                requests.ask(request.clone(), input, (), sys::clock::now());
                found += 1;
            }
        }
        found
    }

    #[test]
    fn one_agent_and_all_of_them_have_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let none = folder.path().join("none");
        assert_eq!((accepted(100, 1, 10, &none), accepted(200, 3, 10, &none)), (96, 192));
        assert_eq!((accepted(10, 1, 900_000, &none), accepted(40, 9, 900_000, &none)), (9, 37));
        assert_eq!(accepted(1, 1, 9 << 20, &none), 0);
        assert_eq!(accepted(100, 1, 90_000, folder.path()), 96);
    }
}
