//! The five panes: lists of rows with one selected.

use super::table::{Cell, Column, fit, left, looks_same, names, right, row};
use super::time::{dollars, span, took};
use super::{BOLD, DIM, SELECTED, color, colored, pieces, rule, take_first};
use crate::history::{STRETCHES, STRIP};
use crate::inbox::InboxEntry;
use crate::model::Model;
use crate::rows::{Agent, Heartbeat, HeartbeatState, Limit, LogLine, Outcome, Problem, Request};
use crate::view::{DrawnRows, Pane, Screen};
use jiff::Timestamp;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

const HEARTBEATS: [Column; 6] = [
    names("HEARTBEAT", 12, 2, 0),
    left("NEXT", 11, 0, 1),
    left("LAST", 9, 0, 2),
    right("LAST 30", STRIP, 4),
    right("TODAY", 7, 3),
    left("SCHEDULE, NOTE", 14, 3, 5),
];

const AGENTS: [Column; 8] = [
    names("AGENT", 16, 2, 0),
    left("HEALTH", 8, 0, 1),
    right("TIME", 6, 2),
    right("CTX", 4, 5),
    right("COST", 6, 4),
    left("ACTIVITY", STRETCHES, 0, 6),
    left("DOING", 16, 4, 3),
    left("FOLDER", 24, 3, 7),
];

const INBOX: [Column; 6] = [
    left("NO.", 4, 0, 3),
    right("LEFT", 6, 1),
    left("AGENT", 12, 1, 2),
    left("TOOL", 8, 1, 4),
    left("REQUEST", 12, 5, 0),
    right("AGE", 6, 5),
];

const LOG: [Column; 6] = [
    left("ENDED", 11, 0, 4),
    names("HEARTBEAT", 10, 2, 1),
    left("OUTCOME", 9, 0, 0),
    right("TOOK", 6, 3),
    right("COST", 6, 5),
    left("TEXT", 12, 5, 2),
];

const LIMITS: [Column; 5] = [
    left("ACCOUNT", 16, 3, 1),
    left("WINDOW", 10, 1, 0),
    left("USED", 16, 0, 2),
    left("RESETS", 9, 0, 3),
    left("ON HOLD", 9, 0, 4),
];

/// Draws a pane: its title, the names of its columns, and its rows.
pub(super) fn pane(buffer: &mut Buffer, mut area: Rect, model: &Model, pane: Pane, now: Timestamp) {
    if area.height == 0 {
        return;
    }
    let rows = model.rows(pane);
    let list = model.view.list(pane);
    let is_focused = pane == model.view.pane && model.view.screen == Screen::Panes;
    let hidden = model.hidden(pane);
    let all = model.count(pane) - hidden;
    let count = if rows.len() == all { all.to_string() } else { format!("{} of {all}", rows.len()) };
    let count = if hidden == 0 { count } else { format!("{count} + {hidden} exited") };
    let filter =
        if list.filter.is_empty() { String::new() } else { format!("  /{}", crate::Text::new(&list.filter)) };
    let title = format!("{} ({count}){filter} ", pane.as_str());
    let style = if is_focused { BOLD } else { DIM };
    let line = take_first(&mut area);
    rule(buffer, line, &[(title, style)]);
    let columns: &[Column] = match pane {
        Pane::Heartbeats => &HEARTBEATS,
        Pane::Agents => &AGENTS,
        Pane::Inbox => &INBOX,
        Pane::Log => &LOG,
        Pane::Limits => &LIMITS,
    };
    let widths = fit(columns, usize::from(area.width));
    if area.height >= 3 {
        let heads: Vec<Cell> = columns.iter().map(|column| (column.head.to_owned(), DIM)).collect();
        row(buffer, take_first(&mut area), columns, &widths, &heads, None);
    }
    list.drawn.set((area.y, area.height));
    if rows.is_empty() && area.height > 0 {
        let none = match (list.filter.is_empty(), hidden) {
            (false, _) => "nothing matches; Esc clears the filter",
            (true, 0) => nothing(pane),
            (true, _) => "no running agents; press a to list those that have exited",
        };
        pieces(buffer, area, &[(none.to_owned(), DIM)]);
        return;
    }
    let height = usize::from(area.height);
    let selected = model.selected(pane, &rows);
    let last = rows.len().saturating_sub(height);
    let top = list.top.get().min(last).min(selected).max((selected + 1).saturating_sub(height));
    list.top.set(top);
    let mut drawn = Vec::new();
    for (place, index) in rows.iter().enumerate().skip(top).take(height) {
        let line = take_first(&mut area);
        let style = (place == selected && is_focused).then_some(SELECTED);
        let cells = cells(model, pane, *index, now);
        row(buffer, line, columns, &widths, &cells, style);
        if pane == Pane::Agents {
            drawn.push((*index, cells));
        }
    }
    if pane == Pane::Agents {
        *model.view.drawn_agents.borrow_mut() = DrawnRows { widths, rows: drawn };
    }
}

