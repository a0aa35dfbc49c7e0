//! Watches the files whose changes start heartbeats (`on`).
//!
//! Input: the heartbeats. Output: which of them match a change. Follows no links, and looks into no `.git`. Needs file
//! notifications; without them, `on` does nothing, which is a problem that `murmur status` shows.

use super::config_watcher::changes;
use murmur_core::config::gate::Patterns;
use murmur_core::config::heartbeat::{Heartbeat, HeartbeatId};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};
use sys::error::Failure;
use sys::failure;
use sys::pause::wait_until;
use sys::watch::{Changes, Watch, WatchedFolder};
use tokio::time::Instant;

/// How long to collect changes before they are reported together.
const COLLECT: Duration = Duration::from_millis(100);

/// The most folders to watch.
const MAX_FOLDERS: usize = 20_000;

/// How long to wait before retrying to watch files that can't be watched.
const RETRY: Duration = Duration::from_secs(60);

/// A heartbeat that file changes start.
#[derive(Debug)]
struct Trigger {
    id: HeartbeatId,
    workspace: Arc<Path>,
    paths: Box<[Box<str>]>,
    patterns: Patterns,
}

/// What is watched, and what has changed.
#[derive(Debug)]
pub struct Triggers {
    triggers: Vec<Trigger>,
    watch: Option<Watch>,
    /// The most folders to watch.
    most: usize,
    /// Why some files are not watched.
    problem: Option<Failure>,
    /// When to retry.
    retry_at: Option<Instant>,
    /// The heartbeats whose files changed, not yet reported.
    changed: BTreeSet<HeartbeatId>,
    report_at: Option<Instant>,
}

impl Default for Triggers {
    fn default() -> Self {
        Self {
            triggers: Vec::new(),
            watch: None,
            most: MAX_FOLDERS,
            problem: None,
            retry_at: None,
            changed: BTreeSet::new(),
            report_at: None,
        }
    }
}

impl Trigger {
    fn of(heartbeat: &Heartbeat) -> Option<Self> {
        let on = &heartbeat.settings.options.as_ref()?.on.as_ref()?.value;
        let patterns = on.patterns().ok()?;
        let (id, workspace) = (heartbeat.id.clone(), Arc::clone(&heartbeat.workspace));
        Some(Self { id, workspace, paths: on.paths().into(), patterns })
    }

    /// Whether `path`, or a folder that it is in, matches.
    fn matches(&self, path: &Path) -> bool {
        let Ok(relative) = path.strip_prefix(&self.workspace) else { return false };
        !relative.components().any(|part| part.as_os_str() == ".git")
            && relative.ancestors().any(|part| self.patterns.is_match(part))
    }

    fn roots(&self) -> impl Iterator<Item = PathBuf> {
        self.patterns.roots().iter().map(|root| self.workspace.join(root))
    }
}

impl Triggers {
    /// Watches the files of `heartbeats` instead of those before. Returns why some can't be watched.
    pub fn watch(&mut self, heartbeats: &[Heartbeat]) -> Option<&Failure> {
        let triggers: Vec<Trigger> = heartbeats.iter().filter_map(Trigger::of).collect();
        let key = |trigger: &Trigger| (trigger.id.clone(), trigger.paths.clone());
        if !triggers.iter().map(key).eq(self.triggers.iter().map(key)) {
            (self.triggers, self.watch) = (triggers, None);
        } else if self.problem.is_none() {
            return None;
        }
        self.start();
        self.problem()
    }

    /// Why some files are not watched, if so.
    #[must_use]
    pub fn problem(&self) -> Option<&Failure> {
        self.problem.as_ref()
    }

    /// Watches everything that isn't watched yet.
    fn start(&mut self) {
        (self.problem, self.retry_at) = (None, None);
        self.add(&self.triggers.iter().flat_map(Trigger::roots).collect());
    }

    /// Watches `roots` and all folders in them.
    fn add(&mut self, roots: &BTreeSet<PathBuf>) {
        loop {
            let before = self.watch.as_ref().map_or(0, Watch::folders);
            let places: Vec<_> = roots.iter().flat_map(|root| places_of(root, self.most)).collect();
            if places.is_empty() {
                return;
            }
            if let Err(error) = self.try_add(places) {
                return self.fail(error);
            }
            // A folder may have been created just before its parent was watched.
            if self.watch.as_ref().map_or(0, Watch::folders) == before {
                return;
            }
        }
    }

