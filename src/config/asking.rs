//! Who is asked before an agent acts, and for how long: words that config.toml, config.json and frontmatter share.

use crate::error::Failure;
use crate::failure;
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer};
use serde::{Deserialize as DeriveDeserialize, Serialize};

use super::checked::{Check, strictly};
use super::interval::Interval;

/// Who decides what neither guard nor rules decide. In this order each is stricter than the one before: a model may be
/// talked into a yes, a person less so, and `deny` knows no other answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, DeriveDeserialize)]
#[serde(rename_all = "lowercase")]
pub enum Checker {
    /// Nobody: it is allowed.
    Off,
    /// A model.
    Llm,
    /// A person.
    Manual,
    /// Nobody: it is denied.
    Deny,
}

/// What happens when a person does not answer in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// The call is denied.
    Wait,
    /// The call is put off, the agent ends, and is resumed when the answer is there.
    Defer,
}

/// Who answers an agent's questions. The second is the stricter one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, DeriveDeserialize)]
#[serde(rename_all = "lowercase")]
pub enum Questions {
    /// A person.
    Broker,
    /// Nobody: asking is denied.
    Deny,
}

/// What one place says of it. What is none is not said there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asking {
    /// Who decides.
    pub checker: Option<Checker>,
    /// What happens when a person does not answer in time.
    pub approval: Option<Approval>,
    /// How long a person has to answer until the call is denied or put off.
    pub approval_wait: Option<Interval>,
    /// How long a call that was put off waits for its answer.
    pub approval_expiry: Option<Interval>,
    /// Who answers questions.
    pub questions: Option<Questions>,
}

impl Asking {
    /// This with a narrower place's laid over it, key by key.
    #[must_use]
    pub fn overlaid(&self, narrower: &Self) -> Self {
        Self {
            checker: narrower.checker.or(self.checker),
            approval: narrower.approval.or(self.approval),
            approval_wait: narrower.approval_wait.or(self.approval_wait),
            approval_expiry: narrower.approval_expiry.or(self.approval_expiry),
            questions: narrower.questions.or(self.questions),
        }
    }

    /// The same for a narrower place that an agent can write to: who decides and who answers is then the stricter of the
    /// two. For how long is no matter of more or less: a person decides all the same.
    ///
    /// To be called when all wider places are in `self`: against what is not said, everything is stricter.
    #[must_use]
    pub fn tightened(&self, narrower: &Self) -> Self {
        Self {
            checker: self.checker.max(narrower.checker),
            questions: self.questions.max(narrower.questions),
            ..self.overlaid(narrower)
        }
    }

    /// The key, as config.json has it, of the first thing that the two disagree on.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        let same = [
            ("permissionsChecker", self.checker == other.checker),
            ("approval", self.approval == other.approval),
            ("approvalWait", self.approval_wait == other.approval_wait),
            ("approvalExpiry", self.approval_expiry == other.approval_expiry),
            ("questions", self.questions == other.questions),
        ];
        same.into_iter().find(|(_, same)| !same).map(|(key, _)| key)
    }
}

/// A value of one of the enumerations above, whose error says what is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<T>(pub T);

/// An enumeration of a few words.
pub trait Choice: Copy + 'static {
    /// Its words with what they mean.
    const WORDS: &'static [(&'static str, Self)];
    /// What it is for, for the schema.
    const ABOUT: &'static str;
    /// Its words, for errors.
    const ACCEPTED: &'static str;
}

impl Choice for Checker {
    const WORDS: &'static [(&'static str, Self)] =
        &[("off", Self::Off), ("manual", Self::Manual), ("llm", Self::Llm), ("deny", Self::Deny)];
    const ABOUT: &'static str = "Who decides on a tool call that neither the guard nor a rule decides: nobody, and it is allowed (off); a person (manual); a model (llm); nobody, and it is denied (deny).";
    const ACCEPTED: &'static str = "write \"off\", \"manual\", \"llm\" or \"deny\"";
}

