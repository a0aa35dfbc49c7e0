//! A person's answers: read, held against the questions, and put into the call's input.

use crate::error::Hinted;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::plain::plain_line;
use super::{Asked, Question};
use crate::config::spelling;

/// The answers, by the questions' texts: each a label, several labels with `, ` between them, or a text.
pub type Answers = BTreeMap<String, String>;

/// Why something is no answer, for the person who gave it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It is no object.
    #[error("the answers are no JSON object")]
    NoObject,
    /// A key that stands for no question.
    #[error("{key:?} is none of the questions")]
    UnknownKey {
        /// The key.
        key: String,
        /// The questions' keys with what they are about.
        known: String,
    },
    /// A key that stands for more than one question.
    #[error("{key:?} could be more than one question")]
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
    /// A question without an answer.
    #[error("q{number} ({question:?}) is not answered")]
    Missing {
        /// The question, from 1.
        number: usize,
        /// Its text.
        question: String,
        /// What can be answered.
        accepted: String,
    },
    /// A value that is none of the choices.
    #[error("q{number} cannot be answered with {found}")]
    NoChoice {
        /// The question, from 1.
        number: usize,
        /// What was given.
        found: String,
        /// What can be answered.
        accepted: String,
    },
    /// Several, where there is to be one.
    #[error("q{number} takes one answer and not {count}")]
    TooMany {
        /// The question, from 1.
        number: usize,
        /// How many there are.
        count: usize,
        /// What can be answered.
        accepted: String,
    },
}

impl Hinted for AnswerError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoObject => "write one such as {\"q1\": 1}".to_owned(),
            Self::UnknownKey { known, .. } => format!("they are {known}"),
            Self::Ambiguous { .. } => "write q1, q2 and so on".to_owned(),
            Self::Twice { .. } => "remove one of the two".to_owned(),
            Self::Missing { accepted, .. } => accepted.clone(),
            Self::NoChoice { accepted, .. } => accepted.clone(),
            Self::TooMany { accepted, .. } => accepted.clone(),
        })
    }
}

impl Asked {
    /// The answers that `given` has: an object with a key for each question, which is `q1` and so on, its header or its
    /// text, and for each value a label, a choice's number, a list of them where several can be chosen, or a text of
    /// one's own. A text that looks like a slip in a label is refused; as `{"other": "text"}` it is taken.
    ///
    /// # Errors
    /// [`AnswerError`]: whatever is not understood, and a question without an answer.
    pub fn answers(&self, given: &Value) -> Result<Answers, AnswerError> {
        let given = given.as_object().ok_or(AnswerError::NoObject)?;
        let mut found: Vec<Option<String>> = vec![None; self.0.len()];
        for (key, value) in given {
            let index = self.index(key)?;
            let (Some(question), Some(slot)) = (self.0.get(index), found.get_mut(index)) else { continue };
            if slot.replace(answer(question, index + 1, value)?).is_some() {
                return Err(AnswerError::Twice { number: index + 1 });
            }
        }
        let mut answers = Answers::new();
        for (index, (question, answer)) in self.0.iter().zip(found).enumerate() {
            let answer = answer.ok_or_else(|| AnswerError::Missing {
                number: index + 1,
                question: plain_line(&question.question),
                accepted: accepted(question),
            })?;
            answers.insert(question.question.clone(), answer);
        }
        Ok(answers)
    }

    /// The input of the call with the answers in it, as Claude Code takes it.
    #[must_use]
    pub fn answered(input: &Value, answers: Map<String, Value>) -> Value {
        let mut input = input.as_object().cloned().unwrap_or_default();
        input.insert("answers".to_owned(), Value::Object(answers));
        Value::Object(input)
    }

    /// The question that `key` stands for.
    fn index(&self, key: &str) -> Result<usize, AnswerError> {
        let number = key.strip_prefix(['q', 'Q']).and_then(|number| number.parse::<usize>().ok());
        let number = number.and_then(|number| number.checked_sub(1)).filter(|index| *index < self.0.len());
        let named = |question: &Question| {
            question.question == key || (!key.is_empty() && question.header.eq_ignore_ascii_case(key))
        };
        let mut meant: Vec<usize> = self
            .0
            .iter()
            .enumerate()
            .filter(|(_, question)| named(question))
            .map(|(index, _)| index)
            .collect();
        meant.extend(number.filter(|index| !meant.contains(index)));
        match meant.as_slice() {
            [index] => Ok(*index),
            [] => Err(AnswerError::UnknownKey { key: key.to_owned(), known: self.keys() }),
            _ => Err(AnswerError::Ambiguous { key: key.to_owned() }),
        }
    }

