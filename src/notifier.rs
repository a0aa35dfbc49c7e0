//! The notifier: a child process of the daemon that sends notifications and accepts answers to requests (config.toml's
//! `notify`).
//!
//! It is a client of the daemon: it follows its events, reads the journal from where it stopped last time, and answers
//! requests as any person would. It ends with the daemon's connection, or is killed with the daemon. An event is on
//! disk before it is sent, so a restart loses nothing; a message may be sent twice if the notifier dies while it sends.
//!
//! The crate `notify` decides and delivers; deliveries, listeners and pings run on threads of their own, so that a
//! server that hangs delays nothing else.

mod answers;
mod deliver;
mod missed;
mod news;
mod ping;

use crate::daemon::client;
use crate::daemon::log::Log;
use crate::daemon::notifier_process::read_up_to;
use ::notify::changes;
use ::notify::listen::Report;
use ::notify::log::{self, LogEntry};
use ::notify::outbox::{self, Batch};
use ::notify::state::{JournalPosition, State};
use anyhow::Context;
use deliver::Delivery;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use missed::Missed;
use murmur_core::config::notify::Notify;
use murmur_core::permit::request::RequestId;
use murmur_rpc::client::Client;
use murmur_rpc::envelope::{GAP, LAGGED};
use murmur_store::journal::tail::{Position, Tail};
use news::{NamedHeartbeat, Names};
use ping::Pings;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use sys::alarm::Alarm;
use sys::clock::{self, rfc3339};
use sys::paths::DataDir;
use sys::process;
use tokio::sync::mpsc;

/// How many messages from threads may wait for the loop. When full, threads wait.
const QUEUE: usize = 16;
/// The longest `what` of a line in notifications.jsonl, in characters.
const MAX_WHAT: usize = 200;

/// What threads report.
enum Input {
    /// A delivery ended.
    Delivered(Delivery),
    /// A channel's listener reports something.
    Report(String, Report),
    /// A heartbeat's ping was sent, or failed with an error.
    Pinged(NamedHeartbeat, Option<String>),
}

/// The notifier's state.
struct Notifier {
    dir: DataDir,
    /// The folder of config.toml.
    settings: PathBuf,
    notify: Notify,
    zone: TimeZone,
    state: State,
    tail: Tail,
    names: Names,
    /// The channels that are delivering.
    busy: BTreeSet<String>,
    pings: Pings,
    /// What happened while no notifier ran, until all of it is read.
    missed: Option<Missed>,
    threads: mpsc::Sender<Input>,
    daemon_log: Log,
}

/// Runs until the daemon ends.
pub async fn run(dir: &DataDir, settings: PathBuf, notify: Notify) -> anyhow::Result<()> {
    process::call_ourselves(c"murmur-notify");
    let mut daemon = client::connect(dir).await.context("cannot reach the daemon")?;
    let attached = client::attach(&mut daemon, None).await.context("cannot follow the daemon")?;
    let (threads, mut inputs) = mpsc::channel(QUEUE);
    let mut notifier = Notifier::new(dir, settings, notify, threads)?;
    notifier.skip_or_catch_up(&attached);
    notifier.report_missed();
    notifier.listen();
    notifier.read_requests().await;
    let mut alarm = Alarm::new()?;
    loop {
        notifier.step();
        alarm.set(notifier.wake_at())?;
        tokio::select! {
            event = daemon.next_event() => match event {
                Ok(event) if event.event_type == LAGGED => {
                    client::attach(&mut daemon, None).await?;
                    notifier.read_requests().await;
                }
                Ok(event) if event.event_type == GAP => notifier.read_requests().await,
                Ok(event) => notifier.on_event(&event.event_type, &event.payload),
                // The daemon has ended.
                Err(_) => return Ok(()),
            },
            Some(input) = inputs.recv() => notifier.on_input(input).await,
            woke = alarm.woke() => drop(woke?),
        }
    }
}

impl Notifier {
    fn new(
        dir: &DataDir,
        settings: PathBuf,
        notify: Notify,
        threads: mpsc::Sender<Input>,
    ) -> anyhow::Result<Self> {
        let daemon_log = Log::new(dir);
        daemon_log.report_panics();
        let state = State::read(&dir.notify()).unwrap_or_else(|failure| {
            complain(&daemon_log, &failure.line());
            State::default()
        });
        let zone = clock::local_zone();
        let tail = match state.journal {
            Some(JournalPosition { inode, end, number: Some(number) }) => {
                Tail::after(dir.journal(), number, Position { inode, end })?
            }
            Some(_) => Tail::from_start(dir.journal()),
            None => Tail::from_end(dir.journal())?,
        };
        Ok(Self {
            names: Names::new(dir, &zone),
            dir: dir.clone(),
            settings,
            notify,
            zone,
            state,
            tail,
            busy: BTreeSet::new(),
            pings: Pings::default(),
            missed: Some(Missed::default()),
            threads,
            daemon_log,
        })
    }

