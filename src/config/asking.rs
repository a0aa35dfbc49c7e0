//! Who is asked before an agent acts, and for how long: words that config.toml, config.json and frontmatter share.

use crate::error::Failure;
use crate::failure;
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer};
use serde::{Deserialize as DeriveDeserialize, Serialize};

use super::checked::{Check, strictly};
use super::interval::Interval;
use super::limit::{Notices, Source, Sourced};

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

/// What happens when a person does not answer in time. The second is the stricter one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, DeriveDeserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// The call is put off, the agent ends, and is resumed when the answer is there.
    Defer,
    /// The call is denied.
    Wait,
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
    /// How long a person has to answer before the call is denied or deferred.
    pub approval_wait: Option<Interval>,
    /// How long a deferred call waits for its answer.
    pub approval_expiry: Option<Interval>,
    /// Who answers questions.
    pub questions: Option<Questions>,
}

impl Asking {
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

/// What holds of it for one agent, and who says it.
#[derive(Debug, Clone, Default)]
pub struct Settled {
    /// Who decides.
    pub checker: Option<Sourced<Checker>>,
    /// What happens when a person does not answer in time.
    pub approval: Option<Sourced<Approval>>,
    /// How long a person has to answer before the call is denied or deferred.
    pub approval_wait: Option<Sourced<Interval>>,
    /// How long a deferred call waits for its answer.
    pub approval_expiry: Option<Sourced<Interval>>,
    /// Who answers questions.
    pub questions: Option<Sourced<Questions>>,
    /// What the frontmatter asks for in vain.
    pub notices: Notices,
}

impl Settled {
    /// The user's `layers`, the narrower after the wider, and `front`, which lies where the agent can write: of two values
    /// the stricter counts, and of two times the shorter.
    #[must_use]
    pub fn of(layers: &[(Source, &Asking)], front: &Asking) -> Self {
        let mut notices = Notices::default();
        let [checker, questions, wait, expiry] =
            ["permissionsChecker", "questions", "approvalWait", "approvalExpiry"];
        Self {
            checker: notices.stricter(checker, last(layers, |said| said.checker), front.checker),
            approval: notices.stricter("approval", last(layers, |said| said.approval), front.approval),
            approval_wait: notices.lower(
                wait,
                last(layers, |said| said.approval_wait),
                front.approval_wait,
                Interval::MAX,
            ),
            approval_expiry: notices.lower(
                expiry,
                last(layers, |said| said.approval_expiry),
                front.approval_expiry,
                Interval::MAX,
            ),
            questions: notices.stricter(questions, last(layers, |said| said.questions), front.questions),
            notices,
        }
    }
}

/// What the last of the layers says that says anything.
fn last<T>(layers: &[(Source, &Asking)], of: impl Fn(&Asking) -> Option<T>) -> Option<Sourced<T>> {
    layers.iter().rev().find_map(|(source, said)| Some(Sourced { value: of(said)?, source: *source }))
}

/// A value of one of the enumerations above, whose error says what is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<T>(pub T);

/// An enumeration of a few words.
pub trait Choice: Copy + PartialEq + 'static {
    /// Its words with what they mean.
    const WORDS: &'static [(&'static str, Self)];
    /// What it is for, for the schema.
    const ABOUT: &'static str;
    /// Its words, for errors.
    const ACCEPTED: &'static str;

    /// The word for it.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, known)| *known == self).map_or("", |(word, _)| word)
    }
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

    fn settled(toml: Asking, json: Asking, front: Asking) -> Settled {
        Settled::of(&[(Source::ConfigToml, &toml), (Source::ConfigJson, &json)], &front)
    }

    #[test]
    fn a_place_that_an_agent_can_write_to_never_loosens() {
        use Checker::{Deny, Llm, Manual, Off};
        let with = |checker| Asking { checker: Some(checker), ..Asking::default() };
        for (wide, narrow, expected, source) in [
            (Off, Manual, Manual, Source::Heartbeat),
            (Manual, Off, Manual, Source::ConfigJson),
            (Manual, Llm, Manual, Source::ConfigJson),
            (Llm, Manual, Manual, Source::Heartbeat),
            (Deny, Manual, Deny, Source::ConfigJson),
            (Deny, Deny, Deny, Source::ConfigJson),
        ] {
            let said = settled(with(Off), with(wide), with(narrow));
            assert_eq!(said.checker, Some(Sourced { value: expected, source }));
            assert_eq!(said.notices.lines().is_empty(), expected == narrow, "{:?}", said.notices);
        }
        let asks = |questions| Asking { questions: Some(questions), ..Asking::default() };
        let said = settled(asks(Questions::Deny), Asking::default(), asks(Questions::Broker));
        assert_eq!(said.questions, Some(Sourced { value: Questions::Deny, source: Source::ConfigToml }));
        assert_eq!(
            said.notices.lines(),
            ["questions: broker in HEARTBEAT.md is less strict than config.toml; deny applies".into()]
        );
        let said = settled(with(Manual), with(Off), Asking::default());
        assert_eq!(said.checker, Some(Sourced { value: Off, source: Source::ConfigJson }));
    }

    #[test]
    fn how_long_a_person_has_is_the_shorter_of_two_times() {
        let with = |approval, wait| Asking {
            approval: Some(approval),
            approval_wait: Interval::from_secs(wait),
            ..Asking::default()
        };
        let (long, short) = (with(Approval::Wait, 60), with(Approval::Defer, 5));
        for (user, front) in [(long, short), (short, long)] {
            let said = settled(Asking::default(), user, front);
            assert_eq!(said.approval.unwrap().value, Approval::Wait);
            assert_eq!(said.approval_wait.unwrap().value.as_secs(), 5);
            assert_eq!(said.notices.lines().len(), 1, "{:?}", said.notices);
        }
        assert_eq!(long.difference(&short), Some("approval"));
        assert_eq!(long.difference(&long), None);
    }
}
