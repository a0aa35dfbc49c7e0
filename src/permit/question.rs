//! AskUserQuestion: what an agent asks a person, and the person's answers in the form that the agent takes them.

mod answer;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use serde::Deserialize;
use serde_json::Value;

use super::plain::{plain, plain_line};
use crate::error::Hinted;
pub use answer::{AnswerError, Answers};

/// The questions of one call, at least one, no two with the same text. They are `q1`, `q2` and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked(Vec<Question>);

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The question itself: what the answer is filed under.
    pub question: String,
    /// What it is about, in a word.
    #[serde(default)]
    pub header: String,
    /// What can be answered. Without any, every text is an answer.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// Whether several of them can be chosen.
    #[serde(default)]
    pub multi_select: bool,
}

/// One of the answers to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Choice {
    /// The answer.
    pub label: String,
    /// What it means.
    #[serde(default)]
    pub description: String,
}

/// Why a call asks nothing that can be answered, for the agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskedError {
    /// It has another form.
    #[error("the questions cannot be read ({0})")]
    Form(String),
    /// There is none.
    #[error("there is no question")]
    None,
    /// Two with the same text, whose answers would be one.
    #[error("{0:?} is asked twice")]
    Twice(String),
}

impl Hinted for AskedError {
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

impl Asked {
    /// The questions of a call's input. What else is in it is left alone.
    ///
    /// # Errors
    /// [`AskedError`].
    pub fn parse(input: &Value) -> Result<Self, AskedError> {
        let list =
            input.get("questions").ok_or_else(|| AskedError::Form("\"questions\" is missing".to_owned()))?;
        let asked: Vec<Question> =
            Vec::deserialize(list).map_err(|error| AskedError::Form(error.to_string()))?;
        if asked.is_empty() {
            return Err(AskedError::None);
        }
        for (index, question) in asked.iter().enumerate() {
            if asked.iter().take(index).any(|before| before.question == question.question) {
                return Err(AskedError::Twice(question.question.clone()));
            }
        }
        Ok(Self(asked))
    }

    /// The questions, in their order.
    #[must_use]
    pub fn questions(&self) -> &[Question] {
        &self.0
    }

    /// All of it for a terminal: each question after its key, its choices numbered. No escape sequence is left in it.
    #[must_use]
    pub fn printed(&self) -> String {
        let mut out = String::new();
        for (index, question) in self.0.iter().enumerate() {
            let header = plain_line(&question.header);
            let header = if header.is_empty() { header } else { format!(" [{header}]") };
            let several = if question.multi_select { " (one or more)" } else { "" };
            let text = indented(&plain(&question.question), "     ");
            let _never = writeln!(out, "q{}{header} {text}{several}", index + 1);
            for (index, choice) in question.options.iter().enumerate() {
                let _never = write!(out, "  {}. {}", index + 1, plain_line(&choice.label));
                if !choice.description.is_empty() {
                    let _never = write!(out, ": {}", indented(&plain(&choice.description), "     "));
                }
                out.push('\n');
            }
        }
        out
    }
}

/// The text with `by` before each line but the first: no line of it can pass for one of ours.
fn indented(text: &str, by: &str) -> String {
    text.trim().replace('\n', &format!("\n{by}"))
}
