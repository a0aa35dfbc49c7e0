//! Long texts: a transcript, a request, the help.

use super::time::span;
use super::{BOLD, DIM, SELECTED, color, pieces, put, rule, take_first};
use crate::model::Model;
use crate::pager::Pager;
use crate::rows::LineKind;
use crate::text::wrap;
use jiff::Timestamp;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Style};

fn title(buffer: &mut Buffer, area: &mut Rect, text: &str, more: &str) {
    let line = take_first(area);
    let more = if more.is_empty() { " ".to_owned() } else { format!("  {more} ") };
    rule(buffer, line, &[(text.to_owned(), BOLD), (more, DIM)]);
}

fn lines(buffer: &mut Buffer, area: Rect, pager: &Pager) {
    for (index, row) in pager.rows(usize::from(area.width), usize::from(area.height)).iter().enumerate() {
        let style = match row.kind {
            _ if row.is_found => SELECTED,
            LineKind::Plain => Style::new(),
            LineKind::Call => color(Color::Cyan),
            LineKind::Failed => color(Color::Red),
            LineKind::Note => DIM,
        };
        let y = area.y + u16::try_from(index).unwrap_or_default();
        put(buffer, (area.x, y), &row.text, usize::from(area.width), style);
    }
}

pub(super) fn detail(buffer: &mut Buffer, mut area: Rect, model: &Model) {
    let Some(detail) = &model.detail else { return };
    let state = match (detail.is_running, detail.pager.follows()) {
        (true, true) => "following",
        (true, false) => "running; G follows",
        (false, _) => "",
    };
    let search = if detail.pager.search.is_empty() {
        String::new()
    } else {
        format!("  /{}", crate::Text::new(&detail.pager.search))
    };
    let waits = match (model.request_of_shown(), state) {
        (None, _) => "",
        (Some(_), "") => "waits for you",
        (Some(_), _) => ", waits for you",
    };
    title(buffer, &mut area, &detail.title, &format!("{state}{waits}{search}"));
    if area.height >= 12 {
        for text in &detail.head {
            pieces(buffer, take_first(&mut area), &[(text.to_string(), DIM)]);
        }
        take_first(&mut area);
    }
    if detail.pager.dropped > 0 && area.height > 1 {
        let dropped =
            format!("{} earlier lines are left out; to see them, run: murmur show", detail.pager.dropped);
        pieces(buffer, take_first(&mut area), &[(dropped, DIM)]);
    }
    lines(buffer, area, &detail.pager);
}

pub(super) fn request(buffer: &mut Buffer, mut area: Rect, model: &Model, id: &str, now: Timestamp) {
    let Some(request) = model.request(id) else { return };
    let left =
        request.expires.map(|at| format!(", {} left", span(at.duration_since(now)))).unwrap_or_default();
    let asked = format!("asked {} ago{left}", span(now.duration_since(request.asked)));
    title(buffer, &mut area, &format!("{}  {}", request.name, request.tool), &asked);
    if area.height >= 6 {
        pieces(buffer, take_first(&mut area), &[(request.asker.to_string(), DIM)]);
    }
    if let Some(doubt) = &request.doubt {
        let text = format!("the guard cannot tell what it does: {doubt}");
        for row in wrap(&text, usize::from(area.width)).into_iter().take(2) {
            if area.height > 2 {
                pieces(buffer, take_first(&mut area), &[(row, color(Color::Red))]);
            }
        }
    }
    lines(buffer, area, &model.view.request);
    if !model.view.request.end_was_shown.get() && area.height > 1 {
        let y = area.bottom() - 1;
        let more = "▼ more";
        let width = u16::try_from(more.chars().count()).unwrap_or_default();
        buffer.set_stringn(area.right().saturating_sub(width), y, more, usize::from(width), SELECTED);
    }
}

pub(super) fn problem(buffer: &mut Buffer, mut area: Rect, model: &Model, id: &str, now: Timestamp) {
    let Some(problem) = model.problem(id) else { return };
    let left = problem.deadline.filter(|at| *at > now);
    let more = match (left, problem.since) {
        (Some(at), _) => format!("ends in {}", span(at.duration_since(now))),
        (None, Some(at)) => format!("for {}", span(now.duration_since(at))),
        (None, None) => String::new(),
    };
    title(buffer, &mut area, problem.kind, &more);
    lines(buffer, area, &model.view.request);
}

pub(super) fn help(buffer: &mut Buffer, mut area: Rect, model: &Model) {
    title(buffer, &mut area, "help", "");
    lines(buffer, area, &model.view.help);
}

pub(super) fn problems(buffer: &mut Buffer, mut area: Rect, model: &Model) {
    if model.problems.is_empty() || area.height < 3 {
        return;
    }
    title(buffer, &mut area, "problems", "");
    let width = usize::from(area.width);
    for text in model.problems.iter().flat_map(|problem| wrap(problem, width)) {
        if area.height > 0 {
            pieces(buffer, take_first(&mut area), &[(text, color(Color::Red))]);
        }
    }
}
