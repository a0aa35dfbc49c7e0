//! Brace expansion: `a{b,c}d` → `abd acd`. It comes before all other expansions.

use super::tree::{Part, Word};
use crate::line::Doubt;

/// How many words one word may expand to.
const MAX_WORDS: usize = 256;
/// How many members a sequence may have; a longer one is unknown.
const MAX_MEMBERS: i64 = 64;
/// How long a word with braces may be, in bytes: expanding it takes a hundred times the memory.
const MAX_LENGTH: usize = 64 << 10;
/// How deeply braces may nest.
const MAX_DEPTH: usize = 6;

/// A character that may be a brace, or another part of the word.
#[derive(Debug, Clone)]
enum Unit {
    Character(char),
    Part(Part),
}

/// Returns the words that `word` expands to, or `None` if it contains no brace expansion.
pub(super) fn expand(word: &Word) -> Result<Option<Vec<Word>>, Doubt> {
    let has = |wanted: char| {
        word.0.iter().any(|part| matches!(part, Part::Unquoted(text) if text.contains(wanted)))
    };
    if !has('{') || !has('}') {
        return Ok(None);
    }
    let length: usize =
        word.0.iter().map(|part| if let Part::Unquoted(text) = part { text.len() } else { 0 }).sum();
    if length > MAX_LENGTH {
        return Err(too_many());
    }
    let mut units = Vec::new();
    for part in &word.0 {
        match part {
            Part::Unquoted(text) => units.extend(text.chars().map(Unit::Character)),
            other => units.push(Unit::Part(other.clone())),
        }
    }
    let words = product(&units, 0)?;
    Ok(Some(words.into_iter().map(|units| join(&units)).collect()))
}

fn join(units: &[Unit]) -> Word {
    let mut parts = Vec::new();
    for unit in units {
        match (unit, parts.last_mut()) {
            (Unit::Character(character), Some(Part::Unquoted(text))) => text.push(*character),
            (Unit::Character(character), _) => parts.push(Part::Unquoted(character.to_string())),
            (Unit::Part(part), _) => parts.push(part.clone()),
        }
    }
    Word(parts)
}

fn too_many() -> Doubt {
    Doubt("the braces expand to too many words: write the words out, or use a loop".to_owned())
}

fn product(units: &[Unit], depth: usize) -> Result<Vec<Vec<Unit>>, Doubt> {
    if depth > MAX_DEPTH {
        return Err(too_many());
    }
    let closes = closes(units);
    let mut words: Vec<Vec<Unit>> = vec![Vec::new()];
    let mut at = 0;
    while at < units.len() {
        let inner = closes[at].map(|close| (close, &units[at + 1..close]));
        let choices = match inner.map(|(close, inner)| (close, members(inner))) {
            Some((close, Some(members))) => {
                at = close + 1;
                let mut choices = Vec::new();
                for member in members {
                    choices.append(&mut product(&member, depth + 1)?);
                }
                choices
            }
            _ => {
                words.iter_mut().for_each(|word| word.push(units[at].clone()));
                at += 1;
                continue;
            }
        };
        if words.len() * choices.len() > MAX_WORDS {
            return Err(too_many());
        }
        let pairs = words.iter().flat_map(|word| choices.iter().map(move |choice| (word, choice)));
        words = pairs.map(|(word, choice)| [word.as_slice(), choice].concat()).collect();
    }
    Ok(words)
}

/// Returns the index of the matching `}` for each `{`.
fn closes(units: &[Unit]) -> Vec<Option<usize>> {
    let (mut closes, mut open) = (vec![None; units.len()], Vec::new());
    for (at, unit) in units.iter().enumerate() {
        match unit {
            Unit::Character('{') => open.push(at),
            Unit::Character('}') => {
                if let Some(start) = open.pop() {
                    closes[start] = Some(at);
                }
            }
            _ => {}
        }
    }
    closes
}

/// Returns the members of a list or sequence, or `None` if it is neither.
fn members(inner: &[Unit]) -> Option<Vec<Vec<Unit>>> {
    let (mut members, mut depth) = (vec![Vec::new()], 0_usize);
    for unit in inner {
        match unit {
            Unit::Character(',') if depth == 0 => {
                members.push(Vec::new());
                continue;
            }
            Unit::Character('{') => depth += 1,
            Unit::Character('}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        members.last_mut()?.push(unit.clone());
    }
    if members.len() > 1 { Some(members) } else { sequence(inner) }
}

/// The members of `1..5` or `a..e`.
fn sequence(inner: &[Unit]) -> Option<Vec<Vec<Unit>>> {
    if inner.len() > 64 {
        return None;
    }
    let text: String = inner
        .iter()
        .map(|unit| match unit {
            Unit::Character(character) => *character,
            Unit::Part(_) => '\0',
        })
        .collect();
    let mut ends = text.split("..");
    let (first, last, step) = (ends.next()?, ends.next()?, ends.next());
    let number = |text: &str| -> Option<(i64, bool)> {
        let mut characters = text.chars();
        match (characters.next(), characters.next(), text.parse()) {
            (_, _, Ok(number)) => Some((number, false)),
            (Some(character), None, _) if character.is_ascii_alphabetic() => {
                Some((i64::from(u32::from(character)), true))
            }
            _ => None,
        }
    };
    let ((from, is_letter), (to, is_also_letter)) = (number(first)?, number(last)?);
    let step = step.map_or(Some(1), |step| step.parse().ok())?;
    if is_letter != is_also_letter || ends.next().is_some() {
        return None;
    }
    let step = i64::checked_abs(step)?.max(1);
    let count = to.checked_sub(from)?.checked_abs()? / step;
    if count >= MAX_MEMBERS {
        let unknown = Part::Variable(Box::new(super::tree::Parameter {
            name: "?".to_owned(),
            index: None,
            operation: super::tree::Operation::Value,
            quoted: true,
            written: format!("{{{text}}}"),
        }));
        return Some(vec![vec![Unit::Part(unknown)]]);
    }
    let direction = if to < from { -step } else { step };
    let members = (0..=count).map(|index| from + index * direction).map(|member| {
        let letter = u32::try_from(member).ok().and_then(char::from_u32).filter(|_| is_letter);
        let text = letter.map_or_else(|| member.to_string(), String::from);
        text.chars().map(Unit::Character).collect()
    });
    Some(members.collect())
}
