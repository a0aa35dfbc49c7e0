//! Data that differs in every run: ids, times, durations, temporary folders, ports.
//!
//! The same id gets the same placeholder everywhere, numbered by first occurrence.

use super::replacement::Replacement;
use std::collections::HashMap;

use secrets::text::{ends_word, run, starts_word};

const TIME: &str = "2026-01-01T00:00:00.000Z";
const EPOCH_MILLISECONDS: &str = "1767225600000";

/// The ids seen so far.
#[derive(Default)]
pub(super) struct Ids {
    seen: HashMap<Vec<u8>, String>,
    counts: HashMap<&'static str, usize>,
}

impl Ids {
    /// Returns the volatile data that starts at `at`.
    pub(super) fn find(&mut self, bytes: &[u8], at: usize) -> Option<Replacement> {
        match bytes[at] {
            b'_' | b'M' => measured(bytes, at),
            b'A' | b'I' | b'N' => keyed(bytes, at),
            b'/' => temporary(bytes, at)
                .or_else(|| own_temporary(bytes, at))
                .or_else(|| self.tool_result(bytes, at))
                .or_else(|| dated(bytes, at)),
            b'1' | b'l' if starts_word(bytes, at) => port(bytes, at).or_else(|| self.word(bytes, at)),
            _ if bytes[at].is_ascii_alphanumeric() => self.word(bytes, at),
            _ => None,
        }
    }

    fn word(&mut self, bytes: &[u8], at: usize) -> Option<Replacement> {
        // Codex's log has times that follow the code of a color.
        if bytes[..at].ends_with(b"\x1b[2m")
            && let Some(length) = timestamp(bytes, at)
        {
            return Replacement::new(length, TIME);
        }
        if !starts_word(bytes, at) {
            return None;
        }
        // OpenCode's paths are relative.
        if bytes[at..].starts_with(b"tmp/.tmp") {
            let name = run(bytes, at + 8, |byte| byte.is_ascii_alphanumeric());
            return if name >= 4 { Replacement::new(8 + name, "tmp/scratch") } else { None };
        }
        if uuid(bytes, at) {
            return self
                .placeholder(&bytes[at..at + 36], "uuid", |n| format!("00000000-0000-4000-8000-{n:012}"));
        }
        if let Some(length) = timestamp(bytes, at) {
            return Replacement::new(length, TIME);
        }
        // In the name of a conversation's file.
        if fits(bytes, at, b"0000-00-00T00-00-00-") {
            return Replacement::new(19, "2026-01-01T00-00-00");
        }
        // Of a session, a message or a part of one.
        for begin in ["ses_", "msg_", "prt_"] {
            if bytes[at..].starts_with(begin.as_bytes())
                && run(bytes, at + 4, |byte| byte.is_ascii_alphanumeric()) == 26
            {
                let id = &bytes[at..at + 30];
                return self.placeholder(id, begin, |n| format!("{begin}{n:026}"));
            }
        }
        if let Some(length) = socket_number(bytes, at) {
            return Replacement::new(length, "1");
        }
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        // A subagent's id.
        if bytes[at] == b'a' && run(bytes, at, hex) == 17 && ends_word(bytes, at + 17) {
            return self.placeholder(&bytes[at..at + 17], "agent", |n| format!("a{n:016}"));
        }
        let base36 = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
        if run(bytes, at, base36) == 9 && ends_word(bytes, at + 9) {
            return self.task(bytes, at);
        }
        // A background task's run id.
        if run(bytes, at, base36) == 9
            && bytes.get(at + 9) == Some(&b'-')
            && run(bytes, at + 10, hex) == 8
            && ends_word(bytes, at + 18)
        {
            return self.placeholder(&bytes[at..at + 18], "run", |n| format!("{n:09}-00000000"));
        }
        if bytes[at..].starts_with(b"req_") {
            let length = 4 + run(bytes, at + 4, |byte| byte.is_ascii_alphanumeric());
            return (length >= 12)
                .then(|| self.placeholder(&bytes[at..at + length], "request", |n| format!("req_{n:024}")))?;
        }
        None
    }

