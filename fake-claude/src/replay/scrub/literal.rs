//! Known strings that are always replaced: folders, the user's name, secret values.
//!
//! Input: an `Identity`. Output: replacements, longest first, so that a workspace in the home folder counts as the
//! workspace.

use super::replacement::Replacement;
use std::path::Path;

use super::Identity;
use secrets::text::{ends_word, starts_word};
use secrets::{REMOVED, is_secret};

/// The placeholder for the working folder.
pub(super) const WORKSPACE: &str = "/workspace";
/// User names that are also common folder names.
const FOLDERS: [&str; 8] = ["", "bin", "home", "mail", "opt", "tmp", "usr", "var"];
const HOME: &str = "/home/user";

#[derive(Clone, Copy)]
enum Kind {
    /// Replaced anywhere.
    Anywhere,
    /// Replaced as a whole path or the start of one.
    Path,
    /// Replaced as a whole path component.
    Component,
}

struct Literal {
    text: Vec<u8>,
    instead: &'static str,
    kind: Kind,
}

/// All known strings.
pub(super) struct Literals(Vec<Literal>);

impl Literals {
    pub(super) fn of(identity: &Identity) -> Self {
        let mut literals = Self(Vec::new());
        for path in &identity.cwd {
            literals.folder(path, WORKSPACE, "-workspace");
        }
        for path in &identity.home {
            literals.folder(path, HOME, "-home-user");
        }
        if let Some(user) = identity.user.as_ref().filter(|user| !FOLDERS.contains(&user.as_str())) {
            literals.add(format!("/{user}"), "/user", Kind::Component);
        }
        for (name, value) in &identity.env {
            if value.len() >= 8 && is_secret(name, value) {
                literals.add(value.clone(), REMOVED, Kind::Anywhere);
            }
        }
        literals.0.sort_by_key(|literal| std::cmp::Reverse(literal.text.len()));
        literals
    }

    fn folder(&mut self, path: &Path, instead: &'static str, slug: &'static str) {
        let text = path.to_string_lossy();
        if text.len() < 2 {
            return;
        }
        self.add(text.to_string(), instead, Kind::Path);
        // Claude Code names a project's folder by its path, with dashes for everything but letters and digits.
        let dashed: String =
            text.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect();
        // A short one like `-root` also occurs in plain English (`non-root`).
        if dashed.matches('-').count() >= 2 {
            self.add(dashed, slug, Kind::Path);
        }
    }

    /// Adds `text` and its JSON-escaped form.
    fn add(&mut self, text: String, instead: &'static str, kind: Kind) {
        let escaped = serde_json::Value::from(text.as_str()).to_string();
        let escaped = &escaped.as_bytes()[1..escaped.len() - 1];
        if escaped != text.as_bytes() {
            self.0.push(Literal { text: escaped.to_vec(), instead, kind });
        }
        self.0.push(Literal { text: text.into_bytes(), instead, kind });
    }

    pub(super) fn find(&self, bytes: &[u8], at: usize) -> Option<Replacement> {
        let rest = &bytes[at..];
        let ends = |literal: &Literal| ends_word(rest, literal.text.len());
        let fits = |literal: &&Literal| {
            rest.starts_with(&literal.text)
                && match literal.kind {
                    Kind::Anywhere => true,
                    Kind::Path => starts_word(bytes, at) && ends(literal),
                    Kind::Component => ends(literal),
                }
        };
        let literal = self.0.iter().find(fits)?;
        Replacement::new(literal.text.len(), literal.instead)
    }
}
