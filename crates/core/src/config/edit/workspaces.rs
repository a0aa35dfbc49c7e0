//! Adds and removes entries of `workspaces`.

use std::path::Path;

use super::EditError;
use super::layout::{self, Layout, after_comma, quoted};
use super::member;
use super::splice::{Splices, splice, without};
use crate::config::backend::Backend;
use crate::config::file::Text;
use crate::config::interval::Interval;
use crate::config::json::{self, Object};

/// A new entry. Keys that are `None` are left out.
#[derive(Debug, Clone, Copy)]
pub struct NewWorkspace<'a> {
    /// The folder's absolute path.
    pub path: &'a Path,
    /// Its name.
    pub name: Option<&'a str>,
    /// The time from one run to the next. Not together with `cron`.
    pub interval: Option<Interval>,
    /// Five cron fields.
    pub cron: Option<&'a str>,
    /// The time zone of `cron`.
    pub tz: Option<&'a str>,
    /// The program that runs its agents.
    pub agent: Option<&'a Backend>,
}

impl NewWorkspace<'_> {
    fn members(&self) -> Result<Vec<(&'static str, String)>, EditError> {
        let path = self.path.to_str().ok_or_else(|| EditError::NotUtf8 { path: self.path.to_owned() })?;
        let given = [
            ("path", Some(quoted(path))),
            ("name", self.name.map(quoted)),
            ("interval", self.interval.map(|interval| quoted(&interval.to_string()))),
            ("cron", self.cron.map(quoted)),
            ("tz", self.tz.map(quoted)),
            ("agent", self.agent.map(|agent| quoted(&agent.to_string()))),
            ("lastRun", Some("null".to_owned())),
        ];
        Ok(given.into_iter().filter_map(|(key, value)| Some((key, value?))).collect())
    }
}

/// Adds an entry after the last one, in its layout. An empty text becomes a new file.
pub fn add_workspace(source: &str, new: &NewWorkspace<'_>) -> Result<String, EditError> {
    let members = new.members()?;
    let text = text(source)?;
    if text.body().trim().is_empty() {
        let list = list(&members, &Layout::lines("\n", "", "  "));
        return Ok(format!("{{\n  \"workspaces\": {list}\n}}\n"));
    }
    let body = text.body();
    let root = text.object(body)?;
    let object = body.trim();
    let outer = Layout::of_object(object, &root).unwrap_or_else(|| Layout::lines("\n", "", "  "));
    let Some(found) = root.get("workspaces").filter(|member| member.value != "null") else {
        let list = list(&members, &outer);
        let changed = if root.0.is_empty() {
            layout::object(&[("workspaces", list)], &outer)
        } else {
            member::set(object, "workspaces", &list)
        };
        return Ok(source.replacen(object, &changed, 1));
    };
    let entries = text.entries(&found)?;
    if entries.iter().any(|entry| has_path(entry, new.path)) {
        return Err(EditError::Known { path: new.path.to_owned() });
    }
    let whole = json::span(source, found.value);
    let (range, new) = match entries.last() {
        None => (whole, list(&members, &outer)),
        Some(last) => {
            let end = json::span(source, last).end;
            let (gap, like) = (gap(source, whole.start, &entries), Object::parse(last).unwrap_or_default());
            let layout = Layout::of_object(last, &like).unwrap_or_else(|| {
                if gap.contains('\n') {
                    Layout::lines("\n", gap.rsplit('\n').next().unwrap_or_default(), "  ")
                } else {
                    Layout::inline()
                }
            });
            (end..end, format!(",{gap}{}", layout::object(&members, &layout)))
        }
    };
    Ok(splice(source, range, &new))
}

/// Removes every entry of `path`; an error if there is none.
pub fn remove_workspace(source: &str, path: &Path) -> Result<String, EditError> {
    let unknown = || EditError::Unknown { path: path.to_owned() };
    let text = text(source)?;
    if text.body().trim().is_empty() {
        return Err(unknown());
    }
    let root = text.object(text.body())?;
    let found = root.get("workspaces").filter(|member| member.value != "null").ok_or_else(unknown)?;
    let entries = text.entries(&found)?;
    let gone: Vec<bool> = entries.iter().map(|entry| has_path(entry, path)).collect();
    if !gone.contains(&true) {
        return Err(unknown());
    }
    let spans: Vec<_> = entries.iter().map(|entry| json::span(source, entry)).collect();
    let mut splices = Splices::default();
    match without(&spans, |index| gone.get(index) == Some(&true)) {
        Some(ranges) => splices.delete(ranges),
        None => splices.replace(json::span(source, found.value), "[]"),
    }
    Ok(splices.apply(source))
}

/// A list with one entry, as a value in an object with the layout `outer`.
fn list(members: &[(&str, String)], outer: &Layout) -> String {
    if !outer.is_lines() {
        return format!(
            "[{}]",
            layout::object(members, &Layout { colon: outer.colon.clone(), ..Layout::inline() })
        );
    }
    let (newline, indent, unit) = (outer.newline(), outer.indent(), outer.unit());
    let inner =
        Layout { colon: outer.colon.clone(), ..Layout::lines(newline, &format!("{indent}{unit}"), unit) };
    format!("[{newline}{indent}{unit}{}{newline}{indent}]", layout::object(members, &inner))
}

/// The whitespace before an entry.
fn gap<'a>(source: &'a str, list: usize, entries: &[&str]) -> &'a str {
    let start = |index: usize| entries.get(index).map(|entry| json::span(source, entry));
    let (Some(first), last) = (start(0), entries.len() - 1) else { return "" };
    let between = match (last.checked_sub(1).and_then(start), start(last)) {
        (Some(before), Some(last)) => source.get(before.end..last.start).map(after_comma),
        _ => source.get(list + 1..first.start),
    };
    between.unwrap_or_default()
}

pub(super) fn has_path(entry: &str, path: &Path) -> bool {
    let member = Object::parse(entry).ok().and_then(|object| object.get("path"));
    member
        .and_then(|member| json::string(member.value))
        .is_some_and(|found| Path::new(found.as_ref()) == path)
}

pub(super) fn text(source: &str) -> Result<Text<'_>, EditError> {
    Ok(crate::config::file::text_of(source.as_bytes(), Path::new("config.json"))?)
}
