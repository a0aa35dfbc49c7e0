//! The files that a call names, with every form of their paths, so that neither `..` nor a link can disguise one.

use std::path::{Component, Path, PathBuf};

use super::Pattern;
use super::path::Origin;
use shell_guard::call::{Call, CallPlace};
use shell_guard::links::resolve;

/// Returns the target of a symbolic link; `None` if the path is not a link or doesn't exist.
pub(super) type Links<'a> = &'a dyn Fn(&Path) -> Option<PathBuf>;

/// The tools whose patterns are paths.
pub(super) const PATH_TOOLS: [&str; 9] =
    ["Read", "Edit", "MultiEdit", "Write", "NotebookEdit", "NotebookRead", "Glob", "Grep", "LS"];

/// Those among them whose path is the folder searched.
pub(super) const SEARCHES: [&str; 3] = ["Glob", "Grep", "LS"];

/// The paths of a call, in every form.
pub(super) struct CallPaths<'a> {
    bases: Bases<'a>,
    /// As written, without `..`, and with links resolved; no duplicates.
    forms: Vec<PathBuf>,
    /// Whether the forms are complete.
    is_known: bool,
}

/// The folders that patterns are relative to, each as written and with links resolved.
pub(super) struct Bases<'a> {
    links: Links<'a>,
    cwd: PathBuf,
    home: PathBuf,
    workspaces: Vec<PathBuf>,
    homes: Vec<PathBuf>,
    working_folders: Vec<PathBuf>,
    /// Whether the agent's working folder is in its workspace.
    is_in_workspace: bool,
}

impl<'a> Bases<'a> {
    pub(super) fn new(place: &CallPlace, links: Links<'a>) -> Self {
        let both = |path: &Path| {
            let mut forms = vec![without_dots(path)];
            forms.extend(resolve(path, links).filter(|real| *real != forms[0]));
            forms
        };
        let (workspaces, homes) = (both(&place.workspace), both(&place.home));
        let working_folders = both(&place.cwd);
        let is_inside = |folder: &PathBuf| workspaces.iter().any(|workspace| folder.starts_with(workspace));
        let is_in_workspace = working_folders.iter().all(is_inside);
        let (cwd, home) = (place.cwd.clone(), place.home.clone());
        Self { links, cwd, home, workspaces, homes, working_folders, is_in_workspace }
    }

    /// The forms of a path given to a tool or a shell; `None` if its links can't be resolved.
    fn forms(&self, text: &str) -> Option<Vec<PathBuf>> {
        let path = match text.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => self.home.join(rest.trim_start_matches('/')),
            _ => self.cwd.join(text),
        };
        let plain = without_dots(&path);
        // Programs differ in whether they remove `..` before or after they resolve links.
        let (before, after) = (resolve(&plain, self.links)?, resolve(&path, self.links)?);
        let mut forms = vec![plain];
        for form in [before, after] {
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        Some(forms)
    }

    /// Whether a file that a shell would write is in the workspace, in all forms of its path.
    pub(super) fn is_inside(&self, text: &str) -> bool {
        let inside = |form: &PathBuf| self.workspaces.iter().any(|workspace| form.starts_with(workspace));
        self.forms(text).is_some_and(|forms| forms.iter().all(inside))
    }

    /// Where the stem of a pattern leads. With `widely`, for patterns that deny, from every possible origin and with
    /// links resolved.
    fn stems(&self, pattern: &super::path::PathPattern, widely: bool) -> Vec<PathBuf> {
        let root = [PathBuf::from("/")];
        let (bases, more): (&[PathBuf], &[PathBuf]) = match pattern.origin {
            Origin::Workspace => (&self.workspaces, &[]),
            Origin::Root => (&root, &[]),
            Origin::Home => (&self.homes, &[]),
            Origin::WorkingFolder if widely => (&self.working_folders, &self.workspaces),
            // Outside its workspace, the agent chose the folder itself.
            Origin::WorkingFolder if self.is_in_workspace => (&self.working_folders, &[]),
            Origin::WorkingFolder => (&self.workspaces, &[]),
        };
        let mut stems: Vec<PathBuf> = bases.iter().chain(more).map(|base| base.join(&pattern.stem)).collect();
        if widely {
            let real: Vec<PathBuf> = stems.iter().filter_map(|stem| resolve(stem, self.links)).collect();
            stems.extend(real);
        }
        stems
    }
}

