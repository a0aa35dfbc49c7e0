//! What a person waits for at a terminal: completion, the first screen of `murmur show`, a frame of `murmur watch`, and
//! what a watch costs while nothing happens and while many agents work.

use super::home::Home;
use super::journal;
use super::measure::{Size, Spread, interleave, milliseconds, repeat, time_of};
use super::proc::Process;
use super::stream;
use super::table::{Row, Table, Target, Unit};
use anyhow::Context;
use jiff::tz::TimeZone;
use rustix::fd::OwnedFd;
use rustix::pty::OpenptFlags;
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;
use sys::pause::pause;
use sys::{atomic, clock};
use watch::keys::Key;
use watch::rows::{Agent, Health, LogLine, Outcome};
use watch::{Ansi, ColorDepth, Model, Terminal, Text, Update, draw};

const ROUNDS: usize = 21;
const HEARTBEATS: Size<usize> = Size { full: 200, tiny: 2 };
const AGENTS: Size<usize> = Size { full: 1000, tiny: 5 };
const LINES: Size<usize> = Size { full: 10_000, tiny: 10 };
/// Fewer agents, which report something every second.
const ACTIVE: Size<usize> = Size { full: 100, tiny: 2 };
/// The output of the run to show, in bytes.
const RUN: Size<usize> = Size { full: 20_000_000, tiny: 20_000 };
const FRAMES: Size<usize> = Size { full: 200, tiny: 2 };
const WINDOW: Size<Duration> = Size { full: Duration::from_secs(10), tiny: Duration::from_millis(100) };
/// How long a view gets to read everything.
const SETTLE: Size<Duration> = Size { full: Duration::from_secs(5), tiny: Duration::from_millis(500) };
/// The rows of a small terminal.
const SCREEN: usize = 24;

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    completion(table)?;
    first_screen(table)?;
    frame(table);
    watching(table)
}

fn completion(table: &mut Table) -> anyhow::Result<()> {
    let home = Home::new("#!/bin/sh\n")?;
    home.register(HEARTBEATS.get(), |_| Some(clock::now()))?;
    let offer = || time_of(home.murmur().args(["offer", "--", "beat", ""]));
    let version = || time_of(home.murmur().arg("--version"));
    let [floor, ours] = interleave(ROUNDS, [&mut || version(), &mut || offer()])?;
    let figure = format!("completion, {} heartbeats, over `murmur --version`", HEARTBEATS.get());
    table.add(Row::time(figure, ours).over(floor).target(Target::AtMost(20.0)));
    Ok(())
}

