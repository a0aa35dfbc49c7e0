//! Text patterns: `git push:*`, `npm run *`, `*--force*`, or exact text.

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::permit) struct Wildcard {
    /// The texts between the stars. A single part is a text without stars.
    parts: Vec<String>,
    /// Whether more words may follow: `x:*` or `x *`.
    is_prefix: bool,
}

impl Wildcard {
    /// Parses a pattern. `x:*` and `x *` match the words `x` and any words after them; any other `*` matches any text.
    /// Returns `None` if the pattern is empty, or has nothing before its `:*` or ` *`.
    pub(in crate::permit) fn parse(pattern: &str) -> Option<Self> {
        let pattern = pattern.trim();
        let stem = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *"));
        let (stem, is_prefix) = stem.map_or((pattern, false), |stem| (stem.trim_end(), true));
        (!stem.is_empty()).then(|| Self { parts: stem.split('*').map(str::to_owned).collect(), is_prefix })
    }

    /// The only text that it matches, if it has no wildcards.
    pub(in crate::permit) fn exact(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [text] if !self.is_prefix => Some(text),
            _ => None,
        }
    }

    /// Whether it matches the whole of `text`.
    pub(in crate::permit) fn matches(&self, text: &str) -> bool {
        if !self.is_prefix {
            return whole(&self.parts, text);
        }
        // The words alone, or followed by a space.
        whole(&self.parts, text) || starts(&self.parts, text)
    }
}

/// Whether `text` consists of `parts` with any text between them.
fn whole(parts: &[String], text: &str) -> bool {
    match parts {
        [] => false,
        [only] => text == only,
        [first, middle @ .., last] => {
            let Some(rest) = text.strip_prefix(first.as_str()) else { return false };
            let Some(rest) = rest.strip_suffix(last.as_str()) else { return false };
            after(middle, rest).is_some()
        }
    }
}

/// Whether `text` begins with `parts`, with any text between them, followed by a space.
fn starts(parts: &[String], text: &str) -> bool {
    match parts {
        [] => false,
        [only] => text.strip_prefix(only.as_str()).is_some_and(|rest| rest.starts_with(' ')),
        [first, middle @ .., last] => text
            .strip_prefix(first.as_str())
            .and_then(|rest| after(middle, rest))
            .is_some_and(|rest| rest.contains(&format!("{last} "))),
    }
}

/// The rest of `text` after `parts`, one after the other. Taking the first match of each leaves the most for the next.
fn after<'a>(parts: &[String], text: &'a str) -> Option<&'a str> {
    parts.iter().try_fold(text, |rest, part| {
        let start = rest.find(part.as_str())?;
        rest.get(start + part.len()..)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Wildcard::parse(pattern).unwrap().matches(text)
    }

    #[test]
    fn a_prefix_ends_at_the_end_of_a_word() {
        for pattern in ["git push:*", "git push *", "git push :*"] {
            assert!(matches(pattern, "git push") && matches(pattern, "git push -f"), "{pattern}");
            assert!(!matches(pattern, "git pushx") && !matches(pattern, "git pus"), "{pattern}");
            assert!(!matches(pattern, "a git push"), "{pattern}");
        }
    }

    #[test]
    fn a_star_matches_any_text_and_other_text_matches_itself() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("*", "anything at all", true),
            ("*.txt", "a.txt", true),
            ("*.txt", ".txt", true),
            ("*.txt", "a.txt.sh", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("git * main", "git push origin main", true),
            ("git * main", "git main", false),
            ("git*--force*", "git push --force-with-lease", true),
            ("git*--force*", "git push", false),
            ("npm run *:*", "npm run a b", true),
            ("npm run test:*", "npm run test", true),
            ("npm run test:*", "npm run test:unit", false),
            ("npm run test:unit", "npm run test:unit", true),
            ("* --version:*", "x --version y", true),
            ("* --version:*", "x --versions", false),
            ("ls", "ls", true),
            ("ls", "ls -l", false),
            ("LS", "ls", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
        assert_eq!(Wildcard::parse("ls -l").unwrap().exact(), Some("ls -l"));
        assert_eq!(Wildcard::parse("ls:*").unwrap().exact(), None);
        assert_eq!(Wildcard::parse("l*").unwrap().exact(), None);
    }

    #[test]
    fn an_empty_pattern_is_refused() {
        for pattern in ["", " ", ":*", " :*"] {
            assert_eq!(Wildcard::parse(pattern), None, "{pattern:?}");
        }
    }

    proptest! {
        #[test]
        fn stars_match_as_a_regular_expression_would(pattern in "[ab*]{1,8}", text in "[ab]{0,12}") {
            let expression = format!("^{}$", pattern.replace('*', ".*"));
            prop_assert_eq!(matches(&pattern, &text), regex::Regex::new(&expression).unwrap().is_match(&text));
        }
    }
}
