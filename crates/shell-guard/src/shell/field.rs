//! An expanded word, in which some text may be unknown and some may be a glob.
//!
//! Both are marked inline with Unicode noncharacters. A command line that contains one of these is refused.

use std::fmt;

/// Starts unknown text, which stays as written, up to [`CLOSE`].
pub(crate) const OPEN: char = '\u{fdd0}';
/// Ends unknown text.
pub(crate) const CLOSE: char = '\u{fdd1}';
/// An unquoted `*`.
pub(crate) const STAR: char = '\u{fdd2}';
/// An unquoted `?`.
pub(crate) const QUESTION: char = '\u{fdd3}';
/// An unquoted `[`.
pub(crate) const CLASS: char = '\u{fdd4}';

/// Whether `text` contains a mark.
pub(crate) fn has_marks(text: &str) -> bool {
    // No mark is ASCII, as most texts are; all marks share their first two bytes.
    !text.is_ascii()
        && memchr::memmem::find_iter(text.as_bytes(), b"\xef\xb7").any(|at| {
            let rest = text.get(at..).and_then(|rest| rest.chars().next());
            rest.is_some_and(|character| (OPEN..=CLASS).contains(&character))
        })
}

/// One argument.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Field(pub(super) String);

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// The text as written, without quotes.
impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&written(&self.0))
    }
}

/// Removes the marks from `text`.
pub(super) fn written(text: &str) -> String {
    if !has_marks(text) {
        return text.to_owned();
    }
    let plain = text.chars().filter_map(|character| match character {
        OPEN | CLOSE => None,
        STAR => Some('*'),
        QUESTION => Some('?'),
        CLASS => Some('['),
        other => Some(other),
    });
    plain.collect()
}

impl Field {
    /// Creates an unknown field from the text as written.
    #[must_use]
    pub fn unknown(written: &str) -> Self {
        Self(format!("{OPEN}{written}{CLOSE}"))
    }

    /// Whether all of the text is known. A glob counts as known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !self.0.contains(OPEN)
    }

    /// Whether the field is a glob.
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        self.0.contains([STAR, QUESTION, CLASS])
    }

    /// Whether it contains a letter or digit of any language.
    #[must_use]
    pub fn has_letters(&self) -> bool {
        let is_letter = |c: char| match c {
            OPEN..=CLASS => false,
            other => other.is_alphanumeric(),
        };
        self.0.chars().any(is_letter)
    }

    /// The text, if it is known and not a glob.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        (!has_marks(&self.0)).then_some(&self.0)
    }

    /// The text with its marks.
    #[must_use]
    pub fn marked(&self) -> &str {
        &self.0
    }

    /// The part after the last known `/`.
    #[must_use]
    pub fn base(&self) -> Self {
        let (mut start, mut is_unknown) = (0, false);
        for (at, character) in self.0.char_indices() {
            match character {
                OPEN => is_unknown = true,
                CLOSE => is_unknown = false,
                '/' if !is_unknown => start = at + 1,
                _ => {}
            }
        }
        Self(self.0[start..].to_owned())
    }

    /// The text with every unknown variable empty, or `None` if there is none.
    #[must_use]
    pub fn without_variables(&self) -> Option<Self> {
        let (mut text, mut rest) = (String::new(), self.0.as_str());
        let mut has_some = false;
        while let Some(open) = rest.find(OPEN) {
            let close = rest[open..].find(CLOSE)? + open;
            let written = &rest[open + OPEN.len_utf8()..close];
            text.push_str(&rest[..open]);
            let can_be_empty =
                written.starts_with('$') && !written.starts_with("$(") && !written.contains('?');
            if can_be_empty {
                has_some = true;
            } else {
                text.push_str(&rest[open..close + CLOSE.len_utf8()]);
            }
            rest = &rest[close + CLOSE.len_utf8()..];
        }
        has_some.then(|| Self(text + rest))
    }

    /// Whether the glob can match `name`. Unknown text matches nothing.
    #[must_use]
    pub fn matches_name(&self, name: &str) -> bool {
        matches(&self.0, name)
    }
}

/// Whether `pattern`, which has marks, can match `name`.
#[must_use]
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    if pattern.len() > 256 {
        return false;
    }
    // No mark is ASCII.
    if pattern.is_ascii() {
        return pattern == name;
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut place) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while place < name.len() {
        let fits = match pattern.get(at) {
            Some(&STAR) => {
                retry = Some((at + 1, place));
                at += 1;
                continue;
            }
            Some(&QUESTION) => Some(at + 1),
            Some(&CLASS) => class(&pattern[at + 1..], name[place]).map(|length| at + 1 + length),
            Some(character) => (*character == name[place]).then_some(at + 1),
            None => None,
        };
        match (fits, retry) {
            (Some(next), _) => (at, place) = (next, place + 1),
            (None, Some((after, from))) => {
                (at, place) = (after, from + 1);
                retry = Some((after, from + 1));
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|character| *character == STAR)
}

/// Returns the length of the bracket expression after its `[`, if it contains the character.
fn class(pattern: &[char], character: char) -> Option<usize> {
    let is_negated = matches!(pattern.first(), Some('!' | '^'));
    let start = usize::from(is_negated);
    let end = start + 1 + pattern.get(start + 1..)?.iter().position(|c| *c == ']')?;
    let members = &pattern[start..end];
    let mut has = false;
    let mut at = 0;
    while at < members.len() {
        if members.get(at + 1) == Some(&'-') && at + 2 < members.len() {
            has |= (members[at]..=members[at + 2]).contains(&character);
            at += 3;
        } else {
            has |= members[at] == character;
            at += 1;
        }
    }
    // A class such as `[:alpha:]` may contain any character.
    has |= members.first() == Some(&':');
    (has != is_negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_matches_names() {
        let pattern = |text: &str| {
            text.replace('*', &STAR.to_string())
                .replace('?', &QUESTION.to_string())
                .replace('[', &CLASS.to_string())
        };
        assert!(matches(&pattern("su?o"), "sudo"));
        assert!(matches(&pattern("r*b*t"), "reboot"));
        assert!(matches(&pattern("s[a-z]d[!x]"), "sudo"));
        assert!(!matches(&pattern("s[a-c]do"), "sudo"));
        assert!(!matches(&pattern("*.sh"), "sudo"));
    }
}
