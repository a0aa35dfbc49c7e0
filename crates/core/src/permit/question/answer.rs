//! Parses a person's answers, checks them against the questions, and puts them into the call's input.

use std::collections::BTreeMap;
use sys::error::Hinted;
use sys::spelling;

use serde_json::{Map, Value};

use super::{Question, QuestionSet, line};

/// Answers by the text of their question: a label, several labels joined by `, `, or other text.
pub type Answers = BTreeMap<String, String>;

/// How to write answers in a shell; an imperative for hints.
pub const EXAMPLE: &str = "write the question and its answer as JSON, such as '{\"q1\": 1}'";

/// Why an answer is not valid, for the person who gave it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The answers are not an object.
    #[error("the answers are not a JSON object")]
    NoObject,
    /// A key that matches no question.
    #[error("no question {key:?}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The questions' keys with their topics.
        known: String,
    },
    /// A key that matches more than one question.
    #[error("{key:?} matches more than one question")]
    Ambiguous {
        /// The key.
        key: String,
    },
    /// Two answers to one question.
    #[error("q{number} is answered twice")]
    Twice {
        /// The question, from 1.
        number: usize,
    },
    /// A question has no answer.
    #[error("q{number} ({question}) has no answer")]
    Missing {
        /// The question, from 1.
        number: usize,
        /// Its text, quoted.
        question: String,
        /// What the question accepts.
        accepted: String,
    },
    /// The value is not one of the choices.
    #[error("q{number} cannot be answered with {found}")]
    InvalidChoice {
        /// The question, from 1.
        number: usize,
        /// The value.
        found: String,
        /// What the question accepts.
        accepted: String,
    },
    /// The text is empty.
    #[error("the answer to q{number} is empty")]
    Empty {
        /// The question, from 1.
        number: usize,
        /// What the question accepts.
        accepted: String,
    },
    /// Several answers to a question that takes one.
    #[error("q{number} takes one answer, not {count}")]
    TooMany {
        /// The question, from 1.
        number: usize,
        /// How many answers there are.
        count: usize,
        /// What the question accepts.
        accepted: String,
    },
}

impl Hinted for AnswerError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoObject => EXAMPLE.to_owned(),
            Self::UnknownKey { known, .. } => format!("use one of {known}"),
            Self::Ambiguous { .. } => "write q1, q2 and so on".to_owned(),
            Self::Twice { .. } => "remove one of the two".to_owned(),
            Self::Missing { accepted, .. } => accepted.clone(),
            Self::InvalidChoice { accepted, .. } => accepted.clone(),
            Self::Empty { accepted, .. } => accepted.clone(),
            Self::TooMany { accepted, .. } => accepted.clone(),
        })
    }
}

/// How answers are given, for hints that say what is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As JSON.
    Json,
    /// As one word for each question, on a command line or at a prompt.
    Typed,
}

impl QuestionSet {
    /// Parses `given`: an object with a key for each question, which is `q1` and so on, the question's header, or its
    /// text. Each value is a label, a choice's number, a list of them if the question allows several, or other text.
    /// Text that may have been meant as a choice is refused, unless it is given as `{"other": "text"}`: a word,
    /// numbers, or a typo in a label.
    ///
    /// Fails unless every question has exactly one valid answer.
    pub fn answers(&self, given: &Value) -> Result<Answers, AnswerError> {
        self.parsed(given.as_object().ok_or(AnswerError::NoObject)?, Form::Json)
    }

    /// The answers to all questions that a person gave as one word for each, in order, as [`Self::answers`] takes them.
    ///
    /// Fails unless every question has a valid answer.
    pub fn typed(&self, words: &[String]) -> Result<Map<String, Value>, AnswerError> {
        let answers = self.0.iter().zip(words).enumerate();
        let answers =
            answers.map(|(index, (question, word))| (format!("q{}", index + 1), question.typed(word)));
        let answers: Map<String, Value> = answers.collect();
        self.parsed(&answers, Form::Typed).map(|_| answers)
    }