impl Choice for Approval {
    const WORDS: &'static [(&'static str, Self)] = &[("wait", Self::Wait), ("defer", Self::Defer)];
    const ABOUT: &'static str = "What happens when a person does not answer in time: the call is denied (wait), or put off until there is an answer (defer).";
    const ACCEPTED: &'static str = "write \"wait\" or \"defer\"";
}

impl Choice for Questions {
    const WORDS: &'static [(&'static str, Self)] = &[("broker", Self::Broker), ("deny", Self::Deny)];
    const ABOUT: &'static str = "Who answers the agent's questions: a person (broker), or nobody (deny).";
    const ACCEPTED: &'static str = "write \"broker\" or \"deny\"";
}

impl<'de, T: Choice> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strictly(deserializer)
    }
}

impl<T: Choice> Check for Word<T> {
    fn check<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Result<Self, Failure>, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        let meant = T::WORDS.iter().find(|(word, _)| *word == text);
        let shown: String = text.chars().take(40).collect();
        Ok(meant
            .map(|(_, value)| Self(*value))
            .ok_or_else(|| failure!("{shown:?} is not known"; "{}", T::ACCEPTED)))
    }
}

impl<T: Choice> JsonSchema for Word<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Word".into()
    }

    fn schema_id() -> Cow<'static, str> {
        T::ABOUT.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
        json_schema!({ "type": "string", "description": T::ABOUT, "enum": words })
    }
}

#[cfg(test)]
mod tests {
    use super::super::checked::Checked;
    use super::*;

    #[test]
    fn only_the_words_themselves_are_read() {
        let read = |json: &str| {
            let read =
                serde_json::from_str::<Checked<Word<Checker>>>(json).map_err(|error| error.to_string())?;
            read.0.map(|word| word.0).map_err(|failure| failure.line())
        };
        assert_eq!(read("\"manual\""), Ok(Checker::Manual));
        let error = read("\"Manual\"").unwrap_err();
        assert!(
            error.starts_with("\"Manual\" is not known; write \"off\", \"manual\", \"llm\" or \"deny\""),
            "{error}"
        );
        for wrong in ["null", "true", "1", "[\"off\"]", "\"\""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        for (word, checker) in Checker::WORDS {
            assert_eq!(serde_json::to_string(checker).unwrap(), format!("{word:?}"));
        }
    }

    #[test]
    fn a_place_that_an_agent_can_write_to_never_loosens() {
        use Checker::{Deny, Llm, Manual, Off};
        let with = |checker| Asking { checker: Some(checker), ..Asking::default() };
        for (wide, narrow, expected) in [
            (Off, Manual, Manual),
            (Manual, Off, Manual),
            (Manual, Llm, Manual),
            (Llm, Manual, Manual),
            (Deny, Manual, Deny),
        ] {
            assert_eq!(with(wide).tightened(&with(narrow)), with(expected));
        }
        let asks = |questions| Asking { questions: Some(questions), ..Asking::default() };
        assert_eq!(asks(Questions::Deny).tightened(&asks(Questions::Broker)), asks(Questions::Deny));
        assert_eq!(with(Manual).tightened(&Asking::default()), with(Manual));
        assert_eq!(with(Manual).overlaid(&with(Off)), with(Off));
    }

    #[test]
    fn how_long_a_person_has_is_said_by_the_narrower_place() {
        let long = Asking {
            approval: Some(Approval::Wait),
            approval_wait: Interval::from_secs(60),
            ..Asking::default()
        };
        let short = Asking {
            approval: Some(Approval::Defer),
            approval_wait: Interval::from_secs(5),
            ..Asking::default()
        };
        assert_eq!(long.tightened(&short), short);
        assert_eq!(long.difference(&short), Some("approval"));
        assert_eq!(long.difference(&long), None);
    }
}
