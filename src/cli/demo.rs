//! `murmur demo`: runs the real daemon on three workspaces in a temporary home folder, with recorded runs instead of
//! Claude Code.
//!
//! Requires no installation and no credentials, ends by itself, and leaves no files or processes.

use super::style::{Colors, Style, text_of};
use super::user_env::UserEnv;
use anyhow::{Context, bail};
use derun::cli::stdout::stdout;
use derun::cli::wrapped::{Wrapped, output_width};
use fake_claude::replay::{Asking, AskingWriter, End, Fixture, Pace, Parts, play};
use murmur_store::journal::entry::JournalEntry;
use murmur_store::journal::read::{self, Filter};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;
use sys::atomic;
use sys::failure;
use sys::process::{self, Signal};
use sys::scratch;
use sys::text::{Styled, shown_line};
use sys::watch::{Watch, WatchedFolder};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

/// The recorded runs: the name of a workspace, its prompt, and the run.
macro_rules! runs {
    ($($name:literal: $fixture:literal, $prompt:literal;)*) => {
        [$(($name, $prompt, Parts {
            run: include_bytes!(concat!("../../fixtures/claude/", $fixture, "/run.json")),
            stdin: include_bytes!(concat!("../../fixtures/claude/", $fixture, "/stdin")),
            stdout: include_bytes!(concat!("../../fixtures/claude/", $fixture, "/stdout")),
            stderr: include_bytes!(concat!("../../fixtures/claude/", $fixture, "/stderr")),
            times: include_bytes!(concat!("../../fixtures/claude/", $fixture, "/times")),
        })),*]
    };
}

