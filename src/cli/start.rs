//! `murmur start`: starts the daemon, in the background by default.

use super::args::Start;
use super::status::Silent;
use super::stop::{ends_within, wait};
use super::user_env::UserEnv;
use crate::daemon::client::Ping;
use crate::daemon::config_watcher::{NOTHING_RUNS, ahead_message};
use crate::daemon::data_folder::DataFolder;
use crate::daemon::instance::Instance;
use crate::daemon::serve::{self, ServeError, Setup};
use crate::daemon::{client, instance};
use anyhow::{Context, bail};
use derun::cli::captures;
use derun::cli::stdout::{stdout, warn};
use murmur_agent::rule_files;
use murmur_core::config::heartbeat::Cache;
use murmur_core::config::settings::Settings;
use murmur_rpc::client::AskError;
use murmur_store::journal::append;
use std::convert::Infallible;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};
use sys::error::{Failure, Hinted};
use sys::failure;
use sys::notify::Manager;
use sys::paths::DataDir;
use sys::text::shown_line;
use sys::{atomic, clock, inherited, process, shell, socket, syslog};
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::MissedTickBehavior;

pub(super) fn run(args: &Start, env: &UserEnv) -> anyhow::Result<ExitCode> {
    if args.foreground {
        let served = serve_here(args, env);
        if let (true, Err(error)) = (args.announce, &served) {
            let failure = serde_json::to_string(&super::describe(error))?;
            writeln!(stdout(), "error {failure}")?;
        }
        return served;
    }
    let dir = env.agents_data_dir()?;
    append::check(&dir.journal())?;
    match start_or_find(&dir, || start_behind(args.tick, &dir, env))? {
        StartResult::Now(pid) => writeln!(stdout(), "murmur is running (PID {pid})")?,
        StartResult::Before(pid) => writeln!(stdout(), "murmur is already running (PID {pid})")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The result of a start.
#[derive(Debug)]
pub(super) enum StartResult<T> {
    /// It was started.
    Now(T),
    /// It was already running, with this PID.
    Before(u32),
}

/// How long to wait for another process that holds the lock but does not answer: a daemon that is starting, or one
/// that was killed and is still being torn down.
const UNSETTLED: Duration = Duration::from_secs(10);
/// The first and the longest delay between retries.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// How long a daemon that has answered must stay alive to count as running.
const STAYS: Duration = Duration::from_millis(30);

/// Calls `start` unless a daemon is running; `start` returns `None` if another process holds the lock. A daemon
/// counts as running only if it answers with its PID and still holds the lock afterward: it may have died in
/// between.
pub(super) fn start_or_find<T>(
    dir: &DataDir,
    mut start: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<StartResult<T>> {
    let waits_until = Instant::now() + UNSETTLED;
    let (mut pause, longest) = RETRY_DELAYS;
    loop {
        let end = instance::end(dir)?;
        if !instance::is_running(dir)? {
            if let Some(started) = start()? {
                return Ok(StartResult::Now(started));
            }
            continue;
        }
        if let Some(Ping { pid, stopping, .. }) = answering_daemon(dir)? {
            if stopping {
                let _full = writeln!(io::stderr(), "waiting for murmur (PID {pid}), which is stopping");
                wait(end, pid, STOPS)?;
                continue;
            }
            // It may have been killed while it answered.
            if ends_within(end, STAYS).transpose()?.is_none() && instance::is_held_by(dir, pid)? {
                return Ok(StartResult::Before(pid));
            }
            continue;
        }
        if Instant::now() > waits_until {
            bail!(Unsettled { pid_file: dir.pid() });
        }
        // If it doesn't end, it may be about to listen.
        ends_within(end, pause).transpose()?;
        pause = longest.min(pause * 2);
    }
}

/// A process that holds the daemon's lock but neither listens nor ends.
#[derive(Debug, thiserror::Error)]
#[error("another process holds {} but does not answer", .pid_file.display())]
pub(in crate::cli) struct Unsettled {
    pid_file: PathBuf,
}

impl Hinted for Unsettled {
    fn hint(&self) -> Option<String> {
        Some(format!("find it with: fuser {}", shell::path(&self.pid_file)))
    }
}

/// How long a start waits for a daemon that is stopping.
const STOPS: Duration = Duration::from_secs(30);

/// The daemon, if it answers and holds the lock.
fn answering_daemon(dir: &DataDir) -> anyhow::Result<Option<Ping>> {
    let asked = super::runtime()?.block_on(async { client::ping(&mut client::connect(dir).await?).await });
    match asked {
        Ok(daemon) if instance::is_held_by(dir, daemon.pid)? => Ok(Some(daemon)),
        Err(AskError::Silent(timeout)) => bail!(Silent { pid_file: dir.pid(), timeout }),
        _ => Ok(None),
    }
}

/// Starts the daemon in the background and returns its PID once it answers; `None` if another process holds the lock.
pub(super) fn start_behind(
    tick: Option<Duration>,
    dir: &DataDir,
    env: &UserEnv,
) -> anyhow::Result<Option<u32>> {
    let log =
        atomic::open_append(&dir.log()).with_context(|| format!("cannot open {}", dir.log().display()))?;
    let mut command = Command::new(std::env::current_exe().context("cannot find murmur itself")?);
    command.arg("--data-dir").arg(dir.root()).args(["start", "--foreground", "--announce"]);
    if let Some(tick) = tick {
        command.arg("--tick").arg(humantime::format_duration(tick).to_string());
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    // Read them before the daemon corrects some of them.
    let mut problems = problems_of_config(dir, &env.settings_dir()?.settings());
    problems.extend(super::status::waits(dir));
    let mut child = command.spawn().context("cannot start the daemon")?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    match line.trim_end().split_once(' ') {
        Some(("ready", pid)) => {
            for problem in problems {
                let _closed = warn(format_args!("{problem}"));
            }
            Ok(Some(pid.parse().context("the daemon did not report its PID")?))
        }
        Some(("running", _)) => Ok(None),
        Some(("error", error)) => {
            bail!(serde_json::from_str::<Failure>(error).context("cannot read the daemon's error")?)
        }
        _ => bail!(failure!("the daemon ended before it answered"; "see {}", dir.log().display())),
    }
}

/// Problems of the configuration that the new daemon will report.
fn problems_of_config(dir: &DataDir, settings: &Path) -> Vec<String> {
    match Cache::new(clock::local_zone()).load(&dir.config(), clock::now()) {
        Ok(loaded) => {
            // The daemon reports settings that are not readable.
            let settings = Settings::read(settings).ok();
            let heartbeats = loaded.heartbeat_problem_lines(settings.as_ref());
            [loaded.problem_lines(ahead_message), heartbeats].concat()
        }
        Err(error) => error.all().iter().map(|one| format!("{}; {NOTHING_RUNS}", one.line())).collect(),
    }
}

/// Runs the daemon in this process until it is told to stop.
fn serve_here(args: &Start, env: &UserEnv) -> anyhow::Result<ExitCode> {
    if args.announce {
        inherited::keep_standard_streams_only();
        let _leads_already = process::lead_session();
    }
    // A background daemon's parent has already warned.
    let dir = if args.announce { env.prepared_data_dir()? } else { env.agents_data_dir()? };
    let is_open = dir.require_ours()?.is_some();
    append::check(&dir.journal())?;
    let Some(instance) = become_only(args, &dir)? else { return Ok(ExitCode::SUCCESS) };
    // A folder must exist to be watched.
    atomic::create_private_folder(&dir.beats())
        .with_context(|| format!("cannot create {}", dir.beats().display()))?;
    std::env::set_current_dir("/").context("cannot change to /")?;
    super::runtime()?.block_on(serve_until_stopped(args, env, &dir, &instance, is_open))?;
    Ok(ExitCode::SUCCESS)
}

/// Makes this process the daemon of `dir`; `None`, after a line on stdout, if there is another.
fn become_only(args: &Start, dir: &DataDir) -> anyhow::Result<Option<Instance>> {
    let become_daemon =
        || instance::become_daemon(dir).with_context(|| format!("cannot lock {}", dir.pid().display()));
    if args.announce {
        // The parent checks whether the other process is a daemon, and retries if not.
        let instance = become_daemon()?;
        if instance.is_none() {
            writeln!(stdout(), "running already")?;
        }
        return Ok(instance);
    }
    match start_or_find(dir, become_daemon)? {
        StartResult::Now(instance) => Ok(Some(instance)),
        StartResult::Before(pid) => {
            writeln!(stdout(), "murmur is already running (PID {pid})")?;
            Ok(None)
        }
    }
}

/// Listens, reports that the daemon is ready, and runs it until a signal stops it.
async fn serve_until_stopped(
    args: &Start,
    env: &UserEnv,
    dir: &DataDir,
    instance: &Instance,
    is_open: bool,
) -> anyhow::Result<()> {
    let listener = listen(dir, is_open)?;
    let manager = Manager::find().inspect_err(|error| say(&format!("cannot reach NOTIFY_SOCKET: {error}")));
    let manager = Rc::new(manager.ok().flatten());
    let stop = stop_signal(Rc::clone(&manager))?;
    say(&format!("murmur {} started (PID {})", env!("CARGO_PKG_VERSION"), std::process::id()));
    for problem in rule_files::problems(dir, &env.settings_dir()?) {
        say(&format!("warning: {}", problem.line()));
    }
    if args.announce {
        writeln!(stdout(), "ready {}", std::process::id())?;
        process::close_stdout()?;
    }
    let setup = Setup {
        time_zone: env.time_zone(),
        tick: args.tick,
        foreground: !args.announce,
        shell: env.shell(),
        path: env.path(),
        user: env.user()?,
        claude: env.claude_folder(),
        captures: captures::root().ok(),
        keys: env.keys(),
        folder: DataFolder::new(dir.clone(), instance)?,
        dir: dir.clone(),
    };
    notify(&manager, Manager::ready);
    // On the loop's own thread, so that a hanging loop stops reporting that it is alive.
    let served = tokio::select! {
        served = serve::serve(setup, listener, stop, say) => served,
        never = keep_alive(&manager) => match never {},
    };
    notify(&manager, Manager::stopping);
    if let Err(ServeError::Lost(lost)) = &served {
        if args.announce {
            // murmur.log may have been deleted with the folder.
            let _no_log = syslog::report(Path::new(syslog::SOCKET), &format!("{lost}; murmur stopped"));
        }
    } else {
        // If the folder was lost, a socket at this path belongs to another daemon.
        let _gone = socket::remove(dir.root(), dir.socket_name());
        let _none = socket::remove(&dir.root().join(DataDir::PRIVATE_SOCKETS), dir.socket_name());
    }
    say("murmur stopped");
    served.context("the daemon cannot continue")
}

/// Listens on the daemon's socket; `is_open` says whether other users may look into the folder, which then has a
/// private one for sockets.
fn listen(dir: &DataDir, is_open: bool) -> anyhow::Result<UnixListener> {
    let (name, private) = (dir.socket_name(), DataDir::PRIVATE_SOCKETS);
    let _none = socket::remove(&dir.root().join(private), name);
    let listener = match is_open {
        true => socket::listen_within(dir.root(), private, name),
        false => socket::listen(dir.root(), name),
    };
    listener.with_context(|| format!("cannot listen on {}/{name}", dir.root().display()))
}

/// Ends at SIGTERM and SIGINT. Closing the terminal does not end the daemon.
fn stop_signal(manager: Rc<Option<Manager>>) -> io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                _ = hang_up.recv() => {}
            }
        }
        notify(&manager, Manager::stopping);
    })
}

/// Notifies the service manager, if one started the daemon. Errors are ignored.
fn notify(manager: &Option<Manager>, what: impl FnOnce(&Manager) -> io::Result<()>) {
    if let Some(manager) = manager {
        let _gone = what(manager);
    }
}

/// Sends watchdog notifications at the manager's interval.
async fn keep_alive(manager: &Option<Manager>) -> Infallible {
    let Some(every) = manager.as_ref().and_then(Manager::alive_every) else {
        return std::future::pending().await;
    };
    let mut interval = tokio::time::interval(every);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        notify(manager, Manager::alive);
    }
}

/// Writes a line with a timestamp to stderr, which is murmur.log in the background.
fn say(line: &str) {
    let _full = writeln!(io::stderr().lock(), "{} {}", clock::rfc3339(clock::now()), shown_line(line));
}
