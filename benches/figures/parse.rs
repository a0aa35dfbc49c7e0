//! Reading 200 MB of an agent's output, over finding its newlines and over the minimum with serde.

use super::measure::{Size, interleave, mib, milliseconds, ms};
use super::proc::Process;
use super::stream;
use super::table::{Row, Table};
use anyhow::Context;
use murmur_agent::parser::Parser;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Command;

/// The argument, followed by a path, that makes this program a reader of that file.
pub(crate) const CHILD: &str = "--parse-file=";

const SIZE: Size<usize> = Size { full: 200_000_000, tiny: 2_000_000 };
const CHUNK: usize = 64 << 10;
const ROUNDS: usize = 9;

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    let stream = stream::make(SIZE.get())?;
    let half_at = memchr::memrchr(b'\n', &stream[..SIZE.get() / 2]).context("no newline")? + 1;
    let (half, rest) = stream.split_at(half_at);
    let [newlines, serde, ours, first, second] = interleave(
        ROUNDS,
        [
            &mut || milliseconds(|| Ok(memchr::memchr_iter(b'\n', &stream).count())),
            &mut || milliseconds(|| borrowed(&stream)),
            &mut || milliseconds(|| Ok(parse(stream.chunks(CHUNK)))),
            &mut || milliseconds(|| Ok(parse(half.chunks(CHUNK)))),
            &mut || milliseconds(|| Ok(parse(rest.chunks(CHUNK)))),
        ],
    )?;
    let speed = |time: f64| stream.len() as f64 / 1e3 / time;
    let what = "parse 200 MB of stream-json";
    table.add(Row {
        what: format!("{what}, over memchr"),
        floor: format!("{:.0} MB/s", speed(newlines)),
        ours: format!("{:.0} MB/s", speed(ours)),
        ratio: Some(ours / newlines),
        ..Row::default()
    });
    table.add(Row {
        what: format!("{what}, over serde, borrowed"),
        floor: format!("{:.0} MB/s", speed(serde)),
        ours: format!("{:.0} MB/s", speed(ours)),
        ratio: Some(ours / serde),
        wanted: ">= 1250 MB/s".to_owned(),
        met: Some(speed(ours) >= 1250.0),
    });
    let scaled = (first + second) / 2.0 * (stream.len() as f64 / (stream.len() as f64 / 2.0));
    table.add(Row {
        what: "parse, 200 MB over twice 100 MB".to_owned(),
        floor: ms(scaled),
        ours: ms(ours),
        ratio: Some(ours / scaled),
        wanted: "linear: <= x1.1".to_owned(),
        met: Some(ours / scaled <= 1.1),
    });
    let growth = growth(&stream)?;
    table.add(Row {
        what: "parse, memory over an idle process".to_owned(),
        floor: mib(0),
        ours: mib(growth),
        wanted: "<= 8 MiB".to_owned(),
        met: Some(growth <= 8 << 20),
        ..Row::default()
    });
    Ok(())
}

/// The bytes of events in these chunks, so that nothing is optimized away.
fn parse<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> usize {
    let (mut parser, mut events) = (Parser::default(), 0);
    for chunk in chunks {
        parser.feed(chunk, &mut |event| {
            std::hint::black_box(&event);
            events += 1;
        });
    }
    parser.finish(&mut |_| events += 1);
    events
}

/// The minimum of a line.
#[derive(Deserialize)]
struct Least<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

fn borrowed(stream: &[u8]) -> anyhow::Result<usize> {
    let mut sum = 0;
    for line in stream.split_inclusive(|byte| *byte == b'\n') {
        let least: Least<'_> = serde_json::from_slice(line)?;
        sum += least.kind.len() + least.message.map_or(0, |message| message.get().len());
    }
    Ok(sum)
}

/// By how many bytes a process grows that reads `stream` from a file.
fn growth(stream: &[u8]) -> anyhow::Result<u64> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(stream)?;
    let said =
        Command::new(std::env::current_exe()?).arg(format!("{CHILD}{}", file.path().display())).output()?;
    String::from_utf8(said.stdout)?.trim().parse().context("the child did not say how it grew")
}

/// Reads the file at `path` as an agent's output and prints by how many bytes that made this process grow.
pub(crate) fn child(path: &Path) -> anyhow::Result<()> {
    let mut file = File::open(path)?;
    let before = Process::own().bytes("status", "VmRSS")?;
    let (mut parser, mut chunk, mut events) = (Parser::default(), vec![0; CHUNK], 0);
    while let count @ 1.. = file.read(&mut chunk)? {
        parser.feed(&chunk[..count], &mut |_| events += 1);
    }
    std::hint::black_box(events);
    let most = Process::own().bytes("status", "VmHWM")?;
    writeln!(io::stdout(), "{}", most.saturating_sub(before))?;
    Ok(())
}
