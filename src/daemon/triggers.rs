//! Watches the files whose changes start heartbeats (`on`).
//!
//! Input: the heartbeats. Output: which of them match a change. Follows no links, and looks into no `.git`. Needs file
//! notifications; without them, `on` does nothing, which is logged.

use murmur_core::config::gate::Patterns;
use murmur_core::config::heartbeat::{Heartbeat, HeartbeatId};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use sys::error::Failure;
use sys::failure;
use sys::watch::{Changes, Watch, WatchedFolder};
use tokio::time::{Instant, sleep_until};

/// How long to collect changes before they are reported together.
const COLLECT: Duration = Duration::from_millis(100);

/// The most folders to watch.
const MOST_FOLDERS: usize = 20_000;

/// A heartbeat that file changes start.
#[derive(Debug)]
struct Trigger {
    id: HeartbeatId,
    workspace: Arc<Path>,
    paths: Box<[Box<str>]>,
    patterns: Patterns,
}

/// What is watched, and what has changed.
#[derive(Debug, Default)]
pub struct Triggers {
    triggers: Vec<Trigger>,
    watch: Option<Watch>,
    folders: usize,
    /// The heartbeats whose files changed, not yet reported.
    changed: BTreeSet<HeartbeatId>,
    report_at: Option<Instant>,
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
    pub fn watch(&mut self, heartbeats: &[Heartbeat]) -> Option<Failure> {
        let triggers: Vec<Trigger> = heartbeats.iter().filter_map(Trigger::of).collect();
        let key = |trigger: &Trigger| (trigger.id.clone(), trigger.paths.clone());
        if triggers.iter().map(key).eq(self.triggers.iter().map(key)) {
            return None;
        }
        self.triggers = triggers;
        self.watch = None;
        self.folders = 0;
        if self.triggers.is_empty() {
            return None;
        }
        let roots: BTreeSet<PathBuf> = self.triggers.iter().flat_map(Trigger::roots).collect();
        let places = roots.iter().flat_map(|root| places_of(root)).collect();
        self.add(places)
    }

    fn add(&mut self, places: Vec<WatchedFolder>) -> Option<Failure> {
        self.folders += places.len();
        if self.folders > MOST_FOLDERS {
            return Some(failure!(
                "some file changes do not start their heartbeats: the limit of {MOST_FOLDERS} watched folders is reached";
                "name fewer folders in \"on\""
            ));
        }
        let added = match &mut self.watch {
            Some(watch) => watch.add(places).map(drop),
            None => Watch::new(places).map(|watch| self.watch = Some(watch)),
        };
        let error = added.err()?;
        Some(failure!("file changes do not start their heartbeats").because(&error))
    }

    /// Waits until files of heartbeats have changed, and returns which.
    pub async fn changed(&mut self) -> Vec<HeartbeatId> {
        loop {
            let Some(watch) = &mut self.watch else { return std::future::pending().await };
            let changes = tokio::select! {
                changes = watch.changes() => changes,
                () = until(self.report_at) => {
                    self.report_at = None;
                    return std::mem::take(&mut self.changed).into_iter().collect();
                }
            };
            match changes {
                Ok(changes) => self.collect(&changes),
                Err(_) => self.watch = None,
            }
        }
    }

    fn collect(&mut self, changes: &Changes) {
        // A new folder may have files already.
        let folders = changes.paths.iter().filter(|path| is_folder(path));
        let places: Vec<WatchedFolder> = folders.flat_map(|path| places_of(path)).collect();
        let mut paths = changes.paths.clone();
        for place in &places {
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
        // A missing root may have been created.
        let come = self.triggers.iter().flat_map(Trigger::roots);
        let come = come.filter(|root| changes.paths.iter().any(|path| root.starts_with(path)));
        let come: Vec<WatchedFolder> = come.flat_map(|root| places_of(&root)).collect();
        let _best_effort = self.add(places.into_iter().chain(come).collect());
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// `root` and all folders in it, or the file, or the place where it may be created.
fn places_of(root: &Path) -> Vec<WatchedFolder> {
    if !is_folder(root) {
        return if root.exists() { WatchedFolder::of(root) } else { WatchedFolder::coming(root) }
            .into_iter()
            .collect();
    }
    let (mut found, mut waiting) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = waiting.pop()
        && found.len() <= MOST_FOLDERS
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
    }
}