    fn keys(&self) -> String {
        let key = |(index, question): (usize, &Question)| {
            let about = if question.header.is_empty() { &question.question } else { &question.header };
            format!("q{} ({:?})", index + 1, plain_line(about))
        };
        self.0.iter().enumerate().map(key).collect::<Vec<_>>().join(", ")
    }
}

fn answer(question: &Question, number: usize, value: &Value) -> Result<String, AnswerError> {
    let Value::Array(values) = value else { return one(question, number, value) };
    if values.is_empty() || (values.len() > 1 && !question.multi_select) {
        let accepted = accepted(question);
        return Err(AnswerError::TooMany { number, count: values.len(), accepted });
    }
    let answers: Result<Vec<String>, _> = values.iter().map(|value| one(question, number, value)).collect();
    answers.map(joined)
}

/// Several answers as one, each once.
fn joined<T: AsRef<str>>(answers: Vec<T>) -> String {
    let mut once: Vec<&str> = Vec::with_capacity(answers.len());
    for answer in answers.iter().map(AsRef::as_ref) {
        if !once.contains(&answer) {
            once.push(answer);
        }
    }
    once.join(", ")
}

/// One answer: a label, a number, or a text of one's own.
fn one(question: &Question, number: usize, value: &Value) -> Result<String, AnswerError> {
    let wrong = || {
        let found = plain_line(&value.to_string());
        AnswerError::NoChoice { number, found, accepted: accepted(question) }
    };
    let labels = || question.options.iter().map(|choice| &choice.label);
    let numbered = |number: u64| {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        question.options.get(index).map(|choice| choice.label.clone())
    };
    match value {
        Value::Number(choice) => choice.as_u64().and_then(numbered).ok_or_else(wrong),
        Value::String(text) if text.trim().is_empty() => Err(wrong()),
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
            let chosen: Option<Vec<&str>> = parts.iter().map(|part| label(question, part)).collect();
            match chosen {
                Some(chosen) if question.multi_select => Ok(joined(chosen)),
                Some(chosen) => {
                    Err(AnswerError::TooMany { number, count: chosen.len(), accepted: accepted(question) })
                }
                None if is_slip(question, text) => Err(wrong()),
                None if question.multi_select
                    && parts
                        .iter()
                        .any(|part| label(question, part).is_none() && is_slip(question, part)) =>
                {
                    Err(wrong())
                }
                // Claude Code offers a text of one's own beside any choices.
                None => Ok(text.to_owned()),
            }
        }
        Value::Object(other) if other.len() == 1 => {
            let text = other.get("other").and_then(Value::as_str).filter(|text| !text.trim().is_empty());
            text.map(str::to_owned).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

/// Whether `text` was meant as a choice's number.
fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+']);
    digits.starts_with(|digit: char| digit.is_ascii_digit()) && digits.parse::<f64>().is_ok()
}

/// The label that `text` is, however its letters are written.
fn label<'a>(question: &'a Question, text: &str) -> Option<&'a str> {
    if let Some(choice) = question.options.iter().find(|choice| choice.label == text) {
        return Some(&choice.label);
    }
    let folded = text.to_lowercase();
    let mut same = question.options.iter().filter(|choice| choice.label.trim().to_lowercase() == folded);
    same.next().filter(|_| same.next().is_none()).map(|choice| &*choice.label)
}

/// The longest label, in letters, of which only the beginning counts as a slip: every other short text is near it.
const SHORT: usize = 3;

/// Whether `text`, which is no label, was probably meant to be one: a few letters differ, or it is the beginning of one.
fn is_slip(question: &Question, text: &str) -> bool {
    let folded = text.to_lowercase();
    question.options.iter().map(|choice| choice.label.trim().to_lowercase()).any(|label| {
        let length = label.chars().count();
        label.starts_with(&folded) || length > SHORT && spelling::distance(&folded, &label) <= 1 + length / 4
    })
}

/// What a question takes, for errors.
fn accepted(question: &Question) -> String {
    if question.options.is_empty() {
        return "write a text".to_owned();
    }
    let choice =
        |(index, choice): (usize, &super::Choice)| format!("{:?} ({})", plain_line(&choice.label), index + 1);
    let choices: Vec<String> = question.options.iter().enumerate().map(choice).collect();
    let several = if question.multi_select { "one or a list of" } else { "one of" };
    format!("write {several} {}, or {{\"other\": \"a text of yours\"}}", choices.join(", "))
}