    fn try_add(&mut self, places: Vec<WatchedFolder>) -> Result<(), Failure> {
        let most = self.most;
        let failed =
            |error: io::Error| failure!("file changes do not start their heartbeats").because(&error);
        let watch = match &mut self.watch {
            Some(watch) => watch,
            none => none.insert(Watch::new([] as [WatchedFolder; 0]).map_err(failed)?),
        };
        for place in places {
            if watch.folders() >= most {
                return Err(failure!(
                    "some file changes do not start their heartbeats: the limit of {most} watched folders is reached";
                    "name fewer folders in \"on\""
                ));
            }
            watch.add([place]).map_err(failed)?;
        }
        Ok(())
    }

    fn fail(&mut self, problem: Failure) {
        self.problem = Some(problem);
        self.retry_at = Some(Instant::now() + RETRY);
    }

    /// Waits until files of heartbeats have changed, and returns which.
    pub async fn changed(&mut self) -> Vec<HeartbeatId> {
        loop {
            let changes = tokio::select! {
                changes = changes(&mut self.watch) => changes,
                () = wait_until(self.report_at) => {
                    self.report_at = None;
                    return std::mem::take(&mut self.changed).into_iter().collect();
                }
                () = wait_until(self.retry_at) => {
                    self.start();
                    continue;
                }
            };
            match changes {
                Ok(changes) => self.collect(&changes),
                Err(error) => {
                    self.watch = None;
                    self.fail(failure!("file changes do not start their heartbeats").because(&error));
                }
            }
        }
    }

