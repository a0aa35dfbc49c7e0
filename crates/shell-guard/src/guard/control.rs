//! Changes to murmur itself, or to what controls an agent's next run: settings, hooks, startup files, units, crontabs.
//!
//! Changes to what belongs to murmur ([`ProtectedPaths`]) are always refused; a rule can allow the files in [`TABLE`]
//! by name. HEARTBEAT.md is in neither: an agent may edit its own, and its frontmatter can only make limits stricter.

mod files;

use super::access::{Access, AccessKind};
use super::path;
use crate::call::ProtectedPaths;
use crate::shell::field::matches;
use crate::shell::{Field, Scope};
use std::path::PathBuf;
use std::sync::LazyLock;

pub(crate) use files::TABLE;

/// Names too common to identify an entry: a rule with only these names nothing.
const COMMON: [&str; 8] = [".config", ".local", "etc", "share", "bin", "lib", "usr", "local"];

/// A protected file that a command would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// A file that belongs to murmur.
    Own(String),
    /// A file that controls the next run: the path as written, and its entry in [`TABLE`].
    Control(String, &'static str),
}

/// The entry of [`ProtectedPaths::gates`], which no allow rule names.
const GATE: &str = "a gate of a heartbeat";

/// Returns the first protected file among `touched`. murmur's own files come first.
pub(super) fn find_change(accesses: &[Access], scope: &Scope, own: &ProtectedPaths) -> Option<Change> {
    let forms = |access: &Access| forms(&access.path, scope);
    let is_in = |access: &Access, paths: &[PathBuf]| {
        forms(access).iter().any(|names| is_among(names, access.kind, paths, scope))
    };
    if let Some(access) = accesses.iter().find(|access| is_in(access, &own.paths)) {
        return Some(Change::Own(access.path.to_string()));
    }
    // Not `Tree`: unpacking into the workspace or checking out a branch is common, and rarely names them.
    let changes = |kind| matches!(kind, AccessKind::Write | AccessKind::Replace | AccessKind::Remove);
    if let Some(access) = accesses.iter().find(|access| changes(access.kind) && is_in(access, &own.gates)) {
        return Some(Change::Control(access.path.to_string(), GATE));
    }
    accesses.iter().filter(|access| access.kind.writes()).find_map(|access| {
        let entry = forms(access).iter().find_map(|names| entry(names, access.kind, scope))?;
        Some(Change::Control(access.path.to_string(), entry))
    })
}

/// Whether `path` is murmur's own or inside a folder of murmur's.
pub(super) fn is_own_path(path: &Field, scope: &Scope, own: &ProtectedPaths) -> bool {
    forms(path, scope).iter().any(|names| is_among(names, AccessKind::Write, &own.paths, scope))
}

/// Whether `pattern`, of an allow rule, names the files of `entry`. `~/.bashrc` does; `/**` doesn't.
#[must_use]
pub fn pattern_names_entry(entry: &str, pattern: &str) -> bool {
    let names =
        entry.split('/').filter(|name| name.len() > 2 && !name.contains('*') && !COMMON.contains(name));
    let stems = entry
        .split(['/', '*'])
        .filter(|name| entry.contains('*') && name.len() > 3 && !COMMON.contains(name));
    names.chain(stems).any(|name| pattern.contains(name))
}

/// The path's components, in each form that it can resolve to.
fn forms(path: &Field, scope: &Scope) -> Vec<Vec<String>> {
    if path.marked().is_empty() {
        return Vec::new();
    }
    [path::resolve_target(path, scope), path::resolve(path, scope)].concat()
}

fn names(path: &str) -> Vec<String> {
    path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn is_among(found: &[String], kind: AccessKind, paths: &[PathBuf], scope: &Scope) -> bool {
    let workspace = scope.workspace().map(|workspace| names(workspace.marked())).unwrap_or_default();
    paths.iter().any(|path| {
        let path = names(&path.to_string_lossy());
        // A workspace inside murmur's data folder belongs to the agent.
        let is_within =
            is_inside(found, &path) && !(is_inside(&workspace, &path) && is_inside(found, &workspace));
        let is_around = is_inside(&path, found) && !found.is_empty();
        let is_folder = path.len() == found.len() + 1 && is_around;
        is_within && !path.is_empty()
            || match kind {
                AccessKind::Write | AccessKind::Replace | AccessKind::Read => false,
                AccessKind::Tree => is_folder,
                AccessKind::Remove => is_around,
            }
    })
}

/// Whether `found` is `path` or below it. Components of `found` may be glob patterns.
fn is_inside(found: &[String], path: &[String]) -> bool {
    path.len() <= found.len() && path.iter().zip(found).all(|(name, found)| component_matches(found, name))
}

/// A parsed entry of [`TABLE`].
struct Entry {
    text: &'static str,
    base: Base,
    parts: Vec<&'static str>,
    /// Whether everything below is included, too.
    is_folder: bool,
}

/// What an entry's path is relative to.
enum Base {
    Home,
    Root,
    Anywhere,
}

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let parse = |text: &&'static str| {
        let (path, is_folder) = text.strip_suffix("/**").map_or((*text, false), |folder| (folder, true));
        let (base, path) = match (path.strip_prefix("~/"), path.strip_prefix('/')) {
            (Some(rest), _) => (Base::Home, rest),
            (None, Some(rest)) => (Base::Root, rest),
            (None, None) => (Base::Anywhere, path),
        };
        Entry { text, base, parts: path.split('/').collect(), is_folder }
    };
    TABLE.iter().map(parse).collect()
});

fn entry(found: &[String], kind: AccessKind, scope: &Scope) -> Option<&'static str> {
    let home = scope.home().map(|home| names(home.marked())).unwrap_or_default();
    let is_about = |entry: &&Entry| {
        let is_at = |start: usize| entry.is_at(found.get(start..).unwrap_or_default(), kind);
        match entry.base {
            Base::Home => is_inside(found, &home) && is_at(home.len()),
            Base::Root => is_at(0),
            Base::Anywhere => (0..found.len()).any(is_at),
        }
    };
    ENTRIES.iter().find(is_about).map(|entry| entry.text)
}

impl Entry {
    /// Whether an access to `rest`, relative to the entry's base, may change the entry's files.
    fn is_at(&self, rest: &[String], kind: AccessKind) -> bool {
        let parts = &self.parts;
        let is_reached = rest.len() == parts.len() || self.is_folder && rest.len() > parts.len();
        let is_whole = is_reached && parts.iter().zip(rest).all(|(part, name)| component_matches(name, part));
        // Unpacking into a folder dedicated to such files may create any of them.
        let is_container = matches!(kind, AccessKind::Tree | AccessKind::Replace)
            && !rest.is_empty()
            && rest.len() < parts.len()
            && rest.iter().zip(parts).all(|(name, part)| component_matches(name, part))
            && !COMMON.contains(&rest[rest.len() - 1].as_str());
        is_whole || is_container
    }
}

/// Whether `name`, possibly a glob from the command line, can match `part`, which may contain `*`.
fn component_matches(name: &str, part: &str) -> bool {
    if let Some((start, end)) = part.split_once('*') {
        return name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end);
    }
    // A shell glob matches a hidden file only if it starts with a dot.
    name == part || (!part.starts_with('.') || name.starts_with('.')) && matches(name, part)
}
