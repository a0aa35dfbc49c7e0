//! Commands after `:`.

use super::Action;
use crate::model::Model;
use crate::view::Pane;
use std::sync::Arc;
use thiserror::Error;

impl Model {
    pub(super) fn command(&mut self, typed: &str) -> Option<Action> {
        let typed = typed.trim();
        let (word, name) = typed.split_once(' ').unwrap_or((typed, ""));
        let name = name.trim();
        if let Some(pane) = Pane::ALL
            .into_iter()
            .find(|pane| !word.is_empty() && pane.as_str().starts_with(word) && word.len() > 1)
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
                    Err(why) => return self.say(&why.to_string()),
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
                match resolve(name, &names, "agent") {
                    Ok(index) => self.stop_agent(index),
                    Err(why) => match self.heartbeat(name) {
                        Ok(index) => self.stop_heartbeat(index),
                        Err(_) => self.say(&why.to_string()),
                    },
                }
            }
            _ => self.say(&format!("no command {word:?}; ? lists the commands")),
        }
    }

    /// The heartbeat that `name` stands for; the selected one if it is empty.
    fn heartbeat(&self, name: &str) -> Result<usize, NoMatch> {
        if name.is_empty() && self.view.pane == Pane::Heartbeats {
            return self.chosen(Pane::Heartbeats).ok_or(NoMatch::Nothing { kind: "heartbeat" });
        }
        let is_called = |title: &str, id: &str| title == name || id == name;
        let exact = self.heartbeats.iter().position(|row| is_called(&row.title, &row.id));
        let titles: Vec<String> = self.heartbeats.iter().map(|row| row.title.to_string()).collect();
        exact.map_or_else(|| resolve(name, &titles, "heartbeat"), Ok)
    }
}

/// The name in a command doesn't say which heartbeat or agent is meant.
#[derive(Debug, Error)]
enum NoMatch {
    #[error("no {kind} is selected")]
    Nothing { kind: &'static str },
    #[error("name the {kind}")]
    NoName { kind: &'static str },
    #[error("no {kind} {name:?}")]
    Unknown { kind: &'static str, name: String },
    #[error("{name:?} is ambiguous: {count} {kind}s begin with it")]
    Ambiguous { kind: &'static str, name: String, count: usize },
}

/// The one of `names` that is, or begins with, `typed`.
fn resolve(typed: &str, names: &[String], kind: &'static str) -> Result<usize, NoMatch> {
    if typed.is_empty() {
        return Err(NoMatch::NoName { kind });
    }
    if let Some(index) = names.iter().position(|name| name == typed) {
        return Ok(index);
    }
    let begin: Vec<usize> = (0..names.len()).filter(|index| names[*index].starts_with(typed)).collect();
    match *begin {
        [index] => Ok(index),
        [] => Err(NoMatch::Unknown { kind, name: typed.to_owned() }),
        _ => Err(NoMatch::Ambiguous { kind, name: typed.to_owned(), count: begin.len() }),
    }
}
