//! Changes of agents as lines, for output that is not a terminal.

use super::super::style::{Colors, Style, plain_line};
use super::object;
use super::table::{action, name, state};
use crate::agents::Agent;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The agents as they were last printed.
#[derive(Debug)]
pub(super) struct Lines {
    json: bool,
    style: Style,
    zone: TimeZone,
    printed: BTreeMap<String, Agent>,
}

impl Lines {
    pub(super) fn new(json: bool) -> Self {
        Self { json, style: Style::of_stdout(), zone: sys::clock::local_zone(), printed: BTreeMap::new() }
    }

    /// Prints what changed in `agents`, in their order, and which agents are gone.
    pub(super) fn print(
        &mut self,
        out: &mut impl Write,
        agents: Vec<Agent>,
        now: Timestamp,
    ) -> io::Result<()> {
        let mut before = std::mem::take(&mut self.printed);
        for agent in agents {
            if before.remove(&agent.agent_id).as_ref() != Some(&agent) {
                self.line(out, &agent, now)?;
            }
            self.printed.insert(agent.agent_id.clone(), agent);
        }
        for gone in before.keys() {
            if self.json {
                writeln!(out, "{}", json!({ "gone": { "agent_id": gone } }))?;
            } else {
                writeln!(out, "{}  {:<7}  {}", self.when(now), "gone", plain_line(gone))?;
            }
        }
        out.flush()
    }

    fn line(&self, out: &mut impl Write, agent: &Agent, now: Timestamp) -> io::Result<()> {
        if self.json {
            return writeln!(out, "{}", json!({ "agent": object::of(agent, now) }));
        }
        let padding = " ".repeat(7_usize.saturating_sub(agent.health.as_str().len()));
        let health = format!("{}{padding}", self.style.health(agent.health));
        let (id, tool) = (plain_line(&name(agent)), plain_line(&agent.tool_name));
        let line = format!("{}  {health}  {id}  {}", self.when(agent.at), state(agent));
        let what = plain_line(&action(agent));
        let what = if tool.is_empty() { what } else { format!("{tool}: {what}") };
        writeln!(out, "{}", format!("{line}  {what}").trim_end())
    }

    fn when(&self, at: Timestamp) -> String {
        let when = at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string();
        self.style.dim(when)
    }
}
