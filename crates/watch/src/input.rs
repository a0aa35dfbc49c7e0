//! A key → a changed view, or something for the caller to do.
//!
//! Answers need the request on the screen, approvals and chosen options up to its end. A call that the guard doubted
//! also needs `yes` in full.

mod command;
mod prompt;

use crate::inbox::InboxEntry;
use crate::keys::Key;
use crate::model::Model;
use crate::pager::{Found, Pager};
use crate::rows::{Heartbeat, HeartbeatState, LineKind, TranscriptLine};
use crate::text::Text;
use crate::view::{Pane, Prompt, Purpose, Screen};
use std::sync::Arc;

/// What the caller should do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// End.
    Quit,
    /// Stop this process, as Ctrl-Z does.
    Suspend,
    /// Draw everything again.
    Redraw,
    /// Run this heartbeat now.
    Run(Arc<str>),
    /// Pause this heartbeat.
    Pause(Arc<str>),
    /// Resume this heartbeat.
    Resume(Arc<str>),
    /// Stop this agent.
    Stop(Arc<str>),
    /// Open the file of this heartbeat in an editor.
    Edit(Arc<str>),
    /// Allow this request.
    Allow(String),
    /// Deny this request, with a reason for the agent.
    Deny(String, Option<String>),
    /// Answer the questions of this request, in order.
    Answer(String, Vec<String>),
    /// Show the transcript of this beat.
    ShowBeat(String),
    /// Show the transcript of the last beat of this heartbeat.
    ShowHeartbeat(Arc<str>),
    /// Show what this agent does.
    ShowAgent(Arc<str>),
    /// The transcript is no longer needed.
    Hide,
}

/// The answer to keys that allow or answer a request whose end wasn't on the screen yet.
const UNSEEN: &str = "not all of it was shown: scroll to its end first (PgDn)";
/// The answer to keys that answer requests.
const NOT_A_REQUEST: &str = "this is not a request; Enter shows the command to run";

/// The keys, for the help.
const HELP: &str = "\
Panes
  1-5, Tab, Shift-Tab   heartbeats, agents, inbox, log, limits
  j k, arrows           move; g G: first, last; PgUp PgDn: by screens
  Enter                 open: the transcript of a beat, or an entry
  Esc, q                back; in a pane, Esc clears the filter, q quits
  /                     filter the rows; in a transcript, search
  :                     a command: run, pause, resume, stop, edit or
                        show NAME, stop AGENT, quit, or a pane
  ?                     this help (Ctrl-C quits, Ctrl-Z suspends)

Heartbeats
  r                     run now
  p                     pause or resume
  s                     stop the running beat
  e                     edit HEARTBEAT.md in your editor

Agents
  !                     works in the folder of another agent
  a                     show or hide agents that have exited
  s                     stop the agent
  y n                   show its request, to answer it

Inbox
  Enter                 show a problem, with the command to run
  Enter, y, n           show the request. Then:
  y                     allow, once its end was shown; type yes if the
                        guard cannot tell what the call does
  n                     deny; N: deny with a reason
  a                     answer questions in words or by number, once their
                        end was shown
  1-9                   choose this option of a single question, once its
                        end was shown; the digit again, or Enter, confirms

Transcript
  j k, PgUp PgDn        scroll; G: follow the end
  /  n N                search; next, previous
  y                     show the request that the agent waits for

Outcomes in a strip
  . ok   ! attention   E error   L limited   - skipped
  ? waiting   s stopped
Activity: how much an agent did in each of the last 12 periods of 10 s";

impl Model {
    /// Handles a key.
    pub fn key(&mut self, key: Key) -> Option<Action> {
        let action = self.handled(key);
        match &action {
            Some(Action::Allow(_) | Action::Deny(..) | Action::Answer(..)) => {
                self.view.screen = Screen::Panes;
            }
            Some(Action::ShowBeat(id)) => self.view.shown.clone_from(id),
            Some(Action::ShowAgent(id) | Action::ShowHeartbeat(id)) => self.view.shown = id.to_string(),
            _ => {}
        }
        action
    }

    fn handled(&mut self, key: Key) -> Option<Action> {
        match key {
            Key::Ctrl('c') => return Some(Action::Quit),
            Key::Ctrl('z') => return Some(Action::Suspend),
            Key::Ctrl('l') => return Some(Action::Redraw),
            _ => {}
        }
        self.view.message = None;
        if self.view.prompt.is_some() {
            return self.prompt_key(key);
        }
        match key {
            Key::Char('?') if self.view.screen != Screen::Help => {
                let line = |text| TranscriptLine { kind: LineKind::Plain, text };
                self.view.help = Pager::at_start(Text::lines(HELP).into_iter().map(line));
                self.view.screen = Screen::Help;
                None
            }
            Key::Char(':') => self.ask(Purpose::Command),
            _ => match self.view.screen.clone() {
                Screen::Panes => self.pane_key(key),
                Screen::Detail => self.detail_key(key),
                Screen::Request(id) => self.request_key(key, &id),
                Screen::Problem(_) => {
                    match key {
                        Key::Esc | Key::Char('q') => self.view.screen = Screen::Panes,
                        Key::Char('y' | 'n' | 'N' | 'a') => return self.say("this is not a request"),
                        _ => scroll(&mut self.view.request, key),
                    }
                    None
                }
                Screen::Help => {
                    if matches!(key, Key::Esc | Key::Char('q' | '?') | Key::Enter) {
                        self.view.screen = Screen::Panes;
                    } else {
                        scroll(&mut self.view.help, key);
                    }
                    None
                }
            },
        }
    }