    fn collect(&mut self, changes: &Changes) {
        if let Some(watch) = &mut self.watch
            && !changes.gone.is_empty()
        {
            watch.forget(&changes.gone);
        }
        // A missing root may have been created, or one may be missing now.
        let is_affected =
            |root: &PathBuf| changes.paths.iter().chain(&changes.gone).any(|path| root.starts_with(path));
        let roots = self.triggers.iter().flat_map(Trigger::roots).filter(is_affected);
        let folders: Vec<&PathBuf> = changes.paths.iter().filter(|path| is_folder(path)).collect();
        // Watch before reading, so that no file is missed.
        self.add(&roots.chain(folders.iter().copied().cloned()).collect());
        // A new folder may have files already.
        let mut paths = changes.paths.clone();
        for place in folders.iter().flat_map(|path| places_of(path, self.most)) {
            let entries = fs::read_dir(place.folder()).into_iter().flatten().flatten();
            paths.extend(entries.map(|entry| entry.path()));
        }
        let is_hit = |trigger: &&Trigger| {
            changes.overflowed || paths.iter().any(|path| !is_folder(path) && trigger.matches(path))
        };
        self.changed.extend(self.triggers.iter().filter(is_hit).map(|trigger| trigger.id.clone()));
        if !self.changed.is_empty() {
            self.report_at.get_or_insert_with(|| Instant::now() + COLLECT);
        }
    }
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// What to watch for changes of `root`: the folder and those in it, with little more than `most` in all; the file; or
/// where either may be created.
fn places_of(root: &Path, most: usize) -> Vec<WatchedFolder> {
    if !is_folder(root) {
        return if root.exists() { WatchedFolder::of(root) } else { WatchedFolder::coming(root) }
            .into_iter()
            .collect();
    }
    let (mut found, mut waiting) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = waiting.pop()
        && found.len() <= most
    {
        found.push(WatchedFolder::new(&folder, &[]));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        waiting.extend(folders.filter(|entry| entry.file_name() != ".git").map(|entry| entry.path()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::heartbeats::fixture::{heartbeat, with_options};
    use murmur_core::config::limit::{Source, Sourced};
    use murmur_core::config::schedule_options::ScheduleOptions;

    fn triggered(workspace: &Path, path: &str) -> Heartbeat {
        let on = serde_json::from_value(serde_json::json!({ "path": path })).unwrap();
        let on = Some(Sourced { value: on, source: Source::ConfigJson });
        let settings = with_options(ScheduleOptions { on, ..ScheduleOptions::default() });
        Heartbeat { settings, ..heartbeat(workspace.to_str().unwrap(), None, 30, None) }
    }

    async fn next(triggers: &mut Triggers) -> Vec<HeartbeatId> {
        tokio::time::timeout(Duration::from_secs(60), triggers.changed()).await.expect("nothing was noticed")
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_change_is_reported_for_the_heartbeats_that_match_it() {
        let folder = tempfile::tempdir().unwrap();
        let (site, other) = (folder.path().join("site"), folder.path().join("other"));
        for folder in [&site, &other] {
            fs::create_dir_all(folder.join("src/deep")).unwrap();
            fs::create_dir_all(folder.join(".git")).unwrap();
        }
        let heartbeats =
            [triggered(&site, "src/**/*.rs"), triggered(&other, "**"), triggered(&other, "notes.md")];
        let ids: Vec<HeartbeatId> = heartbeats.iter().map(|heartbeat| heartbeat.id.clone()).collect();
        let mut triggers = Triggers::default();
        assert_eq!(triggers.watch(&heartbeats), None);
        fs::write(site.join("src/deep/main.rs"), "").unwrap();
        assert_eq!(next(&mut triggers).await, [ids[0].clone()]);
        // Only the file in `other` counts.
        fs::write(site.join("src/deep/main.txt"), "").unwrap();
        fs::write(other.join(".git/index"), "").unwrap();
        fs::write(other.join("notes.md"), "").unwrap();
        assert_eq!(next(&mut triggers).await, [ids[1].clone()]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_folder_that_comes_later_is_watched_with_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path().join("site");
        fs::create_dir(&site).unwrap();
        let heartbeats = [triggered(&site, "docs/new/*.md")];
        let mut triggers = Triggers::default();
        assert_eq!(triggers.watch(&heartbeats), None);
        fs::create_dir_all(site.join("docs/new")).unwrap();
        fs::write(site.join("docs/new/a.md"), "").unwrap();
        assert_eq!(next(&mut triggers).await, [heartbeats[0].id.clone()]);
        fs::write(site.join("docs/new/b.md"), "").unwrap();
        assert_eq!(next(&mut triggers).await, [heartbeats[0].id.clone()]);
        // Also if it is removed and created again, and if another folder had its name.
        fs::remove_dir_all(site.join("docs")).unwrap();
        assert_eq!(next(&mut triggers).await, [heartbeats[0].id.clone()]);
        for name in ["old", "older"] {
            fs::create_dir_all(site.join("docs/new")).unwrap();
            fs::write(site.join("docs/new/c.md"), "").unwrap();
            assert_eq!(next(&mut triggers).await, [heartbeats[0].id.clone()]);
            fs::rename(site.join("docs"), site.join(name)).unwrap();
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn folders_that_vanish_make_room_for_others() {
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path().join("site");
        fs::create_dir(&site).unwrap();
        let heartbeats = [triggered(&site, "**")];
        let mut triggers = Triggers { most: 4, ..Triggers::default() };
        assert_eq!(triggers.watch(&heartbeats), None);
        for round in 0..5 {
            let deep = site.join(format!("{round}/deep"));
            fs::create_dir_all(&deep).unwrap();
            fs::write(deep.join("a"), "").unwrap();
            assert_eq!(next(&mut triggers).await, [heartbeats[0].id.clone()]);
            assert_eq!((triggers.watch.as_ref().unwrap().folders(), triggers.problem()), (3, None));
            fs::rename(site.join(round.to_string()), folder.path().join(round.to_string())).unwrap();
            // The folder that was moved away no longer counts.
            fs::write(folder.path().join(format!("{round}/deep/a")), "").unwrap();
            fs::write(site.join("b"), "").unwrap();
            assert_eq!(next(&mut triggers).await, [heartbeats[0].id.clone()]);
            assert_eq!(triggers.watch.as_ref().unwrap().folders(), 1);
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_is_not_watched_is_a_problem_until_a_retry_succeeds() {
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path().join("site");
        for name in ["a", "b", "c"] {
            fs::create_dir_all(site.join(name)).unwrap();
        }
        let heartbeats = [triggered(&site, "**")];
        let mut triggers = Triggers { most: 3, ..Triggers::default() };
        let problem = triggers.watch(&heartbeats).unwrap().line();
        assert_eq!(
            problem,
            "some file changes do not start their heartbeats: the limit of 3 watched folders is reached; name fewer folders in \"on\""
        );
        // Reloading the same heartbeats tries again.
        assert!(triggers.watch(&heartbeats).is_some());
        triggers.most = 9;
        assert!(triggers.retry_at.is_some_and(|at| at <= Instant::now() + RETRY));
        triggers.retry_at = Some(Instant::now());
        while triggers.problem().is_some() {
            let _no_change = tokio::time::timeout(Duration::from_millis(1), triggers.changed()).await;
        }
        assert_eq!(triggers.watch.as_ref().unwrap().folders(), 4);
    }
}
