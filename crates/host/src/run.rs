//! The host's event loop: waits for events of its agent, passes them to [`Machine`] and applies the effects.
//!
//! The process that calls [`run`] must have no other children: every process that remains when the agent has ended
//! counts as the agent's and is killed.

mod client;
mod commands;
mod dialog;
pub mod holds;
mod requests;
mod stopping;
mod timers;
mod turn_splitter;

use super::activity::Activity;
use super::audit::{Audit, Coverage};
use super::beat_limits::{BeatLimits, TimeLimit};
use super::capture::{Capture, Destination};
use super::control_requests::{ControlRequests, HookAnswer};
use super::drain::Drain;
use super::event::{MurmurEvent, Progress, Role};
use super::local_rules::LocalRules;
use super::pipes::{self, Pipes};
use super::process;
use super::protocol::{AgentInfo, GRACE};
use super::registration::Listeners;
use super::serve::{Command, Handlers};
use super::state::{AgentKind, Effect, Input, Machine, State};
use super::watchdogs::Watchdogs;
use client::{ClientEvents, DelegatedCalls};
use derun::id::SessionId as CaptureId;
use derun::record::Channel;
use derun::writer::End;
use holds::{Holds, WatchedAccount};
use murmur_agent::backend;
use murmur_agent::dialog::{Conversation, Dialog};
use murmur_agent::invocation::Invocation;
use murmur_agent::settings::HookProgram;
use murmur_core::usage_limit::Hold;
use murmur_outcome::refused::{Refusals, UndecidedCalls};
use murmur_outcome::run::{Run, RunEnd};
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;
use sys::error::Failure;
use sys::pause::wait_until;
use sys::process::{Exit, Signal, end_all_children};
use sys::{memory, signals};
use timers::{REST, died};
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, timeout};
use turn_splitter::TurnSplitter;

/// How long a killed process tree may take to disappear.
pub const REAPING: Duration = Duration::from_secs(2);

/// How long output may still arrive after the last process that could write it is gone.
pub const DRAIN: Duration = Duration::from_secs(1);

/// An agent to host.
#[derive(Debug)]
pub struct Spec {
    /// Its properties.
    pub info: AgentInfo,
    /// How to start it. Its stdin is a beat's prompt, or the first message to a hosted agent.
    pub invocation: Invocation,
    /// The conversation to begin or resume, for backends that are told on stdin.
    pub conversation: Conversation,
    /// Limits of a beat.
    pub beat_limits: Option<BeatLimits>,
    /// Where and how its output is captured.
    pub captures: Destination,
    /// The hook that answers its control requests.
    pub hook: Option<HookProgram>,
    /// Where the hook records its decisions.
    pub decisions: PathBuf,
    /// Whether a call without a decision ends the run.
    pub is_audited: bool,
    /// The person's rules, if the agent may run calls without a decision.
    pub local_rules: Option<LocalRules>,
    /// The account whose holds are reported.
    pub watched: Option<WatchedAccount>,
}

