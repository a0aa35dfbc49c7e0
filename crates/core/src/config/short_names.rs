//! Short names of heartbeats, as lists and notifications show them.

use super::cron::Crons;
use super::file::File;
use jiff::tz::TimeZone;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use sys::paths::DataDir;

/// The short name of a heartbeat: `site`, or `site::nightly` for a named one.
#[must_use]
pub fn short(workspace: &str, name: Option<&str>) -> String {
    let folder = Path::new(workspace).file_name().map_or(workspace.into(), OsStr::to_string_lossy);
    match name {
        Some(name) => format!("{folder}::{name}"),
        None => folder.into_owned(),
    }
}

/// Short names of heartbeats. Where several workspaces have the same folder name, with as many of the folders above as
/// tell them apart: `mine/site::nightly`.
#[derive(Debug, Default)]
pub struct ShortNames(HashMap<String, String>);

impl ShortNames {
    /// Those of heartbeats in these workspaces.
    #[must_use]
    pub fn of<'a>(workspaces: impl Iterator<Item = &'a str>) -> Self {
        let mut left: BTreeSet<&str> = workspaces.collect();
        let depth = left.iter().map(|path| Path::new(path).components().count()).max().unwrap_or_default();
        let mut folders = HashMap::new();
        for count in 1..=depth {
            let mut ends: HashMap<PathBuf, Vec<&str>> = HashMap::new();
            left.iter().for_each(|path| ends.entry(end(path, count)).or_default().push(path));
            for (end, paths) in ends {
                if let ([path], 2..) = (paths.as_slice(), count) {
                    folders.insert((*path).to_owned(), end.display().to_string());
                }
                if let [path] = paths.as_slice() {
                    left.remove(path);
                }
            }
        }
        Self(folders)
    }

    /// Those of heartbeats in these workspaces, next to the registered ones.
    #[must_use]
    pub fn beside_registered<'a>(dir: &DataDir, workspaces: impl Iterator<Item = &'a str>) -> Self {
        // With a configuration that can't be read, they tell only these workspaces apart.
        let file = File::read(&dir.config(), &Crons::new(TimeZone::UTC));
        let registered = file.iter().flat_map(|file| file.workspaces.iter().flatten());
        let registered: Vec<String> = registered.map(|one| one.path.display().to_string()).collect();
        let mut all: Vec<&str> = workspaces.collect();
        all.extend(registered.iter().map(String::as_str));
        Self::of(all.into_iter())
    }

    /// The name of a heartbeat.
    #[must_use]
    pub fn of_heartbeat(&self, workspace: &str, name: Option<&str>) -> String {
        match (self.0.get(workspace), name) {
            (Some(folder), Some(name)) => format!("{folder}::{name}"),
            (Some(folder), None) => folder.clone(),
            (None, _) => short(workspace, name),
        }
    }
}

/// The last `count` components of a path.
fn end(path: &str, count: usize) -> PathBuf {
    let parts: Vec<_> = Path::new(path).components().collect();
    parts[parts.len().saturating_sub(count)..].iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_above_are_named_only_where_they_tell_workspaces_apart() {
        let paths = ["/a/x/site", "/b/x/site", "/b/y/site", "/site", "/a/shop"];
        let names = ShortNames::of(paths.into_iter());
        let shown = paths.map(|path| names.of_heartbeat(path, None));
        assert_eq!(shown, ["a/x/site", "b/x/site", "y/site", "/site", "shop"]);
        assert_eq!(names.of_heartbeat("/b/y/site", Some("nightly")), "y/site::nightly");
        assert_eq!(names.of_heartbeat("/elsewhere/web", Some("nightly")), "web::nightly");
    }

    #[test]
    fn equal_paths_have_a_name_although_nothing_tells_them_apart() {
        let names = ShortNames::of(["/a/site", "/a/site/"].into_iter());
        assert_eq!(names.of_heartbeat("/a/site/", None), "site");
    }
}