/// Whether the screen shows something else with `row` in place of that agent's row.
pub(super) fn differs(model: &Model, row: &Agent, now: Timestamp) -> bool {
    let Some(index) = model.agents.iter().position(|known| known.id == row.id) else { return true };
    let known = &model.agents[index];
    // Others may move, or match the filter.
    let is_alone = known.health == row.health && known.folder == row.folder;
    let drawn = model.view.drawn_agents.borrow();
    let cells = drawn.rows.iter().find(|(drawn, _)| *drawn == index).map(|(_, cells)| cells);
    !is_alone
        || !model.view.list(Pane::Agents).filter.is_empty()
        || cells.is_some_and(|cells| !looks_same(&AGENTS, &drawn.widths, cells, &agent(model, row, now)))
}

fn nothing(pane: Pane) -> &'static str {
    match pane {
        Pane::Heartbeats => "no heartbeats; create one with: murmur init PATH",
        Pane::Agents => "no agents",
        Pane::Inbox => "nothing waits for you",
        Pane::Log => "no beats have ended yet",
        Pane::Limits => "no agent has reported a usage limit",
    }
}

fn cells(model: &Model, pane: Pane, index: usize, now: Timestamp) -> Vec<Cell> {
    match pane {
        Pane::Heartbeats => heartbeat(model, &model.heartbeats[index], now),
        Pane::Agents => agent(model, &model.agents[index], now),
        Pane::Inbox => match model.entry(index) {
            Some(InboxEntry::Request(row)) => request(row, now),
            Some(InboxEntry::Problem(row)) => problem(row, now),
            None => Vec::new(),
        },
        Pane::Log => log(model, &model.log[index], now),
        Pane::Limits => limit(&model.limits[index], now),
    }
}

fn plain(text: impl Into<String>) -> Cell {
    (text.into(), Style::new())
}

fn outcome(outcome: Outcome) -> Style {
    match outcome {
        Outcome::Ok => color(Color::Green),
        Outcome::Attention | Outcome::Stopped => color(Color::Yellow),
        Outcome::Error => color(Color::Red),
        Outcome::Limited => color(Color::Cyan),
        Outcome::Waiting => color(Color::Magenta),
        Outcome::Skipped => DIM,
    }
}

fn heartbeat(model: &Model, row: &Heartbeat, now: Timestamp) -> Vec<Cell> {
    let history = model.history.get(&row.id);
    let next = match &row.state {
        HeartbeatState::Running(since) => {
            (format!("running {}", span(now.duration_since(*since))), color(Color::Green))
        }
        HeartbeatState::Waits => ("waits".to_owned(), color(Color::Magenta)),
        HeartbeatState::Due => ("due".to_owned(), color(Color::Yellow)),
        HeartbeatState::Next(at) if *at <= now => ("due".to_owned(), color(Color::Yellow)),
        HeartbeatState::Next(at) => plain(format!("in {}", span(at.duration_since(now)))),
        HeartbeatState::Held(until) => {
            (format!("held {}", span(until.duration_since(now))), color(Color::Cyan))
        }
        HeartbeatState::Paused(None) => ("paused".to_owned(), color(Color::Yellow)),
        HeartbeatState::Paused(Some(until)) => {
            (format!("paused {}", span(until.duration_since(now))), color(Color::Yellow))
        }
        HeartbeatState::Off("problem") => ("problem".to_owned(), color(Color::Red)),
        HeartbeatState::Off(why) => ((*why).to_owned(), DIM),
    };
    let strip: String =
        history.iter().flat_map(|history| &history.strip).map(|outcome| outcome.mark()).collect();
    let last = history.and_then(|history| history.strip.back().copied());
    let today = now.to_zoned(model.zone.clone()).date();
    let cost = history.map(|history| history.cost(today)).unwrap_or_default();
    let note = if row.note.is_empty() {
        row.schedule.to_string()
    } else {
        format!("{}; {}", row.schedule, row.note)
    };
    vec![
        (row.title.to_string(), BOLD),
        next,
        last.map_or_else(|| ("-".to_owned(), DIM), |last| (last.as_str().to_owned(), outcome(last))),
        // The newest is at the right end.
        plain(format!("{strip:>STRIP$}")),
        plain(dollars(cost)),
        (note, DIM),
    ]
}

