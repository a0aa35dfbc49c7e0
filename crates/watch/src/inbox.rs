//! The inbox: requests, nearest deadline first, and then problems that a command solves.

use crate::model::Model;
use crate::pager::Pager;
use crate::rows::{Agent, LineKind, Problem, Request, TranscriptLine};
use crate::text::Text;
use crate::view::Screen;

/// A row of the inbox.
#[derive(Debug, Clone, Copy)]
pub(crate) enum InboxEntry<'a> {
    Request(&'a Request),
    Problem(&'a Problem),
}

impl Model {
    /// The number of entries.
    pub(crate) fn waiting(&self) -> usize {
        self.requests.len() + self.to_solve.len() + self.stuck.len()
    }

    /// The entry at this index.
    pub(crate) fn entry(&self, index: usize) -> Option<InboxEntry<'_>> {
        match index.checked_sub(self.requests.len()) {
            None => self.requests.get(index).map(InboxEntry::Request),
            Some(index) => self.to_solve.iter().chain(&self.stuck).nth(index).map(InboxEntry::Problem),
        }
    }

    /// The problem with this id.
    pub(crate) fn problem(&self, id: &str) -> Option<&Problem> {
        self.to_solve.iter().chain(&self.stuck).find(|problem| problem.id == id)
    }

    /// Shows all of a request.
    pub(crate) fn show_request(&mut self, id: &str) {
        let Some(request) = self.request(id) else { return };
        let line = |text: &Text| TranscriptLine { kind: LineKind::Plain, text: text.clone() };
        self.view.request = Pager::at_start(request.body.iter().map(line));
        self.view.screen = Screen::Request(id.to_owned());
    }

    /// The request for which the agent of the transcript waits.
    pub(crate) fn request_of_shown(&self) -> Option<&Request> {
        let shown = &*self.view.shown;
        let is_shown = |agent: &&Agent| *agent.id == *shown || agent.beat.as_deref() == Some(shown);
        let agent = self.agents.iter().find(is_shown)?;
        self.requests.iter().find(|request| request.agent == agent.id)
    }

    /// Shows all of a problem, and the command that solves it.
    pub(crate) fn show_problem(&mut self, id: &str) {
        let Some(problem) = self.problem(id) else { return };
        let line = |kind, text: &Text| TranscriptLine { kind, text: text.clone() };
        let mut lines: Vec<_> = problem.body.iter().map(|text| line(LineKind::Plain, text)).collect();
        if !problem.command.is_empty() {
            lines.extend(["", "Run:"].map(|text| line(LineKind::Plain, &Text::new(text))));
            lines.extend(problem.command.iter().map(|text| line(LineKind::Call, text)));
        }
        self.view.request = Pager::at_start(lines);
        self.view.screen = Screen::Problem(id.to_owned());
    }

    /// Closes the screen of an entry that was answered or solved elsewhere.
    pub(crate) fn close_solved(&mut self) {
        let message = match &self.view.screen {
            Screen::Request(id) if self.request(id).is_none() => "the request is no longer open",
            Screen::Problem(id) if self.problem(id).is_none() => "the problem is solved",
            _ => return,
        };
        self.view.message = Some(Text::new(message));
        self.view.screen = Screen::Panes;
        self.view.prompt = None;
    }
}

impl Request {
    /// The option that `digit` chooses; `None` unless there is a single question that has it.
    pub(crate) fn option(&self, digit: char) -> Option<&Text> {
        let [question] = &*self.questions else { return None };
        question.options.get((digit.to_digit(10)? as usize).checked_sub(1)?)
    }
}

impl<'a> InboxEntry<'a> {
    /// What identifies it while others come and go.
    pub(crate) fn id(self) -> &'a str {
        match self {
            Self::Request(request) => &request.id,
            Self::Problem(problem) => &problem.id,
        }
    }

    /// What a filter looks at.
    pub(crate) fn texts(self) -> Vec<&'a str> {
        match self {
            Self::Request(row) => vec![&*row.id, &*row.name, &*row.asker, &*row.tool, &*row.summary],
            Self::Problem(row) => vec![&*row.name, row.kind, &*row.text],
        }
    }
}