    pub(crate) fn ask(&mut self, purpose: Purpose) -> Option<Action> {
        self.view.prompt = Some(Prompt { purpose, typed: String::new() });
        None
    }

    pub(crate) fn say(&mut self, text: &str) -> Option<Action> {
        self.view.message = Some(Text::new(text));
        None
    }

    pub(crate) fn show_pane(&mut self, pane: Pane) {
        self.view.pane = pane;
        self.view.screen = Screen::Panes;
    }

    fn pane_key(&mut self, key: Key) -> Option<Action> {
        let pane = self.view.pane;
        let page = usize::from(self.view.list(pane).drawn.get().1).max(2) - 1;
        match key {
            Key::Char('q') => return Some(Action::Quit),
            Key::Char(digit @ '1'..='5') => {
                self.view.pane = Pane::ALL[usize::from(digit as u8 - b'1')];
            }
            Key::Tab | Key::Right | Key::Char('l') => self.view.pane = pane.next(1),
            Key::BackTab | Key::Left | Key::Char('h') => self.view.pane = pane.next(Pane::ALL.len() - 1),
            Key::Down | Key::Char('j') => self.step(1, true),
            Key::Up | Key::Char('k') => self.step(1, false),
            Key::Wheel { up } => self.step(3, !up),
            Key::PageDown | Key::Ctrl('d' | 'f') => self.step(page, true),
            Key::PageUp | Key::Ctrl('u' | 'b') => self.step(page, false),
            Key::Home | Key::Char('g') => self.select(pane, 0),
            Key::End | Key::Char('G') => self.select(pane, usize::MAX),
            Key::Click(_, row) => {
                let (first, count) = self.view.list(pane).drawn.get();
                if let Some(place) = row.checked_sub(first).filter(|place| *place < count) {
                    let top = self.view.list(pane).top.get();
                    self.select(pane, top + usize::from(place));
                }
            }
            Key::Char('/') => {
                let typed = self.view.list(pane).filter.clone();
                self.view.prompt = Some(Prompt { purpose: Purpose::Filter, typed });
            }
            Key::Esc => self.view.list_mut(pane).filter.clear(),
            Key::Char('a') if pane == Pane::Agents => self.view.lists_exited ^= true,
            _ => {
                let index = self.chosen(pane)?;
                // What the key does may move the row: the next key is about the same one.
                let place = self.selected(pane, &self.rows(pane));
                self.select(pane, place);
                return self.row_key(key, pane, index);
            }
        }
        None
    }

    fn step(&mut self, by: usize, down: bool) {
        let pane = self.view.pane;
        let place = self.selected(pane, &self.rows(pane));
        self.select(pane, if down { place + by } else { place.saturating_sub(by) });
    }

    /// A key that is about the selected row.
    fn row_key(&mut self, key: Key, pane: Pane, index: usize) -> Option<Action> {
        match pane {
            Pane::Heartbeats => {
                let row = self.heartbeats.get(index)?;
                let id = Arc::clone(&row.id);
                match key {
                    Key::Enter => match row.beat.clone() {
                        Some(beat) => Some(Action::ShowBeat(beat)),
                        None => Some(Action::ShowHeartbeat(id)),
                    },
                    Key::Char('r') => Some(Action::Run(id)),
                    Key::Char('p') if matches!(row.state, HeartbeatState::Paused(_)) => {
                        Some(Action::Resume(id))
                    }
                    Key::Char('p') => Some(Action::Pause(id)),
                    Key::Char('e') => Some(Action::Edit(id)),
                    Key::Char('s') => self.stop_heartbeat(index),
                    _ => None,
                }
            }
            Pane::Agents => {
                let row = self.agents.get(index)?;
                let id = Arc::clone(&row.id);
                match key {
                    Key::Enter => Some(Action::ShowAgent(id)),
                    Key::Char('s') => self.stop_agent(index),
                    Key::Char('y' | 'n') => {
                        let request = self.requests.iter().find(|request| request.agent == id)?.id.clone();
                        self.show_request(&request);
                        None
                    }
                    _ => None,
                }
            }
            Pane::Inbox => {
                let entry = self.entry(index)?;
                let id = entry.id().to_owned();
                match (entry, key) {
                    (InboxEntry::Request(_), Key::Enter | Key::Char('y' | 'n' | 'a')) => {
                        self.show_request(&id)
                    }
                    (InboxEntry::Problem(_), Key::Enter) => self.show_problem(&id),
                    (InboxEntry::Problem(_), Key::Char('y' | 'n' | 'a')) => return self.say(NOT_A_REQUEST),
                    _ => {}
                }
                None
            }
            Pane::Log => match (key, self.log.get(index)?.beat.clone()) {
                (Key::Enter, Some(beat)) => Some(Action::ShowBeat(beat)),
                (Key::Enter, None) => self.say("this line has no transcript"),
                _ => None,
            },
            Pane::Limits => None,
        }
    }

