//! Parses a settings file into borrowed parts: which bytes are which hook. Only checks whether hooks can be added.

use super::ours::is_ours;
use murmur_core::config::json::{self, Member, Object};
use murmur_core::config::problem::{Position, Problem};
use serde_json::Value;
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use sys::failure;

/// JSON whitespace.
const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];

/// A settings file.
#[derive(Debug)]
pub(super) struct Settings<'a> {
    pub(super) source: &'a str,
    /// The root object's text; empty if the file is blank.
    pub(super) body: &'a str,
    pub(super) root: Object<'a>,
    /// The value of `hooks`.
    pub(super) hooks: Option<Hooks<'a>>,
}

/// The value of `hooks`, as text and as members.
#[derive(Debug)]
pub(super) struct Hooks<'a> {
    pub(super) text: &'a str,
    pub(super) object: Object<'a>,
    pub(super) events: Vec<Event<'a>>,
}

/// A member of `hooks`; of duplicate keys the last, which is the active one.
#[derive(Debug)]
pub(super) struct Event<'a> {
    pub(super) name: Cow<'a, str>,
    /// Its index among the members.
    pub(super) index: usize,
    /// Whether an earlier member has the same name.
    pub(super) is_repeated: bool,
    pub(super) text: &'a str,
    pub(super) groups: Vec<Group<'a>>,
}

/// An element of an event's array.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) text: &'a str,
    /// Its members; empty if it is not an object.
    pub(super) object: Object<'a>,
    /// Its hooks, if it has an array of them.
    pub(super) hooks: Option<Vec<Hook<'a>>>,
}

/// An element of a group's `hooks`.
#[derive(Debug)]
pub(super) struct Hook<'a> {
    pub(super) text: &'a str,
    pub(super) is_ours: bool,
}

impl<'a> Settings<'a> {
    /// Parses `source`; `path` is for messages. A blank text is an empty object. Fails if the root or `hooks` is not an
    /// object, or one of `events` is not an array.
    pub(super) fn read(source: &'a str, path: &Path, events: &[&str]) -> Result<Self, Problem> {
        let body = source.strip_prefix('\u{feff}').unwrap_or(source).trim_matches(BLANK);
        if body.is_empty() {
            return Ok(Self { source, body, root: Object::default(), hooks: None });
        }
        let root = Object::parse(body).map_err(|error| not_json(source, body, path, &error))?;
        let hooks = match root.get("hooks") {
            None => None,
            Some(member) if member.value.starts_with('{') => Some(Hooks::read(member.value)?),
            Some(member) => return Err(wrong(source, path, "hooks", member.value, "an object, {}")),
        };
        for event in hooks.iter().flat_map(|hooks| &hooks.events) {
            if events.contains(&event.name.as_ref()) && !event.text.starts_with('[') {
                return Err(wrong(
                    source,
                    path,
                    &format!("hooks.{}", event.name),
                    event.text,
                    "an array, []",
                ));
            }
        }
        Ok(Self { source, body, root, hooks })
    }

    /// The active events.
    pub(super) fn events(&self) -> impl Iterator<Item = &Event<'a>> {
        self.hooks.iter().flat_map(|hooks| &hooks.events)
    }

    /// Whether it has hooks of murmur's.
    pub(super) fn has_ours(&self) -> bool {
        self.events().any(Event::has_ours)
    }

    /// The range of `part`.
    pub(super) fn span(&self, part: &str) -> Range<usize> {
        json::span(self.source, part)
    }
}

impl<'a> Hooks<'a> {
    fn read(text: &'a str) -> Result<Self, Problem> {
        let object = Object::parse(text).unwrap_or_default();
        let names: Vec<Cow<'a, str>> = object.0.iter().map(Member::name).collect();
        let mut events = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            if names.iter().skip(index + 1).any(|later| later == name) {
                continue;
            }
            let Some(member) = object.0.get(index) else { continue };
            let groups = json::elements(member.value).unwrap_or_default();
            events.push(Event {
                name: name.clone(),
                index,
                is_repeated: names.iter().take(index).any(|earlier| earlier == name),
                text: member.value,
                groups: groups.into_iter().map(Group::read).collect(),
            });
        }
        Ok(Self { text, object, events })
    }
}

