//! Counts what a parser doesn't know: types of lines, and their fields. Every release of an agent may add some; murmur
//! skips them, but not silently.
//!
//! A name says where it was: `system/new` is a type, `assistant.new` a field.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// How many names are counted. What comes later counts as [`OTHERS`].
const NAMES: usize = 64;

/// The name of everything beyond a limit.
pub const OTHERS: &str = "others";

/// The length of a name, in bytes; what is longer is cut.
const LENGTH: usize = 80;

/// How often each unknown type and field was seen, by name; and the ids of counted items that haven't ended, at most
/// `NAMES`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Unknown(BTreeMap<String, u64>, #[serde(skip)] BTreeSet<String>);

/// The fields that an object is known to have.
#[derive(Debug)]
pub(crate) struct Fields {
    /// Their names, except those of `objects`.
    pub(crate) names: &'static [&'static str],
    /// Names of objects whose fields are also known.
    pub(crate) objects: &'static [(&'static str, Fields)],
}

impl Unknown {
    /// Counts the name that consists of `parts`.
    #[cold]
    pub(crate) fn add(&mut self, parts: &[&[u8]]) {
        // They end up in reports: an agent must not write anything else there.
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./$@:".contains(byte);
        let plain = |byte: &u8| if is_plain(byte) { char::from(*byte) } else { '?' };
        let name: String = parts.iter().copied().flatten().take(LENGTH).map(plain).collect();
        let is_full = self.0.len() >= NAMES && !self.0.contains_key(&name);
        *self.0.entry(if is_full { OTHERS.to_owned() } else { name }).or_default() += 1;
    }

    /// Notes that the item `id` has begun and was counted.
    #[cold]
    pub(crate) fn open(&mut self, id: &str) {
        if self.1.len() < NAMES {
            self.1.insert(id.to_owned());
        }
    }

    /// Notes that the item `id` has ended. Returns whether its beginning was counted.
    #[cold]
    pub(crate) fn close(&mut self, id: &str) -> bool {
        self.1.remove(id)
    }

    /// Counts the fields of `object`, which is at `path`, that are not `known` and don't begin with `_`, as extensions
    /// do.
    pub(crate) fn add_fields(&mut self, path: &str, object: &Map<String, Value>, known: &Fields) {
        for (name, value) in object {
            match known.objects.iter().find(|(known, _)| known == name) {
                Some((_, known)) => {
                    if let Value::Object(inner) = value {
                        self.add_fields(&format!("{path}.{name}"), inner, known);
                    }
                }
                None if known.names.contains(&name.as_str()) || name.starts_with('_') => {}
                None => self.add(&[path.as_bytes(), b".", name.as_bytes()]),
            }
        }
    }

    /// Whether nothing unknown was seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each name and how often it was seen.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted_up_to_a_limit_and_kept_plain() {
        let mut unknown = Unknown::default();
        assert!(unknown.is_empty());
        for number in 0..2 * NAMES {
            unknown.add(&[b"kind/", number.to_string().as_bytes()]);
        }
        unknown.add(&[b"kind/", b"1"]);
        unknown.add(&[b"\x1b[31m ", "ü".as_bytes()]);
        let counts: BTreeMap<&str, u64> = unknown.iter().collect();
        assert_eq!((counts["kind/0"], counts["kind/1"]), (1, 2));
        assert_eq!(counts[OTHERS], NAMES as u64 + 1);
        let mut strange = Unknown::default();
        strange.add(&[b"\x1b[31m ", "ü".as_bytes(), &[b'x'; LENGTH]]);
        let (name, _) = strange.iter().next().unwrap();
        assert!(name.starts_with("??31m???xxx") && name.len() == LENGTH, "{name}");
    }
}
