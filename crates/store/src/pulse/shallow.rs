//! Reads foreign JSON one level at a time: takes a text, returns its members as raw JSON.
//!
//! Nothing recurses, however deep the JSON, and unused members are not parsed. A lone surrogate, which JavaScript
//! writes after cutting a string, becomes a replacement character instead of an error.

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The members of an object, in their order.
#[derive(Debug, Default)]
pub struct Object<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Object<'a> {
    /// Parses an object.
    pub fn parse(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// The member `name`; the last one, as in JavaScript. `null` counts as missing.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().rev().find(|(found, _)| found == name);
        found.map(|(_, value)| *value).filter(|value| value.get() != "null")
    }

    /// The string member `name`, if it is one.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(text)
    }

    /// Every member.
    pub fn members(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

/// `value` as a string, if it is one.
#[must_use]
pub fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok().map(|Text(text)| text)
}

/// The elements of the array `value`; empty if it is not an array.
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
        to.write_str("a string")
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
    fn members_are_found_by_name_and_others_are_not_parsed() {
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
    fn anything_but_an_object_is_an_error() {
        for text in ["", "[]", "\"a\"", "{\"a\":1", "{\"a\":1}x", "{\"a\":}"] {
            assert!(Object::parse(text).is_err(), "{text}");
        }
    }
}
