//! Applies edits of HEARTBEAT.md to its heartbeats, without looking at the others.

use super::held::limited;
use super::{Heartbeats, ScheduledHeartbeat};
use jiff::Timestamp;
use murmur_core::config::heartbeat::Heartbeat;

impl Heartbeats {
    /// Applies `edited`, all heartbeats of some workspaces. Returns whether it did: if heartbeats were added or
    /// removed, or if a change concerns more than one heartbeat, [`Self::load`] is needed.
    pub fn edit(&mut self, edited: Vec<Heartbeat>, now: Timestamp) -> bool {
        let groups = edited.chunk_by(|one, next| one.workspace == next.workspace);
        let indices: Option<Vec<usize>> = groups.map(|group| self.first_index_of(group)).collect();
        let Some(indices) = indices else { return false };
        let first = indices.into_iter();
        let groups = edited.chunk_by(|one, next| one.workspace == next.workspace);
        let all = first.zip(groups).flat_map(|(first, group)| (first..).zip(group));
        for (index, heartbeat) in all {
            self.have_options |= heartbeat.settings.options.is_some();
            self.change(index, |entry| entry.edit(heartbeat.clone(), now));
            self.limit(index, now);
        }
        true
    }

    /// Where the heartbeats of a workspace begin, if they are the same as before, with the same effects on others.
    fn first_index_of(&self, group: &[Heartbeat]) -> Option<usize> {
        let first = *self.indices.get(&group.first()?.id)?;
        let (before, rest) = self.entries.split_at_checked(first)?;
        let (known, after) = rest.split_at_checked(group.len())?;
        let is_other = |entry: &ScheduledHeartbeat| entry.heartbeat.workspace != group[0].workspace;
        let is_whole = before.last().is_none_or(is_other) && after.first().is_none_or(is_other);
        let mut pairs = known.iter().map(|entry| &entry.heartbeat).zip(group);
        (is_whole && pairs.all(|(known, new)| is_edit_of(new, known))).then_some(first)
    }

    /// Decides again whether usage limits, budgets and failures hold the heartbeat at `index`.
    fn limit(&mut self, index: usize, now: Timestamp) {
        let limited = limited(&self.entries[index], &self.limits, &self.over_budget, now);
        self.change(index, |entry| {
            entry.limited = limited.map(Box::new);
            entry.set_streak(entry.streak.clone());
        });
    }
}

/// Whether only what concerns the heartbeat itself differs.
fn is_edit_of(new: &Heartbeat, known: &Heartbeat) -> bool {
    new.id == known.id
        && new.problem.is_none()
        && known.problem.is_none()
        && new.on() == known.on()
        && new.settings.budgets == known.settings.budgets
        && new.settings.backend == known.settings.backend
}

impl ScheduledHeartbeat {
    fn edit(&mut self, heartbeat: Heartbeat, now: Timestamp) {
        let (approved, last_run) = (self.heartbeat.approved, self.heartbeat.last_run);
        self.heartbeat = Heartbeat { approved, last_run, ..heartbeat };
        self.count_from(now);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{at, heartbeat};
    use super::*;
    use std::num::NonZeroU32;

    /// `/a`, its `nightly`, and `/b`, every half an hour; all ran at 9.
    fn three() -> (Heartbeats, Vec<Heartbeat>) {
        let all = vec![
            heartbeat("/a", None, 30, Some("09:00:00")),
            heartbeat("/a", Some("nightly"), 30, Some("09:00:00")),
            heartbeat("/b", None, 30, Some("09:00:00")),
        ];
        let mut state = Heartbeats::default();
        state.load(all.clone(), NonZeroU32::new(4).unwrap(), at("09:10:00"));
        (state, all)
    }

    #[test]
    fn a_new_schedule_counts_from_the_last_run() {
        let (mut state, _) = three();
        assert_eq!(state.wake_at(), Some(at("09:30:00")));
        let edited = vec![heartbeat("/b", None, 15, None)];
        assert!(state.edit(edited, at("09:10:00")));
        assert_eq!(state.wake_at(), Some(at("09:15:00")));
        assert_eq!(state.entries()[2].heartbeat.last_run, Some(at("09:00:00")));
    }

    #[test]
    fn more_than_an_edit_is_refused_and_changes_nothing() {
        let (mut state, all) = three();
        let own = |all: &[Heartbeat]| all[..2].to_vec();
        let mut broken = own(&all);
        broken[1].problem = Some(murmur_core::config::problem::Problem::with(
            "/a".as_ref(),
            sys::error::Failure::new("it is broken"),
        ));
        let unknown = vec![heartbeat("/c", None, 30, None)];
        let longer = all.iter().take(2).cloned().chain([heartbeat("/a", Some("weekly"), 30, None)]);
        for edited in [all[..1].to_vec(), all[1..2].to_vec(), broken, unknown, longer.collect()] {
            assert!(!state.edit(edited.clone(), at("09:10:00")), "{edited:?}");
        }
        assert!(state.entries().iter().map(|entry| &entry.heartbeat).eq(all.iter()));
        assert!(state.edit(own(&all), at("09:10:00")));
    }
}
