//! `murmur status`: shows the daemon and every heartbeat, from the daemon if it answers, otherwise from files.

mod detail;
mod paused;
pub(super) mod problems;
pub(super) mod table;
mod untrusted;

use super::args::Status as Args;
use super::heartbeat_name;
use super::requests;
use super::style::{Style, plain_line};
use super::user_env::UserEnv;
use crate::daemon::broker::Broker;
use crate::daemon::heartbeats::{Accounts, Heartbeats, LastRuns, Running};
use crate::daemon::status::{self, AccountHold, HeartbeatStatus, LastBeat, Status, StatusRequest};
use crate::daemon::{approved, budgets, client, instance, last_runs, pauses};
use anyhow::{Context, bail};
use derun::cli::json::print as print_json;
use derun::cli::span::span;
use derun::cli::stdout::{is_stdout_error, stdout};
use derun::cli::wrapped::{output_width, wrapped};
use jiff::{SignedDuration, Timestamp};
use murmur_agent::rule_files;
use murmur_claude_files::trust::Workspaces;
use murmur_core::config::heartbeat::{Cache, HeartbeatId};
use murmur_core::config::settings::{Settings, WrongTables};
use murmur_core::spending::Ledger;
use murmur_core::usage_limit::spoken;
use murmur_host::discover;
use murmur_rpc::client::AskError;
use murmur_store::failures;
use murmur_store::journal::append;
use murmur_store::journal::read::{Backward, Entries, FoundEntry, raw_workspace};
use murmur_store::journal::unfinished;
use murmur_store::limits;
use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use sys::clock;
use sys::error::{Failure, Hinted};
use sys::failure;
use sys::paths::DataDir;
use sys::text::{Styled, shown_line};

