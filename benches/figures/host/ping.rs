//! A request and its response on one connection, over an echo through pipes and through a socket.

use super::super::measure::{Size, interleave, median, milliseconds};
use super::super::table::{Row, Table, Target};
use super::echo::{Pipes, Socket};
use super::live::Live;
use serde_json::Value;

const ROUNDS: usize = 15;
/// Requests per round.
const QUESTIONS: Size<usize> = Size { full: 200, tiny: 3 };
/// As long as the request.
const LINE: &[u8] = b"{\"id\":\"1\",\"msg_type\":\"ping\",\"payload\":null}\n";

pub(super) fn run(table: &mut Table) -> anyhow::Result<()> {
    let live = Live::start(None)?;
    let mut client = live.client(None)?;
    let (mut pipes, mut socket) = (Pipes::start()?, Socket::start()?);
    let middle = |ask: &mut dyn FnMut() -> anyhow::Result<()>| -> anyhow::Result<f64> {
        let times = (0..QUESTIONS.get()).map(|_| milliseconds(&mut *ask)).collect::<Result<Vec<_>, _>>()?;
        Ok(median(times))
    };
    let [by_pipe, by_socket, ours] = interleave(
        ROUNDS,
        [&mut || middle(&mut || pipes.ask(LINE)), &mut || middle(&mut || socket.ask(LINE)), &mut || {
            middle(&mut || {
                client.tell("ping", &Value::Null)?;
                client.lines.next().map(drop)
            })
        }],
    )?;
    let ping = |over: &str| Row::time(format!("host: a ping, over an echo through {over}"), ours);
    table.add(ping("pipes").over(by_pipe).target(Target::Times(1.5)));
    table.add(ping("a socket").over(by_socket));
    Ok(())
}