impl Event<'_> {
    pub(super) fn has_ours(&self) -> bool {
        self.groups.iter().any(Group::has_ours)
    }
}

impl<'a> Group<'a> {
    fn read(text: &'a str) -> Self {
        let object =
            if text.starts_with('{') { Object::parse(text).unwrap_or_default() } else { Object::default() };
        let hooks = object.get("hooks").filter(|member| member.value.starts_with('['));
        let hooks = hooks.map(|member| {
            let found = json::elements(member.value).unwrap_or_default();
            found
                .into_iter()
                .map(|text| Hook { text, is_ours: command(text).is_some_and(|found| is_ours(&found)) })
                .collect()
        });
        Self { text, object, hooks }
    }

    /// The command of a flat entry, a form that Claude Code does not support.
    pub(super) fn flat_command(&self) -> Option<Cow<'a, str>> {
        if self.object.get("hooks").is_some() {
            return None;
        }
        json::string(self.object.get("command")?.value)
    }

    /// Whether it is a flat entry of ours.
    pub(super) fn is_flat_ours(&self) -> bool {
        self.flat_command().is_some_and(|command| is_ours(&command))
    }

    pub(super) fn has_ours(&self) -> bool {
        self.is_flat_ours() || self.hooks.iter().flatten().any(|hook| hook.is_ours)
    }

    /// Whether its matcher matches everything.
    pub(super) fn matches_all(&self) -> bool {
        match self.object.get("matcher") {
            None => true,
            Some(member) => json::string(member.value).is_some_and(|matcher| matches!(&*matcher, "" | "*")),
        }
    }
}

impl Hook<'_> {
    pub(super) fn value(&self) -> Option<Value> {
        serde_json::from_str(self.text).ok()
    }
}

fn command(hook: &str) -> Option<Cow<'_, str>> {
    if !hook.starts_with('{') {
        return None;
    }
    let object = Object::parse(hook).ok()?;
    json::string(object.get("command")?.value)
}

/// Decodes a file's bytes as UTF-8.
pub(super) fn text_of<'a>(bytes: &'a [u8], path: &Path) -> Result<&'a str, Problem> {
    std::str::from_utf8(bytes).map_err(|error| {
        let start = String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default());
        let what = failure!("byte {} is not UTF-8", error.valid_up_to(); "save the file as UTF-8");
        Problem::at(path, Position::of(&start, start.len()), what)
    })
}

/// The position of `part`, not counting a byte order mark.
pub(super) fn place(source: &str, part: &str) -> Position {
    let place = Position::of(source, json::span(source, part).start);
    let marked = place.line == 1 && source.starts_with('\u{feff}') && place.column > 1;
    Position { column: place.column - u32::from(marked), ..place }
}

fn not_json(source: &str, body: &str, path: &Path, error: &serde_json::Error) -> Problem {
    if error.is_data() {
        let what =
            failure!("it is {}, not an object", kind(body); "correct it; Claude Code ignores the file");
        return Problem::at(path, place(source, body), what);
    }
    let line =
        body.split('\n').take(error.line().saturating_sub(1)).map(|line| line.len() + 1).sum::<usize>();
    // The column is that of the last byte read.
    let mut at = (line + error.column()).saturating_sub(1).min(body.len());
    // For an invalid word, report its start.
    if json::message(error) == "expected ident" {
        let word = body.as_bytes().get(..at).unwrap_or_default();
        at -= word.iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
    }
    while !body.is_char_boundary(at) {
        at -= 1;
    }
    let rest = body.get(at..).unwrap_or_default();
    let what = if rest.starts_with('/') || body.get(..at).unwrap_or_default().ends_with('/') {
        "JSON has no comments".to_owned()
    } else {
        format!("this is not JSON ({})", json::message(error))
    };
    let what = failure!(
        "{what}, and Claude Code ignores the file";
        "correct it there or just before, and run this again"
    );
    Problem::at(path, place(source, rest), what)
}

fn wrong(source: &str, path: &Path, key: &str, value: &str, accepted: &str) -> Problem {
    let what = failure!(
        "{key} is {}, so hooks cannot be added", kind(value);
        "make it {accepted}, or remove it"
    );
    Problem::at(path, place(source, value), what)
}

/// The type of a JSON value.
pub(super) fn kind(value: &str) -> &'static str {
    match value.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        _ => "a number",
    }
}