/// The time until a screen's worth of lines is there.
fn first_screen(table: &mut Table) -> anyhow::Result<()> {
    let home = Home::new("#!/bin/sh\nexec cat \"$HOME/run\"\n")?;
    // A result would end the run.
    let run = String::from_utf8(stream::make(RUN.get())?)?;
    let run: String = run.split_inclusive('\n').filter(|line| !line.contains(r#""type":"result""#)).collect();
    fs::write(home.path().join("run"), &run)?;
    home.register(1, |_| Some(clock::now()))?;
    // Nothing decides about the calls in the stream, which would stop the agent.
    let config = home.data().join("config.json");
    let open =
        fs::read_to_string(&config)?.replace("\"interval\"", "\"permissions\": \"skip\", \"interval\"");
    fs::write(&config, open)?;
    home.murmur().arg("beat").arg(home.workspace(0)).status()?;
    let kept = home.murmur().args(["show", "--raw"]).stdout(Stdio::piped()).output()?.stdout.len();
    anyhow::ensure!(kept >= run.len(), "only {kept} of {} bytes of the run are there", run.len());
    let shown = || {
        milliseconds(|| {
            let mut show = home.murmur().arg("show").stdout(Stdio::piped()).spawn()?;
            let lines = BufReader::new(show.stdout.take().context("no stdout")?).lines();
            let count = lines.take(SCREEN).collect::<Result<Vec<_>, _>>()?.len();
            show.kill()?;
            show.wait()?;
            anyhow::ensure!(count == SCREEN, "the run has only {count} lines");
            Ok(())
        })
    };
    let [floor, ours] =
        interleave(ROUNDS, [&mut || time_of(home.murmur().arg("--version")), &mut || shown()])?;
    let figure = "`murmur show`, a run of 20 MB: its first 24 lines, over `murmur --version`";
    table.add(Row::time(figure, ours).over(floor).target(Target::AtMost(50.0)));
    Ok(())
}

/// Frames of the live view, after a key that changes all of it.
fn frame(table: &mut Table) {
    let now = clock::now();
    let mut model = Model::new(TimeZone::UTC);
    model.on(Update::Agents((0..AGENTS.get()).map(|number| agent(number, now)).collect()));
    model.on(Update::Logged((0..LINES.get()).map(|number| line(number, now)).collect()));
    for (columns, rows) in [(80, 24), (200, 50)] {
        let Ok(mut terminal) = Terminal::new(Ansi::new(columns, rows, ColorDepth::True));
        let mut spent = Vec::new();
        for number in 0..FRAMES.get() {
            let pane = if number % 2 == 0 { '2' } else { '4' };
            let _action = model.key(Key::Char(pane));
            let drawn = milliseconds(|| {
                let Ok(_) = terminal.draw(|frame| draw(frame, &model, now));
                Ok(terminal.backend_mut().take())
            });
            spent.extend(drawn);
        }
        let (agents, lines) = (AGENTS.get(), LINES.get());
        let figure = format!("watch, {agents} agents, {lines} journal lines: a frame of {columns}x{rows}");
        table.add(Row::time(figure, Spread::of(spent)).target(Target::AtMost(16.0)));
    }
}

/// The real view, on a terminal whose output is read.
fn watching(table: &mut Table) -> anyhow::Result<()> {
    let crowds = [(AGENTS.get(), "idle"), (ACTIVE.get(), "each reports every second")];
    let seen = repeat(crowds, |(agents, _)| watch_agents(agents, agents == ACTIVE.get()))?;
    for ((agents, state), seen) in crowds.into_iter().zip(seen) {
        let [cpu, memory] = seen[..] else { anyhow::bail!("a figure is missing") };
        let figure =
            |what: &str| format!("watch, {agents} agents, {} journal lines, {state}: {what}", LINES.get());
        table.add(Row::new(figure("CPU"), Unit::Percent, cpu).target(Target::AtMost(1.0)));
        let most = Target::AtMost(f64::from(50 << 20));
        table.add(Row::new(figure("resident memory"), Unit::Bytes, memory).target(most));
    }
    Ok(())
}

/// Returns the share of a core that a view takes, in percent, and its resident memory.
fn watch_agents(agents: usize, is_active: bool) -> anyhow::Result<Vec<f64>> {
    let seconds = WINDOW.get().as_secs_f64();
    let home = Home::new("#!/bin/sh\nexit 1\n")?;
    home.register(HEARTBEATS.get(), |_| Some(clock::now()))?;
    journal::write_lines(&home, LINES.get())?;
    pulses(&home, agents)?;
    let _daemon = home.daemon()?;
    let view = View::begin(&home)?;
    let process = Process::numbered(view.0.id());
    pause(SETTLE.get());
    let before = process.cpu_with_ended()?;
    for _ in 0..WINDOW.get().as_secs().max(1) {
        if is_active {
            pulses(&home, agents)?;
        }
        pause(Duration::from_secs(1).min(WINDOW.get()));
    }
    let spent = process.cpu_with_ended()? - before;
    Ok(vec![spent as f64 / 1e9 / seconds * 100.0, process.bytes("status", "VmRSS")? as f64])
}

/// `murmur watch`, which ends when this is dropped.
struct View(Child);

impl View {
    fn begin(home: &Home) -> anyhow::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = rustix::pty::openpt(flags)?;
        rustix::pty::grantpt(&ours)?;
        rustix::pty::unlockpt(&ours)?;
        tcsetwinsize(&ours, Winsize { ws_row: 50, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 })?;
        let theirs = rustix::pty::ioctl_tiocgptpeer(&ours, flags)?;
        let stream = || theirs.try_clone().map(Stdio::from);
        let mut command = home.murmur();
        command.arg("watch").env("TERM", "xterm-256color");
        let view = command.stdin(stream()?).stdout(stream()?).stderr(stream()?).spawn()?;
        std::thread::spawn(move || drain(&ours));
        Ok(Self(view))
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Reads until the terminal is gone.
fn drain(terminal: &OwnedFd) {
    let mut block = [0; 65536];
    while rustix::io::read(terminal, &mut block[..]).is_ok_and(|count| count > 0) {}
}

/// The first `count` agents report something.
fn pulses(home: &Home, count: usize) -> anyhow::Result<()> {
    let folder = home.data().join("heartbeats");
    atomic::create_private_folder(&folder)?;
    let now = clock::rfc3339(clock::now());
    for number in 0..count {
        let id = format!("agent-{number:04}");
        let pulse = serde_json::json!({
            "timestamp": now, "agent_id": id, "tool_name": "Bash", "last_action": "cargo test --workspace",
            "current_task": "Fix the build", "git_branch": "main", "workspace": format!("/srv/{number}"),
            "pid": std::process::id(), "session_id": format!("s-{number}"), "state": "running",
        });
        atomic::write(&folder.join(format!("{id}.json")), pulse.to_string().as_bytes())?;
    }
    Ok(())
}

fn agent(number: usize, now: jiff::Timestamp) -> Agent {
    let id = format!("agent-{number:04}");
    Agent {
        id: id.as_str().into(),
        name: Text::new(&id),
        health: Health::Active,
        state: Text::new("running"),
        doing: Text::new("Bash: cargo test --workspace --all-targets"),
        folder: Text::new(&format!("/home/you/repos/{number}")),
        since: now,
        context: Some((50_000, 200_000)),
        cost: Some(0.42),
        beat: None,
        is_hosted: true,
    }
}

fn line(number: usize, now: jiff::Timestamp) -> LogLine {
    LogLine {
        at: now,
        heartbeat: format!("/home/you/repos/{}", number % 200).into(),
        name: Text::new("site"),
        outcome: if number.is_multiple_of(10) { Outcome::Attention } else { Outcome::Ok },
        label: None,
        took_ms: 41_234,
        cost: Some(0.0132),
        text: Text::new("ATTENTION: two builds failed on main"),
        beat: None,
    }
}
