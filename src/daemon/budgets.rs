//! Reads the journal for budgets: once from its beginning, and then only what is appended.
//!
//! Takes the heartbeats; returns which budgets the new lines use up. `murmur_core::spending` decides.

use super::heartbeats::{Held, HeldKind};
use crate::outcome::notice;
use jiff::Timestamp;
use murmur_core::config::heartbeat::{Heartbeat, HeartbeatId};
use murmur_core::spending::{Ledger, UsedUp};
use murmur_core::usage::line::BeatUsage;
use murmur_core::usage::scan::scan;
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
}

/// The bytes to read before anything else gets a turn.
const AT_ONCE: u64 = 1 << 20;

impl Budgets {
    /// Takes over the budgets of `heartbeats`. If they changed, reads the journal from its beginning, and returns true.
    pub fn load<'a>(
        &mut self,
        journal: &Path,
        heartbeats: impl Iterator<Item = &'a Heartbeat>,
        now: Timestamp,
    ) -> io::Result<bool> {
        let ledger = Ledger::new(heartbeats, now);
        let is_known = ledger.has_budgets_of(&self.ledger) && self.tail.is_some() != ledger.is_empty();
        if is_known && self.unread.is_empty() {
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
        *self = Self::default();
        if ledger.is_empty() {
            return Ok(());
        }
        let tail = Tail::from_end(journal.to_path_buf())?;
        (self.ledger, self.unread) = count(journal, ledger, Some(tail.position()))?;
        self.tail = Some(tail);
        Ok(())
    }

    /// Reads what was appended to the journal; returns what that used up.
    pub fn read(&mut self) -> io::Result<Vec<NewlyUsedUp>> {
        let Some(tail) = &mut self.tail else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        loop {
            let more = tail.read(AT_ONCE, |line| {
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
            })?;
            if !more {
                return Ok(found);
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
) -> HashMap<HeartbeatId, Held> {
    let held = |heartbeat: &Heartbeat| {
        let used_up = ledger.hold(heartbeat, now)?;
        let (until, why) = (used_up.until, used_up.to_string());
        Some((heartbeat.id.clone(), Held { kind: HeldKind::Budget, until, why }))
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
