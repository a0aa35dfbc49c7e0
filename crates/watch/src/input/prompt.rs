//! Keys while something is typed into the last row.

use super::Action;
use crate::keys::Key;
use crate::model::Model;
use crate::view::{Prompt, Purpose};

/// The most characters that can be typed.
const MAX_TYPED: usize = 2000;

impl Model {
    pub(super) fn prompt_key(&mut self, key: Key) -> Option<Action> {
        let Some(Prompt { purpose, typed }) = &mut self.view.prompt else { return None };
        if let Purpose::Confirm(action, _) = purpose {
            let action = action.clone();
            self.view.prompt = None;
            return (key == Key::Char('y')).then_some(action);
        }
        if let Purpose::Choose(id, digit) = purpose {
            let (id, digit) = (id.clone(), *digit);
            self.view.prompt = None;
            let is_confirmed = matches!(key, Key::Enter) || key == Key::Char(digit);
            return is_confirmed.then(|| Action::Answer(id, vec![digit.to_string()]));
        }
        match key {
            Key::Char(letter) if typed.chars().count() < MAX_TYPED => typed.push(letter),
            Key::Backspace if typed.is_empty() => return self.leave_prompt(),
            Key::Backspace => _ = typed.pop(),
            Key::Ctrl('u') => typed.clear(),
            Key::Esc => return self.leave_prompt(),
            Key::Enter => {
                let Prompt { purpose, typed } = self.view.prompt.take()?;
                return self.entered(purpose, typed);
            }
            _ => {}
        }
        // A filter works while it is typed.
        if let Some(Prompt { purpose: Purpose::Filter, typed }) = &self.view.prompt {
            let filter = typed.to_lowercase();
            self.view.list_mut(self.view.pane).filter = filter;
        }
        None
    }

    fn leave_prompt(&mut self) -> Option<Action> {
        if let Some(Prompt { purpose: Purpose::Filter, .. }) = self.view.prompt.take() {
            self.view.list_mut(self.view.pane).filter.clear();
        }
        None
    }

    fn entered(&mut self, purpose: Purpose, typed: String) -> Option<Action> {
        match purpose {
            Purpose::Filter | Purpose::Confirm(..) | Purpose::Choose(..) => None,
            Purpose::Search => {
                if self.detail.as_mut()?.pager.search(&typed) || typed.is_empty() {
                    return None;
                }
                self.say("no matches")
            }
            Purpose::Command => self.command(&typed),
            Purpose::Yes(id) if typed == "yes" => Some(Action::Allow(id)),
            Purpose::Yes(_) => self.say("not allowed: type yes in full to allow it"),
            Purpose::Reason(id) => {
                Some(Action::Deny(id, Some(typed).filter(|typed| !typed.trim().is_empty())))
            }
            Purpose::Answers(id, mut given) => {
                let questions = self.request(&id)?.questions.len();
                if typed.trim().is_empty() {
                    return self.say("not answered");
                }
                given.push(typed);
                if given.len() < questions {
                    return self.ask(Purpose::Answers(id, given));
                }
                Some(Action::Answer(id, given))
            }
        }
    }
}
