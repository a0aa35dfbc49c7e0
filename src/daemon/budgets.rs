//! Reads the journal for budgets: once from its beginning, and then only what is appended.
//!
//! Takes the heartbeats; returns which budgets the new lines use up. `murmur_core::spending` decides.

use super::heartbeats::{HeartbeatHold, HoldKind};
use jiff::Timestamp;
use murmur_core::config::heartbeat::{Heartbeat, HeartbeatId};
use murmur_core::spending::{Ledger, UsedUp};
use murmur_core::usage::line::BeatUsage;
use murmur_core::usage::scan::scan;
use murmur_outcome::notice;
use murmur_store::journal::read::{Backward, Entries, FoundEntry, readers};
use murmur_store::journal::tail::{Position, Tail};
use rotate::PartError;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A budget that a beat has used up.
#[derive(Debug)]
pub struct NewlyUsedUp {
    /// The beat's workspace.
    pub workspace: String,
    /// The name of its heartbeat, if it is a named one.
    pub heartbeat: Option<String>,
    /// The budget.
    pub used_up: UsedUp,
}

/// The budgets, and how far the journal was read for them.
#[derive(Debug, Default)]
pub struct Budgets {
    ledger: Ledger,
    /// `None` if there is no budget.
    tail: Option<Tail>,
    /// Parts of the journal that were not counted because they are not readable.
    unread: Vec<PartError>,
    /// Why the journal was not readable. What was counted before still holds, and may lack lines.
    problem: Option<String>,
}

/// The bytes to read before anything else gets a turn.
const AT_ONCE: u64 = 1 << 20;

impl Budgets {
    /// Loads the budgets of `heartbeats`. If they changed, reads the journal from its beginning, and returns true.
    pub fn load<'a>(
        &mut self,
        journal: &Path,
        heartbeats: impl Iterator<Item = &'a Heartbeat>,
        now: Timestamp,
    ) -> io::Result<bool> {
        let ledger = Ledger::new(heartbeats, now);
        let is_known = ledger.has_budgets_of(&self.ledger) && self.tail.is_some() != ledger.is_empty();
        if is_known && self.unread.is_empty() && self.problem.is_none() {
            return Ok(false);
        }
        self.start(journal, ledger).map(|()| true)
    }

    /// Reads the journal from its beginning.
    pub fn count_again<'a>(
        &mut self,
        journal: &Path,
        heartbeats: impl Iterator<Item = &'a Heartbeat>,
        now: Timestamp,
    ) -> io::Result<()> {
        self.start(journal, Ledger::new(heartbeats, now))
    }

    fn start(&mut self, journal: &Path, ledger: Ledger) -> io::Result<()> {
        if ledger.is_empty() {
            *self = Self::default();
            return Ok(());
        }
        let tail = Tail::from_end(journal.to_path_buf())?;
        let (ledger, unread) = count(journal, ledger, Some(tail.position()))?;
        *self = Self { ledger, tail: Some(tail), unread, problem: None };
        Ok(())
    }

    /// Whether to [count again](Self::count_again): the journal was not readable, or the clock was set back.
    #[must_use]
    pub fn is_outdated(&self, now: Timestamp) -> bool {
        self.problem.is_some() || self.ledger.is_ahead(now)
    }

    /// Remembers why the journal is not readable. Returns whether that is new.
    pub fn fail(&mut self, problem: String) -> bool {
        let known = self.problem.replace(problem);
        known != self.problem
    }

    /// Why the journal is not readable, if so.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Reads what was appended to the journal; returns what that used up, even if a line is not readable.
    pub fn read(&mut self) -> (Vec<NewlyUsedUp>, io::Result<()>) {
        let mut found = Vec::new();
        let Some(tail) = &mut self.tail else { return (found, Ok(())) };
        loop {
            let read = tail.read(AT_ONCE, |line| {
                let bytes = line.bytes()?;
                let Some(line) = BeatUsage::parse(&bytes) else { return Ok(()) };
                // One report for each beat is enough.
                let longest = self.ledger.add(&line).into_iter().max_by_key(|used_up| used_up.until);
                found.extend(longest.map(|used_up| NewlyUsedUp {
                    workspace: line.workspace.clone().into_owned(),
                    heartbeat: line.heartbeat.clone().map(Into::into),
                    used_up,
                }));
                Ok(())
            });
            match read {
                Ok(true) => {}
                Ok(false) => return (found, Ok(())),
                Err(error) => return (found, Err(error)),
            }
        }
    }

    /// The budgets of `heartbeats` that were used up while no daemon ran, so that no journal line reports it.
    pub fn unreported<'a>(
        &self,
        journal: &Path,
        heartbeats: impl Iterator<Item = &'a Heartbeat>,
        now: Timestamp,
    ) -> io::Result<Vec<NewlyUsedUp>> {
        let mut found: Vec<NewlyUsedUp> = Vec::new();
        for heartbeat in heartbeats {
            if let Some(used_up) = self.ledger.hold(heartbeat, now)
                && found.iter().all(|known| known.used_up != used_up)
            {
                found.push(NewlyUsedUp {
                    workspace: heartbeat.workspace.to_string_lossy().into_owned(),
                    heartbeat: heartbeat.name.as_deref().map(str::to_owned),
                    used_up,
                });
            }
        }
        if found.is_empty() {
            return Ok(found);
        }
        let lines = Backward::open(journal)?.containing("\"kind\":\"budget\"");
        let mut entries = Entries::new(lines, self.ledger.since());
        while !found.is_empty()
            && let Some(FoundEntry { entry, .. }) = entries.next_entry(|_| true)?
        {
            found.retain(|newly| entry.summary.as_deref() != Some(&notice::budget_summary(&newly.used_up)));
        }
        Ok(found)
    }

    /// The parts of the journal that are not counted because they are not readable, unless they were removed since.
    pub fn unread(&self) -> impl Iterator<Item = &PartError> {
        self.unread.iter().filter(|part| part.path.exists())
    }

    /// What is spent.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

