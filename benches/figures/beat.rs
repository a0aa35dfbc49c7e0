//! One beat, over the same agent started through a login shell; and the daemon's, from due to journal line.

use super::home::{Home, a_day_before, after, fixture};
use super::journal_watch;
use super::measure::{Size, Spread, interleave, milliseconds, time_of};
use super::programs;
use super::table::{Row, Table, Target, Unit};
use crate::built::built;
use jiff::Timestamp;
use murmur_agent::invocation::{BeatOptions, beat_args};
use murmur_agent::prompt;
use std::collections::HashSet;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const ROUNDS: usize = 60;
/// How many system calls a beat may make.
const CALLS: f64 = 350.0;
/// How many of the daemon's heartbeats come due, one after another.
const DUE: Size<usize> = Size { full: 40, tiny: 3 };
/// The interval between them, in milliseconds.
const APART: i64 = 60;
/// Milliseconds until the first: the daemon starts meanwhile.
const START: i64 = 1500;

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    let recorded = fixture("ok");
    let script = format!("#!/bin/sh\nexec cat {}\n", recorded.join("stdout").display());
    let fake = built("fake-claude")?;
    let replay = format!("#!/bin/sh\nFAKE_CLAUDE_FIXTURE={} exec {fake} \"$@\"\n", recorded.display());
    let shell = by_hand(table, "a shell script", &script)?;
    by_hand(table, "fake-claude", &replay)?;
    by_daemon(table, &script, shell)
}

/// `murmur beat`, over its agent alone and over a login shell that starts it. Returns the latter.
fn by_hand(table: &mut Table, name: &str, agent: &str) -> anyhow::Result<Spread> {
    let home = Home::new(agent)?;
    home.register(1, |_| None)?;
    let workspace = home.workspace(0);
    let args = beat_args(BeatOptions { max_turns: 3, max_budget: None, deny: Some(&[]), model: None });
    let prompt = prompt::beat(&workspace, after(0)?, "Look at the build and say how it is.\n");
    let [alone, shell, ours] = interleave(
        ROUNDS,
        [
            &mut || {
                let mut command = home.command(home.claude());
                command.args(&args);
                talk(command, &workspace, &prompt)
            },
            &mut || {
                let mut command = home.command("/bin/sh");
                command.args(["-l", "-c", "claude \"$@\"", "sh"]).args(&args);
                talk(command, &workspace, &prompt)
            },
            &mut || {
                let mut command = home.murmur();
                command.arg("beat").arg(&workspace);
                time_of(&mut command)
            },
        ],
    )?;
    table.add(
        Row::time(format!("a login shell that starts the agent ({name}), over the agent"), shell).over(alone),
    );
    table.add(
        Row::time(format!("`murmur beat` ({name}), over the login shell"), ours)
            .over(shell)
            .target(Target::Times(1.5)),
    );
    if name == "fake-claude" {
        calls(table, &home, &workspace)?;
    }
    Ok(shell)
}

/// How many system calls a beat makes, if strace is installed. Its agent's don't count.
fn calls(table: &mut Table, home: &Home, workspace: &Path) -> anyhow::Result<()> {
    let trace = home.path().join("trace");
    let mut command = home.command("strace");
    command.args(["-f", "-qq", "-o"]).arg(&trace).arg(programs::murmur()).arg("beat").arg(workspace);
    match command.status() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        status => anyhow::ensure!(status?.success(), "{command:?} failed"),
    }
    let trace = std::fs::read_to_string(trace)?;
    let lines = || trace.lines().filter_map(|line| line.split_once(' '));
    let ours = lines().next().map(|(pid, _)| pid);
    let mut agents: HashSet<&str> = HashSet::new();
    for (pid, call) in lines().filter(|(pid, _)| Some(*pid) != ours) {
        // A thread that an agent's process started is the agent's, too.
        let started = call.contains("clone").then(|| call.rsplit_once("= ")).flatten();
        match started.filter(|_| agents.contains(pid)) {
            Some((_, thread)) => _ = agents.insert(thread.trim()),
            None if call.trim_start().starts_with("execve(") => _ = agents.insert(pid),
            None => {}
        }
    }
    // Neither signals, nor the second lines of calls that others interrupted.
    let is_call = |call: &str| call.trim_start().starts_with(|first: char| first.is_ascii_lowercase());
    let calls = lines().filter(|(pid, call)| is_call(call) && !agents.contains(pid)).count();
    let calls = Spread::of(vec![calls as f64]);
    let figure = "system calls of `murmur beat`, without its agent's";
    table.add(Row::new(figure, Unit::Count, calls).target(Target::AtMost(CALLS)));
    Ok(())
}

/// How long `command` takes with `prompt` on stdin and its output read.
fn talk(mut command: Command, workspace: &Path, prompt: &str) -> anyhow::Result<f64> {
    command.current_dir(workspace).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    milliseconds(|| {
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // It may not read it.
            let _closed = stdin.write_all(prompt.as_bytes());
        }
        let output = child.wait_with_output()?;
        anyhow::ensure!(output.status.success() && !output.stdout.is_empty(), "the agent failed: {output:?}");
        Ok(())
    })
}

fn by_daemon(table: &mut Table, agent: &str, shell: Spread) -> anyhow::Result<()> {
    let home = Home::new(agent)?;
    let first = after(START)?;
    let due = |number: usize| {
        let wait = jiff::SignedDuration::from_millis(APART * i64::try_from(number).unwrap_or_default());
        first.checked_add(wait)
    };
    home.register(DUE.get(), |number| a_day_before(due(number).ok()?).ok())?;
    let _daemon = home.daemon()?;
    let seen = journal_watch::lines(&home.journal(), DUE.get(), Duration::from_secs(30))?;
    let journal = std::fs::read_to_string(home.journal())?;
    let (mut late, mut written) = (Vec::new(), Vec::new());
    for (number, (line, seen)) in journal.lines().zip(seen).enumerate() {
        let entry: murmur_store::journal::entry::JournalEntry = serde_json::from_str(line)?;
        let (due, began) = (due(number)?, entry.started().unwrap_or(Timestamp::MAX));
        anyhow::ensure!(entry.outcome == murmur_outcome::OutcomeKind::Ok, "a beat failed: {line}");
        late.push(began.duration_since(due).as_millis_f64());
        written.push(seen.duration_since(due).as_millis_f64());
    }
    table.add(Row::time("the daemon's beat: from due to started", Spread::of(late)));
    table.add(
        Row::time(
            "the daemon's beat: from due to the journal line, over the login shell",
            Spread::of(written),
        )
        .over(shell)
        .target(Target::Times(1.5)),
    );
    Ok(())
}
