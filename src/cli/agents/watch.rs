//! `murmur agent list --watch`: shows changes as they happen, in place on a terminal and as lines elsewhere.

use super::screen::Screen;
use super::table::{age_changes_in, cut, lines};
use super::waiting::Watched;
use super::{NO_AGENTS, by_urgency, columns, hide_ended, lines as line_by_line};
use crate::agents::{Agent, Sources};
use crate::cli::args::Agents;
use crate::cli::style::Style;
use derun::cli::stdout::{note, stdout};
use jiff::Timestamp;
use std::io::{self, IsTerminal};
use std::time::Duration;
use sys::{clock, signals, terminal};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep, timeout_at};

/// The minimum time between two frames; later changes go into the next one.
const MIN_FRAME_TIME: Duration = Duration::from_millis(50);

/// The minimum interval for refreshing ages.
const SECOND: Duration = Duration::from_secs(1);

/// Printed if the requested agent does not exist.
const NOT_THERE: &str = "no agents";

/// Shows changes, of the agent `wanted` if given, until it is interrupted or stdout is closed.
pub(super) async fn watch(sources: Sources, wanted: Option<String>, args: &Agents) -> anyhow::Result<()> {
    let json = args.json;
    let quiet = sources.quiet;
    let mut watched = Watched::begin(sources).await?;
    if !watched.follower.is_watched() {
        note("this system cannot report file changes; polling every second")?;
    }
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    if io::stdout().is_terminal() && !json && !is_dumb {
        let hides_ended = wanted.is_none() && !args.all;
        return Terminal::begin(watched, wanted, hides_ended)?.show().await;
    }
    let mut lines = line_by_line::Lines::new(json);
    let mut out = stdout().lock();
    loop {
        let now = clock::now();
        let agents = shown(&watched, wanted.as_deref(), now);
        let change = agents.iter().filter_map(|agent| agent.changes_in(now, &quiet)).min();
        let change = change.into_iter().chain(watched.follower.recheck_in()).min();
        lines.print(&mut out, agents, now)?;
        tokio::select! {
            changed = watched.changed() => changed?,
            () = after(change) => watched.follower.recheck(),
        }
    }
}

/// Agents to show, sorted.
fn shown(watched: &Watched, wanted: Option<&str>, now: Timestamp) -> Vec<Agent> {
    let mut agents = by_urgency(watched.agents(now));
    agents.retain(|agent| wanted.is_none_or(|wanted| agent.agent_id == wanted));
    agents
}

/// Waits for `change`, but yields first; waits forever if there is none.
async fn after(change: Option<Duration>) {
    match change {
        Some(change) => sleep(change.max(SECOND)).await,
        None => std::future::pending().await,
    }
}

/// A table on a terminal, drawn repeatedly.
struct Terminal {
    watched: Watched,
    wanted: Option<String>,
    hides_ended: bool,
    screen: Screen,
    resized: Signal,
    suspend: Signal,
    ends: [(Signal, i32); 3],
}

/// The cause of a wakeup.
enum WakeReason {
    Changed(io::Result<()>),
    Time,
    Resized,
    Written(bool),
    Suspend,
    End(i32),
}

impl Terminal {
    fn begin(watched: Watched, wanted: Option<String>, hides_ended: bool) -> io::Result<Self> {
        let kind = |kind: SignalKind| Ok::<_, io::Error>((signal(kind)?, kind.as_raw_value()));
        Ok(Self {
            ends: [
                kind(SignalKind::interrupt())?,
                kind(SignalKind::terminate())?,
                kind(SignalKind::hangup())?,
            ],
            resized: signal(SignalKind::window_change())?,
            suspend: signal(SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw()))?,
            screen: Screen::begin(),
            watched,
            wanted,
            hides_ended,
        })
    }

    async fn show(mut self) -> anyhow::Result<()> {
        let shown = self.follow().await;
        self.screen.leave().await;
        if let Some(signal) = shown? {
            signals::die_by(signal);
        }
        Ok(())
    }

    /// Draws until a signal arrives or the terminal is gone.
    async fn follow(&mut self) -> anyhow::Result<Option<i32>> {
        let mut is_drawn = false;
        let mut drawn_at = Instant::now();
        let mut change = SECOND;
        loop {
            // A stopped terminal gets the latest frame when it resumes.
            if !is_drawn && self.screen.is_free() {
                change = self.draw();
                (is_drawn, drawn_at) = (true, Instant::now());
            }
            match self.woke(change).await {
                WakeReason::Changed(changed) => {
                    changed?;
                    let until = drawn_at + MIN_FRAME_TIME;
                    while Instant::now() < until {
                        let Ok(changed) = timeout_at(until, self.watched.changed()).await else { break };
                        changed?;
                    }
                }
                WakeReason::Time => self.watched.follower.recheck(),
                WakeReason::Resized => {}
                WakeReason::Written(true) => continue,
                WakeReason::Written(false) => return Ok(None),
                WakeReason::Suspend => {
                    self.screen.leave().await;
                    signals::stop_ourselves(rustix::process::Signal::TSTP.as_raw(), false);
                    self.screen = Screen::begin();
                }
                WakeReason::End(signal) => return Ok(Some(signal)),
            }
            is_drawn = false;
        }
    }

    async fn woke(&mut self, change: Duration) -> WakeReason {
        let [interrupt, terminate, hang_up] = &mut self.ends;
        tokio::select! {
            biased;
            _ = interrupt.0.recv() => WakeReason::End(interrupt.1),
            _ = terminate.0.recv() => WakeReason::End(terminate.1),
            _ = hang_up.0.recv() => WakeReason::End(hang_up.1),
            _ = self.suspend.recv() => WakeReason::Suspend,
            _ = self.resized.recv() => WakeReason::Resized,
            written = self.screen.written() => WakeReason::Written(written),
            changed = self.watched.changed() => WakeReason::Changed(changed),
            () = sleep(change.max(SECOND)) => WakeReason::Time,
        }
    }

    /// Draws the current state and returns when it changes through time alone.
    fn draw(&mut self) -> Duration {
        let now = clock::now();
        let mut agents = shown(&self.watched, self.wanted.as_deref(), now);
        if self.hides_ended {
            hide_ended(&mut agents);
        }
        let width = columns();
        let rows = terminal::size().map_or(0, |size| size.ws_row.into());
        let rows = if rows == 0 { usize::MAX } else { rows };
        let mut picture = if agents.is_empty() {
            let nobody = if self.wanted.is_some() { NOT_THERE } else { NO_AGENTS };
            vec![cut(nobody, width.unwrap_or(usize::MAX))]
        } else {
            lines(&agents, now, width, Style::of_stdout())
        };
        if picture.len() > rows {
            let more = picture.len() - (rows - 1);
            picture.truncate(rows - 1);
            picture.push(cut(&format!("and {more} more"), width.unwrap_or(usize::MAX)));
        }
        self.screen.draw(&picture);
        let changes = agents.iter().map(|agent| age_changes_in(agent.age(now)));
        let changes = changes.chain(self.watched.follower.recheck_in());
        changes.min().unwrap_or(Duration::from_secs(86_400))
    }
}
