//! `murmur log`: the journal for people, from its end, and live.

use super::args::Log;
use super::place::Place;
use super::style::{Style, plain_line};
use crate::journal::entry::Entry;
use crate::journal::read::{self, Filter};
use crate::sys::clock;
use crate::sys::paths::DataDir;
use crate::sys::watch::{Place as Watched, Watch};
use anyhow::Context;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::ExitCode;
use std::time::Duration;

/// How often the journal is looked at where the system cannot tell that it changed.
const TICK: Duration = Duration::from_secs(1);

pub(super) fn run(args: &Log, place: &Place) -> anyhow::Result<ExitCode> {
    let dir = place.data_dir()?;
    let workspace =
        args.workspace.as_ref().map(|path| path.canonicalize().or_else(|_| std::path::absolute(path)));
    let since = args.since.map(|span| {
        let span = SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX);
        clock::now().checked_sub(span).unwrap_or(jiff::Timestamp::MIN)
    });
    let filter = Filter {
        workspace: workspace.transpose()?.map(|path| path.display().to_string()),
        outcome: args.outcome.map(Into::into),
        since,
    };
    let printer = Printer { json: args.json, style: Style::of_stdout(), zone: TimeZone::system() };
    let mut out = io::stdout().lock();
    // Following begins where the first look ended, so that no line is missed or shown twice.
    let end = std::fs::metadata(dir.journal()).map_or(0, |found| found.len());
    let found = read::newest(&dir.journal(), end, &filter, args.count)
        .with_context(|| format!("cannot read {}", dir.journal().display()))?;
    if found.is_empty() && !args.follow && !args.json {
        writeln!(out, "no beats to show; see: murmur status")?;
    }
    for (entry, line) in &found {
        printer.print(&mut out, entry, line)?;
    }
    out.flush()?;
    if args.follow {
        super::runtime()?.block_on(follow(&dir, end, &filter, &printer, &mut out))?;
    }
    Ok(ExitCode::SUCCESS)
}

struct Printer {
    json: bool,
    style: Style,
    zone: TimeZone,
}

impl Printer {
    fn print(&self, out: &mut impl Write, entry: &Entry, line: &[u8]) -> io::Result<()> {
        if self.json {
            out.write_all(line)?;
            return out.write_all(b"\n");
        }
        let when = entry.started().map_or_else(
            || plain_line(&entry.ts),
            |at| at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        );
        let name =
            entry.heartbeat.as_deref().map(|name| format!("::{}", plain_line(name))).unwrap_or_default();
        let seconds = format!("{:.1}s", entry.duration_ms as f64 / 1000.0);
        let text = entry.summary.as_deref().or(entry.error.as_deref()).map(plain_line).unwrap_or_default();
        let (style, workspace) = (self.style, plain_line(&entry.workspace));
        let line = format!(
            "{}  {} {:>7}  {workspace}{name}  {text}",
            style.dim(when),
            style.outcome(entry.outcome),
            seconds
        );
        writeln!(out, "{}", line.trim_end())
    }
}

/// Shows every line that comes after the byte `end`, until the reader goes away.
async fn follow(
    dir: &DataDir,
    mut end: u64,
    filter: &Filter,
    printer: &Printer,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let place = Watched::new(dir.root(), &["heartbeats.jsonl"]);
    let mut watch = Watch::new([&place]).ok();
    loop {
        end = show_after(dir, end, filter, printer, out)?;
        match &mut watch {
            Some(watch) => watch.changed().await?,
            None => tokio::time::sleep(TICK).await,
        }
    }
}

fn show_after(
    dir: &DataDir,
    end: u64,
    filter: &Filter,
    printer: &Printer,
    out: &mut impl Write,
) -> anyhow::Result<u64> {
    let file = match File::open(dir.journal()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error.into()),
    };
    let size = file.metadata()?.size();
    // A journal that got shorter is another one: its user moved the old one away.
    let mut at = if size < end { 0 } else { end };
    let mut bytes = vec![0; usize::try_from(size - at)?];
    file.read_exact_at(&mut bytes, at)?;
    for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
        at += line.len() as u64;
        let line = &line[..line.len() - 1];
        if let Ok(entry) = serde_json::from_slice::<Entry>(line)
            && filter.takes(&entry)
        {
            printer.print(out, &entry, line)?;
        }
    }
    out.flush()?;
    Ok(at)
}
