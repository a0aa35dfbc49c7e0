//! Applies a last run that murmur wrote into config.json.

use super::Workspace;
use jiff::Timestamp;

impl Workspace {
    /// Sets when its own heartbeat, or the one called `name`, last ran, as
    /// [`set_last_run`](crate::config::edit::set_last_run) does in the file: a later one stays, unless it is after
    /// `now`.
    pub(in crate::config) fn set_last_run(&mut self, name: Option<&str>, at: Timestamp, now: Timestamp) {
        let stays = |known: Timestamp| known >= at && known <= now;
        let Some(name) = name else {
            self.last_run = self.last_run.filter(|known| stays(*known)).or(Some(at));
            return;
        };
        match self.last_runs.binary_search_by(|(known, _)| (**known).cmp(name)) {
            Ok(place) => {
                let known = &mut self.last_runs[place].1;
                *known = Some(*known).filter(|known| stays(*known)).unwrap_or(at);
            }
            Err(place) => {
                let mut runs = std::mem::take(&mut self.last_runs).into_vec();
                runs.insert(place, (name.into(), at));
                self.last_runs = runs.into();
            }
        }
    }
}
