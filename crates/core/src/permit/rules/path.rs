//! Path patterns: `/p` from the workspace, `//p` from the root, `~/p` from home, `p` from the agent's folder.

use std::path::{Path, PathBuf};
use sys::error::Failure;
use sys::failure;

use globset::{GlobBuilder, GlobMatcher};

/// What a pattern is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Workspace,
    Root,
    Home,
    WorkingFolder,
}

/// A parsed pattern.
#[derive(Debug, Clone)]
pub(super) struct PathPattern {
    pub(super) origin: Origin,
    /// The folders before the first wildcard, below the origin.
    pub(super) stem: PathBuf,
    /// The part from the first wildcard on, as alternatives; `None` without wildcards.
    rest: Option<Vec<GlobMatcher>>,
    /// Whether the stem itself matches, too: `stem/**`.
    and_stem: bool,
}

impl PathPattern {
    /// Parses a pattern.
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
            (Origin::WorkingFolder, text)
        };
        let mut parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.contains(&"..") {
            return Err(failure!("it contains `..`"; "write the path without it"));
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
            // `a*/**` matches the folder and everything in it.
            [folder @ .., "**"] => Some(vec![glob(&rest.join("/"))?, glob(&folder.join("/"))?]),
            _ => Some(vec![glob(&rest.join("/"))?]),
        };
        Ok(Self { origin, stem: stem.iter().collect(), rest, and_stem })
    }

    /// Whether it matches `path`, with `stem` as the resolved stem: the path itself, or with `within` also a path in a
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
        .map_err(|error| failure!("not a path pattern ({})", error.kind(); "fix the pattern"))
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
            Origin::WorkingFolder => "/w/here",
        });
        pattern.matches(Path::new(path), &base.join(&pattern.stem), within)
    }

    #[test]
    fn each_prefix_has_its_own_origin() {
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
    fn everything_in_a_matching_folder_matches() {
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
    fn patterns_that_match_nothing_are_refused() {
        for wrong in ["/../x", "a/..", "[", "/a{"] {
            assert!(PathPattern::parse(wrong).is_err(), "{wrong}");
        }
    }
}