const RUNS: [(&str, &str, Parts<'static>); 3] = runs! {
    "website": "ok", "Check that the site answers. If it does, respond HEARTBEAT_OK.";
    "backups": "attention", "Check how old the newest backup is. Older than a day: tell me.";
    "mailbox": "api-429", "Look for urgent mail. If there is none, respond HEARTBEAT_OK.";
};

/// The workspace whose beat is shown in full.
const SHOWN_WORKSPACE: &str = "backups";

/// The file in a workspace that names the run to replay.
const FIXTURE: &str = ".recorded-run";

/// The time limit of the demo.
const TIME_LIMIT: Duration = Duration::from_secs(15);

pub(super) fn run(env: &UserEnv) -> anyhow::Result<ExitCode> {
    let runtime = super::runtime()?;
    // From here on, a signal cleans up first.
    let mut stop_signals = runtime.block_on(async { StopSignals::new() })?;
    let mut out = Wrapped::new(Styled(stdout().lock()), output_width());
    let stage = scratch::folder("murmur-demo-", &env.home()).context("cannot create a temporary folder")?;
    let home = stage.path().canonicalize()?;
    let data = home.join("murmur");
    set_stage(&home, &data)?;
    writeln!(
        out,
        "Three workspaces, each with a HEARTBEAT.md, in {}:",
        shown_line(&home.display().to_string())
    )?;
    for (name, prompt, _) in RUNS {
        writeln!(out, "  {name:<8}  {prompt}")?;
    }
    writeln!(out, "\nStarting the daemon. Recorded runs of Claude Code answer.\n")?;
    out.flush()?;
    let mut daemon = Daemon(start(&home, &data)?);
    runtime.block_on(watch_beats(&data, &mut stop_signals, &mut out))?;
    writeln!(out, "\nWhat the agent did in {SHOWN_WORKSPACE}, as shown by murmur show {SHOWN_WORKSPACE}:\n")?;
    for line in transcript(&home, &data)?.lines() {
        writeln!(out, "  {line}")?;
    }
    let status = daemon.stop()?;
    if !status.success() {
        bail!("the daemon ended with {status}");
    }
    if data.join("murmur.pid").exists() || data.join("murmur.sock").exists() {
        bail!("the daemon left its PID file or socket behind");
    }
    stage.close().context("cannot remove the temporary folder")?;
    writeln!(out, "\nThe daemon has stopped. No files or processes are left.")?;
    writeln!(out, "Next: murmur init PATH, murmur start, murmur watch")?;
    Ok(ExitCode::SUCCESS)
}

/// Creates the workspaces, the configuration, and a link named `claude` to this program.
fn set_stage(home: &Path, data: &Path) -> anyhow::Result<()> {
    atomic::create_private_folder(data)?;
    let bin = home.join("bin");
    atomic::create_private_folder(&bin)?;
    let ourselves = std::env::current_exe().context("cannot find murmur itself")?;
    std::os::unix::fs::symlink(ourselves, bin.join("claude"))?;
    let mut workspaces = Vec::new();
    for (name, prompt, parts) in RUNS {
        let workspace = home.join(name);
        atomic::create_private_folder(&workspace)?;
        std::fs::write(workspace.join("HEARTBEAT.md"), format!("{prompt}\n"))?;
        let fixture = Fixture::from_parts(Path::new(name), &parts)?;
        let folder = home.join("runs").join(name);
        atomic::create_private_folder(&home.join("runs"))?;
        fixture.save(&folder)?;
        std::fs::write(workspace.join(FIXTURE), folder.as_os_str().as_encoded_bytes())?;
        workspaces.push(serde_json::json!({ "path": workspace, "interval": "1h", "lastRun": null }));
    }
    let config = serde_json::json!({ "workspaces": workspaces });
    atomic::write(&data.join("config.json"), format!("{config:#}\n").as_bytes())?;
    Ok(())
}

/// What `murmur show` prints about one of the beats.
fn transcript(home: &Path, data: &Path) -> anyhow::Result<String> {
    let mut show = Command::new(std::env::current_exe()?);
    show.arg("--data-dir").arg(data).args(["show", SHOWN_WORKSPACE]);
    show.env("HOME", home).env("DERUN_STATE_ROOT", home.join("captures"));
    let shown = show.stdin(Stdio::null()).output().context("cannot run murmur show")?;
    if !shown.status.success() {
        bail!("murmur show ended with {}: {}", shown.status, String::from_utf8_lossy(&shown.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&shown.stdout).into_owned())
}

/// Starts the daemon as a foreground child, so that it cannot outlive the demo.
fn start(home: &Path, data: &Path) -> anyhow::Result<Child> {
    let path = std::env::join_paths(
        std::iter::once(home.join("bin"))
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--data-dir").arg(data).args(["start", "--foreground"]);
    // `true` as a login shell prints nothing, so the PATH below is used.
    command.env("PATH", path).env("HOME", home).env("SHELL", "true");
    command.env("DERUN_STATE_ROOT", home.join("captures"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().context("cannot start the daemon")
}

/// Shows each beat as it ends, until every workspace had one.
async fn watch_beats(
    data: &Path,
    stop_signals: &mut StopSignals,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let style = Style::of_stdout();
    let journal = data.join("heartbeats.jsonl");
    let place = WatchedFolder::new(data, &["heartbeats.jsonl"]);
    let mut watch = Watch::new([&place]).ok();
    let mut shown = 0;
    let all = async {
        loop {
            let mut entries = read::newest(&journal, None, &Filter::default(), usize::MAX)?.found;
            entries.retain(|found| found.entry.kind.is_beat());
            for found in entries.iter().skip(shown) {
                show(out, style, &found.entry)?;
            }
            shown = entries.len();
            if shown == RUNS.len() {
                return anyhow::Ok(());
            }
            match &mut watch {
                Some(watch) => watch.changed().await?,
                None => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    };
    tokio::select! {
        all = tokio::time::timeout(TIME_LIMIT, all) => all.context("the beats did not finish in time")?,
        () = stop_signals.received() => bail!("interrupted"),
    }
}

/// Signals that end the demo: Ctrl-C, `kill`, a closed terminal.
struct StopSignals([Signals; 3]);

impl StopSignals {
    /// Must be called in a runtime.
    fn new() -> io::Result<Self> {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hang_up] = kinds.map(signal);
        Ok(Self([interrupt?, terminate?, hang_up?]))
    }

    async fn received(&mut self) {
        let [interrupt, terminate, hang_up] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
    }
}

fn show(out: &mut impl Write, style: Style, entry: &JournalEntry) -> io::Result<()> {
    let name = Path::new(&entry.workspace).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = text_of(entry);
    let seconds = entry.duration_ms as f64 / 1000.0;
    writeln!(
        out,
        "{}",
        format!("  {} {name:<8} {seconds:.1}s  {text}", style.outcome_of(entry.outcome, entry.is_stopped()))
            .trim_end()
    )?;
    out.flush()
}

/// The daemon; stopped on drop.
struct Daemon(Child);

impl Daemon {
    fn stop(&mut self) -> io::Result<std::process::ExitStatus> {
        process::signal(self.0.id(), Signal::TERM);
        self.0.wait()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ended = self.stop();
    }
}

/// The demo's `claude`: replays the run that the current folder names, at its recorded pace.
pub(super) fn replay() -> ExitCode {
    let folder = match std::fs::read(FIXTURE) {
        Ok(path) => PathBuf::from(String::from_utf8_lossy(&path).into_owned()),
        Err(_) => {
            super::complain(&anyhow::Error::new(
                failure!("this claude is murmur's demo agent, and the folder has no {FIXTURE}"; "run: murmur demo"),
            ));
            return ExitCode::FAILURE;
        }
    };
    let _prompt = io::copy(&mut io::stdin().lock(), &mut io::sink());
    let args: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into()).collect();
    let mut stdout = AskingWriter(Asking::of(&args), io::stdout());
    let played = Fixture::load(&folder)
        .map_err(anyhow::Error::from)
        .and_then(|fixture| Ok(play(&fixture, &Pace::Recorded, &mut stdout, &mut io::stderr())?));
    match played {
        Ok(End::Code(code)) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Ok(End::Signal(_)) => ExitCode::FAILURE,
        Err(error) => {
            super::complain(&error);
            ExitCode::FAILURE
        }
    }
}
