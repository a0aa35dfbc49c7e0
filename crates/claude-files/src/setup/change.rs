//! Adds murmur's entries to a text and removes them, keeping every foreign byte.

use super::style::{Node, Slot, Style};
use super::tree::{Event, Group, Settings};
use super::wanted::Wanted;
use murmur_core::config::edit::layout::{Layout, quoted};
use murmur_core::config::edit::splice::{Splices, spans, without};
use murmur_core::config::json::Object;
use murmur_core::config::problem::Problem;
use serde_json::Value;
use std::path::Path;

/// What happened to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupOutcome {
    /// murmur's hooks were added.
    Configured,
    /// Existing hooks of murmur were replaced or completed.
    Updated,
    /// The hooks were already there.
    AlreadyConfigured,
    /// The hooks were removed.
    Removed,
    /// There were no hooks to remove.
    NotConfigured,
    /// The hooks were left alone: only flat entries were rewritten.
    Untouched,
}

/// Adds each wanted entry to `source` once and removes murmur's other entries; `path` is for messages. A blank text
/// becomes a new file. Fails if `source`, `hooks` or an event has the wrong type.
pub fn set_up(source: &str, wanted: &Wanted, path: &Path) -> Result<(String, SetupOutcome), Problem> {
    let events = wanted.events();
    let settings = Settings::read(source, path, &events)?;
    let had = settings.has_ours();
    let settled = settle(&settings, wanted);
    let text = match settled {
        Some(settled) => add(&Settings::read(&settled, path, &events)?, wanted),
        None => add(&settings, wanted),
    };
    let outcome = match (text == source, had) {
        (true, _) => SetupOutcome::AlreadyConfigured,
        (false, true) => SetupOutcome::Updated,
        (false, false) => SetupOutcome::Configured,
    };
    Ok((text, outcome))
}

/// Removes all of murmur's entries, and the groups, events and `hooks` that become empty.
pub fn remove_hooks(source: &str, path: &Path) -> Result<(String, SetupOutcome), Problem> {
    let settings = Settings::read(source, path, &[])?;
    Ok(match settle(&settings, &Wanted(Vec::new())) {
        Some(text) => (text, SetupOutcome::Removed),
        None => (source.to_owned(), SetupOutcome::NotConfigured),
    })
}

/// What happens to an installed hook.
#[derive(Debug, Clone, PartialEq, Eq)]
enum HookChange {
    Keep,
    Replace(String),
    Remove,
}

/// Updates murmur's entry of each wanted event and removes all others. Returns `None` if there is nothing to change.
fn settle(settings: &Settings<'_>, wanted: &Wanted) -> Option<String> {
    let hooks = settings.hooks.as_ref()?;
    let mut splices = Splices::default();
    let mut gone = vec![false; hooks.object.0.len()];
    let mut changes = false;
    for event in hooks.events.iter().filter(|event| event.has_ours()) {
        let wanted = wanted.0.iter().find(|(name, _)| *name == event.name).map(|(_, group)| group);
        match settle_event(settings, event, wanted, &mut splices) {
            Settled::Same => {}
            Settled::Changed => changes = true,
            // Removing it would activate the earlier duplicate key.
            Settled::Empty if event.is_repeated => {
                splices.replace(settings.span(event.text), "[]");
                changes = true;
            }
            Settled::Empty => {
                if let Some(gone) = gone.get_mut(event.index) {
                    *gone = true;
                }
                changes = true;
            }
        }
    }
    if !changes {
        return None;
    }
    match without(&spans(settings.source, &hooks.object), |index| gone.get(index) == Some(&true)) {
        Some(ranges) => splices.delete(ranges),
        None => remove_hooks_member(settings, hooks.text, &mut splices),
    }
    Some(splices.apply(settings.source))
}

/// Removes the member `hooks` with the value `text`, or empties it if an earlier duplicate key would become active.
fn remove_hooks_member(settings: &Settings<'_>, text: &str, splices: &mut Splices) {
    let members = &settings.root.0;
    let is_own = |index: usize| members.get(index).is_some_and(|member| std::ptr::eq(member.value, text));
    if members.iter().filter(|member| member.name() == "hooks").count() > 1 {
        splices.replace(settings.span(text), "{}");
        return;
    }
    match without(&spans(settings.source, &settings.root), is_own) {
        Some(ranges) => splices.delete(ranges),
        None => splices.replace(settings.span(settings.body), "{}"),
    }
}

/// The result for an event's array.
enum Settled {
    Same,
    Changed,
    /// It would become empty; nothing was done.
    Empty,
}

