//! `maxBudgetUsd` and `budget`: how much beats may cost.

use super::checked::{Check, short, strictly};
use super::members::Members;
use crate::usage::Money;
use jiff::tz::TimeZone;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use sys::error::Failure;
use sys::failure;

/// An amount of US dollars, more than zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usd(Money);

impl Usd {
    /// The accepted values, for hints.
    pub(super) const ACCEPTED: &str = "write a number of US dollars above 0, such as 2.5";

    /// The most that can be written.
    pub(super) const MAX: Self = Self(Money(u64::MAX));

    fn new(number: f64) -> Option<Self> {
        Money::from_usd(number).filter(|money| *money > Money::default()).map(Self)
    }

    /// The amount.
    #[must_use]
    pub fn money(self) -> Money {
        self.0
    }

    /// The amount, as a number for an argument.
    #[must_use]
    pub fn number(self) -> String {
        self.0.usd().to_string()
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} USD", self.0.usd())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strictly(deserializer)
    }
}

impl Check for Usd {
    type Raw = f64;

    fn check(number: f64) -> Result<Self, Failure> {
        Self::new(number).ok_or_else(|| failure!("{number} is not a budget"; "{}", Self::ACCEPTED))
    }
}

impl JsonSchema for Usd {
    fn schema_name() -> Cow<'static, str> {
        "Usd".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "description": "US dollars.", "examples": [2.5], "exclusiveMinimum": 0 })
    }
}

/// How much may be spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Money, as the agent reports it.
    Usd(Usd),
    /// Tokens of all kinds.
    Tokens(u64),
}

impl fmt::Display for Amount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usd(usd) => usd.fmt(out),
            Self::Tokens(count) => write!(out, "{count} tokens"),
        }
    }
}

impl Amount {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = text.trim().split_once(' ')?;
        match unit.trim_start() {
            "USD" => Usd::new(number.parse().ok()?).map(Self::Usd),
            "tokens" => number.parse().ok().filter(|count| *count > 0).map(Self::Tokens),
            _ => None,
        }
    }
}

/// A period after which a budget starts again, in the heartbeat's time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Period {
    /// A day.
    Day,
    /// A week, from Monday on.
    Week,
    /// A month.
    Month,
}

impl Period {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Day, Self::Week, Self::Month];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }
}

/// How much may be spent in each period. At least one is limited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    limits: Box<[(Period, Amount)]>,
    zone: TimeZone,
}

impl Budget {
    /// The accepted values, for hints.
    pub(super) const ACCEPTED: &str = "write amounts above 0 for day, week or month, such as {\"day\": \"5 USD\", \"month\": \"9000000 tokens\"}";

    /// Sets the time zone of its periods.
    #[must_use]
    pub(super) fn in_zone(mut self, zone: &TimeZone) -> Self {
        self.zone = zone.clone();
        self
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &[(Period, Amount)] {
        &self.limits
    }

    /// The time zone of its periods.
    #[must_use]
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Whether an amount is in money, which not every agent reports.
    #[must_use]
    pub fn is_in_money(&self) -> bool {
        self.limits.iter().any(|(_, amount)| matches!(amount, Amount::Usd(_)))
    }

    /// Whether an amount is in tokens.
    pub(super) fn is_in_tokens(&self) -> bool {
        self.limits.iter().any(|(_, amount)| matches!(amount, Amount::Tokens(_)))
    }
}

/// As in `5 USD a day, 9000000 tokens a month`.
impl fmt::Display for Budget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (period, amount)) in self.limits.iter().enumerate() {
            write!(out, "{}{amount} a {}", if place > 0 { ", " } else { "" }, period.name())?;
        }
        Ok(())
    }
}

/// The budgets that a heartbeat's beats count for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Budgets {
    /// That of all heartbeats, from the top level of config.json.
    pub total: Option<Arc<Budget>>,
    /// That of its workspace, from its entry in config.json.
    pub workspace: Option<Arc<Budget>>,
    /// Its own, from its frontmatter.
    pub own: Option<Arc<Budget>>,
}

impl Budgets {
    /// Whether one of them is in US dollars.
    #[must_use]
    pub fn count_money(&self) -> bool {
        [&self.total, &self.workspace, &self.own].into_iter().flatten().any(|budget| budget.is_in_money())
    }

    /// The budgets, or `None` if there are none, which is by far the most common.
    pub(super) fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

/// An amount as it is written: a number of dollars, or text.
enum Written {
    Amount(Amount),
    /// Something else, as an error message quotes it.
    Unreadable(String),
}

impl Written {
    fn new(amount: Option<Amount>, quoted: impl FnOnce() -> String) -> Self {
        amount.map_or_else(|| Self::Unreadable(quoted()), Self::Amount)
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        #[expect(clippy::cast_precision_loss, reason = "nobody has that many dollars")]
        impl Visitor<'_> for Either {
            type Value = Written;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a number, or text such as \"5 USD\"")
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Written, E> {
                Ok(Written::new(Usd::new(number).map(Amount::Usd), || number.to_string()))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Written, E> {
                self.visit_f64(number as f64)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Written, E> {
                self.visit_f64(number as f64)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Written, E> {
                Ok(Written::new(Amount::parse(text), || format!("{:?}", short(text))))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Budget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strictly(deserializer)
    }
}

/// A budget as it is written.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Keys {
    day: Option<Written>,
    week: Option<Written>,
    month: Option<Written>,
}

impl Check for Budget {
    type Raw = Members<Keys>;

    fn check(Members(Keys { day, week, month }): Self::Raw) -> Result<Self, Failure> {
        let mut limits = Vec::new();
        for (period, written) in Period::ALL.into_iter().zip([day, week, month]) {
            match written {
                None => {}
                Some(Written::Amount(amount)) => limits.push((period, amount)),
                Some(Written::Unreadable(found)) => {
                    let period = period.name();
                    return Err(failure!("{found} is not a budget for a {period}"; "{}", Self::ACCEPTED));
                }
            }
        }
        if limits.is_empty() {
            return Err(failure!("it limits nothing"; "{}", Self::ACCEPTED));
        }
        Ok(Self { limits: limits.into(), zone: TimeZone::UTC })
    }
}

impl JsonSchema for Budget {
    fn schema_name() -> Cow<'static, str> {
        "Budget".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let amount = json_schema!({ "anyOf": [
            { "type": "number", "description": "US dollars.", "exclusiveMinimum": 0 },
            { "type": "string", "pattern": "^([0-9.]+ USD|[0-9]+ tokens)$", "examples": ["5 USD", "9000000 tokens"] }
        ] });
        json_schema!({
            "type": "object",
            "properties": { "day": amount, "week": amount, "month": amount },
            "additionalProperties": false,
            "minProperties": 1
        })
    }
}

#[cfg(test)]
mod tests;
