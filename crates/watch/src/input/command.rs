//! Commands after `:`.

use super::Action;
use crate::model::Model;
use crate::view::Pane;
use std::sync::Arc;

impl Model {
    pub(super) fn command(&mut self, typed: &str) -> Option<Action> {
        let typed = typed.trim();
        let (word, name) = typed.split_once(' ').unwrap_or((typed, ""));
        let name = name.trim();
        if let Some(pane) = Pane::ALL
            .into_iter()
            .find(|pane| !word.is_empty() && pane.word().starts_with(word) && word.len() > 1)
        {
            self.show_pane(pane);
            self.view.list_mut(pane).filter = name.to_lowercase();
            return None;
        }
        match word {
            "" => None,
            "q" | "quit" | "exit" => Some(Action::Quit),
            "help" => self.key(crate::keys::Key::Char('?')),
            "run" | "pause" | "resume" | "edit" | "show" => {
                let id = match self.heartbeat(name) {
                    Ok(index) => Arc::clone(&self.heartbeats.get(index)?.id),
                    Err(why) => return self.say(&why),
                };
                Some(match word {
                    "run" => Action::Run(id),
                    "pause" => Action::Pause(id),
                    "resume" => Action::Resume(id),
                    "edit" => Action::Edit(id),
                    _ => Action::ShowHeartbeat(id),
                })
            }
            "stop" => {
                let names: Vec<String> = self.agents.iter().map(|agent| agent.id.to_string()).collect();
                match meant(name, &names, "agent") {
                    Ok(index) => self.stop_agent(index),
                    Err(why) => match self.heartbeat(name) {
                        Ok(index) => self.stop_heartbeat(index),
                        Err(_) => self.say(&why),
                    },
                }
            }
            _ => self.say(&format!("no command {word:?}; ? lists the commands")),
        }
    }

    /// The heartbeat that `name` stands for; the selected one if it is empty.
    fn heartbeat(&self, name: &str) -> Result<usize, String> {
        if name.is_empty() && self.view.pane == Pane::Heartbeats {
            return self.chosen(Pane::Heartbeats).ok_or_else(|| "no heartbeat is selected".to_owned());
        }
        let is_called = |title: &str, id: &str| title == name || id == name;
        let exact = self.heartbeats.iter().position(|row| is_called(&row.title, &row.id));
        let titles: Vec<String> = self.heartbeats.iter().map(|row| row.title.to_string()).collect();
        exact.map_or_else(|| meant(name, &titles, "heartbeat"), Ok)
    }
}

/// The one of `names` that is, or begins with, `typed`.
fn meant(typed: &str, names: &[String], kind: &str) -> Result<usize, String> {
    if typed.is_empty() {
        return Err(format!("name the {kind}"));
    }
    if let Some(index) = names.iter().position(|name| name == typed) {
        return Ok(index);
    }
    let begin: Vec<usize> = (0..names.len()).filter(|index| names[*index].starts_with(typed)).collect();
    match *begin {
        [index] => Ok(index),
        [] => Err(format!("no {kind} {typed:?}")),
        _ => Err(format!("{typed:?} is ambiguous: {} {kind}s begin with it", begin.len())),
    }
}
