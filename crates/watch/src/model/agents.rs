//! The agents of the model: their order, who waits, and who shares a folder.

use super::Model;
use crate::rows::{Agent, Health};
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl Model {
    /// Replaces an agent.
    pub(super) fn replace(&mut self, agent: Agent) {
        match self.agents.iter_mut().find(|known| known.id == agent.id) {
            Some(known) => {
                let is_sorted = known.health == agent.health && known.folder == agent.folder;
                *known = agent;
                if is_sorted {
                    return;
                }
            }
            None => self.agents.push(agent),
        }
        self.sort_agents();
    }

    /// Sorts the agents, and notes what else depends on all of them.
    pub(super) fn sort_agents(&mut self) {
        let mut agents = std::mem::take(&mut self.agents);
        let ended: HashSet<&str> =
            agents.iter().filter(|agent| !agent.health.is_live()).map(|agent| &*agent.id).collect();
        self.waiting.clear();
        for request in self.requests.iter().filter(|row| row.is_deferred || !ended.contains(&*row.agent)) {
            let since = self.waiting.entry(Arc::clone(&request.agent)).or_insert(request.asked);
            *since = request.asked.min(*since);
        }
        agents.sort_by_cached_key(|agent| {
            let waits = self.waits_since(agent).unwrap_or(Timestamp::MAX);
            (self.health(agent), waits, Arc::clone(&agent.id))
        });
        let mut folders: HashMap<&str, Vec<&Agent>> = HashMap::new();
        let live = agents.iter().filter(|agent| agent.health.is_live() && !agent.folder.is_empty());
        live.for_each(|agent| folders.entry(&agent.folder).or_default().push(agent));
        self.shared = HashMap::new();
        for together in folders.values().filter(|together| together.len() > 1) {
            for (agent, other) in together.iter().zip(together.iter().cycle().skip(1)) {
                self.shared.insert(Arc::clone(&agent.id), other.name.clone());
            }
        }
        self.agents = agents;
        let known: HashSet<&str> = self.agents.iter().map(|agent| &*agent.id).collect();
        self.activity.retain(|id, _| known.contains(&**id));
    }

    /// Since when an agent waits for a person.
    pub(crate) fn waits_since(&self, agent: &Agent) -> Option<Timestamp> {
        self.waiting.get(&agent.id).copied()
    }

    /// The health of an agent, given its requests.
    pub(crate) fn health(&self, agent: &Agent) -> Health {
        if self.waiting.contains_key(&agent.id) { Health::Waiting } else { agent.health }
    }
}
