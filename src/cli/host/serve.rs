//! `murmur host serve`, `murmur-host`: hosts one agent until it ends.

use super::super::args::HostServe;
use super::super::permission::heartbeat_at;
use super::super::user_env::UserEnv;
use super::super::{runtime, verbose};
use crate::beat::{self, BeatError, Job};
use crate::daemon::launch::BeatReport;
use crate::daemon::log::Log;
use anyhow::{Context, bail};
use derun::cli::captures;
use derun::cli::stdout::stdout;
use derun::id::SessionId as CaptureId;
use jiff::Timestamp;
use murmur_agent::invocation::{check_extra_args, own_env};
use murmur_agent::rule_files::{self, Project};
use murmur_agent::settings::{GuardedAgent, HookProgram};
use murmur_agent::start::{Plan, PlannedFolder, RunKind};
use murmur_agent::{backend, find};
use murmur_claude_files::trust::{self, PrivateFile};
use murmur_core::config::backend::{Backend, Capability};
use murmur_core::config::settings::Settings;
use murmur_core::permit::manager;
use murmur_core::permit::policy::{Policy, Role};
use murmur_core::permit::rules::Rules;
use murmur_hook::own;
use murmur_host::capture::Destination;
use murmur_host::event::Progress;
use murmur_host::launch::StartReport;
use murmur_host::local_rules::LocalRules;
use murmur_host::protocol::AgentInfo;
use murmur_host::pulses::Pulses;
use murmur_host::record::AgentEnd;
use murmur_host::registration::Registration;
use murmur_host::run::holds::WatchedAccount;
use murmur_host::run::{self as host, Spec};
use murmur_host::state::AgentKind;
use murmur_host::unrecorded::Unrecorded;
use murmur_outcome::StopReason;
use murmur_outcome::run::{Run, RunEnd};
use murmur_rpc::caller::{HOST, MANAGER};
use murmur_store::journal::decisions;
use murmur_store::journal::unfinished::{LineKept, Unwritten};
use murmur_store::limits::{self, Reports};
use murmur_store::pulse::task;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use sys::error::{Failure, Hinted};
use sys::paths::{DataDir, User};
use sys::{clock, inherited, process};
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(super) fn run(args: &HostServe, env: &UserEnv) -> anyhow::Result<ExitCode> {
    inherited::keep_standard_streams_only();
    // Start a new session, so that a closed terminal or Ctrl-C doesn't reach the agent.
    let _leads_already = process::lead_session();
    process::call_ourselves(HOST);
    process::adopt_orphans().context("cannot adopt orphaned processes")?;
    if args.beat {
        return run_beat(env);
    }
    let served = serve(args, env);
    if let (true, Err(error)) = (args.announce, &served) {
        let _gone = print_line(&StartReport::Error(super::super::describe(error)));
    }
    served
}

/// Signals that a host ignores, and the one that stops it.
struct Signals {
    terminate: Signal,
    _hang_up: Signal,
    _interrupt: Signal,
}

impl Signals {
    fn take() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            _hang_up: signal(SignalKind::hangup())?,
            _interrupt: signal(SignalKind::interrupt())?,
        })
    }
}

