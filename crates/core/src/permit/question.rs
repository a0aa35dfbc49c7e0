//! AskUserQuestion: an agent's questions to a person, and the answers in the form that the agent expects.

mod answer;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Value, json};

pub use answer::{AnswerError, Answers, EXAMPLE};
use sys::error::Hinted;
use sys::text::{shown, shown_line};

/// The questions of one call: at least one, with distinct texts. Their keys are `q1`, `q2` and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionSet(Vec<Question>);

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Its text, which is also the key of the answer.
    pub question: String,
    /// Its topic, in a word.
    #[serde(default)]
    pub header: String,
    /// The choices. Without any, any text is an answer.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// Whether several choices can be selected.
    #[serde(default)]
    pub multi_select: bool,
}

impl Question {
    /// The question as a person reads it, after `before` on its first line, with nothing hidden: its choices numbered,
    /// and all lines but those of choices indented.
    #[must_use]
    pub fn printed(&self, before: &str) -> String {
        let mut out = before.to_owned();
        if !self.header.trim().is_empty() {
            let _never = write!(out, "[{}] ", line(&self.header));
        }
        let several = if self.multi_select { " (one or more)" } else { "" };
        let _never = writeln!(out, "{}{several}", indented(&self.question));
        for (index, choice) in self.options.iter().enumerate() {
            let _never = write!(out, "  {}. {}", index + 1, line(&choice.label));
            if !choice.description.is_empty() {
                let _never = write!(out, ": {}", indented(&choice.description));
            }
            out.push('\n');
            for line in shown(&choice.preview).lines() {
                let _never = writeln!(out, "     | {line}");
            }
        }
        out
    }

    /// The answer that a person typed as one word: a label or its number, several with commas if the question takes
    /// several, or other text after `=`.
    #[must_use]
    pub fn typed(&self, word: &str) -> Value {
        match word.strip_prefix('=') {
            Some(text) if !self.options.is_empty() => json!({ "other": text.trim() }),
            _ if self.multi_select => word.split(',').map(|part| self.one(part.trim())).collect(),
            _ => self.one(word),
        }
    }

    /// A number always means the option that is shown with it, even if another one's label is that number: the label
    /// of the first may be one that nobody can type.
    fn one(&self, word: &str) -> Value {
        match word.trim().parse::<usize>() {
            Ok(number) if self.is_number(word) => json!(number),
            _ => json!(word),
        }
    }

    /// Whether `word` is the number of an option.
    fn is_number(&self, word: &str) -> bool {
        word.trim().parse().is_ok_and(|number: usize| (1..=self.options.len()).contains(&number))
    }
}

/// A choice.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Choice {
    /// The answer.
    pub label: String,
    /// What it means.
    #[serde(default)]
    pub description: String,
    /// What it would look like.
    #[serde(default)]
    pub preview: String,
}

/// Why the questions can't be answered, for the agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// They have another form.
    #[error("the questions are not valid ({0})")]
    Form(String),
    /// There are none.
    #[error("there are no questions")]
    None,
    /// Two have the same text, so their answers could not be told apart.
    #[error("{0:?} is asked twice")]
    Twice(String),
}

impl Hinted for QuestionError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Form(_) => {
                "ask again with \"questions\", each with its \"question\" and \"options\"".to_owned()
            }
            Self::None => "ask again with at least one".to_owned(),
            Self::Twice(_) => "ask each question once".to_owned(),
        })
    }
}

impl QuestionSet {
    /// Parses the questions in a call's input; ignores all else in it.
    pub fn parse(input: &Value) -> Result<Self, QuestionError> {
        let list = input
            .get("questions")
            .ok_or_else(|| QuestionError::Form("\"questions\" is missing".to_owned()))?;
        let questions: Vec<Question> =
            Vec::deserialize(list).map_err(|error| QuestionError::Form(error.to_string()))?;
        if questions.is_empty() {
            return Err(QuestionError::None);
        }
        for (index, question) in questions.iter().enumerate() {
            if questions.iter().take(index).any(|before| before.question == question.question) {
                return Err(QuestionError::Twice(question.question.clone()));
            }
        }
        Ok(Self(questions))
    }

    /// The questions, in order.
    #[must_use]
    pub fn questions(&self) -> &[Question] {
        &self.0
    }

    /// Checks the answer that a person typed to one question, by its index.
    pub fn check(&self, index: usize, value: &Value) -> Result<(), AnswerError> {
        let check = |question| answer::answer(question, index + 1, value, answer::Form::Typed).map(drop);
        self.0.get(index).map_or(Ok(()), check)
    }

    /// Formats the questions for a terminal: each after its key, choices numbered, nothing hidden.
    #[must_use]
    pub fn printed(&self) -> String {
        let printed = |(index, question): (usize, &Question)| question.printed(&format!("q{} ", index + 1));
        self.0.iter().enumerate().map(printed).collect()
    }
}

/// `text` on one line, with nothing hidden.
fn line(text: &str) -> String {
    shown_line(text.trim())
}

/// `text` with nothing hidden. All of its lines but the first are indented, so that none of them can look like murmur's
/// own output.
fn indented(text: &str) -> String {
    shown(text.trim()).replace('\n', "\n     ")
}
