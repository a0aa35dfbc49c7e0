//! Parses the arguments of a call one at a time, with our own error messages.

use super::fail::{ToolError, shown};
use super::message::Object;
use serde_json::Value;

/// Arguments that have not been taken yet.
#[derive(Debug)]
pub(super) struct Arguments {
    given: Object,
    known: Vec<&'static str>,
}

impl Arguments {
    /// `given` must be an object or missing.
    pub(super) fn new(given: &Value) -> Option<Self> {
        let given = match given {
            Value::Null => Object::new(),
            Value::Object(given) => given.clone(),
            _ => return None,
        };
        Some(Self { given, known: Vec::new() })
    }

    /// Takes the argument `name`; `null` counts as missing.
    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.given.remove(name).filter(|value| !value.is_null())
    }

    /// Takes a string.
    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<String>, ToolError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(mistyped(name, "a string", &other)),
        }
    }

    /// Takes a cursor: a number of bytes, as a string of decimal digits.
    pub(super) fn cursor(&mut self, name: &'static str) -> Result<Option<u64>, ToolError> {
        const EXPECTED: &str = "a string of decimal digits";
        let text = match self.take(name) {
            None => return Ok(None),
            Some(Value::String(text)) => text,
            Some(other) => return Err(mistyped(name, EXPECTED, &other)),
        };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(cursor) if digits => Ok(Some(cursor)),
            _ => Err(ToolError::argument(name, format!("expected {EXPECTED}, not \"{}\"", shown(&text)))),
        }
    }

    /// Takes a whole number of at least `least`.
    pub(super) fn number(&mut self, name: &'static str, least: u64) -> Result<Option<u64>, ToolError> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let expected = || format!("a whole number that is at least {least}");
        match whole(&value) {
            Some(number) if number >= least => Ok(Some(number)),
            _ => Err(mistyped(name, &expected(), &value)),
        }
    }

    /// Takes a boolean.
    pub(super) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, ToolError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(mistyped(name, "true or false", &other)),
        }
    }

    /// Takes one of these words.
    pub(super) fn word<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, ToolError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let meant = words.iter().find(|(word, _)| *word == text);
        let known = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let problem =
            || ToolError::argument(name, format!("expected one of {}, not \"{}\"", known(), shown(&text)));
        meant.map(|(_, meant)| Some(*meant)).ok_or_else(problem)
    }

    /// Fails if any arguments are left.
    pub(super) fn finish(self) -> Result<(), ToolError> {
        match self.given.into_iter().next() {
            None => Ok(()),
            Some((name, _)) => Err(ToolError::Unknown { name, known: self.known.join(", ") }),
        }
    }
}

/// A whole number as JSON Schema defines it: 5.0 is one.
fn whole(value: &Value) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_u64().or_else(|| {
        let number =
            value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..EXACT).contains(number))?;
        format!("{number:.0}").parse().ok()
    })
}

fn mistyped(name: &'static str, expected: &str, value: &Value) -> ToolError {
    ToolError::argument(name, format!("expected {expected}, not {}", shown(&value.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use sys::error::Hinted;

    fn of(value: Value) -> Arguments {
        Arguments::new(&value).unwrap()
    }

    fn problem<T: std::fmt::Debug>(result: Result<T, ToolError>) -> String {
        result.unwrap_err().line()
    }

    #[test]
    fn invalid_arguments_are_explained() {
        let cursor = |value: Value| of(json!({ "cursor": value })).cursor("cursor");
        assert_eq!(cursor(json!("0018446744073709551615")).unwrap(), Some(u64::MAX));
        assert_eq!(cursor(json!(null)).unwrap(), None);
        for text in ["", "-1", "+1", "0x1", "1.0", " 1", "18446744073709551616"] {
            let expected = format!("parse cursor: expected a string of decimal digits, not {text:?}");
            assert_eq!(problem(cursor(json!(text))), expected);
        }
        assert_eq!(problem(cursor(json!(5))), "parse cursor: expected a string of decimal digits, not 5");
        let limit = |value: Value| of(json!({ "limit": value })).number("limit", 1);
        assert_eq!(limit(json!(7.0)).unwrap(), Some(7));
        for value in [json!(0), json!(-1), json!(1.5), json!("7"), json!([])] {
            let expected = format!("parse limit: expected a whole number that is at least 1, not {value}");
            assert_eq!(problem(limit(value)), expected);
        }
        let flag = of(json!({ "flag": "yes" })).flag("flag");
        assert_eq!(problem(flag), "parse flag: expected true or false, not \"yes\"");
        let word = of(json!({ "word": "c" })).word("word", &[("a", 1), ("b", 2)]);
        assert_eq!(problem(word), "parse word: expected one of a, b, not \"c\"");
        let mut more = of(json!({ "a": "1", "b": 2 }));
        more.text("a").unwrap();
        assert_eq!(problem(more.finish()), "unknown argument: b; use one of: a");
    }
}
