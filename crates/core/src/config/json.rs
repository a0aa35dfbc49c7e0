//! Splits JSON text into borrowed parts, so that errors can name a position and edits can change few bytes.
//!
//! Everything borrows from one source text and is decoded only on demand.
//!
//! We don't use jsonc-parser's syntax tree: it splits a one-line object or array into several lines when something is
//! added, and leaves a line break behind when an added entry is removed.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// One `"key": value` of an object, both as written.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// The key, with its quotes.
    pub key: &'a str,
    /// The value.
    pub value: &'a str,
}

impl<'a> Member<'a> {
    /// Returns the key without quotes and escapes.
    #[must_use]
    pub fn name(&self) -> Cow<'a, str> {
        string(self.key).unwrap_or(Cow::Borrowed(self.key))
    }
}

/// The members of an object in order, including duplicate keys.
#[derive(Debug, Default)]
pub struct Object<'a>(pub Vec<Member<'a>>);

impl<'a> Object<'a> {
    /// Reads an object's members, and nothing inside their values.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the member with this key. Of duplicates, the last one counts, as in common JSON parsers.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Member<'a>> {
        self.0.iter().rev().find(|member| member.name() == key).copied()
    }
}

/// Returns the elements of an array, as written.
pub fn elements(text: &str) -> Result<Vec<&str>, serde_json::Error> {
    let raw: Vec<&RawValue> = serde_json::from_str(text)?;
    Ok(raw.into_iter().map(RawValue::get).collect())
}

/// Decodes a JSON string; `None` if the text is another value.
#[must_use]
pub fn string(text: &str) -> Option<Cow<'_, str>> {
    match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Some(Cow::Borrowed(plain)),
        Some(_) => serde_json::from_str(text).ok().map(Cow::Owned),
        None => None,
    }
}

/// Returns the bytes of `source` that `part`, a slice of it, covers.
#[must_use]
pub fn span(source: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(source.as_ptr() as usize);
    start..start + part.len()
}

/// Returns serde_json's message without the position, which counts from the wrong start.
#[must_use]
pub fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ").and_then(|end| text.get(..end)).unwrap_or(&text).to_owned()
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
        let mut members = Vec::with_capacity(6);
        while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            members.push(Member { key: key.get(), value: value.get() });
        }
        Ok(Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Object<'de>, A::Error> {
        Err(serde::de::Error::invalid_type(serde::de::Unexpected::Seq, &self))
    }
}
