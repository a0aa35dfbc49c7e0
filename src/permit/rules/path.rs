//! Patterns of paths: `/p` from the workspace, `//p` from the root, `~/p` from home, `p` from where the agent is.

use crate::error::Failure;
use crate::failure;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// What a pattern counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Workspace,
    Root,
    Home,
    Here,
}

/// A pattern, taken apart.
#[derive(Debug, Clone)]
pub(super) struct PathPattern {
    pub(super) origin: Origin,
    /// The folders before the first star, below the origin.
    pub(super) stem: PathBuf,
    /// What follows; none where it is a path without stars. It matches where one of them does.
    rest: Option<Vec<GlobMatcher>>,
    /// Whether the stem itself is meant too: `stem/**`.
    and_stem: bool,
}

impl PathPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it, and what to do.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let (origin, path) = if let Some(path) = text.strip_prefix("//") {
            (Origin::Root, path)
        } else if let Some(path) = text.strip_prefix('/') {
            (Origin::Workspace, path)
        } else if text == "~" {
            (Origin::Home, "")
        } else if let Some(path) = text.strip_prefix("~/") {
            (Origin::Home, path)
        } else {
            (Origin::Here, text)
        };
        let mut parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.contains(&"..") {
            return Err(failure!("it has `..`"; "write where that leads"));
        }
        if path.ends_with('/') && !parts.is_empty() {
            parts.push("**");
        }
        let special = |part: &str| part.contains(['*', '?', '[', ']', '{', '}', '\\']);
        let at = parts.iter().position(|part| special(part)).unwrap_or(parts.len());
        let (stem, rest) = parts.split_at(at);
        let and_stem = matches!(rest, [] | ["**"]);
        let rest = match rest {
            [] => None,
            ["**"] => Some(vec![glob("**")?]),
            // `a*/**` is the folder and all that is in it.
            [folder @ .., "**"] => Some(vec![glob(&rest.join("/"))?, glob(&folder.join("/"))?]),
            _ => Some(vec![glob(&rest.join("/"))?]),
        };
        Ok(Self { origin, stem: stem.iter().collect(), rest, and_stem })
    }

    /// Whether it matches `path` where its stem leads to `stem`: that very path, or, as `within` has it, also one in a
    /// folder that it matches.
    pub(super) fn matches(&self, path: &Path, stem: &Path, within: bool) -> bool {
        let Ok(below) = path.strip_prefix(stem) else { return false };
        let is_match = |path: &Path| {
            if path.as_os_str().is_empty() {
                return self.and_stem;
            }
            self.rest.iter().flatten().any(|glob| glob.is_match(path))
        };
        if within { below.ancestors().any(is_match) } else { is_match(below) }
    }
}

fn glob(text: &str) -> Result<GlobMatcher, Failure> {
    let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
    glob.map(|glob| glob.compile_matcher())
        .map_err(|error| failure!("it is no pattern of paths ({})", error.kind(); "correct it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str, within: bool) -> bool {
        let pattern = PathPattern::parse(pattern).unwrap();
        let base = Path::new(match pattern.origin {
            Origin::Workspace => "/w",
            Origin::Root => "/",
            Origin::Home => "/home/me",
            Origin::Here => "/w/here",
        });
        pattern.matches(Path::new(path), &base.join(&pattern.stem), within)
    }

    #[test]
    fn each_beginning_counts_from_its_own_place() {
        for (pattern, path) in [
            ("/src/a.rs", "/w/src/a.rs"),
            ("//etc/hosts", "/etc/hosts"),
            ("~/notes", "/home/me/notes"),
            ("~", "/home/me"),
            ("a.rs", "/w/here/a.rs"),
            ("./a.rs", "/w/here/a.rs"),
            ("/", "/w"),
            ("//", "/"),
        ] {
            assert!(matches(pattern, path, false), "{pattern}");
            assert!(!matches(pattern, "/elsewhere/a.rs", false), "{pattern}");
        }
    }

    #[test]
    fn one_star_stays_in_a_folder_and_two_go_below_it() {
        for (pattern, path, expected) in [
            ("/src/*", "/w/src/a", true),
            ("/src/*", "/w/src/a/b", false),
            ("/src/*", "/w/src", false),
            ("/src/**", "/w/src/a/b", true),
            ("/src/**", "/w/src", true),
            ("/src/", "/w/src/a/b", true),
            ("/src/**", "/w/srcs/a", false),
            ("/**/*.rs", "/w/a/b/c.rs", true),
            ("/**/*.rs", "/w/c.rs", true),
            ("/**", "/w", true),
            ("**/.env", "/w/here/a/.env", true),
            ("**/.env", "/w/here/.env", true),
            ("*.{rs,toml}", "/w/here/a.toml", true),
            ("a\\*", "/w/here/a*", true),
            ("a\\*", "/w/here/ab", false),
            ("/s*/**", "/w/src", true),
        ] {
            assert_eq!(matches(pattern, path, false), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn within_a_folder_that_matches_everything_does() {
        for (pattern, path, expected) in [
            ("/secrets", "/w/secrets/a/b", true),
            ("/secrets", "/w/secrets2", false),
            ("**/secrets", "/w/here/a/secrets/b", true),
            ("/*.d", "/w/x.d/y", true),
        ] {
            assert_eq!(matches(pattern, path, true), expected, "{pattern} on {path}");
            assert!(!matches(pattern, path, false), "{pattern} on {path}");
        }
    }

    #[test]
    fn what_could_match_nothing_is_refused() {
        for wrong in ["/../x", "a/..", "[", "/a{"] {
            assert!(PathPattern::parse(wrong).is_err(), "{wrong}");
        }
    }
}
