//! Which files a call is about: every form of their paths, so that neither `..` nor a link shows another one.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::Pattern;
use super::path::Origin;
use crate::permit::call::{Call, Place};

/// What a symbolic link points to; none where `path` is no link or not there.
pub(super) type Links<'a> = &'a dyn Fn(&Path) -> Option<PathBuf>;

/// As many links as the kernel follows.
const MOST_LINKS: u32 = 40;

/// The tools whose patterns are paths.
pub(super) const PATH_TOOLS: [&str; 9] =
    ["Read", "Edit", "MultiEdit", "Write", "NotebookEdit", "NotebookRead", "Glob", "Grep", "LS"];

/// The paths of a call, in every form.
pub(super) struct Paths<'a> {
    bases: Bases<'a>,
    /// As written and without `..`, and with links followed, each once.
    forms: Vec<PathBuf>,
    /// Whether that is all of them.
    is_known: bool,
}

/// What patterns count from, each as it is called and as it is where links are followed.
pub(super) struct Bases<'a> {
    links: Links<'a>,
    cwd: PathBuf,
    home: PathBuf,
    workspaces: Vec<PathBuf>,
    homes: Vec<PathBuf>,
    heres: Vec<PathBuf>,
    /// Whether the agent is within its workspace.
    at_home: bool,
}

impl<'a> Bases<'a> {
    pub(super) fn new(place: &Place, links: Links<'a>) -> Self {
        let both = |path: &Path| {
            let mut forms = vec![without_dots(path)];
            forms.extend(real(path, links).filter(|real| *real != forms[0]));
            forms
        };
        let (workspaces, homes, heres) = (both(&place.workspace), both(&place.home), both(&place.cwd));
        let at_home = heres.iter().all(|here| workspaces.iter().any(|workspace| here.starts_with(workspace)));
        Self { links, cwd: place.cwd.clone(), home: place.home.clone(), workspaces, homes, heres, at_home }
    }

    /// The forms of a path that a tool or a shell was given; none where links lead nowhere.
    fn forms(&self, text: &str) -> Option<Vec<PathBuf>> {
        let path = match text.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => self.home.join(rest.trim_start_matches('/')),
            _ => self.cwd.join(text),
        };
        let plain = without_dots(&path);
        // Some take `..` away before they follow links, others after.
        let (before, after) = (real(&plain, self.links)?, real(&path, self.links)?);
        let mut forms = vec![plain];
        for form in [before, after] {
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        Some(forms)
    }

    /// Whether a file that a shell would write lies in the workspace, whichever way one looks.
    pub(super) fn is_inside(&self, text: &str) -> bool {
        let inside = |form: &PathBuf| self.workspaces.iter().any(|workspace| form.starts_with(workspace));
        self.forms(text).is_some_and(|forms| forms.iter().all(inside))
    }

    /// Where the stem of a pattern leads. `widely` is for those that forbid: then from every place that could be meant,
    /// and with links followed.
    fn stems(&self, pattern: &super::path::PathPattern, widely: bool) -> Vec<PathBuf> {
        let root = [PathBuf::from("/")];
        let (bases, more): (&[PathBuf], &[PathBuf]) = match pattern.origin {
            Origin::Workspace => (&self.workspaces, &[]),
            Origin::Root => (&root, &[]),
            Origin::Home => (&self.homes, &[]),
            Origin::Here if widely => (&self.heres, &self.workspaces),
            // Outside of its workspace an agent is where it brought itself.
            Origin::Here if self.at_home => (&self.heres, &[]),
            Origin::Here => (&self.workspaces, &[]),
        };
        let mut stems: Vec<PathBuf> = bases.iter().chain(more).map(|base| base.join(&pattern.stem)).collect();
        if widely {
            let real: Vec<PathBuf> = stems.iter().filter_map(|stem| real(stem, self.links)).collect();
            stems.extend(real);
        }
        stems
    }
}

impl<'a> Paths<'a> {
    /// The paths of a call of a path tool.
    pub(super) fn of(call: &Call, links: Links<'a>) -> Self {
        let bases = Bases::new(&call.place, links);
        let texts = texts(call);
        let mut forms = Vec::new();
        let mut is_known = texts.is_some();
        for text in texts.unwrap_or_default() {
            let trimmed = text.trim();
            let ways = [text.as_str(), trimmed];
            for way in &ways[..if trimmed == text { 1 } else { 2 }] {
                match bases.forms(way) {
                    Some(found) => forms.extend(found),
                    None => is_known = false,
                }
            }
        }
        Self { bases, forms, is_known }
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

    /// Whether `pattern` matches any form, or a folder that one is in. It does where they are not known.
    pub(super) fn any_matches(&self, pattern: &Pattern) -> bool {
        let Some(path) = &pattern.path else { return true };
        let stems = self.bases.stems(path, true);
        !self.is_known
            || self.forms.iter().any(|form| stems.iter().any(|stem| path.matches(form, stem, true)))
    }
}

/// The paths that a call names; none where that cannot be told.
fn texts(call: &Call) -> Option<Vec<String>> {
    let keys = ["file_path", "notebook_path", "path"];
    let mut texts: Vec<String> =
        keys.iter().filter_map(|key| call.input.get(key)?.as_str()).map(str::to_owned).collect();
    let searches = matches!(call.tool.as_str(), "Glob" | "Grep" | "LS");
    if texts.is_empty() && searches {
        texts.push(".".to_owned());
    }
    if call.tool == "Glob"
        && let Some(pattern) = call.input.get("pattern").and_then(|pattern| pattern.as_str())
    {
        // What comes before the first star leads somewhere of its own, as in `../../*`.
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

/// The path without `.` and `..`, links not followed.
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

/// The path with links followed, part by part, as the kernel does; what is not there is as it is written. None where
/// links lead around in circles.
pub(in crate::permit) fn real(path: &Path, links: Links<'_>) -> Option<PathBuf> {
    let parts = |path: &Path| -> Vec<OsString> {
        let named =
            path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
        named.map(|part| part.as_os_str().to_owned()).rev().collect()
    };
    let mut done = PathBuf::from("/");
    let mut to_do = parts(path);
    let mut followed = 0;
    while let Some(part) = to_do.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        done.push(part);
        let Some(target) = links(&done) else { continue };
        followed += 1;
        if followed > MOST_LINKS {
            return None;
        }
        done.pop();
        if target.is_absolute() {
            done = PathBuf::from("/");
        }
        to_do.extend(parts(&target));
    }
    Some(done)
}