    /// A background task's id. Any word looks like one, so it counts from where it is introduced.
    fn task(&mut self, bytes: &[u8], at: usize) -> Option<Replacement> {
        const BEFORE: [&[u8]; 3] = [b"task_id\":\"", b"task_id\\\":\\\"", b" in background with ID: "];
        let id = &bytes[at..at + 9];
        let is_introduced = BEFORE.iter().any(|before| bytes[..at].ends_with(before));
        if !is_introduced && !self.seen.contains_key(id) {
            return None;
        }
        self.placeholder(id, "task", |n| format!("b{n:08}"))
    }

    /// The file with a tool's large output: `tool-results/b9ppain1e.txt`.
    fn tool_result(&mut self, bytes: &[u8], at: usize) -> Option<Replacement> {
        const BEFORE: &[u8] = b"/tool-results/";
        let name = at + BEFORE.len();
        let length = run(bytes, name, |byte| byte.is_ascii_alphanumeric());
        if !bytes[at..].starts_with(BEFORE) || length != 9 {
            return None;
        }
        let found = self.placeholder(&bytes[name..name + length], "output", |n| format!("b{n:08}"))?;
        Replacement::new(name + length - at, format!("/tool-results/{}", found.instead))
    }

    fn placeholder(
        &mut self,
        id: &[u8],
        kind: &'static str,
        make: impl Fn(usize) -> String,
    ) -> Option<Replacement> {
        let length = id.len();
        let id = id.to_ascii_lowercase();
        if let Some(known) = self.seen.get(&id) {
            return Replacement::new(length, known.clone());
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let instead = make(*count);
        self.seen.insert(id, instead.clone());
        Replacement::new(length, instead)
    }
}

fn uuid(bytes: &[u8], at: usize) -> bool {
    let Some(text) = bytes.get(at..at + 36) else { return false };
    let fits = |(index, byte): (usize, &u8)| match index {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.iter().enumerate().all(fits) && ends_word(bytes, at + 36)
}

/// Whether the text at `at` has that shape, in which `0` is any digit.
fn fits(bytes: &[u8], at: usize, shape: &[u8]) -> bool {
    let fits = |(byte, shape): (&u8, &u8)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == shape };
    bytes.get(at..at + shape.len()).is_some_and(|text| text.iter().zip(shape).all(fits))
}

/// The value after certain keys of Codex: times in seconds, PIDs, and the machine's name.
fn keyed(bytes: &[u8], at: usize) -> Option<Replacement> {
    const TIMES: [&[u8]; 5] = [b"\"started", b"\"completed", b"\"created", b"\"updated", b"\"recency"];
    let (before, rest) = (&bytes[..at], &bytes[at..]);
    if rest.starts_with(b"At\":") && TIMES.iter().any(|key| before.ends_with(key)) {
        return (run(bytes, at + 4, |byte| byte.is_ascii_digit()) == 10)
            .then(|| Replacement::new(14, "At\":1767225600"))?;
    }
    if rest.starts_with(b"Id\":\"") && before.ends_with(b"\"process") {
        let digits = run(bytes, at + 5, |byte| byte.is_ascii_digit());
        return (digits > 0).then(|| Replacement::new(5 + digits, "Id\":\"1"))?;
    }
    if rest.starts_with(b"Name\":\"") && before.ends_with(b"\"status\":\"disabled\",\"server") {
        let name = run(bytes, at + 7, |byte| byte != b'"' && byte != b'\\');
        return Replacement::new(7 + name, "Name\":\"host");
    }
    None
}

/// `2026-11-21T01:06:40.951Z`, with any fraction and offset.
fn timestamp(bytes: &[u8], at: usize) -> Option<usize> {
    let shape = b"0000-00-00T00:00:00";
    if !fits(bytes, at, shape) {
        return None;
    }
    let mut length = shape.len();
    if bytes.get(at + length) == Some(&b'.') {
        length += 1 + run(bytes, at + length + 1, |byte| byte.is_ascii_digit());
    }
    match bytes.get(at + length)? {
        b'Z' => Some(length + 1),
        b'+' | b'-' => {
            let offset = bytes.get(at + length + 1..at + length + 6)?;
            (offset[2] == b':' && [0, 1, 3, 4].iter().all(|index| offset[*index].is_ascii_digit()))
                .then_some(length + 6)
        }
        _ => None,
    }
}

/// The number before `.sock`, a PID.
fn socket_number(bytes: &[u8], at: usize) -> Option<usize> {
    let length = run(bytes, at, |byte| byte.is_ascii_digit());
    (length > 0 && bytes[at + length..].starts_with(b".sock")).then_some(length)
}

/// `/tmp/tmp.XXXX` and `/tmp/.tmpXXXX`.
fn temporary(bytes: &[u8], at: usize) -> Option<Replacement> {
    if !starts_word(bytes, at) {
        return None;
    }
    let rest = &bytes[at..];
    for before in [&b"/tmp/tmp."[..], b"/tmp/.tmp"] {
        let name = run(rest, before.len(), |byte| byte.is_ascii_alphanumeric());
        if rest.starts_with(before) && name >= 4 {
            return Replacement::new(before.len() + name, "/tmp/scratch");
        }
    }
    None
}

/// The folder of a conversation's file, `/sessions/2026/11/21/`.
fn dated(bytes: &[u8], at: usize) -> Option<Replacement> {
    let shape = b"/sessions/0000/00/00/";
    if fits(bytes, at, shape) { Replacement::new(shape.len(), "/sessions/2026/01/01/") } else { None }
}

/// The user's number in Claude Code's temporary folder, `/tmp/claude-0/`.
fn own_temporary(bytes: &[u8], at: usize) -> Option<Replacement> {
    let before = b"/claude-";
    let number = run(bytes, at + before.len(), |byte| byte.is_ascii_digit());
    let fits = bytes[at..].starts_with(before) && bytes.get(at + before.len() + number) == Some(&b'/');
    if fits && number > 0 { Replacement::new(before.len() + number, "/claude-1000") } else { None }
}

fn port(bytes: &[u8], at: usize) -> Option<Replacement> {
    for host in ["127.0.0.1:", "localhost:"] {
        let digits = run(bytes, at + host.len(), |byte| byte.is_ascii_digit());
        if bytes[at..].starts_with(host.as_bytes()) && (2..=5).contains(&digits) {
            return Replacement::new(host.len() + digits, format!("{host}8080"));
        }
    }
    None
}

/// The number after a key that ends in `_ms`, `Ms` or `_time`, also in JSON nested in a JSON string.
fn measured(bytes: &[u8], at: usize) -> Option<Replacement> {
    let rest = &bytes[at..];
    let (key, moment) = [("_ms", false), ("Ms", false), ("_time", true)]
        .into_iter()
        .find(|(key, _)| rest.starts_with(key.as_bytes()))?;
    let mut start = key.len() + run(rest, key.len(), |byte| b"\\\"".contains(&byte));
    if rest.get(start) != Some(&b':') {
        return None;
    }
    start += 1 + run(rest, start + 1, |byte| byte == b' ');
    let digits = run(rest, start, |byte| byte.is_ascii_digit() || byte == b'.');
    if digits == 0 || (moment && digits != EPOCH_MILLISECONDS.len()) {
        return None;
    }
    let before = String::from_utf8_lossy(&rest[..start]);
    Replacement::new(start + digits, format!("{before}{}", if moment { EPOCH_MILLISECONDS } else { "1" }))
}
