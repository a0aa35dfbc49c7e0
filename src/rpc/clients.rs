//! The clients of a server: how many there may be, and which of them has been idle the longest.
//!
//! A client is idle while it waits for no answer and follows no events. Where one more would be too many, the longest
//! idle one is dropped, so that nobody makes the server unreachable by connecting and saying nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;
use tokio::task::{Id, JoinSet};

/// The most clients at once.
const CLIENTS: usize = 256;

/// Stands for a client that is not idle.
const BUSY: u64 = 0;

/// All of them.
#[derive(Debug)]
pub(super) struct Clients {
    tasks: JoinSet<()>,
    /// Those that were not told to leave.
    staying: HashMap<Id, Arc<Activity>>,
    limit: usize,
    clock: Arc<AtomicU64>,
}

/// Whether one client is idle, and since when.
#[derive(Debug)]
pub(super) struct Activity {
    /// A number that grows with time; [`BUSY`] if the client is not idle.
    idle_since: AtomicU64,
    clock: Arc<AtomicU64>,
    leave: Notify,
}

impl Activity {
    /// Notes whether the client is idle, counted from the first time that it is.
    pub(super) fn note(&self, is_idle: bool) {
        let was_idle = self.idle_since.load(Ordering::Relaxed) != BUSY;
        if is_idle != was_idle {
            let since = if is_idle { tick(&self.clock) } else { BUSY };
            self.idle_since.store(since, Ordering::Relaxed);
        }
    }

    /// Waits until the client has to leave.
    pub(super) async fn dropped(&self) {
        self.leave.notified().await;
    }
}

impl Clients {
    /// None yet, and at most `limit` at once.
    pub(super) fn new(limit: usize) -> Self {
        let clock = Arc::new(AtomicU64::new(BUSY + 1));
        Self { tasks: JoinSet::new(), staying: HashMap::new(), limit, clock }
    }

    /// How many there may be at once in a process that may open so many files: a quarter of that, since beats and
    /// watches need some as well.
    pub(super) fn limit(files: Option<u64>) -> usize {
        let quarter = files.and_then(|files| usize::try_from(files / 4).ok());
        quarter.unwrap_or(CLIENTS).clamp(1, CLIENTS)
    }

    /// Makes room for one more, by dropping the longest idle client where there are as many as may be. Returns whether
    /// there is room.
    pub(super) fn make_room(&mut self) -> bool {
        self.staying.len() < self.limit || self.drop_longest_idle()
    }

    /// Returns whether there was one.
    pub(super) fn drop_longest_idle(&mut self) -> bool {
        let since = |activity: &Arc<Activity>| activity.idle_since.load(Ordering::Relaxed);
        let idle = self.staying.iter().map(|(id, activity)| (since(activity), *id));
        let Some((_, id)) = idle.filter(|(since, _)| *since != BUSY).min_by_key(|(since, _)| *since) else {
            return false;
        };
        if let Some(activity) = self.staying.remove(&id) {
            activity.leave.notify_one();
        }
        true
    }

    /// Whether every client that was told to leave has left. Until then each holds a file descriptor, and a burst of
    /// connections could use up all of them.
    pub(super) fn all_told_to_leave_have(&self) -> bool {
        self.tasks.len() == self.staying.len()
    }

    /// Adds a client, which is idle until it says otherwise.
    pub(super) fn add<F>(&mut self, converse: impl FnOnce(Arc<Activity>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (since, clock) = (tick(&self.clock), Arc::clone(&self.clock));
        let activity = Arc::new(Activity { idle_since: since.into(), clock, leave: Notify::new() });
        let task = self.tasks.spawn(converse(Arc::clone(&activity)));
        self.staying.insert(task.id(), activity);
    }

    /// Waits until one has left. `None` if there is none.
    pub(super) async fn left(&mut self) -> Option<()> {
        let id = match self.tasks.join_next_with_id().await? {
            Ok((id, ())) => id,
            Err(error) => error.id(),
        };
        self.staying.remove(&id);
        Some(())
    }
}

fn tick(clock: &AtomicU64) -> u64 {
    clock.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    #[tokio::test(flavor = "current_thread")]
    async fn the_longest_idle_leaves_first_and_the_busy_stay() {
        let mut clients = Clients::new(3);
        let mut activities = Vec::new();
        for _ in 0..3 {
            assert!(clients.make_room());
            clients.add(|activity| {
                activities.push(Arc::clone(&activity));
                async move {
                    tokio::select! {
                        () = activity.dropped() => {}
                        () = pending() => {}
                    }
                }
            });
        }
        // The first waits for an answer, the second has just got one.
        activities[0].note(false);
        activities[1].note(false);
        activities[1].note(true);
        let left = |clients: &Clients| activities.iter().map(|one| clients.has(one)).collect::<Vec<_>>();
        assert!(clients.make_room());
        assert_eq!(left(&clients), [true, true, false]);
        assert!(clients.drop_longest_idle());
        assert_eq!(left(&clients), [true, false, false]);
        assert!(!clients.drop_longest_idle());
        clients.left().await.unwrap();
        clients.left().await.unwrap();
        assert_eq!(clients.tasks.len(), 1);
    }

    #[test]
    fn a_quarter_of_the_files_that_may_be_open_is_for_clients() {
        assert_eq!([None, Some(1024), Some(64), Some(1)].map(Clients::limit), [256, 256, 16, 1]);
    }

    impl Clients {
        fn has(&self, activity: &Arc<Activity>) -> bool {
            self.staying.values().any(|known| Arc::ptr_eq(known, activity))
        }
    }
}