    /// Does what is due.
    fn step(&mut self) {
        let now = clock::now();
        self.read_journal(now);
        for event in changes::cooled_down(&mut self.state, now) {
            self.tell(&event, now);
        }
        if let Some(event) = changes::digest(&mut self.state, &self.notify, now, &self.zone) {
            self.tell(&event, now);
        }
        for entry in outbox::prune(&mut self.state, &self.notify, now) {
            self.note(
                &entry.channel,
                "dropped",
                &entry.event.text,
                Some("it could not be delivered in time"),
            );
        }
        let idle: Vec<String> =
            self.notify.channels.keys().filter(|name| !self.busy.contains(*name)).cloned().collect();
        let batches: Vec<Batch> =
            idle.iter().filter_map(|name| outbox::next(&self.state, name, &self.notify, now)).collect();
        let mut messages = Vec::new();
        for batch in batches {
            let (message, token) = self.message(&batch);
            messages.push((batch, message, token));
        }
        if self.notify.channels.is_empty() {
            // Nobody was told of these: once there is a channel, they are news.
            self.state.heartbeats.clear();
            self.state.requests.clear();
        }
        // On disk before anything is sent.
        self.save();
        for (batch, message, token) in messages {
            self.busy.insert(batch.channel.clone());
            self.deliver(batch, message, token, now);
        }
    }

    fn wake_at(&self) -> Option<Timestamp> {
        let now = clock::now();
        let due = outbox::wake_at(&self.state, &self.notify, now, |name| self.busy.contains(name));
        due.into_iter().chain(changes::wake_at(&self.state, &self.notify, &self.zone)).min()
    }

    /// Puts `event` into the outbox.
    fn tell(&mut self, event: &::notify::event::Event, now: Timestamp) {
        for entry in outbox::add(&mut self.state, event, &self.notify, now) {
            self.note(&entry.channel, "dropped", &entry.event.text, Some("there were too many"));
        }
    }

    async fn on_input(&mut self, input: Input) {
        match input {
            Input::Delivered(delivery) => self.delivered(delivery),
            Input::Report(channel, report) => self.on_report(&channel, report).await,
            Input::Pinged(heartbeat, error) => self.pinged(&heartbeat, error.as_deref()),
        }
    }

    fn on_event(&mut self, event_type: &str, payload: &Value) {
        let now = clock::now();
        match event_type {
            "request_opened" => self.request_opened(payload, now),
            "request_closed" => {
                if let Some(Ok(id)) = payload.get("id").map(RequestId::deserialize) {
                    outbox::close(&mut self.state, &id, payload["how"] == "expired", now);
                }
            }
            "beat_started" => self.ping_start(payload),
            // The journal has the rest; it is read after every event.
            _ => {}
        }
    }

    /// Writes the state. If that fails, messages are still sent, but perhaps twice after a restart.
    fn save(&mut self) {
        self.state.journal = Some(read_up_to(&self.tail));
        if let Err(error) = self.state.write(&self.dir.notify()) {
            self.complain(&format!("cannot write {}: {error}", self.dir.notify().display()));
        }
    }

    /// Adds a line to the daemon's log.
    fn complain(&self, line: &str) {
        complain(&self.daemon_log, line);
    }

    /// Adds a line to notifications.jsonl.
    fn note(&self, channel: &str, result: &str, what: &str, error: Option<&str>) {
        let line = LogEntry {
            channel: channel.to_owned(),
            result: result.to_owned(),
            what: what.chars().take(MAX_WHAT).collect(),
            error: error.map(str::to_owned),
            ..LogEntry::default()
        };
        self.note_line(line);
    }

    fn note_line(&self, line: LogEntry) {
        let path = self.dir.notifications();
        if let Err(error) = log::append(&path, &LogEntry { ts: rfc3339(clock::now()), ..line }) {
            self.complain(&format!("cannot write {}: {error}", path.display()));
        }
    }
}

fn complain(log: &Log, line: &str) {
    log.line(&format!("notify: {line}"));
}

/// A connection for commands; the first one only gets events.
async fn connect(dir: &DataDir) -> Option<Client> {
    client::connect(dir).await.ok()
}