    fn parsed(&self, given: &Map<String, Value>, form: Form) -> Result<Answers, AnswerError> {
        let mut found: Vec<Option<String>> = vec![None; self.0.len()];
        for (key, value) in given {
            let index = self.index(key)?;
            let (Some(question), Some(slot)) = (self.0.get(index), found.get_mut(index)) else { continue };
            if slot.replace(answer(question, index + 1, value, form)?).is_some() {
                return Err(AnswerError::Twice { number: index + 1 });
            }
        }
        let mut answers = Answers::new();
        for (index, (question, answer)) in self.0.iter().zip(found).enumerate() {
            let answer = answer.ok_or_else(|| AnswerError::Missing {
                number: index + 1,
                question: quoted(&question.question),
                accepted: accepted(question, form),
            })?;
            answers.insert(question.question.clone(), answer);
        }
        Ok(answers)
    }

    /// The input of the call with the answers in it, in Claude Code's form.
    #[must_use]
    pub fn answered(input: &Value, answers: Map<String, Value>) -> Value {
        let mut input = input.as_object().cloned().unwrap_or_default();
        input.insert("answers".to_owned(), Value::Object(answers));
        Value::Object(input)
    }

    /// The index of the question that `key` stands for.
    fn index(&self, key: &str) -> Result<usize, AnswerError> {
        let number = key.strip_prefix(['q', 'Q']).and_then(|number| number.parse::<usize>().ok());
        let number = number.and_then(|number| number.checked_sub(1)).filter(|index| *index < self.0.len());
        let matches = |question: &Question| {
            question.question == key || (!key.is_empty() && question.header.eq_ignore_ascii_case(key))
        };
        let mut found: Vec<usize> = self
            .0
            .iter()
            .enumerate()
            .filter(|(_, question)| matches(question))
            .map(|(index, _)| index)
            .collect();
        found.extend(number.filter(|index| !found.contains(index)));
        match found.as_slice() {
            [index] => Ok(*index),
            [] => Err(AnswerError::UnknownKey { key: key.to_owned(), known: self.keys() }),
            _ => Err(AnswerError::Ambiguous { key: key.to_owned() }),
        }
    }

    fn keys(&self) -> String {
        let key = |(index, question): (usize, &Question)| {
            let topic = if question.header.is_empty() { &question.question } else { &question.header };
            format!("q{} ({})", index + 1, quoted(topic))
        };
        self.0.iter().enumerate().map(key).collect::<Vec<_>>().join(", ")
    }
}

pub(super) fn answer(
    question: &Question,
    number: usize,
    value: &Value,
    form: Form,
) -> Result<String, AnswerError> {
    let Value::Array(values) = value else { return one(question, number, value, form) };
    if values.is_empty() || (values.len() > 1 && !question.multi_select) {
        let accepted = accepted(question, form);
        return Err(AnswerError::TooMany { number, count: values.len(), accepted });
    }
    let answers: Result<Vec<String>, _> =
        values.iter().map(|value| one(question, number, value, form)).collect();
    answers.map(joined)
}

/// Joins several answers, without duplicates.
fn joined<T: AsRef<str>>(answers: Vec<T>) -> String {
    let mut once: Vec<&str> = Vec::with_capacity(answers.len());
    for answer in answers.iter().map(AsRef::as_ref) {
        if !once.contains(&answer) {
            once.push(answer);
        }
    }
    once.join(", ")
}