/// Runs `spec`'s agent to its end while serving clients on `listeners`. `stop` resolves to stop it early, `started`
/// is called with the capture session once it runs, and `sink` with its events.
///
/// # Errors
/// Only if the process could not be started; later failures are part of the [`Run`] and are reported to clients.
pub async fn run(
    spec: &Spec,
    listeners: Option<Listeners>,
    stop: impl Future<Output = ()>,
    started: impl FnOnce(Option<CaptureId>),
    sink: impl FnMut(Progress<'_>, Duration),
) -> io::Result<(Run, Drain)> {
    let begun = Instant::now();
    let (mut child, mut pipes) = process::spawn(&spec.invocation)?;
    let pid = child.id();
    let stdin = child.stdin.take().map(pipes::feed);
    let command = std::iter::once(spec.invocation.program.display().to_string());
    let command = command.chain(spec.invocation.args.iter().cloned()).collect();
    let dialect = backend::dialect(&spec.info.backend);
    let capture = Capture::begin(&spec.captures, &spec.info, dialect, command, &spec.invocation.cwd, pid);
    let first = String::from_utf8_lossy(&spec.invocation.stdin).into_owned();
    let first_message = (spec.info.kind == AgentKind::Live && !first.is_empty()).then(|| first.clone());
    // At most one request is pending; others wait in their connections.
    let (commands, asked) = mpsc::channel(1);
    let (over, until_over) = watch::channel(false);
    let (control_requests, mut answers) =
        ControlRequests::new(spec.hook.clone(), &spec.info.backend, &spec.invocation);
    let serving = listeners.map(|Listeners { first, next }| {
        let handlers = Handlers::new(&spec.info, capture.feed(), commands);
        tokio::spawn(murmur_rpc::serve::serve(first, next, handlers, until_over))
    });
    let (client, mut client_events) = DelegatedCalls::new();
    let dialog = backend::dialog(&spec.info.backend, spec.conversation.clone());
    let coverage = Coverage::of(&spec.info.backend, dialog.is_decided_at_start());
    let mut host = Host {
        spec,
        begun,
        pid,
        machine: Machine::new(spec.info.kind, first_message),
        capture,
        stdin,
        control_requests,
        stopped: None,
        is_signaled: false,
        time_limit: spec.beat_limits.map(|beat_limits| TimeLimit::new(beat_limits.time, begun)),
        watchdogs: spec.beat_limits.map(|beat_limits| Watchdogs::new(beat_limits.watchdogs)),
        waiting: JoinSet::new(),
        hooks: 0,
        wait_until: None,
        rest_at: None,
        activity: Activity::new(spec.info.kind),
        turn_splitter: TurnSplitter::new(dialect),
        dialog,
        client,
        audit: Audit::begin(spec.decisions.clone(), spec.info.agent_id.clone(), coverage)
            .with(spec.local_rules.clone()),
        stderr: Vec::new(),
        stops: Vec::new(),
        hold: None,
        sink,
    };
    host.capture.own(MurmurEvent::State(State::Starting));
    if spec.info.kind == AgentKind::Beat {
        host.capture.own(MurmurEvent::Chat { role: Role::User, text: first.clone() });
    }
    host.open_dialog(&first);
    (host.sink)(Progress::Spawned(pid), Duration::ZERO);
    host.take(Input::Started);
    started(host.capture.session().cloned());
    let exit = host.work(&mut child, &mut pipes, stop, asked, &mut answers, &mut client_events).await;
    let survivors = end_all_children(REAPING).await.err().unwrap_or(0);
    let _cut = timeout(DRAIN, host.drain(&mut pipes)).await;
    Ok(host.end(exit, survivors, serving, over))
}

struct Host<'a, S> {
    spec: &'a Spec,
    begun: Instant,
    pid: Option<u32>,
    machine: Machine,
    capture: Capture,
    stdin: Option<mpsc::Sender<Vec<u8>>>,
    control_requests: ControlRequests,
    /// Why it was ended, unless it ended by itself.
    stopped: Option<RunEnd>,
    /// Whether it was sent a signal.
    is_signaled: bool,
    /// The time left to it.
    time_limit: Option<TimeLimit>,
    /// Notices that it seems to hang.
    watchdogs: Option<Watchdogs>,
    /// Hooks that wait for people, by number; each finishes when its hook stops waiting.
    waiting: JoinSet<u64>,
    /// The number of hooks so far.
    hooks: u64,
    /// When the grace period ends.
    wait_until: Option<Instant>,
    /// When an idle agent's host frees memory that it doesn't need while idle.
    rest_at: Option<Instant>,
    activity: Activity,
    turn_splitter: TurnSplitter,
    /// What to write to its stdin.
    dialog: Box<dyn Dialog>,
    /// Calls that the agent delegates to murmur.
    client: DelegatedCalls,
    audit: Audit,
    stderr: Vec<u8>,
    /// Clients that wait for the end.
    stops: Vec<oneshot::Sender<State>>,
    /// The hold of its account.
    hold: Option<Hold>,
    sink: S,
}

