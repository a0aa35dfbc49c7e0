//! The clients of a server: their maximum number, and how long each has been idle.
//!
//! A client is idle while it neither waits for a response nor follows events. When there are too many clients, the
//! one that has been idle longest is dropped, so idle connections cannot make the server unreachable. Busy
//! connections of agents cannot either: the processes of one agent get at most half of the connections, and those of
//! all agents three quarters.

use crate::caller::{Caller, Owner};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;
use tokio::task::{Id, JoinSet};

/// The maximum number of clients.
const CLIENTS: usize = 256;

/// Marks a client that is not idle.
const BUSY: u64 = 0;

/// All connected clients.
#[derive(Debug)]
pub(super) struct Clients {
    tasks: JoinSet<()>,
    /// Clients that were not told to leave.
    staying: HashMap<Id, Client>,
    limit: usize,
    clock: Arc<AtomicU64>,
}

/// A connected client.
#[derive(Debug)]
struct Client {
    caller: Arc<Caller>,
    activity: Arc<Activity>,
}

/// Since when a client is idle, if it is.
#[derive(Debug)]
pub(super) struct Activity {
    /// A logical timestamp; [`BUSY`] if the client is not idle.
    idle_since: AtomicU64,
    clock: Arc<AtomicU64>,
    leave: Notify,
}

impl Activity {
    /// Records whether the client is idle. The timestamp is that of the first of consecutive idle reports.
    pub(super) fn note(&self, is_idle: bool) {
        let was_idle = self.idle_since.load(Ordering::Relaxed) != BUSY;
        if is_idle != was_idle {
            let since = if is_idle { tick(&self.clock) } else { BUSY };
            self.idle_since.store(since, Ordering::Relaxed);
        }
    }

    /// Waits until the client is told to leave.
    pub(super) async fn dropped(&self) {
        self.leave.notified().await;
    }
}

impl Clients {
    /// Starts without clients, and with a maximum of `limit`.
    pub(super) fn new(limit: usize) -> Self {
        let clock = Arc::new(AtomicU64::new(BUSY + 1));
        Self { tasks: JoinSet::new(), staying: HashMap::new(), limit, clock }
    }

    /// The maximum for a process with this limit on open files. Clients may open half of them, less 16 for the server
    /// itself; beats and watches need the rest. Each client needs two: its connection and its process.
    pub(super) fn limit(files: Option<u64>) -> usize {
        let limit = files.and_then(|files| usize::try_from((files / 2).saturating_sub(16) / 2).ok());
        limit.unwrap_or(CLIENTS).clamp(1, CLIENTS)
    }

    /// Makes room for `newest` by dropping the client that has been idle longest, among all or among those in its
    /// group. Returns whether there is room.
    pub(super) fn make_room(&mut self, newest: &Caller) -> bool {
        self.make_room_for(|| newest.owner())
    }

    fn make_room_for(&mut self, newest: impl Fn() -> Owner) -> bool {
        // Below half, no group can exceed its share, so the owner needn't be determined.
        if self.staying.len() >= self.limit / 2
            && let newest @ (Owner::Host(_) | Owner::Unknown) = newest()
        {
            let is_agents = |owner| !matches!(owner, Owner::Process);
            if !self.make_room_in(self.limit / 2, |owner| owner == newest)
                || !self.make_room_in(self.limit / 4 * 3, is_agents)
            {
                return false;
            }
        }
        self.staying.len() < self.limit || self.drop_longest_idle()
    }

    /// Reduces the number of clients that `counts` selects below `limit`; returns whether that succeeded.
    fn make_room_in(&mut self, limit: usize, counts: impl Fn(Owner) -> bool) -> bool {
        let many = self.staying.values().filter(|client| counts(client.caller.owner())).count();
        many < limit.max(1) || self.drop_longest_idle_of(counts)
    }

    /// Returns whether there was an idle client.
    pub(super) fn drop_longest_idle(&mut self) -> bool {
        self.drop_longest_idle_of(|_| true)
    }

