//! What the user looks at: the pane, the selected rows, and what is being typed.

use crate::input::Action;
use crate::pager::Pager;
use crate::text::Text;
use ratatui_core::style::Style;
use std::cell::{Cell, RefCell};

/// A pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pane {
    Heartbeats,
    Agents,
    Inbox,
    Log,
    Limits,
}

impl Pane {
    pub(crate) const ALL: [Self; 5] = [Self::Heartbeats, Self::Agents, Self::Inbox, Self::Log, Self::Limits];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Heartbeats => "heartbeats",
            Self::Agents => "agents",
            Self::Inbox => "inbox",
            Self::Log => "log",
            Self::Limits => "limits",
        }
    }

    pub(crate) fn index(self) -> usize {
        Self::ALL.iter().position(|pane| *pane == self).unwrap_or_default()
    }

    /// The pane `by` places after this one.
    pub(crate) fn next(self, by: usize) -> Self {
        Self::ALL[(self.index() + by) % Self::ALL.len()]
    }
}

/// What is on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Screen {
    Panes,
    /// The transcript.
    Detail,
    /// The request with this id.
    Request(String),
    /// The problem with this id.
    Problem(String),
    Help,
}

/// A pane's list.
#[derive(Debug, Default)]
pub(crate) struct List {
    /// The selected row, so that it stays selected when others come and go; `None` for the first.
    pub(crate) key: Option<String>,
    /// Where the selected row was.
    pub(crate) index: usize,
    /// The first row on the screen.
    pub(crate) top: Cell<usize>,
    /// Where its rows were drawn: the first row and the number of rows.
    pub(crate) drawn: Cell<(u16, u16)>,
    /// Only rows with this text, in lower case.
    pub(crate) filter: String,
}

/// What is typed into the last row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    Filter,
    Search,
    Command,
    /// This digit again, or Enter, answers the question of this request with the option that it numbers.
    Choose(String, char),
    /// `y` carries out the action.
    Confirm(Action, String),
    /// `yes`, in full, allows this request.
    Yes(String),
    /// Why the request is denied.
    Reason(String),
    /// The answers to the first questions of this request.
    Answers(String, Vec<String>),
}

/// A prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) purpose: Purpose,
    pub(crate) typed: String,
}

/// The rows of a pane as they were drawn.
#[derive(Debug, Default)]
pub(crate) struct DrawnRows {
    /// The width of each column.
    pub(crate) widths: Vec<usize>,
    /// The index of each row, and its cells: their text, before it was cut, and style.
    pub(crate) rows: Vec<(usize, Vec<(String, Style)>)>,
}

/// Everything about the view.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) pane: Pane,
    pub(crate) screen: Screen,
    pub(crate) lists: [List; 5],
    /// Whether agents that have exited are listed.
    pub(crate) lists_exited: bool,
    pub(crate) prompt: Option<Prompt>,
    pub(crate) message: Option<Text>,
    /// The agent or beat whose transcript was opened.
    pub(crate) shown: String,
    pub(crate) help: Pager,
    /// The request or problem on the screen.
    pub(crate) request: Pager,
    /// The agents on the screen.
    pub(crate) drawn_agents: RefCell<DrawnRows>,
}

impl View {
    pub(crate) fn list(&self, pane: Pane) -> &List {
        &self.lists[pane.index()]
    }

    pub(crate) fn list_mut(&mut self, pane: Pane) -> &mut List {
        &mut self.lists[pane.index()]
    }
}
