//! Settings for who decides on an agent's calls, and for how long: shared by config.toml, config.json and frontmatter.

use std::borrow::Cow;
use sys::error::Failure;
use sys::failure;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer};
use serde::{Deserialize as DeriveDeserialize, Serialize};

use super::checked::{Check, short, strictly};
use super::interval::Interval;
use super::limit::{Notices, Source, Sourced};

/// Who decides on calls that neither guard nor rules decide, from lenient to strict: a model can be talked into
/// approval, a person less so, and `deny` never approves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, DeriveDeserialize)]
#[serde(rename_all = "lowercase")]
pub enum Checker {
    /// Nobody; the call is allowed.
    Off,
    /// A model.
    Llm,
    /// A person.
    Manual,
    /// Nobody; the call is denied.
    Deny,
}

/// What happens if a person does not answer in time, from lenient to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, DeriveDeserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// The call is deferred: the agent ends and is resumed with the answer.
    Defer,
    /// The call is denied.
    Wait,
}

/// Who answers an agent's questions, from lenient to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, DeriveDeserialize)]
#[serde(rename_all = "lowercase")]
pub enum Questions {
    /// A person.
    Broker,
    /// Nobody; asking is denied.
    Deny,
}

/// The settings in one file. `None` means unset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// Who decides.
    pub checker: Option<Checker>,
    /// What happens if a person does not answer in time.
    pub approval: Option<Approval>,
    /// How long a person has to answer before the call is denied or deferred.
    pub approval_wait: Option<Interval>,
    /// How long a deferred call waits for its answer.
    pub approval_expiry: Option<Interval>,
    /// Who answers questions.
    pub questions: Option<Questions>,
}

impl ApprovalSettings {
    /// The first key, as config.json spells it, on which the two differ.
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

/// The resolved settings of one agent, with their sources.
#[derive(Debug, Clone, Default)]
pub struct ResolvedApproval {
    /// Who decides.
    pub checker: Option<Sourced<Checker>>,
    /// What happens if a person does not answer in time.
    pub approval: Option<Sourced<Approval>>,
    /// How long a person has to answer before the call is denied or deferred.
    pub approval_wait: Option<Sourced<Interval>>,
    /// How long a deferred call waits for its answer.
    pub approval_expiry: Option<Sourced<Interval>>,
    /// Who answers questions.
    pub questions: Option<Sourced<Questions>>,
    /// Settings of the frontmatter that have no effect.
    pub notices: Notices,
}

impl ResolvedApproval {
    /// Resolves the user's `layers`, from general to specific, and the frontmatter `front`, which the agent can edit:
    /// the stricter of two values applies, and the shorter of two times.
    #[must_use]
    pub fn of(layers: &[(Source, &ApprovalSettings)], front: &ApprovalSettings) -> Self {
        let mut notices = Notices::default();
        let [checker, questions, wait, expiry] =
            ["permissionsChecker", "questions", "approvalWait", "approvalExpiry"];
        Self {
            checker: notices.stricter(checker, last(layers, |layer| layer.checker), front.checker),
            approval: notices.stricter("approval", last(layers, |layer| layer.approval), front.approval),
            approval_wait: notices.lower(
                wait,
                last(layers, |layer| layer.approval_wait),
                front.approval_wait,
                Interval::MAX,
            ),
            approval_expiry: notices.lower(
                expiry,
                last(layers, |layer| layer.approval_expiry),
                front.approval_expiry,
                Interval::MAX,
            ),
            questions: notices.stricter(questions, last(layers, |layer| layer.questions), front.questions),
            notices,
        }
    }
}

/// The value of the last layer that sets one.
fn last<T>(
    layers: &[(Source, &ApprovalSettings)],
    of: impl Fn(&ApprovalSettings) -> Option<T>,
) -> Option<Sourced<T>> {
    layers.iter().rev().find_map(|(source, layer)| Some(Sourced { value: of(layer)?, source: *source }))
}

/// A value of one of the enumerations above, whose error lists the accepted words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<T>(pub T);

/// An enumeration that is written as one of a few words.
pub trait Choice: Copy + PartialEq + 'static {
    /// The words with their values.
    const WORDS: &'static [(&'static str, Self)];
    /// The description for the schema.
    const ABOUT: &'static str;
    /// The accepted words, for hints.
    const ACCEPTED: &'static str;

    /// The word for the value.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, known)| *known == self).map_or("", |(word, _)| word)
    }
}

