//! The model → a frame. Words and characters carry the meaning; color only emphasizes it.

mod long;
mod panes;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod time;

use crate::model::{Model, Update};
use crate::rows::{Daemon, Health, HeartbeatState};
use crate::text::width;
use crate::view::{Pane, Prompt, Purpose, Screen};
use jiff::{SignedDuration, Timestamp};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Frame;
use sys::text::cut;
use time::span;

/// From this size on, all panes are shown at once.
const WIDE: (u16, u16) = (150, 30);

/// The narrowest terminal on which the name of the shown pane fits among the numbers of all.
const TIGHT: u16 = 32;

/// What is selected.
const SELECTED: Style = Style::new().add_modifier(Modifier::REVERSED);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);

fn color(color: Color) -> Style {
    Style::new().fg(color)
}

/// Draws the model as of `now`.
pub fn draw(frame: &mut Frame<'_>, model: &Model, now: Timestamp) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    model.view.drawn_agents.take();
    if area.width < 4 || area.height < 2 {
        return;
    }
    let mut rest = area;
    let footer = take_last(&mut rest);
    if rest.height >= 8 {
        status(buffer, take_first(&mut rest), model, now);
    }
    match &model.view.screen {
        Screen::Panes if (area.width, area.height) >= WIDE && area.height >= WIDE.1 => {
            grid(buffer, rest, model, now)
        }
        Screen::Panes => {
            if rest.height >= 4 {
                tabs(buffer, take_first(&mut rest), model);
            }
            panes::pane(buffer, rest, model, model.view.pane, now);
        }
        Screen::Detail => long::detail(buffer, rest, model),
        Screen::Request(id) => long::request(buffer, rest, model, id, now),
        Screen::Problem(id) => long::problem(buffer, rest, model, id, now),
        Screen::Help => long::help(buffer, rest, model),
    }
    bottom(buffer, footer, model);
}

/// All panes.
fn grid(buffer: &mut Buffer, area: Rect, model: &Model, now: Timestamp) {
    let left = area.width / 2;
    let upper = area.height * 2 / 5;
    let limits = u16::try_from(model.limits.len()).unwrap_or(u16::MAX).clamp(1, 6) + 2;
    let lower = area.height - upper;
    let inbox = lower / 3;
    let right = Rect::new(area.x + left + 1, area.y, area.width - left - 1, area.height);
    let lefts = Rect::new(area.x, area.y, left, area.height);
    let rows = |of: Rect, from: u16, height: u16| Rect::new(of.x, of.y + from, of.width, height);
    let places = [
        (Pane::Heartbeats, rows(lefts, 0, upper)),
        (Pane::Agents, rows(right, 0, upper + inbox)),
        (Pane::Inbox, rows(lefts, upper, inbox)),
        (Pane::Limits, rows(right, upper + inbox, limits)),
        (Pane::Log, rows(lefts, upper + inbox, lower - inbox)),
    ];
    for (pane, place) in places {
        panes::pane(buffer, place, model, pane, now);
    }
    let problems = rows(right, upper + inbox + limits, (lower - inbox).saturating_sub(limits));
    long::problems(buffer, problems, model);
}

fn take_first(area: &mut Rect) -> Rect {
    let first = Rect { height: 1, ..*area };
    (area.y, area.height) = (area.y + 1, area.height - 1);
    first
}

fn take_last(area: &mut Rect) -> Rect {
    area.height -= 1;
    Rect { y: area.y + area.height, height: 1, ..*area }
}

/// Draws `text` on at most `room` columns; returns the column after it.
fn put(buffer: &mut Buffer, (x, y): (u16, u16), text: &str, room: usize, style: Style) -> u16 {
    if !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || y >= buffer.area.bottom() {
        return buffer.set_stringn(x, y, text, room, style).0;
    }
    // Most text: each byte is a cell, so that there is nothing to measure, which takes most of the time of a frame.
    let mut at = x;
    for place in 0..text.len().min(room) {
        if at >= buffer.area.right() {
            break;
        }
        buffer[(at, y)].set_symbol(&text[place..=place]).set_style(style);
        at += 1;
    }
    at
}

/// Draws pieces one after another, as far as there is room.
fn pieces(buffer: &mut Buffer, area: Rect, pieces: &[(String, Style)]) -> u16 {
    let (mut x, end) = (area.x, area.right());
    for (text, style) in pieces {
        let room = usize::from(end - x);
        x = put(buffer, (x, area.y), &cut(text, room), room, *style);
        if x >= end {
            break;
        }
    }
    x
}

