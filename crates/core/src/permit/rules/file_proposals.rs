//! The rules that a person can choose from for a call that names files, from one folder up to the workspace.

use std::path::Path;

use super::Proposal;
use super::call_paths::{CallPaths, SEARCHES};
use super::decide::Reading;
use shell_guard::call::Call;

/// Tools that only read files, for which a rule may cover the whole workspace.
const READERS: [&str; 2] = ["Read", "NotebookRead"];

/// The rules that cover more than exactly these files: those for a searched folder, for the folder that has all of the
/// files, for the topmost folder that has it, and for the workspace, as far as these are inside it.
pub(super) fn folders(call: &Call, reading: Reading<'_>) -> Vec<Proposal> {
    let paths = CallPaths::of(call, reading.links);
    let Some(forms) = paths.plain() else { return Vec::new() };
    let inside: Vec<&Path> =
        forms.iter().filter_map(|form| Path::new(form).strip_prefix(&call.place.workspace).ok()).collect();
    let searches = SEARCHES.contains(&call.tool.as_str());
    let folder = common(&inside, searches);
    let mut rules = Vec::new();
    let is_all = folder == Some("") && inside.len() == forms.len();
    if searches && !is_all {
        rules.push(searched(&forms, &inside));
    }
    let what = if searches { "search of" } else { "file in" };
    if let Some(folder) = folder.filter(|folder| is_ordinary(folder)) {
        let rule = |folder: &str| {
            let or_below = if searches { "or a folder in it" } else { "" };
            let covers = format!("every {what} {folder}/ {or_below}").trim_end().to_owned();
            Proposal { patterns: vec![format!("/{folder}/**")], covers }
        };
        rules.push(rule(folder));
        let top = folder.split('/').next().unwrap_or_default();
        if top != folder {
            rules.push(rule(top));
        }
    }
    if folder.is_some() && (searches || READERS.contains(&call.tool.as_str())) {
        let covers = if searches { "every search in the workspace" } else { "every file in the workspace" };
        rules.push(Proposal { patterns: vec!["/**".to_owned()], covers: covers.to_owned() });
    }
    rules
}

/// The folder, relative to the workspace, that has all of these files, or all of these searched folders.
fn common<'a>(inside: &[&'a Path], searches: bool) -> Option<&'a str> {
    let first = *inside.first()?;
    let first = if searches { first } else { first.parent()? };
    first.ancestors().find(|folder| inside.iter().all(|path| path.starts_with(folder)))?.to_str()
}

/// The rule for searches of exactly these folders.
fn searched(forms: &[&str], inside: &[&Path]) -> Proposal {
    let relative: Vec<String> = inside.iter().map(|path| path.display().to_string()).collect();
    // A link leads out of the workspace.
    let absolute = || forms.iter().map(|form| (*form).to_owned()).collect();
    let folders: Vec<String> = if relative.len() == forms.len() { relative } else { absolute() };
    Proposal {
        patterns: folders.iter().map(|folder| format!("/{folder}")).collect(),
        covers: format!("every search of {}", folders.join(" and ")),
    }
}

/// Whether a folder has a name, and is not hidden, such as `.git`.
fn is_ordinary(folder: &str) -> bool {
    !folder.is_empty() && !folder.split('/').any(|name| name.starts_with('.'))
}
