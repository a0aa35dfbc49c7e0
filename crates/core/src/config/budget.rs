//! `maxBudgetUsd` and `budget`: how much beats may cost.

use super::checked::{Check, short, strictly};
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
    pub(super) const MOST: Self = Self(Money(u64::MAX));

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
    type Raw = Keys;

    fn check(Keys { day, week, month }: Keys) -> Result<Self, Failure> {
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
mod tests {
    use super::super::checked::from_json;
    use super::*;

    fn budget(text: &str) -> Result<String, String> {
        match from_json::<Budget>(text) {
            Ok(Ok(budget)) => Ok(budget.to_string()),
            Ok(Err(failure)) => {
                Err(failure.line().split_once("; write ").map(|(what, _)| what.to_owned()).unwrap())
            }
            Err(_) => Err("type".to_owned()),
        }
    }

    #[test]
    fn amounts_are_dollars_or_tokens_above_zero() {
        for (text, expected) in [
            (r#"{"day":5}"#, Ok("5 USD a day")),
            (r#"{"month":"9000000 tokens","day":"0.5 USD"}"#, Ok("0.5 USD a day, 9000000 tokens a month")),
            (r#"{"week":2.25,"day":null}"#, Ok("2.25 USD a week")),
            (r#"{"day":0}"#, Err("0 is not a budget for a day")),
            (r#"{"day":-1}"#, Err("-1 is not a budget for a day")),
            (r#"{"week":"0 USD"}"#, Err("\"0 USD\" is not a budget for a week")),
            (r#"{"month":"0 tokens"}"#, Err("\"0 tokens\" is not a budget for a month")),
            (r#"{"day":"5"}"#, Err("\"5\" is not a budget for a day")),
            (r#"{"day":"5 EUR"}"#, Err("\"5 EUR\" is not a budget for a day")),
            (r#"{"day":"1.5 tokens"}"#, Err("\"1.5 tokens\" is not a budget for a day")),
            (r#"{"day":"NaN USD"}"#, Err("\"NaN USD\" is not a budget for a day")),
            ("{}", Err("it limits nothing")),
            (r#"{"year":5}"#, Err("type")),
            (r#"{"day":[5]}"#, Err("type")),
            ("5", Err("type")),
        ] {
            assert_eq!(budget(text), expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn the_budget_of_a_beat_is_a_number_above_zero() {
        let read = |text: &str| from_json::<Usd>(text);
        assert_eq!(read("2.50").unwrap().unwrap().number(), "2.5");
        for wrong in ["0", "-1", "1e300"] {
            let failure = read(wrong).unwrap().unwrap_err().line();
            assert!(failure.ends_with("write a number of US dollars above 0, such as 2.5"), "{failure}");
        }
        assert!(read("\"5\"").is_err());
    }

    #[test]
    fn a_wrong_value_in_config_json_is_reported_with_its_place_and_holds_only_its_workspace() {
        use super::super::cron::Crons;
        use super::super::file::File;
        use sys::error::Hinted;
        let parse = |text: &str| {
            let path = std::path::Path::new("/m/config.json");
            File::parse(text.as_bytes(), path, &Crons::new(TimeZone::UTC))
        };
        for (members, place, what) in [
            (r#""maxBudgetUsd": 0"#, 48, r#""maxBudgetUsd": 0 is not a budget; write a number"#),
            (r#""maxBudgetUsd": "5""#, 48, r#""maxBudgetUsd" is "5"; write a number"#),
            (
                r#""budget": {"day": "5 EUR"}"#,
                42,
                r#""budget": "5 EUR" is not a budget for a day; write amounts"#,
            ),
            (r#""budget": {"year": 5}"#, 42, r#""budget" is {"year": 5}; write amounts"#),
            (r#""minFree": "2GB""#, 43, r#""minFree": "2GB" is not a size; write a whole number"#),
        ] {
            let text = format!(r#"{{"workspaces": [{{"path": "/a", {members}}}, {{"path": "/b"}}]}}"#);
            let file = parse(&text).unwrap();
            let problem = file.workspaces[0].as_ref().unwrap_err().problem.line();
            let expected = format!("/m/config.json:1:{place}: {what}");
            assert!(problem.starts_with(&expected), "{problem}\n{expected}");
            assert!(file.workspaces[1].is_ok());
        }
        let wrong = parse(r#"{"budget": {"day": 0}}"#).unwrap_err().line();
        assert!(
            wrong.starts_with("/m/config.json:1:12: \"budget\": 0 is not a budget for a day; write"),
            "{wrong}"
        );
    }
}