/// Draws pieces, and a line in the rest of the row.
fn rule(buffer: &mut Buffer, area: Rect, parts: &[(String, Style)]) {
    let x = pieces(buffer, area, parts);
    let room = usize::from(area.right() - x);
    for x in x..x.saturating_add(u16::try_from(room).unwrap_or(u16::MAX)) {
        buffer[(x, area.y)].set_symbol("─").set_style(DIM);
    }
}

fn status(buffer: &mut Buffer, area: Rect, model: &Model, now: Timestamp) {
    let mut parts = vec![("murmur".to_owned(), BOLD)];
    match &model.daemon {
        Daemon::Unknown => parts.push((" connecting".to_owned(), DIM)),
        Daemon::Up { version, since } => {
            parts.push((format!(" {version}, up {}", span(now.duration_since(*since))), Style::new()));
        }
        Daemon::Down(why) => parts.push((format!(" {why}"), color(Color::Red).add_modifier(Modifier::BOLD))),
    }
    let daemon: usize = parts.iter().map(|(text, _)| width(text)).sum();
    let live = model.agents.iter().filter(|agent| agent.health.is_live()).count();
    let running = model.heartbeats.iter().filter(|row| row.beat.is_some()).count();
    let plural = |count| if count == 1 { "" } else { "s" };
    let counts = format!("  {running} beat{} running, {live} agent{}", plural(running), plural(live));
    let waiting = match model.waiting() {
        0 => String::new(),
        count => format!("  {count} waiting for you"),
    };
    // What waits for the user comes first where there is no room for everything.
    if daemon + width(&counts) + width(&waiting) <= usize::from(area.width) || waiting.is_empty() {
        parts.push((counts, Style::new()));
    }
    parts.push((waiting, color(Color::Magenta).add_modifier(Modifier::BOLD)));
    if let Some(problem) = model.problems.first() {
        parts.push((format!("  problem: {problem}"), color(Color::Red)));
    }
    pieces(buffer, area, &parts);
}

fn tabs(buffer: &mut Buffer, area: Rect, model: &Model) {
    let is_tight = area.width < 60;
    let mut parts = Vec::new();
    for (index, pane) in Pane::ALL.into_iter().enumerate() {
        let is_shown = pane == model.view.pane;
        // Below a certain width, only the pane's own title names it.
        let has_word = if is_tight { is_shown && area.width >= TIGHT } else { true };
        let word = if has_word { format!(" {}", pane.as_str()) } else { String::new() };
        let count = match pane {
            Pane::Inbox if model.waiting() > 0 => format!("({})", model.waiting()),
            _ => String::new(),
        };
        let style = if is_shown { SELECTED.add_modifier(Modifier::BOLD) } else { DIM };
        parts.push((format!(" {}{word}{count} ", index + 1), style));
    }
    pieces(buffer, area, &parts);
}

/// The last row: what is typed, a message, or the keys.
fn bottom(buffer: &mut Buffer, area: Rect, model: &Model) {
    if let Some(prompt) = &model.view.prompt {
        return typing(buffer, area, model, prompt);
    }
    if let Some(message) = &model.view.message {
        pieces(buffer, area, &[(message.to_string(), BOLD)]);
        return;
    }
    let keys = match &model.view.screen {
        Screen::Help => "j k scroll  Esc back",
        Screen::Detail if model.request_of_shown().is_some() => {
            "y answer  j k PgUp PgDn scroll  G follow  / search  n N next  Esc back"
        }
        Screen::Detail => "j k PgUp PgDn scroll  G follow  / search  n N next  Esc back",
        Screen::Request(id) => match model.request(id) {
            Some(request) if request.questions.is_empty() => {
                "y allow  n deny  N deny with a reason  PgDn scroll  Esc back"
            }
            Some(request) if request.option('1').is_some() => "a answer  1-9 choose  PgDn scroll  Esc back",
            _ => "a answer  PgDn scroll  Esc back",
        },
        Screen::Problem(_) => "PgDn scroll  Esc back",
        Screen::Panes => match model.view.pane {
            Pane::Heartbeats => {
                "Enter show  r run  p pause  s stop  e edit  / filter  : command  ? help  q quit"
            }
            Pane::Agents => "Enter show  s stop  y n answer  a all  / filter  : command  ? help  q quit",
            Pane::Inbox => "Enter show  y n answer  / filter  : command  ? help  q quit",
            Pane::Log => "Enter show  / filter  : command  ? help  q quit",
            Pane::Limits => "/ filter  : command  ? help  q quit",
        },
    };
    pieces(buffer, area, &[(keys_within(keys, usize::from(area.width)), DIM)]);
}