fn serve(args: &HostServe, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.prepared_data_dir()?;
    dir.require_ours()?;
    let (log, home) = (Log::new(&dir), env.user()?.home);
    log.report_panics();
    let message = if args.announce { io::read_to_string(io::stdin())? } else { String::new() };
    let started = clock::now();
    let (spec, servers, folder) = spec(args, env, &dir, message, clock::rfc3339(started))?;
    let kept = servers.map(|file| file.write()).transpose()?;
    let folder = folder.map(|folder| folder.create()).transpose()?;
    runtime()?.block_on(async {
        let mut signals = Signals::take()?;
        let mut registration = Registration::begin(&dir, spec.info.clone(), String::new())?;
        // Best effort: readers can do without it. The task of an earlier agent with this id is cleared.
        let message = String::from_utf8_lossy(&spec.invocation.stdin);
        let _untold = task::set(&dir, spec.info.agent_id.as_str(), &message);
        let folder_gone = registration.folder_gone(false);
        let stop = async {
            tokio::select! {
                _ = signals.terminate.recv() => {}
                () = folder_gone => {}
            }
        };
        let listeners = registration.listeners();
        let announce = |capture: Option<CaptureId>| {
            if let Some(Err(error)) = capture.map(|capture| registration.note_capture(capture)) {
                log_warning(&log, &format!("its earlier events cannot be found: {error}"));
            }
            if args.announce {
                let _gone = print_line(&StartReport::Ready { pid: std::process::id() });
                let _closed = process::close_stdout();
            }
        };
        let backend = &spec.info.backend;
        let account = backend::account(backend, &home, &own_env);
        let (mut reports, mut pulses) = (Reports::default(), Pulses::of(&dir, &spec.info));
        let observe = |progress: Progress<'_>, _| {
            note_version(&log, &progress, backend);
            pulses.note(&progress);
            if let Progress::Unrecorded(unrecorded) = progress {
                // Best effort: it is recorded when the agent has ended.
                let _unnoted = registration.note_unrecorded(unrecorded);
            }
            if let Progress::Agent(event) = progress
                && reports.observe(event, clock::now())
            {
                // Best effort: the next agent finds the limit again.
                let _unrecorded = limits::record_hosted(&dir, &account, &reports, clock::now());
            }
        };
        let ran = host::run(&spec, listeners, stop, announce, observe).await;
        pulses.end();
        // Release it before clients learn that the agent has ended.
        drop((kept, folder));
        let (error, exit) = match &ran {
            Ok((run, _)) => (wrong(&run.ending), Some(run.exit)),
            Err(error) => (Some(error.to_string()), None),
        };
        let ended = clock::now();
        // Log this before closing the record, which removes an empty log.
        if let Ok((run, _)) = &ran {
            record_run(&dir, &log, &spec.info, run, ended);
        }
        let closed = registration.close(AgentEnd { ended_at: clock::rfc3339(ended), exit, error });
        let (run, drain) =
            ran.with_context(|| format!("cannot start {}", spec.invocation.program.display()))?;
        drain.finish().await;
        if run.survivors > 0 {
            bail!("{} of the agent's processes could not be ended", run.survivors);
        }
        closed.context("cannot write the record")?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Records what the agent left: requests without an answer, unknown events, calls that nothing guarded, and lost
/// output. Logs what can't be recorded.
fn record_run(dir: &DataDir, log: &Log, info: &AgentInfo, run: &Run, ended: Timestamp) {
    if let Err(error) = decisions::record_unanswered(dir, &run.unanswered) {
        log.line(&Failure::of(&error).line());
    }
    let mut unrecorded = Unrecorded {
        undecided: run.refusals.undecided.clone(),
        unknown: run.unknown.clone(),
        version: run.version.clone(),
    };
    if let Err(failure) = unrecorded.record(dir, info, ended) {
        log.line(&failure.line());
    }
    if let Some(lost) = &run.lost {
        log.line(&format!("output is incomplete: {lost}"));
    }
}

/// The error, if the agent ended badly.
fn wrong(ending: &RunEnd) -> Option<String> {
    match ending {
        RunEnd::Breach { what } => Some(what.clone()),
        _ => None,
    }
}

/// The agent to run.
fn spec(
    args: &HostServe,
    env: &UserEnv,
    dir: &DataDir,
    message: String,
    started_at: String,
) -> anyhow::Result<(Spec, Option<PrivateFile>, Option<PlannedFolder>)> {
    let worktree = env.workspace(args.worktree.as_deref().context("--worktree is missing")?)?;
    let agent_id = args.agent_id.clone().context("--agent-id is missing")?;
    let project = args.project.clone().context("--project is missing")?;
    let user = env.user()?;
    let backend = backend_or_default(args.backend.as_ref(), &user)?;
    let command = Settings::read(&user.settings.settings())?.command(&backend)?;
    let path = env.path();
    let program = find::find(&command.program, &path)?;
    let info = AgentInfo {
        agent_id: agent_id.clone(),
        kind: AgentKind::Live,
        project: project.clone(),
        role: args.role.clone(),
        backend: backend.clone(),
        worktree: worktree.clone(),
        issue: args.issue.clone(),
        beat: None,
        heartbeat: None,
        started_at,
    };
    let role = role(&args.role);
    let policy = policy(role, &worktree, &user, env)?;
    let whose = Project::of(&worktree).with_name(Some(&project));
    let allow = match role {
        Role::Manager => {
            let files = rule_files::read(rule_files::files(dir, &user.settings, &whose)?)?;
            let rules: Vec<&Rules> = files.iter().filter_map(|file| file.rules.as_ref()).collect();
            manager::allow_settings(&manager::patterns(&rules))
        }
        Role::Hosted | Role::Beat => Vec::new(),
    };
    let guarded = GuardedAgent {
        agent: &agent_id,
        dir: dir.root(),
        socket_name: dir.socket_name(),
        project: &project,
        workspace: &worktree,
        user: &user,
        policy: &policy,
        beat: None,
        allow: &allow,
        gates: &[],
    };
    let hook = HookProgram::find().context("cannot find murmur's hook")?;
    check_extra_args(&args.args)?;
    let heartbeat = heartbeat_at(&worktree, env)?;
    if let Some(heartbeat) = &heartbeat {
        heartbeat.check_hosted(&backend)?;
    }
    let mcp = heartbeat.map(|heartbeat| heartbeat.settings.mcp.value.clone()).unwrap_or_default();
    let start = trust::start(dir, &user.home, &agent_id, &worktree, &mcp)?;
    if let Some(untrusted) = start.trust_state.failure(&worktree, &backend) {
        log_warning(&Log::new(dir), &untrusted.line());
    }
    let plan = Plan {
        kind: RunKind::Live { extra: &args.args },
        program,
        args: command.args,
        env: command.env,
        offers: command.offers,
        path,
        guarded,
        hook: &hook,
        deny: Some(&[]),
        model: args.model.as_deref(),
        trust: &start.args,
        hides_claude_files: start.trust_state.hides_files(),
        resume: args.resume.as_deref(),
        stdin: message.into_bytes(),
    };
    let agent = backend::prepare(&backend, plan)?;
    let local_rules = (!backend.has(Capability::Hooks)).then(|| {
        let own = own::find(dir, &user, &policy, &backend, None);
        LocalRules::of(dir, &user, whose, &worktree, Some(&[]), policy, own)
    });
    let spec = Spec {
        info,
        invocation: agent.invocation,
        conversation: agent.conversation,
        beat_limits: None,
        captures: Destination {
            root: captures(),
            limits: Settings::read(&user.settings.settings())?.captures,
            group: None,
        },
        hook: agent.hook,
        decisions: dir.decisions(),
        is_audited: policy.guard,
        local_rules,
        watched: Some(WatchedAccount {
            dir: dir.clone(),
            account: backend::account(&backend, &user.home, &own_env),
        }),
    };
    Ok((spec, start.file, agent.folder))
}

/// The backend `chosen` for a hosted agent, or else the default of config.toml.
pub(super) fn backend_or_default(chosen: Option<&Backend>, user: &User) -> anyhow::Result<Backend> {
    Ok(match chosen {
        Some(chosen) => chosen.clone(),
        None => Settings::read(&user.settings.settings())?.agent.unwrap_or_default(),
    })
}

/// The role with this name.
pub(super) fn role(name: &str) -> Role {
    if name == MANAGER { Role::Manager } else { Role::Hosted }
}

/// The policy for an agent in `worktree`, which may be in a workspace with its own policy.
pub(super) fn policy(role: Role, worktree: &Path, user: &User, env: &UserEnv) -> anyhow::Result<Policy> {
    let settings = Settings::read(&user.settings.settings())?.asking;
    let heartbeat = heartbeat_at(worktree, env)?;
    let heartbeat = heartbeat.as_ref();
    // The built-in deny list and the guard always apply to a hosted agent.
    let own = heartbeat
        .map(|heartbeat| (heartbeat.settings.asking, heartbeat.settings.tighter))
        .unwrap_or_default();
    Ok(Policy::resolve(role, &settings, &own.0, &own.1, true))
}

fn captures() -> Option<PathBuf> {
    captures::root().ok()
}

/// Logs a warning if the agent's version was not tested with murmur.
fn note_version(log: &Log, progress: &Progress<'_>, backend: &Backend) {
    let Progress::Agent(event) = progress else { return };
    if let Some(note) = verbose::unknown_version(event, backend) {
        log_warning(log, &note);
    }
}

fn log_warning(log: &Log, warning: &str) {
    log.line(&format!("warning: {warning}"));
}

/// Runs the beat whose job is on stdin; prints one line to stdout when it is over.
fn run_beat(env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.data_dir()?;
    let log = Log::new(&dir);
    log.report_panics();
    let report = runtime()?.block_on(async {
        let mut signals = Signals::take()?;
        let mut replace = signal(SignalKind::from_raw(beat::REPLACE.as_raw()))?;
        let job = io::read_to_string(io::stdin())?;
        let job: Job = serde_json::from_str(&job).context("cannot read the job on stdin")?;
        let stop = async {
            tokio::select! {
                _ = signals.terminate.recv() => StopReason::Asked,
                _ = replace.recv() => StopReason::Replaced,
            }
        };
        anyhow::Ok(
            match beat::run(&job, &dir, captures(), stop, |progress| {
                note_version(&log, progress, &job.backend)
            })
            .await
            {
                Ok(report) => {
                    let failures = [report.gates_unreadable, report.uncounted].into_iter().flatten();
                    let failures = failures.map(|failure| failure.line());
                    for error in report.unreachable.into_iter().chain(failures) {
                        log_warning(&log, &error);
                    }
                    match report.unwritten {
                        None => BeatReport::Journaled,
                        Some(Unwritten { kept: LineKept::OnDisk, .. }) => BeatReport::Waiting,
                        Some(Unwritten { kept: LineKept::Nowhere, .. }) => {
                            BeatReport::Unsaved { line: report.entry.line()? }
                        }
                    }
                }
                Err(BeatError::Busy { .. } | BeatError::Withdrawn) => BeatReport::Busy,
                Err(error) => {
                    BeatReport::Unsaved { line: job.failed(clock::now(), &error.failure()).line()? }
                }
            },
        )
    })?;
    print_line(&report)?;
    Ok(ExitCode::SUCCESS)
}

fn print_line(report: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    let mut stdout = stdout().lock();
    stdout.write_all(&line)?;
    Ok(stdout.flush()?)
}