/// The budgets of `heartbeats`, with all that the journal says about them, and its parts that are not readable.
pub fn ledger<'a>(
    journal: &Path,
    heartbeats: impl Iterator<Item = &'a Heartbeat>,
    now: Timestamp,
) -> io::Result<(Ledger, Vec<PartError>)> {
    let ledger = Ledger::new(heartbeats, now);
    if ledger.is_empty() { Ok((ledger, Vec::new())) } else { count(journal, ledger, None) }
}

/// Which of `heartbeats` are on hold because budgets in `ledger` are used up.
pub fn held<'a>(
    ledger: &Ledger,
    heartbeats: impl Iterator<Item = &'a Heartbeat>,
    now: Timestamp,
) -> HashMap<HeartbeatId, HeartbeatHold> {
    let held = |heartbeat: &Heartbeat| {
        let used_up = ledger.hold(heartbeat, now)?;
        let (until, why) = (used_up.until, used_up.to_string());
        Some((heartbeat.id.clone(), HeartbeatHold { kind: HoldKind::Budget, until, why }))
    };
    heartbeats.filter(|heartbeat| heartbeat.settings.budgets.is_some()).filter_map(held).collect()
}

/// Adds the journal's lines before `end` to `ledger`. Returns the parts that don't count because they are not readable.
fn count(journal: &Path, ledger: Ledger, end: Option<Position>) -> io::Result<(Ledger, Vec<PartError>)> {
    let since = ledger.since();
    let unread = Mutex::new(Vec::new());
    let skip = |error| unread.lock().unwrap_or_else(PoisonError::into_inner).push(error);
    let files = readers(journal, end, since, &skip)?;
    let since = since.map_or(i64::MIN, Timestamp::as_millisecond);
    let add = |ledger: &mut Ledger, line: &BeatUsage<'_>| {
        if line.ended().is_some_and(|ended| ended >= since) {
            ledger.add(line);
        }
    };
    let counted = scan(files, || ledger.clone(), add)?;
    let ledger = counted.into_iter().reduce(|sum, more| sum.merged(&more)).unwrap_or(ledger);
    let mut unread = unread.into_inner().unwrap_or_else(PoisonError::into_inner);
    unread.sort_by(|one, next| one.path.cmp(&next.path));
    Ok((ledger, unread))
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_core::config::heartbeat::Cache;
    use serde_json::json;

    /// The heartbeat of a workspace in `folder`, with this budget a day.
    fn heartbeats(folder: &Path, budget: u32, now: Timestamp) -> Vec<Heartbeat> {
        let (config, site) = (folder.join("config.json"), folder.join("site"));
        std::fs::create_dir_all(&site).unwrap();
        std::fs::write(site.join("HEARTBEAT.md"), "Look.").unwrap();
        let entry = json!({ "path": site, "interval": "1h", "budget": { "day": budget } });
        std::fs::write(&config, json!({ "workspaces": [entry] }).to_string()).unwrap();
        Cache::new(jiff::tz::TimeZone::UTC).load(&config, now).unwrap().heartbeats
    }

    #[test]
    fn an_unreadable_journal_changes_nothing_until_it_is_counted_again() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, aside) = (folder.path().join("heartbeats.jsonl"), folder.path().join("aside"));
        let now: Timestamp = "2026-02-03T12:00:00Z".parse().unwrap();
        let site = folder.path().join("site");
        let line = |cost: u32| {
            let line = json!({
                "ts": now.to_string(), "workspace": site, "outcome": "ok", "durationMs": 0, "costUsd": cost,
            });
            format!("{line}\n")
        };
        std::fs::write(&journal, line(5)).unwrap();
        let [small, large] = [4, 9].map(|budget| heartbeats(folder.path(), budget, now));
        let mut budgets = Budgets::default();
        let is_held = |budgets: &Budgets| !held(budgets.ledger(), small.iter(), now).is_empty();
        assert!(budgets.load(&journal, small.iter(), now).unwrap());
        assert!(!budgets.load(&journal, small.iter(), now).unwrap(), "only once");
        assert!(is_held(&budgets) && !budgets.is_outdated(now));

        std::fs::rename(&journal, &aside).unwrap();
        std::fs::create_dir(&journal).unwrap();
        let (found, read) = budgets.read();
        assert!(found.is_empty() && budgets.fail(read.unwrap_err().to_string()));
        let failed = budgets.load(&journal, large.iter(), now).unwrap_err();
        assert!(!budgets.fail(failed.to_string()), "it is known");
        assert!(is_held(&budgets) && budgets.is_outdated(now));

        std::fs::remove_dir(&journal).unwrap();
        std::fs::write(&journal, line(5) + &line(5)).unwrap();
        budgets.count_again(&journal, large.iter(), now).unwrap();
        assert!(budgets.problem().is_none() && !budgets.is_outdated(now));
        assert_eq!(budgets.unreported(&journal, large.iter(), now).unwrap().len(), 1);
    }
}
