//! An amount of disk space, such as `256MiB`.

use super::checked::{Check, short, strictly};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use sys::error::Failure;
use sys::failure;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(u64);

const UNITS: [(&str, u32); 5] = [("B", 0), ("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];

impl Size {
    /// The accepted values, for hints.
    pub(super) const ACCEPTED: &str = "write a whole number with B, KiB, MiB, GiB or TiB, such as \"256MiB\"";

    /// More than any disk has.
    pub(super) const MAX: Self = Self(u64::MAX);

    /// A number of MiB.
    #[must_use]
    pub const fn mebibytes(count: u32) -> Self {
        Self((count as u64) << 20)
    }

    /// The number of bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

/// A number of bytes for people, in the largest unit with a whole number, with at most one decimal: `1.5 GiB`.
#[must_use]
pub fn for_people(bytes: u64) -> String {
    let (unit, shift) = UNITS.iter().rev().find(|(_, shift)| bytes >> shift > 0).unwrap_or(&UNITS[0]);
    let tenths = (u128::from(bytes) * 10) >> shift;
    match (tenths / 10, tenths % 10) {
        (whole, tenth) if tenth == 0 || *shift < 30 => format!("{whole} {unit}"),
        (whole, tenth) => format!("{whole}.{tenth} {unit}"),
    }
}

impl FromStr for Size {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let end = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(end);
        let shift = UNITS.iter().find(|(name, _)| *name == unit.trim_start()).map(|(_, shift)| *shift);
        let bytes = shift.and_then(|shift| number.parse::<u64>().ok()?.checked_mul(1 << shift));
        bytes.map(Self).ok_or_else(|| failure!("{:?} is not a size", short(text); "{}", Self::ACCEPTED))
    }
}

/// In the largest unit that fits without a fraction.
impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, shift): &&(&str, u32)| self.0.is_multiple_of(1 << shift);
        let (unit, shift) = UNITS.iter().rev().find(fits).filter(|_| self.0 > 0).unwrap_or(&UNITS[0]);
        write!(out, "{}{unit}", self.0 >> shift)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strictly(deserializer)
    }
}

impl Check for Size {
    type Raw = String;

    fn check(text: String) -> Result<Self, Failure> {
        text.parse()
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["256MiB"], "pattern": "^[0-9]+ *([KMGT]i)?B$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_the_largest_unit() {
        for (bytes, shown) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (255 << 20, "255 MiB"),
            ((256 << 20) - 1, "255 MiB"),
            (1 << 30, "1 GiB"),
            (1536 << 20, "1.5 GiB"),
            (9999 << 40, "9999 TiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(for_people(bytes), shown);
        }
    }

    #[test]
    fn a_size_is_a_whole_number_with_a_unit() {
        for (text, bytes, shown) in [
            ("0B", 0, "0B"),
            ("1B", 1, "1B"),
            ("1000 B", 1000, "1000B"),
            ("1024KiB", 1 << 20, "1MiB"),
            ("256MiB", 256 << 20, "256MiB"),
            ("2GiB", 2 << 30, "2GiB"),
            ("1536MiB", 1536 << 20, "1536MiB"),
        ] {
            let size: Size = text.parse().unwrap();
            assert_eq!((size.bytes(), size.to_string().as_str()), (bytes, shown));
        }
        assert_eq!(Size::mebibytes(256).to_string(), "256MiB");
        for text in ["", "5", "GiB", "1.5GiB", "-1MiB", "2GB", "2gib", "99999999999TiB", "1MiB x"] {
            let error = text.parse::<Size>().unwrap_err().line();
            assert!(error.starts_with(&format!("{text:?} is not a size; write a whole number")), "{error}");
        }
    }
}