/// The keys for which there is room; the help and the way out come before others.
fn keys_within(keys: &str, room: usize) -> String {
    let mut shown: Vec<&str> = keys.split("  ").collect();
    let last = if keys.ends_with("q quit") { 2 } else { 1 };
    while shown.join("  ").len() > room && shown.len() > last {
        shown.remove(shown.len() - last - 1);
    }
    shown.join("  ")
}

fn typing(buffer: &mut Buffer, area: Rect, model: &Model, prompt: &Prompt) {
    let room = usize::from(area.width).saturating_sub(1);
    let before = match &prompt.purpose {
        Purpose::Filter | Purpose::Search => "/".to_owned(),
        Purpose::Command => ":".to_owned(),
        Purpose::Confirm(_, question) => format!("{question} y, or any other key: "),
        Purpose::Choose(id, digit) => {
            let option = model.request(id).and_then(|request| request.option(*digit));
            let keys = format!("? {digit} or Enter, or any other key: ");
            // The keys stay visible after a long option.
            let left = (room * 3 / 4).saturating_sub("answer ".len() + keys.len());
            format!("answer {}{keys}", cut(&option.map(ToString::to_string).unwrap_or_default(), left))
        }
        Purpose::Yes(_) => "the guard cannot tell what it does; type yes to allow it: ".to_owned(),
        Purpose::Reason(_) => "why not? ".to_owned(),
        Purpose::Answers(id, given) => {
            let questions = model.request(id).map_or(0, |request| request.questions.len());
            if questions > 1 {
                format!("answer {} of {questions}: ", given.len() + 1)
            } else {
                "answer: ".to_owned()
            }
        }
    };
    let before = cut(&before, room * 3 / 4);
    let typed = crate::text::cut_start(&prompt.typed, room - width(&before));
    pieces(buffer, area, &[(before, BOLD), (typed, Style::new()), (" ".to_owned(), SELECTED)]);
}

/// The color of an agent's health.
fn colored(health: Health) -> Style {
    match health {
        Health::Waiting => color(Color::Magenta).add_modifier(Modifier::BOLD),
        Health::Stuck | Health::Dead => color(Color::Red),
        Health::Warning | Health::Stale => color(Color::Yellow),
        Health::Active => color(Color::Green),
        Health::Idle | Health::Exited => DIM,
    }
}

/// Whether the next frame, with `update`, would differ from the last one as of `now`. It may also return `true` if it
/// would not.
#[must_use]
pub fn differs(model: &Model, update: &Update, now: Timestamp) -> bool {
    match update {
        Update::Agent(row) => panes::differs(model, row, now),
        _ => true,
    }
}

/// After how long time alone changes what is shown; `None` if it doesn't.
#[must_use]
pub fn changes_in(model: &Model, now: Timestamp) -> Option<SignedDuration> {
    let heartbeats = model.heartbeats.iter().filter_map(|row| match row.state {
        HeartbeatState::Running(at) | HeartbeatState::Next(at) | HeartbeatState::Held(at) => Some(at),
        HeartbeatState::Paused(until) => until,
        HeartbeatState::Waits | HeartbeatState::Due | HeartbeatState::Off(_) => None,
    });
    let live = model.agents.iter().filter(|agent| agent.health.is_live());
    let agents = live.map(|agent| model.waits_since(agent).unwrap_or(agent.since));
    let requests =
        model.requests.iter().flat_map(|request| request.expires.into_iter().chain([request.asked]));
    let problems = model.to_solve.iter().chain(&model.stuck);
    let problems = problems.flat_map(|problem| problem.deadline.into_iter().chain(problem.since));
    let since = match &model.daemon {
        Daemon::Up { since, .. } => Some(*since),
        _ => None,
    };
    let limits = model.limits.iter().filter_map(|limit| limit.held.or(limit.resets));
    let times = heartbeats.chain(agents).chain(requests).chain(problems).chain(since).chain(limits);
    let changes = times.map(|at| time::changes_in(now.duration_since(at)));
    let active = model.activity.values().any(|activity| activity.levels(now).iter().any(|count| *count > 0));
    changes.chain(active.then(|| SignedDuration::from_secs(10))).min()
}
