//! Rewrites hooks in the flat form, `{"matcher", "command"}`, to the one that Claude Code reads.

use super::flaw::known_events;
use super::style::{Node, Slot, Style};
use super::tree::{Group, Settings};
use murmur_core::config::edit::layout::Layout;
use murmur_core::config::edit::splice::Splices;
use murmur_core::config::problem::Problem;
use std::path::Path;

/// Nests every flat entry in `source`, and returns the text and the entries, such as `hooks.PostToolUse[0]`. Nothing
/// else changes; `path` is for messages.
pub fn fix_flat(source: &str, path: &Path) -> Result<(String, Vec<String>), Problem> {
    let settings = Settings::read(source, path, &[])?;
    let mut splices = Splices::default();
    let mut entries = Vec::new();
    for event in known_events(&settings) {
        for (index, group) in event.groups.iter().enumerate() {
            if group.flat_command().is_some() {
                entries.push(format!("hooks.{}[{index}]", event.name));
                splices.replace(settings.span(group.text), nested(group, source));
            }
        }
    }
    Ok((splices.apply(source), entries))
}

/// The group with everything but its matcher moved to a nested hook.
fn nested(group: &Group<'_>, source: &str) -> String {
    let member = |member: &murmur_core::config::json::Member<'_>| {
        (member.key.to_owned(), Node::Leaf(member.value.to_owned()))
    };
    let (mut outer, mut inner) = (Vec::new(), Vec::new());
    if group.object.get("type").is_none() {
        inner.push(("\"type\"".to_owned(), Node::Leaf("\"command\"".to_owned())));
    }
    for found in &group.object.0 {
        if found.name() == "matcher" { &mut outer } else { &mut inner }.push(member(found));
    }
    outer.push(("\"hooks\"".to_owned(), Node::List(vec![Node::Object(inner)])));
    let style = Slot::in_object(group.text, &group.object)
        .map_or_else(|| Style::default_for(source), |slot| slot.style);
    let layout = Layout::of_object(group.text, &group.object);
    let indent =
        layout.as_ref().map_or("", |layout| layout.close.rsplit_once('\n').map_or("", |(_, indent)| indent));
    style.render(&Node::Object(outer), indent)
}
