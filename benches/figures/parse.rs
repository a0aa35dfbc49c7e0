//! Reading 200 MB of an agent's output, over finding its newlines and over the minimum with serde.

use super::measure::{Size, Spread, interleave, milliseconds, repeat};
use super::proc::Process;
use super::stream;
use super::table::{Row, Table, Target, Unit};
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
    let speed = |times: Spread| times.map(|time| stream.len() as f64 / 1e3 / time);
    let parsed =
        |over: &str| Row::new(format!("parse 200 MB of stream-json, over {over}"), Unit::Speed, speed(ours));
    table.add(parsed("memchr").over(speed(newlines)));
    table.add(parsed("serde, borrowed").over(speed(serde)).target(Target::AtLeast(1250.0)));
    let halves = first.map(|first| first + second.median);
    table.add(Row::time("parse 200 MB, over twice 100 MB", ours).over(halves).target(Target::Times(1.1)));
    let growth = repeat([()], |()| Ok(vec![growth(&stream)? as f64]))?[0][0];
    table.add(
        Row::new("parse 200 MB: memory", Unit::Bytes, growth).target(Target::AtMost(f64::from(8 << 20))),
    );
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
