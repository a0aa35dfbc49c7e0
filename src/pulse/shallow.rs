//! JSON that others wrote, read one level at a time: in comes a text, out go its members, each as it was written.
//!
//! However deep it is, nothing recurses, and what is not asked for is not looked into. Half of a surrogate pair, which
//! JavaScript writes where it has cut a text, is a character that cannot be shown and no error.

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The members of an object, in their order.
#[derive(Debug, Default)]
pub struct Object<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Object<'a> {
    /// The object that `text` is.
    pub fn parse(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// The member of that name; the last one, as JavaScript has it. `null` counts as none.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().rev().find(|(found, _)| found == name);
        found.map(|(_, value)| *value).filter(|value| value.get() != "null")
    }

    /// The text of that name; `None` where it is not there, or no text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(text)
    }

    /// Every member.
    pub fn members(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

/// The text that `value` is; `None` if it is none.
#[must_use]
pub fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok().map(|Text(text)| text)
}

/// The elements of the array that `value` is; none if it is none.
#[must_use]
pub fn elements(value: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(value.get()).unwrap_or_default()
}

struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_bytes(TextVisitor).map(Self)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = String;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a text")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<String, E> {
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(ObjectVisitor).map(Self)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Text(name), value)) = map.next_entry()? {
            members.push((name, value));
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_had_by_their_names_and_whatever_else_there_is_does_not_matter() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let json = format!(r#"{{"a":"one","b":{deep},"c":null,"half":"x\ud83dy","\udc00":1,"a":"two"}}"#);
        let object = Object::parse(&json).unwrap();
        assert_eq!(object.text("a").as_deref(), Some("two"));
        assert_eq!(object.get("b").unwrap().get(), deep);
        assert!(object.get("c").is_none() && object.get("d").is_none() && object.text("b").is_none());
        let half = object.text("half").unwrap();
        assert!(half.starts_with('x') && half.ends_with('y') && half.contains('\u{fffd}'), "{half}");
        assert_eq!(object.members().count(), 6);
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        for text in ["", "[]", "\"a\"", "{\"a\":1", "{\"a\":1}x", "{\"a\":}"] {
            assert!(Object::parse(text).is_err(), "{text}");
        }
    }
}