impl Choice for Checker {
    const WORDS: &'static [(&'static str, Self)] =
        &[("off", Self::Off), ("manual", Self::Manual), ("llm", Self::Llm), ("deny", Self::Deny)];
    const ABOUT: &'static str = "Who decides on tool calls that neither the guard nor a rule decides: off (allow them), manual (ask a person), llm (ask a model) or deny (deny them).";
    const ACCEPTED: &'static str = "write \"off\", \"manual\", \"llm\" or \"deny\"";
}

impl Choice for Approval {
    const WORDS: &'static [(&'static str, Self)] = &[("wait", Self::Wait), ("defer", Self::Defer)];
    const ABOUT: &'static str = "What happens if nobody answers in time: wait (deny the call) or defer (defer it until there is an answer).";
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
    type Raw = String;

    fn check(text: String) -> Result<Self, Failure> {
        let found = T::WORDS.iter().find(|(word, _)| *word == text);
        found
            .map(|(_, value)| Self(*value))
            .ok_or_else(|| failure!("{:?} is not known", short(&text); "{}", T::ACCEPTED))
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
    use super::super::checked::from_json;
    use super::*;

    #[test]
    fn only_exact_words_are_accepted() {
        let read = |json: &str| {
            let read = from_json::<Word<Checker>>(json).map_err(|error| error.to_string())?;
            read.map(|word| word.0).map_err(|failure| failure.line())
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

    fn settled(toml: ApprovalSettings, json: ApprovalSettings, front: ApprovalSettings) -> ResolvedApproval {
        ResolvedApproval::of(&[(Source::ConfigToml, &toml), (Source::ConfigJson, &json)], &front)
    }

    #[test]
    fn frontmatter_never_loosens_a_setting() {
        use Checker::{Deny, Llm, Manual, Off};
        let with = |checker| ApprovalSettings { checker: Some(checker), ..ApprovalSettings::default() };
        for (wide, narrow, expected, source) in [
            (Off, Manual, Manual, Source::Heartbeat),
            (Manual, Off, Manual, Source::ConfigJson),
            (Manual, Llm, Manual, Source::ConfigJson),
            (Llm, Manual, Manual, Source::Heartbeat),
            (Deny, Manual, Deny, Source::ConfigJson),
            (Deny, Deny, Deny, Source::ConfigJson),
        ] {
            let resolved = settled(with(Off), with(wide), with(narrow));
            assert_eq!(resolved.checker, Some(Sourced { value: expected, source }));
            assert_eq!(resolved.notices.lines().is_empty(), expected == narrow, "{:?}", resolved.notices);
        }
        let asks = |questions| ApprovalSettings { questions: Some(questions), ..ApprovalSettings::default() };
        let resolved = settled(asks(Questions::Deny), ApprovalSettings::default(), asks(Questions::Broker));
        assert_eq!(resolved.questions, Some(Sourced { value: Questions::Deny, source: Source::ConfigToml }));
        assert_eq!(
            resolved.notices.lines(),
            ["questions: broker in HEARTBEAT.md is less strict than config.toml; deny applies".into()]
        );
        let resolved = settled(with(Manual), with(Off), ApprovalSettings::default());
        assert_eq!(resolved.checker, Some(Sourced { value: Off, source: Source::ConfigJson }));
    }

    #[test]
    fn the_shorter_of_two_waits_applies() {
        let with = |approval, wait| ApprovalSettings {
            approval: Some(approval),
            approval_wait: Interval::from_secs(wait),
            ..ApprovalSettings::default()
        };
        let (long, short) = (with(Approval::Wait, 60), with(Approval::Defer, 5));
        for (user, front) in [(long, short), (short, long)] {
            let resolved = settled(ApprovalSettings::default(), user, front);
            assert_eq!(resolved.approval.unwrap().value, Approval::Wait);
            assert_eq!(resolved.approval_wait.unwrap().value.as_secs(), 5);
            assert_eq!(resolved.notices.lines().len(), 1, "{:?}", resolved.notices);
        }
        assert_eq!(long.difference(&short), Some("approval"));
        assert_eq!(long.difference(&long), None);
    }
}