    pub(crate) fn stop_heartbeat(&mut self, index: usize) -> Option<Action> {
        let Heartbeat { beat, title, .. } = self.heartbeats.get(index)?;
        let none = format!("{title} has no running beat");
        match self.agents.iter().position(|agent| beat.is_some() && agent.beat == *beat) {
            Some(agent) => self.stop_agent(agent),
            None => self.say(&none),
        }
    }

    pub(crate) fn stop_agent(&mut self, index: usize) -> Option<Action> {
        let agent = self.agents.get(index)?;
        if !agent.is_hosted {
            return self.say("murmur cannot stop this agent: it has no host");
        }
        let question = format!("stop agent {}?", agent.name);
        let action = Action::Stop(Arc::clone(&agent.id));
        self.ask(Purpose::Confirm(action, question))
    }

    fn detail_key(&mut self, key: Key) -> Option<Action> {
        let request = self.request_of_shown().filter(|_| key == Key::Char('y'));
        if let Some(id) = request.map(|request| request.id.clone()) {
            self.detail = None;
            self.show_request(&id);
            return Some(Action::Hide);
        }
        let Some(detail) = &mut self.detail else {
            self.view.screen = Screen::Panes;
            return None;
        };
        match key {
            Key::Esc if !detail.pager.search.is_empty() => detail.pager.search.clear(),
            Key::Esc | Key::Char('q') => {
                self.detail = None;
                self.view.screen = Screen::Panes;
                return Some(Action::Hide);
            }
            Key::Char('/') => return self.ask(Purpose::Search),
            Key::Char(letter @ ('n' | 'N')) => {
                if detail.pager.search.is_empty() {
                    return self.say("nothing to search for");
                }
                match (detail.pager.find(letter == 'n'), letter) {
                    (Found::Ahead, _) => {}
                    (Found::Wrapped, 'n') => return self.say("search continued at the top"),
                    (Found::Wrapped, _) => return self.say("search continued at the end"),
                    (Found::Only, _) => return self.say("no other matches"),
                    (Found::Nothing, _) => return self.say("no matches"),
                }
            }
            _ => scroll(&mut detail.pager, key),
        }
        None
    }

    fn request_key(&mut self, key: Key, id: &str) -> Option<Action> {
        let request = self.request(id)?;
        let (is_question, is_doubted) = (!request.questions.is_empty(), request.doubt.is_some());
        let is_whole = self.view.request.end_was_shown.get();
        match key {
            Key::Esc | Key::Char('q') => self.view.screen = Screen::Panes,
            Key::Char('y') if is_question => return self.say("this is a question; press a to answer it"),
            Key::Char('y') if !is_whole => return self.say(UNSEEN),
            Key::Char('y') if is_doubted => return self.ask(Purpose::Yes(id.to_owned())),
            Key::Char('y') => return Some(Action::Allow(id.to_owned())),
            Key::Char('n') if !is_question => return Some(Action::Deny(id.to_owned(), None)),
            Key::Char('N') if !is_question => return self.ask(Purpose::Reason(id.to_owned())),
            Key::Char('a') if is_question && !is_whole => return self.say(UNSEEN),
            Key::Char('a') if is_question => return self.ask(Purpose::Answers(id.to_owned(), Vec::new())),
            Key::Char(digit @ '1'..='9') if request.option(digit).is_some() => {
                if !is_whole {
                    return self.say(UNSEEN);
                }
                return self.ask(Purpose::Choose(id.to_owned(), digit));
            }
            _ => scroll(&mut self.view.request, key),
        }
        None
    }
}

/// Scrolls a long text.
fn scroll(pager: &mut Pager, key: Key) {
    match key {
        Key::Down | Key::Char('j') | Key::Enter => pager.scroll(1),
        Key::Up | Key::Char('k') => pager.scroll(-1),
        Key::Wheel { up } => pager.scroll(if up { -3 } else { 3 }),
        Key::PageDown | Key::Char(' ') | Key::Ctrl('d' | 'f') => pager.page(true),
        Key::PageUp | Key::Ctrl('u' | 'b') => pager.page(false),
        Key::Home | Key::Char('g') => pager.go_to_start(),
        Key::End | Key::Char('G') => pager.go_to_end(),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
