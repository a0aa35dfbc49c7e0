//! Rows in columns that fit a width: less important columns are left out when there is no room.
//!
//! The crate comfy-table prints text; these cells are drawn into a buffer of ratatui, each with its own style.

use super::put;
use crate::text::width;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use sys::text::{cut, cut_middle};

/// A column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) head: &'static str,
    /// Its least width.
    pub(super) least: usize,
    /// Its share of what is left.
    pub(super) grows: usize,
    /// Those with the highest rank are left out first.
    pub(super) rank: u8,
    pub(super) is_right: bool,
    /// Whether it has names, which may differ at either end.
    has_names: bool,
}

/// A column on the left.
pub(super) const fn left(head: &'static str, least: usize, grows: usize, rank: u8) -> Column {
    Column { head, least, grows, rank, is_right: false, has_names: false }
}

/// A column of names on the left.
pub(super) const fn names(head: &'static str, least: usize, grows: usize, rank: u8) -> Column {
    Column { has_names: true, ..left(head, least, grows, rank) }
}

/// A column on the right, of fixed width.
pub(super) const fn right(head: &'static str, least: usize, rank: u8) -> Column {
    Column { head, least, grows: 0, rank, is_right: true, has_names: false }
}

impl Column {
    /// What is shown of `text` on so many columns.
    fn fitted(&self, text: &str, wide: usize) -> String {
        if self.has_names { cut_middle(text, wide) } else { cut(text, wide) }
    }
}

/// How narrow the most important column may become next to another.
const SHORTENED: usize = 8;

/// A cell.
pub(super) type Cell = (String, Style);

/// The width of each column; 0 if it is left out.
pub(super) fn fit(columns: &[Column], width: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = columns.iter().map(|column| column.least).collect();
    let total = |widths: &[usize]| {
        let kept = widths.iter().filter(|width| **width > 0).count();
        widths.iter().sum::<usize>() + kept.saturating_sub(1)
    };
    while total(&widths) > width {
        let kept: Vec<usize> = (0..columns.len()).filter(|index| widths[*index] > 0).collect();
        match (kept.as_slice(), kept.iter().max_by_key(|index| columns[**index].rank)) {
            ([only], _) => {
                widths[*only] = width;
                return widths;
            }
            ([one, other], Some(last)) => {
                // The more important one is rather shortened than alone.
                let important = if last == one { *other } else { *one };
                let room = width.saturating_sub(widths[*last] + 1);
                if columns[important].grows > 0 && room >= SHORTENED {
                    widths[important] = room;
                    return widths;
                }
                widths[*last] = 0;
            }
            (_, Some(last)) => widths[*last] = 0,
            (_, None) => return widths,
        }
    }
    let left = width - total(&widths);
    let grow = |index: &usize| if widths[*index] > 0 { columns[*index].grows } else { 0 };
    let shares: usize = (0..columns.len()).map(|index| grow(&index)).sum();
    let mut growth: Vec<usize> =
        (0..columns.len()).map(|index| (left * grow(&index)).checked_div(shares).unwrap_or(0)).collect();
    if let Some(most) = (0..columns.len()).max_by_key(grow).filter(|_| shares > 0) {
        growth[most] += left - growth.iter().sum::<usize>();
    }
    widths.iter().zip(growth).map(|(width, more)| width + more).collect()
}

/// Whether two rows look the same.
pub(super) fn looks_same(columns: &[Column], widths: &[usize], one: &[Cell], other: &[Cell]) -> bool {
    let cells = columns.iter().zip(widths).zip(one.iter().zip(other)).filter(|((_, wide), _)| **wide > 0);
    let mut pairs = cells.map(|((column, wide), (one, other))| {
        let fitted = |cell: &Cell| column.fitted(&cell.0, *wide);
        one == other || (one.1 == other.1 && fitted(one) == fitted(other))
    });
    pairs.all(|is_same| is_same)
}

/// Draws one row. With `all`, its style is that of every cell and of the whole row.
pub(super) fn row(
    buffer: &mut Buffer,
    area: Rect,
    columns: &[Column],
    widths: &[usize],
    cells: &[Cell],
    all: Option<Style>,
) {
    if let Some(style) = all {
        buffer.set_style(area, style);
    }
    let mut x = usize::from(area.x);
    for ((column, wide), (text, style)) in columns.iter().zip(widths).zip(cells) {
        if *wide == 0 {
            continue;
        }
        let text = column.fitted(text, *wide);
        let before = if column.is_right { wide - width(&text) } else { 0 };
        let style = if all.is_some() { Style::new() } else { *style };
        if let Ok(at) = u16::try_from(x + before) {
            put(buffer, (at, area.y), &text, wide - before, style);
        }
        x += wide + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_and_the_least_important_are_left_out_first() {
        let columns = [left("A", 4, 1, 0), right("B", 3, 2), left("C", 5, 3, 1)];
        assert_eq!(fit(&columns, 14), [4, 3, 5]);
        assert_eq!(fit(&columns, 22), [6, 3, 11]);
        assert_eq!(fit(&columns, 13), [4, 0, 8]);
        assert_eq!(fit(&columns, 9), [9, 0, 0]);
        assert_eq!(fit(&columns, 2), [2, 0, 0]);
        let columns = [left("A", 12, 1, 0), right("B", 5, 1)];
        assert_eq!(fit(&columns, 14), [8, 5]);
        assert_eq!(fit(&columns, 13), [13, 0]);
    }
}
