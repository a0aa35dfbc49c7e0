//! Writing to what controls an agent's next run, or to murmur itself: settings, hooks, startup files, units, crontabs.
//!
//! What belongs to murmur ([`Own`]) is always refused; what is in [`TABLE`] a rule that names it
//! can allow. HEARTBEAT.md is in neither: an agent may edit its own, whose frontmatter can only make limits stricter.

mod files;

use super::path;
use super::touch::{Kind, Touch};
use crate::permit::call::Own;
use crate::permit::shell::field::matches;
use crate::permit::shell::{Field, Scope};

pub(crate) use files::TABLE;

/// Names of which a rule that has only them has named nothing.
const COMMON: [&str; 8] = [".config", ".local", "etc", "share", "bin", "lib", "usr", "local"];

/// What a command would change of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// murmur's own.
    Own(String),
    /// What controls the next run: how it is written, and the entry.
    Control(String, &'static str),
}

/// What would change of it where `touched` is, murmur's own first.
pub(super) fn changed(touched: &[Touch], scope: &Scope, own: &Own) -> Option<Found> {
    let forms = |touch: &Touch| forms(&touch.path, scope);
    let is_own = |touch: &&Touch| forms(touch).iter().any(|names| is_own(names, touch.kind, own, scope));
    if let Some(touch) = touched.iter().find(is_own) {
        return Some(Found::Own(touch.path.to_string()));
    }
    touched.iter().filter(|touch| touch.kind.writes()).find_map(|touch| {
        let entry = forms(touch).iter().find_map(|names| entry(names, touch.kind, scope))?;
        Some(Found::Control(touch.path.to_string(), entry))
    })
}

/// Whether `path` leads to what is murmur's own, or into it.
pub(super) fn is_murmurs(path: &Field, scope: &Scope, own: &Own) -> bool {
    forms(path, scope).iter().any(|names| is_own(names, Kind::Write, own, scope))
}

/// Whether `pattern`, of a rule that allows, names what `entry` of [`TABLE`] is about: not `/**`, but `~/.bashrc`.
pub(crate) fn is_named(entry: &str, pattern: &str) -> bool {
    let names =
        entry.split('/').filter(|name| name.len() > 2 && !name.contains('*') && !COMMON.contains(name));
    let stems = entry
        .split(['/', '*'])
        .filter(|name| entry.contains('*') && name.len() > 3 && !COMMON.contains(name));
    names.chain(stems).any(|name| pattern.contains(name))
}

/// The names on the way to the file, in every form.
fn forms(path: &Field, scope: &Scope) -> Vec<Vec<String>> {
    if path.marked().is_empty() {
        return Vec::new();
    }
    [path::written(path, scope), path::resolve(path, scope)].concat()
}

fn names(path: &str) -> Vec<String> {
    path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn is_own(found: &[String], kind: Kind, own: &Own, scope: &Scope) -> bool {
    let workspace = scope.workspace().map(|workspace| names(workspace.marked())).unwrap_or_default();
    own.paths.iter().any(|path| {
        let path = names(&path.to_string_lossy());
        // A workspace within murmur's folder is the agent's.
        let is_within = starts(found, &path) && !(starts(&workspace, &path) && starts(found, &workspace));
        let is_around = starts(&path, found) && !found.is_empty();
        let is_folder = path.len() == found.len() + 1 && is_around;
        is_within && !path.is_empty()
            || match kind {
                Kind::Write | Kind::Place | Kind::Read => false,
                Kind::Tree => is_folder,
                Kind::Remove => is_around,
            }
    })
}

/// Whether `found` leads to `path`, or into it; a name in it may be a pattern.
fn starts(found: &[String], path: &[String]) -> bool {
    path.len() <= found.len() && path.iter().zip(found).all(|(name, found)| fits(found, name))
}

fn entry(found: &[String], kind: Kind, scope: &Scope) -> Option<&'static str> {
    let home = scope.home().map(|home| names(home.marked())).unwrap_or_default();
    TABLE.iter().copied().find(|entry| {
        let (parts, is_folder) = match entry.strip_suffix("/**") {
            Some(folder) => (folder, true),
            None => (*entry, false),
        };
        let (parts, from): (&str, Option<&[String]>) =
            match (parts.strip_prefix("~/"), parts.strip_prefix('/')) {
                (Some(rest), _) => (rest, Some(&home)),
                (None, Some(rest)) => (rest, Some(&[])),
                (None, None) => (parts, None),
            };
        let parts: Vec<&str> = parts.split('/').collect();
        let is_at = |start: usize| {
            let rest = found.get(start..).unwrap_or_default();
            let is_reached = rest.len() == parts.len() || is_folder && rest.len() > parts.len();
            let is_whole = is_reached && parts.iter().zip(rest).all(|(part, name)| fits(name, part));
            // What is put into a folder that has little else in it may be anything.
            let is_container = matches!(kind, Kind::Tree | Kind::Place)
                && !rest.is_empty()
                && rest.len() < parts.len()
                && rest.iter().zip(&parts).all(|(name, part)| fits(name, part))
                && !COMMON.contains(&rest[rest.len() - 1].as_str());
            is_whole || is_container
        };
        match from {
            Some(from) => starts(found, from) && is_at(from.len()),
            None => (0..found.len()).any(is_at),
        }
    })
}

/// Whether `name`, which may be a pattern of the line's, can be `part`, which may have a `*`.
fn fits(name: &str, part: &str) -> bool {
    if let Some((start, end)) = part.split_once('*') {
        return name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end);
    }
    // A shell's pattern matches a hidden file only if it begins with a dot.
    name == part || (!part.starts_with('.') || name.starts_with('.')) && matches(name, part)
}