pub(super) fn run(args: &Args, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.data_dir()?;
    dir.check_is_folder()?;
    match show(args, env, &dir) {
        Ok(runs) => Ok(if args.check && !runs { ExitCode::FAILURE } else { ExitCode::SUCCESS }),
        // The daemon is up if it answers, even if a file to show is not readable.
        Err(error)
            if args.check
                && !error.is::<Silent>()
                && !super::is_closed_pipe(&error)
                && !is_stdout_error(&error)
                && answers(&dir) =>
        {
            super::complain(&error);
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => Err(error),
    }
}

/// The daemon took so long to answer that it is not asked again.
#[derive(Debug, thiserror::Error)]
#[error("{}", unanswered(pid_file, &AskError::Silent(*timeout)))]
pub(super) struct Silent {
    pub(super) pid_file: PathBuf,
    pub(super) timeout: Duration,
}

impl Hinted for Silent {
    fn hint(&self) -> Option<String> {
        Hinted::hint(&unanswered(&self.pid_file, &AskError::Silent(self.timeout)))
    }
}

fn unanswered(pid_file: &Path, error: &AskError) -> Failure {
    let held = pid_file.display();
    failure!("the daemon holds {held} and does not answer"; "if it stays unresponsive, run: murmur restart --force")
        .because(error)
}

fn answers(dir: &DataDir) -> bool {
    let ping = async { client::ping(&mut client::connect(dir).await?).await };
    super::runtime().is_ok_and(|runtime| runtime.block_on(ping).is_ok())
}

/// Prints the status and returns whether a daemon is running.
fn show(args: &Args, env: &UserEnv, dir: &DataDir) -> anyhow::Result<bool> {
    let now = clock::now();
    let wanted = StatusRequest { settings: args.json || args.name.is_some() };
    let mut status = super::runtime()?.block_on(current(dir, env, wanted, now))?;
    // Don't suggest adding a heartbeat while existing ones can't be read.
    let advises = status.problems.is_empty();
    if dir.root().exists()
        && let Some(open) = dir.require_ours().unwrap_or_else(Some)
    {
        status.problems.push(open.line());
    }
    match append::check(&dir.journal())
        .map_err(Into::into)
        .and_then(|()| add_last(dir, &mut status.heartbeats))
    {
        // The daemon knows the rest, and may have reported the cause.
        Err(error) if status.daemon.is_some() => {
            let journal = dir.journal().display().to_string();
            let mut known = status.problems.iter().chain(&status.waiting_reason);
            if !known.any(|known| known.contains(&journal)) {
                status.problems.push(super::describe(&error).line());
            }
        }
        read => read?,
    }
    problems::add(&mut status, dir, env)?;
    untrusted::mark(&mut status.heartbeats, dir, &env.home());
    let mut trust = Workspaces::of(dir, &env.home());
    if let Some(name) = &args.name {
        let id = heartbeat_name::registered(Path::new(name), dir, env)?.id.to_string();
        status.heartbeats.retain(|heartbeat| heartbeat.id == id);
    }
    let mut out = Styled(stdout().lock());
    if args.json {
        print_json(&mut out, "status/1", &status)?;
    } else {
        let mut text = Vec::new();
        paused::print(&mut text, &status.paused, now)?;
        let is_short = io::stdout().is_terminal() && !args.verbose && args.name.is_none();
        print(&mut text, &status, advises, &mut trust, (dir, now), is_short)?;
        if args.name.is_some() {
            status.heartbeats.iter().try_for_each(|heartbeat| detail::settings(&mut text, heartbeat, now))?;
        }
        out.write_all(wrapped(&String::from_utf8_lossy(&text), output_width()).as_bytes())?;
    }
    Ok(status.daemon.is_some())
}

/// The status: from the daemon, or from files if none runs.
pub(super) async fn current(
    dir: &DataDir,
    env: &UserEnv,
    wanted: StatusRequest,
    now: Timestamp,
) -> anyhow::Result<Status> {
    if !instance::is_running(dir)? {
        return from_files(dir, env, wanted, now).await;
    }
    match client::status(dir, wanted).await {
        Ok(status) => Ok(status),
        // It may have ended while it was asked.
        Err(_) if !instance::is_running(dir)? => from_files(dir, env, wanted, now).await,
        Err(AskError::Silent(timeout)) => bail!(Silent { pid_file: dir.pid(), timeout }),
        Err(error) => bail!(unanswered(&dir.pid(), &error)),
    }
}

/// Adds to `state` what the daemon saved and what has run since, and returns the last runs.
pub(super) fn merge_missed(state: &mut Heartbeats, dir: &DataDir, now: Timestamp) -> LastRuns {
    let saved = last_runs::read(dir, now);
    let mut known = saved.runs.clone();
    state.merge_last_runs(saved.runs, now);
    // Without that file, this would read the whole journal.
    if saved.as_of.is_some() {
        let missed = last_runs::since(dir, saved.as_of, None, state).unwrap_or_default();
        known.extend(missed.last.clone());
        state.merge_last_runs(missed.last, now);
        for line in &missed.uncounted {
            // The daemon reports it.
            let _change = state.beat_ended(line, now);
        }
    }
    known
}

/// The status without a daemon, from files.
pub(super) async fn from_files(
    dir: &DataDir,
    env: &UserEnv,
    wanted: StatusRequest,
    now: Timestamp,
) -> anyhow::Result<Status> {
    let mut state = Heartbeats::default();
    state.set_pauses(pauses::read(dir));
    let denied = rule_files::problems(dir, &env.settings_dir()?);
    let denied: Vec<String> = denied.iter().map(Hinted::line).collect();
    let mut problems = denied.clone();
    let mut known = LastRuns::new();
    let streaks = failures::read(dir).map(|streaks| state.set_streaks(streaks, now));
    let no_streaks = streaks.err().map(|error| error.line());
    let settings = Settings::read(&env.settings_dir()?.settings());
    problems.extend(WrongTables::of(&settings).iter().map(Failure::line));
    let settings = settings.ok();
    match Cache::new(env.time_zone()).load(&dir.config(), now) {
        Ok(mut loaded) => {
            approved::mark(dir, &mut loaded.heartbeats, now);
            problems.extend(loaded.problem_lines(|ahead| format!("{ahead}; run: murmur start")));
            let _wrong_ones = state.load(loaded.heartbeats, loaded.max_concurrent, now);
            let heartbeats: Vec<_> = state.entries().iter().map(|entry| entry.heartbeat.clone()).collect();
            state.set_accounts(&Accounts::find(&heartbeats, &env.user()?), now);
            known = merge_missed(&mut state, dir, now);
        }
        Err(error) => problems.push(error.line()),
    }
    let survey =
        unfinished::survey(&dir.beats()).with_context(|| format!("cannot read {}", dir.beats().display()))?;
    let running = survey.running.into_iter().filter_map(|begun| Running::by_others(&begun));
    state.set_others(running.collect(), now);
    match limits::read(dir) {
        Ok(limits) => _ = state.set_limits(limits, now),
        Err(error) => problems.push(error.line()),
    }
    let known_heartbeats = || state.entries().iter().map(|entry| &entry.heartbeat);
    let mut spent = Ledger::default();
    match budgets::ledger(&dir.journal(), known_heartbeats(), now) {
        Ok((ledger, unread)) => {
            problems.extend(unread.iter().map(Hinted::line));
            let over_budget = budgets::held(&ledger, known_heartbeats(), now);
            state.set_over_budget(over_budget, now);
            spent = ledger;
        }
        Err(error) => problems.push(format!("cannot read {} for budgets: {error}", dir.journal().display())),
    }
    problems.extend(no_streaks);
    let broker = Broker::load(dir, env.home(), |_| false);
    state.set_deferred(broker.beats());
    let mut heartbeats = status::heartbeats(&state, settings.as_ref(), &spent, wanted, now);
    for heartbeat in &mut heartbeats {
        heartbeat.not_scheduled();
        // A heartbeat that is invalid in config.json may be known here.
        let began = known.get(&HeartbeatId::parse(&heartbeat.id)).filter(|began| **began < now);
        heartbeat.learn_run(began.copied());
    }
    // The other beats were killed; the daemon writes their lines when it starts.
    let waiting_lines =
        unfinished::waiting(dir).with_context(|| format!("cannot read {}", dir.reserve().display()))?;
    let live_agents =
        discover::live(&dir.hosts()).with_context(|| format!("cannot read {}", dir.hosts().display()))?;
    let open = requests::of_hosts(dir).await;
    let asked = requests::rows_of(dir, &open);
    status::mark_waiting(&mut heartbeats, &requests::by_beat(open));
    let requests = asked.iter().filter(|row| requests::is_open(row)).count();
    let waiting_reason = match waiting_lines {
        0 => {
            problems.extend(waits(dir));
            None
        }
        _ => waits(dir),
    };
    Ok(Status {
        denied,
        daemon: None,
        problems,
        waiting_lines,
        waiting_reason,
        live_agents,
        requests,
        holds: status::holds(state.limits(), now),
        heartbeats,
        paused: state.pauses().active(now).cloned().collect(),
    })
}

/// Adds the last outcomes from the journal. Lines of other workspaces are not parsed: there may be a million.
fn add_last(dir: &DataDir, heartbeats: &mut [HeartbeatStatus]) -> anyhow::Result<()> {
    let mut wanted: HashMap<Vec<u8>, Vec<&mut HeartbeatStatus>> = HashMap::new();
    for heartbeat in heartbeats {
        let workspace = serde_json::to_vec(&heartbeat.workspace)?;
        wanted.entry(workspace).or_default().push(heartbeat);
    }
    let lines = Backward::open(&dir.journal());
    let lines = lines.with_context(|| format!("cannot read {}", dir.journal().display()))?;
    let mut entries = Entries::new(lines, None);
    while !wanted.is_empty() {
        let wants = |line: &[u8]| raw_workspace(line).is_some_and(|workspace| wanted.contains_key(workspace));
        let Some(FoundEntry { entry, line }) = entries.next_entry(wants)? else { break };
        let Some(workspace) = raw_workspace(&line) else { continue };
        let Some(heartbeats) = wanted.get_mut(workspace) else { continue };
        // A stuck agent's line may not belong to a heartbeat.
        if !entry.kind.is_beat() {
            continue;
        }
        if let Some(found) = heartbeats.iter().position(|heartbeat| heartbeat.name == entry.heartbeat) {
            let ended_at = entry.ended().map(clock::rfc3339).unwrap_or_default();
            let heartbeat = heartbeats.swap_remove(found);
            heartbeat.learn_run(entry.started());
            heartbeat.last = Some(LastBeat {
                outcome: entry.outcome,
                stopped: entry.is_stopped(),
                ended_at,
                text: entry.text().map(Into::into),
                undecided: entry.undecided_count(),
                text_after_outcome: entry.text_after_outcome().map(Into::into),
            });
        }
        if heartbeats.is_empty() {
            wanted.remove(workspace);
        }
    }
    Ok(())
}

/// Why journal lines cannot be written now, and what to do; `None` if they can.
pub(super) fn waits(dir: &DataDir) -> Option<String> {
    append::problem(&dir.journal()).map(|problem| problem.line())
}

/// Prints the status after `out`, the pauses. `advises` is whether to suggest creating a heartbeat if there is none,
/// and `is_short` whether heartbeats have one line.
fn print(
    out: &mut Vec<u8>,
    status: &Status,
    advises: bool,
    trust: &mut Workspaces,
    (dir, now): (&DataDir, Timestamp),
    is_short: bool,
) -> anyhow::Result<()> {
    let style = Style::of_stdout();
    // Nothing else helps while every call is denied.
    for denied in &status.denied {
        writeln!(out, "problem: {denied}")?;
    }
    match &status.daemon {
        Some(daemon) => {
            let uptime = span(SignedDuration::from_secs(daemon.uptime_seconds));
            let does = if daemon.stopping { "is stopping" } else { "is running" };
            writeln!(out, "murmur {} {does} (PID {}), up {uptime}", daemon.version, daemon.pid)?;
        }
        None => writeln!(out, "murmur is not running; start it with: murmur start")?,
    }
    for problem in status.problems.iter().filter(|problem| !status.denied.contains(problem)) {
        writeln!(out, "problem: {problem}")?;
    }
    if status.waiting_lines > 0 {
        let (count, reason) = (status.waiting_lines, status.waiting_reason.as_deref());
        let waiting = status::waiting(count, reason, status.daemon.is_some());
        writeln!(out, "problem: {waiting}")?;
    }
    match status.live_agents.len() {
        0 => {}
        1 => writeln!(out, "1 hosted agent; see: murmur agent list")?,
        many => writeln!(out, "{many} hosted agents; see: murmur agent list")?,
    }
    if status.requests > 0 {
        let wait = if status.requests == 1 {
            "1 request is waiting"
        } else {
            &format!("{} requests are waiting", status.requests)
        };
        let hint = match (&status.daemon, status.requests) {
            (Some(_), _) => "see: murmur inbox",
            (None, 1) => "to answer it, run: murmur start",
            (None, _) => "to answer them, run: murmur start",
        };
        writeln!(out, "{wait} for you; {hint}")?;
    }
    for AccountHold { account, window, until } in &status.holds {
        let (account, window, end) =
            (shown_line(account), plain_line(&spoken(window)), detail::ahead(until, now));
        writeln!(out, "on hold: {account}, whose {window} limit is reached; ends {end}")?;
    }
    if status.heartbeats.is_empty() {
        let advice = if advises { "; create one with: murmur init PATH" } else { "" };
        writeln!(out, "no heartbeats{advice}")?;
    }
    if is_short && !status.heartbeats.is_empty() {
        // Below a list that is longer than the screen, what is above it would scroll away.
        let above = if table::is_long(status.heartbeats.len()) { std::mem::take(out) } else { Vec::new() };
        table::print(out, style, &status.heartbeats, (dir, status.daemon.is_some()), now)?;
        out.extend(above);
        return Ok(());
    }
    for heartbeat in &status.heartbeats {
        detail::print(out, style, heartbeat, (dir, status.daemon.is_some()), now)?;
        if let Some(pause) = heartbeat.paused.as_ref().filter(|pause| pause.heartbeat.is_some()) {
            writeln!(out, "  paused    {}", paused::line(pause, now))?;
        }
        if heartbeat.repository_untrusted
            && let Some(untrusted) = trust.untrusted(heartbeat.workspace.as_ref(), &heartbeat.backend)
        {
            writeln!(out, "  trust     {}", untrusted.line())?;
        }
    }
    Ok(())
}