fn agent(model: &Model, row: &Agent, now: Timestamp) -> Vec<Cell> {
    let (since, health) = (model.waits_since(row).unwrap_or(row.since), model.health(row));
    let context = row.context.filter(|(_, window)| *window > 0);
    let part = context.map(|(used, window)| used as f64 / window as f64);
    let levels = model.activity.get(&row.id).map(|activity| activity.levels(now)).unwrap_or_default();
    let shared = model.shared.get(&row.id);
    let doing = match shared {
        // If only one of them fits, the `!` still says so.
        Some(other) => {
            let (tool, gap) = (&row.doing, if row.doing.is_empty() { "" } else { "; " });
            (format!("{tool}{gap}same folder as {other}"), color(Color::Yellow))
        }
        None => plain(row.doing.to_string()),
    };
    vec![
        (format!("{}{}", if shared.is_some() { "! " } else { "" }, row.name), BOLD),
        (health.as_str().to_owned(), colored(health)),
        plain(span(now.duration_since(since))),
        part.map_or_else(|| ("-".to_owned(), DIM), |part| (percent(part), heat(part))),
        plain(row.cost.map_or_else(|| "-".to_owned(), dollars)),
        (sparkline(&levels), color(Color::Green)),
        doing,
        (crate::text::cut_start(&row.folder, 40), DIM),
    ]
}

fn request(row: &Request, now: Timestamp) -> Vec<Cell> {
    let left = match row.expires {
        Some(at) if at > now => {
            let left = at.duration_since(now);
            (span(left), if left.as_secs() < 60 { color(Color::Red) } else { Style::new() })
        }
        Some(_) => ("now".to_owned(), color(Color::Red)),
        None => plain("-"),
    };
    let doubt = if row.doubt.is_some() { "(doubted) " } else { "" };
    vec![
        (row.name.to_string(), BOLD),
        left,
        plain(crate::Text::new(&row.agent).to_string()),
        plain(row.tool.to_string()),
        plain(format!("{doubt}{}", row.summary)),
        plain(span(now.duration_since(row.asked))),
    ]
}

fn problem(row: &Problem, now: Timestamp) -> Vec<Cell> {
    let left = row.deadline.filter(|at| *at > now).map(|at| span(at.duration_since(now)));
    let age = row.since.map(|at| span(now.duration_since(at)));
    vec![
        (row.name.to_string(), BOLD),
        plain(left.unwrap_or_else(|| "-".to_owned())),
        plain("-"),
        (row.kind.to_owned(), color(Color::Red)),
        plain(row.text.to_string()),
        plain(age.unwrap_or_else(|| "-".to_owned())),
    ]
}

fn log(model: &Model, row: &LogLine, now: Timestamp) -> Vec<Cell> {
    let at = row.at.to_zoned(model.zone.clone());
    let is_today = at.date() == now.to_zoned(model.zone.clone()).date();
    let ended = at.strftime(if is_today { "%H:%M:%S" } else { "%m-%d %H:%M" }).to_string();
    vec![
        plain(ended),
        plain(row.name.to_string()),
        (row.label.unwrap_or(row.outcome.as_str()).to_owned(), outcome(row.outcome)),
        plain(took(row.took_ms)),
        plain(row.cost.map_or_else(|| "-".to_owned(), dollars)),
        plain(row.text.to_string()),
    ]
}

fn limit(row: &Limit, now: Timestamp) -> Vec<Cell> {
    let used = row.used.map(|part| part.clamp(0.0, 1.0));
    let bar = |part: f64| {
        let filled = (part * 10.0).round() as usize;
        format!("{}{} {}", "█".repeat(filled), "░".repeat(10 - filled.min(10)), percent(part))
    };
    let until = |at: Option<Timestamp>| match at {
        Some(at) if at > now => format!("in {}", span(at.duration_since(now))),
        _ => "-".to_owned(),
    };
    vec![
        (row.account.to_string(), BOLD),
        plain(row.window.to_string()),
        match used {
            _ if row.is_reached => ("reached".to_owned(), color(Color::Red).add_modifier(Modifier::BOLD)),
            Some(part) => (bar(part), heat(part)),
            None => plain("-"),
        },
        plain(until(row.resets)),
        (until(row.held), row.held.filter(|at| *at > now).map_or(DIM, |_| color(Color::Red))),
    ]
}

fn percent(part: f64) -> String {
    format!("{:.0}%", (part * 100.0).clamp(0.0, 999.0))
}

/// Green to red; colors that can be read on light and dark backgrounds.
fn heat(part: f64) -> Style {
    let mix = |from: f64, to: f64, part: f64| (from + (to - from) * part).round() as u8;
    let part = part.clamp(0.0, 1.0);
    let rgb = if part < 0.5 {
        let part = part * 2.0;
        Color::Rgb(mix(40.0, 190.0, part), mix(160.0, 140.0, part), mix(70.0, 0.0, part))
    } else {
        let part = part * 2.0 - 1.0;
        Color::Rgb(mix(190.0, 210.0, part), mix(140.0, 60.0, part), mix(0.0, 50.0, part))
    };
    let style = color(rgb);
    if part >= 0.8 { style.add_modifier(Modifier::BOLD) } else { style }
}

fn sparkline(levels: &[u16]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = usize::from(levels.iter().copied().max().unwrap_or_default()).max(4);
    let bar = |level: &u16| match usize::from(*level) {
        0 => ' ',
        level => BARS[(level * BARS.len()).div_ceil(most).clamp(1, BARS.len()) - 1],
    };
    levels.iter().map(bar).collect()
}