impl<S: FnMut(Progress<'_>, Duration)> Host<'_, S> {
    /// Handles events until the agent's process has ended.
    async fn work(
        &mut self,
        child: &mut Child,
        pipes: &mut Pipes,
        stop: impl Future<Output = ()>,
        mut asked: mpsc::Receiver<Command>,
        answers: &mut mpsc::Receiver<HookAnswer>,
        client_events: &mut ClientEvents,
    ) -> io::Result<Exit> {
        let mut stop = pin!(stop);
        let mut is_stopping = false;
        let mut holds = Holds::begin(self.spec.watched.as_ref());
        let mut child_signals = signal(SignalKind::child()).ok();
        // Reap children that died earlier: no signal comes for them.
        self.reap();
        loop {
            let (grace, rest) = (self.wait_until, self.rest_at);
            let (until, settled) = (self.times_out_at(), self.settles_at());
            let hung = self.hangs_at();
            let (incomplete, sync) = (self.control_requests.completes_at(), self.capture.sync_at());
            tokio::select! {
                status = child.wait() => return status.map(Exit::from),
                (channel, bytes) = pipes.next(), if pipes.is_open() => self.wrote(channel, bytes),
                Some(command) = asked.recv() => self.handle_command(command),
                Some(answer) = answers.recv() => self.answer(answer),
                event = client_events.next() => self.note_client_event(event),
                () = stop.as_mut(), if !is_stopping => {
                    is_stopping = true;
                    self.stop(false, GRACE);
                }
                Some(Ok(hook)) = self.waiting.join_next() => {
                    self.waited(hook);
                }
                hold = holds.changed() => self.note_hold(hold),
                () = wait_until(until) => self.time_out(),
                () = wait_until(settled) => self.settle(false),
                () = wait_until(hung) => self.hang(),
                () = wait_until(incomplete) => self.control_requests.complete(&*self.dialog, Instant::now()),
                () = wait_until(sync) => self.capture.sync(),
                () = wait_until(grace) => {
                    self.wait_until = None;
                    self.take(Input::GraceOver);
                }
                () = wait_until(rest) => {
                    self.rest_at = None;
                    self.capture.rest();
                    memory::release();
                }
                // Adopted orphans that have died.
                () = died(&mut child_signals) => self.reap(),
            }
        }
    }

    /// Reads output that the agent wrote before it ended.
    async fn drain(&mut self, pipes: &mut Pipes) {
        while pipes.is_open() {
            let (channel, bytes) = pipes.next().await;
            self.wrote(channel, bytes);
        }
    }

    fn wrote(&mut self, channel: Channel, bytes: &[u8]) {
        if channel == Channel::Stderr {
            process::keep_end(&mut self.stderr, bytes);
        }
        match channel {
            Channel::Stderr => self.handle_output(channel, bytes),
            _ => {
                let is_turn = self.dialog.has_begun();
                // First, so that it knows all about a call when that is asked about.
                let reply = self.dialog.read(bytes);
                self.take_in_turns(bytes, is_turn);
                self.control_requests.complete(&*self.dialog, Instant::now());
                let _told_by_the_agent = self.note_overruled();
                self.send_bytes(reply);
                self.take_client_steps();
                self.repeat_decisions();
            }
        }
    }

    /// Handles output of the agent in its current state.
    fn handle_output(&mut self, channel: Channel, bytes: &[u8]) {
        let mut inputs = Vec::new();
        let at = self.begun.elapsed();
        let turns = self.spec.beat_limits.map(|beat_limits| beat_limits.turns);
        let (mut overruns, mut undecided, mut breach) = (false, None, None);
        let Self { capture, activity, sink, control_requests, audit, watchdogs, .. } = self;
        if let (Channel::Stdout, Some(watchdogs)) = (channel, watchdogs.as_mut()) {
            watchdogs.printed(at);
        }
        // Hooks that fail because murmur stops the agent are not failures.
        let mut audit = Some(audit).filter(|_| self.spec.is_audited && self.stopped.is_none());
        capture.bytes(channel, bytes, |event| {
            control_requests.see(event, activity.session_id.as_ref());
            inputs.extend(activity.see(event, at));
            watchdogs.iter_mut().for_each(|watchdogs| watchdogs.see(event, at));
            overruns |= turns.is_some_and(|turns| activity.overruns(turns));
            if let Some(audit) = audit.as_mut() {
                undecided = undecided.take().or(audit.see(event));
                breach = breach.take().or_else(|| audit.breach(event));
            }
            sink(Progress::Agent(event), at);
        });
        if let Some(call) = undecided {
            self.end_undecided(&call);
        } else if let Some(call) = breach {
            self.end_breached(call);
        }
        self.report_unrecorded();
        self.take(Input::Background(self.activity.background()));
        for input in inputs {
            self.take(input);
        }
        if let Some(turns) = turns.filter(|_| overruns) {
            self.overrun(turns);
        }
    }

    fn take(&mut self, input: Input) {
        for effect in self.machine.take(input) {
            match effect {
                Effect::Announce => {
                    let state = self.machine.state().clone();
                    self.rest_at = matches!(state, State::Idle { .. }).then(|| Instant::now() + REST);
                    self.capture.own(MurmurEvent::State(state));
                }
                Effect::Send(text) => {
                    self.send_message(text);
                }
                Effect::CloseInput => self.stdin = None,
                Effect::Terminate => self.signal(Signal::TERM),
                Effect::Kill => {
                    self.wait_until = None;
                    self.signal(Signal::KILL);
                }
                Effect::Wait(grace) => self.wait_until = Some(Instant::now() + grace),
            }
        }
    }

    /// Ends the run.
    fn end(
        mut self,
        exit: io::Result<Exit>,
        survivors: usize,
        serving: Option<JoinHandle<()>>,
        over: watch::Sender<bool>,
    ) -> (Run, Drain) {
        let exit = exit.unwrap_or(Exit::Signal(0));
        let at = self.begun.elapsed();
        self.machine.take(Input::Ended(exit));
        let state = self.machine.state().clone();
        let Self { capture, activity, sink, .. } = &mut self;
        capture.last(MurmurEvent::State(state.clone()), |event| {
            let _nothing_to_do = activity.see(event, at);
            sink(Progress::Agent(event), at);
        });
        let capture = self.capture.session().cloned();
        let unknown = self.capture.unknown().clone();
        let lost = self.capture.lost().map(str::to_owned);
        let end = match exit {
            Exit::Code(code) => End::Exited(code),
            Exit::Signal(number) => End::Signaled(signals::name(number)),
        };
        let unanswered = self.unanswered(at);
        let unwritten = self.capture.finish(&end).err().map(|unwritten| Failure::of(&unwritten).to_string());
        let ending = stopping::ending(self.stopped, self.is_signaled, exit);
        let stderr = String::from_utf8_lossy(&self.stderr).into_owned();
        let lost = lost.or(unwritten);
        let refusals = match self.audit.refusals() {
            refusals if self.spec.is_audited => refusals,
            refusals => Refusals { failure: None, undecided: UndecidedCalls::default(), ..refusals },
        };
        let (denials, unfinished) = (self.audit.denials(), self.activity.has_unfinished_turn());
        let Activity { results, session_id, version, .. } = self.activity;
        let run = Run {
            ending,
            exit,
            results,
            unfinished,
            session_id,
            stderr,
            survivors,
            capture,
            lost,
            refusals,
            denials,
            unanswered,
            version,
            unknown,
        };
        (run, Drain::new(state, self.stops, serving, over))
    }
}
