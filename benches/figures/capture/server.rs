//! The same through `murmur mcp`: from a request written to its stdin to the response's line on its stdout.

use super::super::home::Home;
use super::super::measure::{Size, interleave, median, milliseconds};
use super::super::table::Table;
use super::read::{PAGE, TAIL, reads};
use super::stored::{BIG, SMALL, Stored, begin, cursors};
use super::wait::{self, PAUSE, WAITS};
use anyhow::Context;
use derun::record::Channel;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Instant;
use sys::clock;
use sys::pause::pause;

const ROUNDS: usize = 11;
/// Requests per round.
const READS: Size<usize> = Size { full: 100, tiny: 3 };

pub(super) fn run(table: &mut Table, home: &Home, stored: &Stored) -> anyhow::Result<()> {
    let mut server = Server::start(home, stored)?;
    let mut client = std::cell::RefCell::new(&mut server);
    let ask = |tool: &str, arguments: Value| client.borrow_mut().time(tool, &arguments);
    let middle = |times: anyhow::Result<Vec<f64>>| times.map(median);
    let pages = |id: &str, size: u64| {
        middle(
            cursors(size, PAGE as u64, READS.get())
                .map(|cursor| {
                    ask("derun_read_output", json!({ "session_id": id, "cursor": cursor.to_string() }))
                })
                .collect(),
        )
    };
    let tails = |id: &str| {
        let question = json!({ "session_id": id, "tail_bytes": TAIL });
        middle((0..READS.get()).map(|_| ask("derun_read_output", question.clone())).collect())
    };
    let [ping, big, small, tail, small_tail] = interleave(
        ROUNDS,
        [
            &mut || middle((0..READS.get()).map(|_| ask("", Value::Null)).collect()),
            &mut || pages("big", BIG),
            &mut || pages("small", SMALL),
            &mut || tails("big"),
            &mut || tails("small"),
        ],
    )?;
    reads(table, "`murmur mcp`", [ping, big, small, tail, small_tail], "a ping");
    let floor = wait::by_inotify(home)?;
    let waited = waits(client.get_mut(), stored)?;
    wait::add(table, "`murmur mcp`: from a new byte to the answer", &floor, &waited);
    Ok(())
}

fn waits(server: &mut Server, stored: &Stored) -> anyhow::Result<Vec<f64>> {
    let mut writer = begin(&stored.store, "live")?;
    writer.append(Channel::Stdout, b".", clock::now())?;
    let mut times = Vec::with_capacity(WAITS);
    for _ in 0..WAITS {
        let question = json!({ "session_id": "live", "cursor": writer.end().to_string() });
        server.ask("derun_wait_output", &question)?;
        pause(PAUSE);
        let began = Instant::now();
        writer.append(Channel::Stdout, b".", clock::now())?;
        let answer = server.answer()?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        anyhow::ensure!(answer.contains(r#""timed_out":false"#), "the wait failed: {answer}");
    }
    Ok(times)
}

/// A server and its output; it ends when this is dropped.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    asked: u64,
}

impl Server {
    fn start(home: &Home, stored: &Stored) -> anyhow::Result<Self> {
        let mut command = home.murmur();
        command.arg("mcp").env("DERUN_STATE_ROOT", &stored.root);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take();
        let stdout = BufReader::with_capacity(1 << 20, child.stdout.take().context("no stdout")?);
        let mut server = Self { child, stdin, stdout, asked: 0 };
        server.send(
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": { "name": "figures", "version": "1" },
            }),
        )?;
        server.answer()?;
        Ok(server)
    }

    fn send(&mut self, method: &str, params: &Value) -> anyhow::Result<()> {
        self.asked += 1;
        let mut message = json!({ "jsonrpc": "2.0", "id": self.asked, "method": method });
        if !params.is_null() {
            message["params"] = params.clone();
        }
        let line = format!("{message}\n");
        Ok(self.stdin.as_mut().context("no stdin")?.write_all(line.as_bytes())?)
    }

    /// Calls `tool`; `None` is a ping.
    fn ask(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<()> {
        if tool.is_empty() {
            return self.send("ping", &Value::Null);
        }
        self.send("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    fn answer(&mut self) -> anyhow::Result<String> {
        let line = self.line()?;
        good(line)
    }

    fn line(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut line = Vec::new();
        self.stdout.read_until(b'\n', &mut line)?;
        Ok(line)
    }

    /// How long a call takes until its answer is read, without checking the answer.
    fn time(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<f64> {
        let mut line = Vec::new();
        let time = milliseconds(|| {
            self.ask(tool, arguments)?;
            line = self.line()?;
            Ok(())
        })?;
        good(line)?;
        Ok(time)
    }
}

/// Returns an answer, unless it is an error.
fn good(line: Vec<u8>) -> anyhow::Result<String> {
    let line = String::from_utf8(line)?;
    let is_good = !line.is_empty() && !line.contains(r#""isError":true"#) && !line.contains(r#""error":{"#);
    anyhow::ensure!(is_good, "the server said: {line:?}");
    Ok(line)
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stdin = None;
        let _ended = self.child.wait();
    }
}