fn settle_event(
    settings: &Settings<'_>,
    event: &Event<'_>,
    wanted: Option<&Value>,
    splices: &mut Splices,
) -> Settled {
    let wanted = wanted.and_then(|group| group.pointer("/hooks/0"));
    let mut is_there = false;
    let mut changes = Vec::with_capacity(event.groups.len());
    for group in &event.groups {
        let change = |hook: &super::tree::Hook<'_>| match wanted {
            _ if !hook.is_ours => HookChange::Keep,
            Some(wanted) if !is_there && group.matches_all() => {
                is_there = true;
                if hook.value().as_ref() == Some(wanted) {
                    HookChange::Keep
                } else {
                    HookChange::Replace(like(hook.text, wanted))
                }
            }
            _ => HookChange::Remove,
        };
        changes.push(group.hooks.iter().flatten().map(change).collect::<Vec<_>>());
    }
    if changes.iter().flatten().all(|change| *change == HookChange::Keep)
        && !event.groups.iter().any(Group::is_flat_ours)
    {
        return Settled::Same;
    }
    let goes = |index: usize| {
        let hooks = changes.get(index).filter(|changes| !changes.is_empty());
        event.groups.get(index).is_some_and(Group::is_flat_ours)
            || hooks.is_some_and(|changes| changes.iter().all(|change| *change == HookChange::Remove))
    };
    let spans: Vec<_> = event.groups.iter().map(|group| settings.span(group.text)).collect();
    let Some(ranges) = without(&spans, goes) else { return Settled::Empty };
    splices.delete(ranges);
    for (index, (group, changes)) in event.groups.iter().zip(&changes).enumerate() {
        if goes(index) {
            continue;
        }
        let hooks = group.hooks.as_deref().unwrap_or_default();
        let spans: Vec<_> = hooks.iter().map(|hook| settings.span(hook.text)).collect();
        splices.delete(
            without(&spans, |index| changes.get(index) == Some(&HookChange::Remove)).unwrap_or_default(),
        );
        for (change, span) in changes.iter().zip(spans) {
            if let HookChange::Replace(text) = change {
                splices.replace(span, text.as_str());
            }
        }
    }
    Settled::Changed
}

/// `wanted` in the layout of `text`, which it replaces.
fn like(text: &str, wanted: &Value) -> String {
    let layout = Object::parse(text).ok().and_then(|object| Layout::of_object(text, &object));
    let (style, indent) = match &layout {
        Some(layout) => (Style::of(layout), layout.close.rsplit('\n').next().unwrap_or_default()),
        None => (Style::default_for(""), ""),
    };
    style.render(&Node::of(wanted), indent)
}

/// Adds the groups of events without an entry of murmur's.
fn add(settings: &Settings<'_>, wanted: &Wanted) -> String {
    let has = |name: &str| settings.events().any(|event| event.name == name && event.has_ours());
    let missing: Vec<&(String, Value)> = wanted.0.iter().filter(|(name, _)| !has(name)).collect();
    if missing.is_empty() {
        return settings.source.to_owned();
    }
    let list = |group: &Value| Node::List(vec![Node::of(group)]);
    let whole = || Node::Object(missing.iter().map(|(name, group)| (quoted(name), list(group))).collect());
    let default =
        || Slot { style: Style::default_for(settings.source), gap: String::new(), indent: String::new() };
    let mut splices = Splices::default();
    let root = Slot::in_object(settings.body, &settings.root);
    match &settings.hooks {
        None => {
            let hooks = [("\"hooks\"".to_owned(), whole())];
            match (settings.root.0.last(), root) {
                (Some(last), Some(Slot { style, gap, indent })) => {
                    let end = settings.span(last.value).end;
                    let [(key, value)] = &hooks;
                    splices.replace(end..end, format!(",{gap}{}", style.member(key, value, &indent)));
                }
                _ => {
                    let text = default().style.render(&Node::Object(hooks.into()), "");
                    if settings.body.is_empty() {
                        let newline = if settings.source.contains("\r\n") { "\r\n" } else { "\n" };
                        let mark = if settings.source.starts_with('\u{feff}') { "\u{feff}" } else { "" };
                        return format!("{mark}{text}{newline}");
                    }
                    splices.replace(settings.span(settings.body), text);
                }
            }
        }
        Some(hooks) => {
            let outer = root.unwrap_or_else(default);
            let inner = Slot::in_object(hooks.text, &hooks.object);
            let Some(inner) = inner else {
                splices.replace(settings.span(hooks.text), outer.style.render(&whole(), &outer.indent));
                return splices.apply(settings.source);
            };
            let mut members = String::new();
            for (name, group) in missing {
                let Some(event) = hooks.events.iter().find(|event| event.name == *name) else {
                    let member = inner.style.member(&quoted(name), &list(group), &inner.indent);
                    members.push_str(&format!(",{}{member}", inner.gap));
                    continue;
                };
                let groups: Vec<&str> = event.groups.iter().map(|group| group.text).collect();
                match (groups.last(), Slot::in_array(settings.source, event.text, &groups, &inner)) {
                    (Some(last), Some(slot)) => {
                        let end = settings.span(last).end;
                        let group = slot.style.render(&Node::of(group), &slot.indent);
                        splices.replace(end..end, format!(",{}{group}", slot.gap));
                    }
                    _ => splices
                        .replace(settings.span(event.text), inner.style.render(&list(group), &inner.indent)),
                }
            }
            if let Some(last) = hooks.object.0.last() {
                // After changes within the last event's array.
                let end = settings.span(last.value).end;
                splices.replace(end..end, members);
            }
        }
    }
    splices.apply(settings.source)
}