    fn drop_longest_idle_of(&mut self, counts: impl Fn(Owner) -> bool) -> bool {
        let since = |client: &Client| client.activity.idle_since.load(Ordering::Relaxed);
        let idle = self.staying.iter();
        let idle = idle.filter(|(_, client)| since(client) != BUSY && counts(client.caller.owner()));
        let longest = idle.min_by_key(|(_, client)| since(client)).map(|(id, _)| *id);
        let Some(client) = longest.and_then(|id| self.staying.remove(&id)) else { return false };
        client.activity.leave.notify_one();
        true
    }

    /// Whether every dropped client has left. Until then each holds a file descriptor, and a burst of
    /// connections could exhaust them.
    pub(super) fn all_dropped_have_left(&self) -> bool {
        self.tasks.len() == self.staying.len()
    }

    /// Adds the client `caller`, which is idle until it reports otherwise.
    pub(super) fn add<F>(&mut self, caller: Arc<Caller>, converse: impl FnOnce(Arc<Activity>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (since, clock) = (tick(&self.clock), Arc::clone(&self.clock));
        let activity = Arc::new(Activity { idle_since: since.into(), clock, leave: Notify::new() });
        let task = self.tasks.spawn(converse(Arc::clone(&activity)));
        self.staying.insert(task.id(), Client { caller, activity });
    }

    /// Waits until a client has left. `None` if there are none.
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
    async fn the_longest_idle_client_leaves_first_and_busy_ones_stay() {
        let mut clients = Clients::new(3);
        let activities: Vec<_> = (0..3).map(|_| clients.take(Owner::Process).unwrap()).collect();
        // The first waits for a response; the second has just received one.
        activities[0].note(false);
        activities[1].note(false);
        activities[1].note(true);
        let left = |clients: &Clients| activities.iter().map(|one| clients.has(one)).collect::<Vec<_>>();
        assert!(clients.make_room_for(|| Owner::Process));
        assert_eq!(left(&clients), [true, true, false]);
        assert!(clients.drop_longest_idle());
        assert_eq!(left(&clients), [true, false, false]);
        assert!(!clients.drop_longest_idle());
        clients.left().await.unwrap();
        clients.left().await.unwrap();
        assert_eq!(clients.tasks.len(), 1);
    }

    #[test]
    fn clients_may_open_half_of_the_files_but_for_the_servers_own() {
        assert_eq!([None, Some(1024), Some(64), Some(1)].map(Clients::limit), [256, 248, 8, 1]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn one_agent_has_at_most_half_and_all_agents_three_quarters() {
        let mut clients = Clients::new(16);
        let mut busy = |owner, many| {
            let taken =
                (0..many).filter_map(|_| clients.take(owner)).inspect(|activity| activity.note(false));
            taken.count()
        };
        assert_eq!(busy(Owner::Host(1), 16), 8);
        assert_eq!(busy(Owner::Host(2), 16), 4);
        assert_eq!(busy(Owner::Unknown, 1), 0);
        assert_eq!(busy(Owner::Process, 16), 4);
        assert_eq!(busy(Owner::Process, 1), 0);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_agent_at_its_share_drops_its_own_idle_client() {
        let mut clients = Clients::new(16);
        let person = clients.take(Owner::Process).unwrap();
        let agents: Vec<_> = (0..9).map(|_| clients.take(Owner::Host(1)).unwrap()).collect();
        assert!(clients.has(&person) && !clients.has(&agents[0]));
        assert_eq!(agents.iter().filter(|agent| clients.has(agent)).count(), 8);
    }

    impl Clients {
        fn has(&self, activity: &Arc<Activity>) -> bool {
            self.staying.values().any(|known| Arc::ptr_eq(&known.activity, activity))
        }

        /// Adds a client that leaves when it is told to, if there is room.
        fn take(&mut self, owner: Owner) -> Option<Arc<Activity>> {
            let mut added = None;
            self.make_room_for(|| owner).then(|| {
                self.add(Arc::new(Caller::of_owner(owner)), |activity| {
                    added = Some(Arc::clone(&activity));
                    async move {
                        tokio::select! {
                            () = activity.dropped() => {}
                            () = pending() => {}
                        }
                    }
                });
            });
            added
        }
    }
}