/// Parses one answer: a label, a number, or other text.
fn one(question: &Question, number: usize, value: &Value, form: Form) -> Result<String, AnswerError> {
    let accepted = || accepted(question, form);
    let wrong = || {
        let found = line(&value.to_string());
        AnswerError::InvalidChoice { number, found, accepted: accepted() }
    };
    let empty = || AnswerError::Empty { number, accepted: accepted() };
    let labels = || question.options.iter().map(|choice| &choice.label);
    let numbered = |number: u64| {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        question.options.get(index).map(|choice| choice.label.clone())
    };
    match value {
        Value::Number(choice) => choice.as_u64().and_then(numbered).ok_or_else(wrong),
        Value::String(text) if text.trim().is_empty() => Err(empty()),
        Value::String(text) if question.options.is_empty() => Ok(text.clone()),
        Value::String(text) => {
            if let Some(label) = labels().find(|label| *label == text) {
                return Ok(label.clone());
            }
            let text = text.trim();
            if let Some(label) = label(question, text) {
                return Ok(label.to_owned());
            }
            if is_number(text) {
                return text.parse().ok().and_then(numbered).ok_or_else(wrong);
            }
            let parts: Vec<&str> = text.split(',').map(str::trim).collect();
            let choice = |part: &&str| match label(question, part) {
                None if is_number(part) => part.parse().ok().and_then(numbered),
                label => label.map(str::to_owned),
            };
            let chosen: Option<Vec<String>> = parts.iter().map(choice).collect();
            let is_unclear = |text: &str| is_like_a_choice(text) || is_typo(question, text);
            match chosen {
                Some(chosen) if question.multi_select => Ok(joined(chosen)),
                Some(chosen) => {
                    Err(AnswerError::TooMany { number, count: chosen.len(), accepted: accepted() })
                }
                None if is_unclear(text) => Err(wrong()),
                None if question.multi_select
                    && parts.iter().any(|part| choice(part).is_none() && is_unclear(part)) =>
                {
                    Err(wrong())
                }
                // Claude Code accepts other text besides any choices.
                None => Ok(text.to_owned()),
            }
        }
        Value::Object(other) if other.len() == 1 => {
            let text = other.get("other").and_then(Value::as_str).ok_or_else(wrong)?;
            if text.trim().is_empty() { Err(empty()) } else { Ok(text.to_owned()) }
        }
        _ => Err(wrong()),
    }
}

/// Whether `text` was meant as a choice's number.
fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+']);
    digits.starts_with(|digit: char| digit.is_ascii_digit()) && digits.parse::<f64>().is_ok()
}

/// Whether `text`, which is not a choice, was probably meant as one: a single word, or numbers.
fn is_like_a_choice(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let is_word = words.next().is_some() && words.next().is_none();
    is_word || !text.chars().any(char::is_alphabetic)
}

/// The label that `text` equals, ignoring case.
fn label<'a>(question: &'a Question, text: &str) -> Option<&'a str> {
    if let Some(choice) = question.options.iter().find(|choice| choice.label == text) {
        return Some(&choice.label);
    }
    let folded = text.to_lowercase();
    let mut same = question.options.iter().filter(|choice| choice.label.trim().to_lowercase() == folded);
    same.next().filter(|_| same.next().is_none()).map(|choice| &*choice.label)
}

/// For labels up to this length, in letters, only a prefix counts as a typo: other short texts are too similar anyway.
const SHORT_LABEL: usize = 3;

/// Whether `text`, which is not a label, was probably meant to be one: a few letters differ, or it is a prefix of one.
fn is_typo(question: &Question, text: &str) -> bool {
    let folded = text.to_lowercase();
    question.options.iter().map(|choice| choice.label.trim().to_lowercase()).any(|label| {
        let length = label.chars().count();
        label.starts_with(&folded)
            || length > SHORT_LABEL && spelling::distance(&folded, &label) <= 1 + length / 4
    })
}

/// `text` in quotation marks, with nothing hidden.
fn quoted(text: &str) -> String {
    format!("\"{}\"", line(text).replace('"', "\\\""))
}

/// What a question accepts, for hints.
fn accepted(question: &Question, form: Form) -> String {
    if question.options.is_empty() {
        return "write any text".to_owned();
    }
    let choice =
        |(index, choice): (usize, &super::Choice)| format!("{} ({})", quoted(&choice.label), index + 1);
    let choices: Vec<String> = question.options.iter().enumerate().map(choice).collect();
    let choices = choices.join(", ");
    match (form, question.multi_select) {
        (Form::Json, true) => {
            format!("write one or a list of {choices}, or {{\"other\": \"your own text\"}}")
        }
        (Form::Json, false) => format!("write one of {choices}, or {{\"other\": \"your own text\"}}"),
        (Form::Typed, true) => format!("write one or more of {choices}, with commas, or =your own text"),
        (Form::Typed, false) => format!("write one of {choices}, or =your own text"),
    }
}