impl<'a> CallPaths<'a> {
    /// The paths in a call of a path tool.
    pub(super) fn of(call: &Call, links: Links<'a>) -> Self {
        let bases = Bases::new(&call.place, links);
        let texts = texts(call);
        let mut forms = Vec::new();
        let mut is_known = texts.is_some();
        for text in texts.unwrap_or_default() {
            let trimmed = text.trim();
            let spellings = [text.as_str(), trimmed];
            for spelling in &spellings[..if trimmed == text { 1 } else { 2 }] {
                match bases.forms(spelling) {
                    Some(found) => forms.extend(found),
                    None => is_known = false,
                }
            }
        }
        Self { bases, forms, is_known }
    }

    /// Every form, if each is a pattern as it is.
    pub(super) fn plain(&self) -> Option<Vec<&str>> {
        let plain = |form: &'_ PathBuf| form.to_str().is_some_and(is_plain);
        let all = self.is_known && !self.forms.is_empty() && self.forms.iter().all(plain);
        all.then(|| self.forms.iter().filter_map(|form| form.to_str()).collect())
    }

    /// Whether one of `patterns` matches every form.
    pub(super) fn all_match(&self, patterns: &[Pattern]) -> bool {
        let matched = |form: &PathBuf| {
            patterns.iter().filter_map(|pattern| pattern.path.as_ref()).any(|pattern| {
                let stems = self.bases.stems(pattern, false);
                stems.iter().any(|stem| pattern.matches(form, stem, false))
            })
        };
        self.is_known && !self.forms.is_empty() && self.forms.iter().all(matched)
    }

    /// Whether `pattern` matches any form, or a folder that contains one. Also if the forms are not known.
    pub(super) fn any_matches(&self, pattern: &Pattern) -> bool {
        let Some(path) = &pattern.path else { return true };
        let stems = self.bases.stems(path, true);
        !self.is_known
            || self.forms.iter().any(|form| stems.iter().any(|stem| path.matches(form, stem, true)))
    }
}

/// The paths that a call names; `None` if they can't be determined.
fn texts(call: &Call) -> Option<Vec<String>> {
    let keys = ["file_path", "notebook_path", "path"];
    let mut texts: Vec<String> =
        keys.iter().filter_map(|key| call.input.get(key)?.as_str()).map(str::to_owned).collect();
    // A change of several files, as some agents ask about.
    let more = call.input.get("file_paths").and_then(|paths| paths.as_array()).into_iter().flatten();
    texts.extend(more.filter_map(|path| path.as_str()).map(str::to_owned));
    if texts.is_empty() && SEARCHES.contains(&call.tool.as_str()) {
        texts.push(".".to_owned());
    }
    if call.tool == "Glob"
        && let Some(pattern) = call.input.get("pattern").and_then(|pattern| pattern.as_str())
    {
        // The part before the first wildcard can lead elsewhere, as in `../../*`.
        let parts: Vec<&str> = pattern.split('/').collect();
        let special = |part: &&str| part.contains(['*', '?', '[', '{', '\\']);
        let (stem, rest) = parts.split_at(parts.iter().position(special).unwrap_or(parts.len()));
        if rest.iter().any(|part| part.contains("..")) {
            return None;
        }
        let stem = stem.join("/");
        match texts.first() {
            _ if stem.is_empty() && pattern.starts_with('/') => texts.push("/".to_owned()),
            Some(folder) if !stem.starts_with(['/', '~']) => texts.push(format!("{folder}/{stem}")),
            _ => texts.push(stem),
        }
    }
    (!texts.is_empty()).then_some(texts)
}

/// Whether a path has no character that means something else in a pattern.
fn is_plain(path: &str) -> bool {
    !path.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// Removes `.` and `..` without resolving links.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    plain
}
