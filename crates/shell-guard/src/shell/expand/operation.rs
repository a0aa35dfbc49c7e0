//! Parameter expansion: `${name…}`.

use crate::line::Doubt;
use crate::shell::field::{self, Field};
use crate::shell::tree::{Operation, Parameter, Word};
use crate::shell::walk::Walk;
use crate::shell::word;

impl Walk<'_> {
    /// Expands a parameter: to one field, or to the elements of an array.
    pub(super) fn parameter(&mut self, parameter: &Parameter) -> Result<Vec<Field>, Doubt> {
        let index = parameter.index.as_ref().map(|index| self.text(index)).transpose()?;
        let key = index.as_ref().and_then(Field::literal).map(|index| format!("{}[{index}]", parameter.name));
        let element = key.and_then(|key| self.value(&key));
        let is_element = element.is_some();
        let value = element.or_else(|| self.value(&parameter.name));
        let value = match (value, index.as_ref().and_then(Field::literal)) {
            (Some(value), Some("@" | "*")) => Some(value),
            (Some(value), _) if is_element => Some(value),
            (Some(value), Some(index)) => match index.parse::<usize>() {
                Ok(index) => Some(value.get(index).cloned().into_iter().collect()),
                Err(_) => None,
            },
            (Some(_), None) if index.is_some() => None,
            (Some(value), None) if parameter.name != "@" && parameter.name != "*" => {
                Some(value.into_iter().take(1).collect())
            }
            (value, _) => value,
        };
        let unknown = || vec![Field::unknown(&parameter.written)];
        let is_empty = value.as_ref().is_none_or(|value| value.iter().all(|field| field.0.is_empty()));
        Ok(match &parameter.operation {
            Operation::Value => value.unwrap_or_else(unknown),
            Operation::Default(word) if is_empty => vec![self.text(word)?],
            Operation::Assign(word) if is_empty => {
                let value = vec![self.text(word)?];
                self.scope.set(&parameter.name, value.clone());
                value
            }
            Operation::Alternative(word) => {
                let alternative = self.text(word)?;
                match value {
                    Some(_) if is_empty => Vec::new(),
                    Some(_) => vec![alternative],
                    // It may be set in the environment.
                    None if alternative.is_known() => Vec::new(),
                    None => unknown(),
                }
            }
            Operation::Default(word)
            | Operation::Assign(word)
            | Operation::Require(word)
            | Operation::Other(word) => {
                self.text(word)?;
                match (&parameter.operation, value) {
                    (Operation::Other(_), Some(value)) if parameter.written.ends_with("@P}") => {
                        // `@P` expands the value as a prompt, which runs substitutions.
                        let text = value.first().map(ToString::to_string).unwrap_or_default();
                        vec![self.text(&word::document(&text)?)?]
                    }
                    (Operation::Other(_), _) | (_, None) => unknown(),
                    (_, Some(value)) => value,
                }
            }
            Operation::Length => unknown(),
            Operation::Indirect => match value.as_deref() {
                Some([name]) => match name.literal().map(str::to_owned) {
                    Some(name) => self.value(&name).unwrap_or_else(unknown),
                    None => unknown(),
                },
                _ => unknown(),
            },
            operation => match (value.as_deref(), self.edited(operation, value.as_deref())?) {
                (Some(_), Some(edited)) => edited,
                _ => unknown(),
            },
        })
    }

    /// Applies a removal, replacement, slice or case change, if everything is known.
    fn edited(
        &mut self,
        operation: &Operation,
        value: Option<&[Field]>,
    ) -> Result<Option<Vec<Field>>, Doubt> {
        // Expanded even if the result is unknown, for the substitutions in them.
        let arguments: Vec<&Word> = match operation {
            Operation::Remove { pattern, .. } => vec![pattern],
            Operation::Replace { pattern, with, .. } => vec![pattern, with],
            Operation::Slice(offset, length) => std::iter::once(offset).chain(length).collect(),
            _ => Vec::new(),
        };
        let mut texts = Vec::new();
        for word in arguments {
            texts.push(self.text(word)?);
        }
        let (Some(value), true) = (value, texts.iter().all(Field::is_known)) else { return Ok(None) };
        let mut edited = Vec::new();
        for one in value {
            let Some(text) = one.literal() else { return Ok(None) };
            if text.len() > 4096 {
                return Ok(None);
            }
            self.budget.spend(1)?;
            match edit(text, operation, &texts) {
                Some(text) => edited.push(Field(text)),
                None => return Ok(None),
            }
        }
        Ok(Some(edited))
    }
}

fn edit(text: &str, operation: &Operation, arguments: &[Field]) -> Option<String> {
    let argument = |at: usize| arguments.get(at).map_or("", |field| field.marked());
    match operation {
        Operation::Remove { suffix, longest, .. } => Some(remove(text, argument(0), *suffix, *longest)),
        Operation::Replace { all, .. } => {
            let pattern = argument(0);
            if pattern.contains(['*', '?', '[']) || pattern.is_empty() {
                return None;
            }
            Some(if *all {
                text.replace(pattern, argument(1))
            } else {
                text.replacen(pattern, argument(1), 1)
            })
        }
        Operation::Slice(..) => {
            let characters: Vec<char> = text.chars().collect();
            let place = |number: i64| {
                let count = i64::try_from(characters.len()).unwrap_or(i64::MAX);
                usize::try_from(if number < 0 { count.saturating_add(number) } else { number }).ok()
            };
            let start = place(argument(0).trim().parse().ok()?)?.min(characters.len());
            let end = match arguments.get(1) {
                Some(length) => {
                    let length: i64 = length.marked().trim().parse().ok()?;
                    if length < 0 {
                        place(length)?
                    } else {
                        start.saturating_add(usize::try_from(length).ok()?)
                    }
                }
                None => characters.len(),
            };
            Some(characters.get(start..end.min(characters.len()))?.iter().collect())
        }
        Operation::Case { upper, all } => {
            let mut characters = text.chars();
            let change = |text: &str| if *upper { text.to_uppercase() } else { text.to_lowercase() };
            if *all {
                return Some(change(text));
            }
            let first = characters.next().map_or_else(String::new, |first| change(&first.to_string()));
            Some(first + characters.as_str())
        }
        _ => None,
    }
}

fn remove(text: &str, pattern: &str, suffix: bool, longest: bool) -> String {
    let marked: String = pattern.chars().map(super::pattern).collect();
    let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    // The first match is taken.
    if suffix != longest {
        ends.reverse();
    }
    for end in ends.into_iter().take(256) {
        let (removed, rest) =
            if suffix { (&text[end..], &text[..end]) } else { (&text[..end], &text[end..]) };
        if field::matches(&marked, removed) {
            return rest.to_owned();
        }
    }
    text.to_owned()
}
