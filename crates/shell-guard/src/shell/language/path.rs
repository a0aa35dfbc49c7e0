//! Paths that code builds, and method calls on them: `(Path.home() / ".x").write_text(…)`.

use super::call::texts;
use super::lex::Token;
use super::reader::CodeReader;
use super::{Effect, MAX_TEXT, Syntax, Value, names};
use crate::shell::field::Field;

/// Methods that return the same path or text.
const KEEPS: [&str; 14] = [
    "expanduser",
    "resolve",
    "absolute",
    "as_posix",
    "toString",
    "to_s",
    "to_path",
    "strip",
    "rstrip",
    "trim",
    "chomp",
    "toPath",
    "toFile",
    "decode",
];

/// Whether the call joins its arguments to a path.
fn joins(name: &str) -> bool {
    const NAMES: [&str; 14] = [
        "Path",
        "PurePath",
        "PosixPath",
        "File",
        "Paths.get",
        "Path.of",
        "Pathname.new",
        "expanduser",
        "expandvars",
        "expand_path",
        "abspath",
        "realpath",
        "joinpath",
        "iglob",
    ];
    NAMES.contains(&names::last(name))
        || NAMES.contains(&name)
        || ["path.join", "path.resolve", "File.join", "path.normpath", "Path.join"]
            .iter()
            .any(|end| name.ends_with(end))
}

impl CodeReader<'_> {
    /// The index of the bracket that closes the one at `open`.
    pub(super) fn closing(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for (at, token) in self.tokens.iter().enumerate().skip(open).take(256) {
            match token {
                Token::Symbol('(' | '[' | '{') => depth += 1,
                Token::Symbol(')' | ']' | '}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        self.tokens.len()
    }

    /// The path that the call at `at` returns, and the index after it.
    pub(super) fn path(&self, at: usize, depth: usize) -> Option<(String, usize)> {
        let (Some(Token::Name(name)), Some(Token::Symbol(open @ ('(' | '[')))) =
            (self.tokens.get(at), self.tokens.get(at + 1))
        else {
            return None;
        };
        let name = self.names.get(name.as_str()).copied().unwrap_or(name);
        let is_list = name == "Dir" && *open == '[';
        if depth > 4 || !is_list && (*open == '[' || !joins(name)) {
            return None;
        }
        let mut path = String::new();
        for (at, argument) in self.arguments_at(at + 2, depth + 1).iter().enumerate() {
            match argument {
                Value::Text(text) if text.starts_with('/') || at == 0 => path.clone_from(text),
                Value::Text(text) => push(&mut path, text),
                _ if at == 0 => return None,
                _ => push(&mut path, Field::unknown("$interpolated").marked()),
            }
        }
        (!path.is_empty() && path.len() < MAX_TEXT / 4).then(|| (path, self.closing(at + 1) + 1))
    }

    /// The index after a method in [`KEEPS`] at `at`.
    pub(super) fn kept(&self, at: usize) -> Option<usize> {
        match (self.tokens.get(at), self.tokens.get(at + 1)) {
            (Some(Token::Name(name)), Some(Token::Symbol('('))) if KEEPS.contains(&name.as_str()) => {
                Some(self.closing(at + 1) + 1)
            }
            _ => None,
        }
    }

    /// Adds the effects of method calls on a path that a call returns or that is in parentheses.
    pub(super) fn receiver(&mut self, at: usize) {
        let started = match self.tokens.get(at) {
            Some(Token::Symbol('(')) => match self.value(at + 1, 1) {
                (Value::Text(text), next) => Some((text, next + 1)),
                _ => None,
            },
            Some(Token::Name(name)) => {
                let next = self.tokens.get(at + 1..).unwrap_or_default();
                match names::constant(name, next) {
                    Some(Value::Text(text)) => Some((text, self.closing(at + 1) + 1)),
                    _ => self.path(at, 0),
                }
            }
            _ => None,
        };
        let Some((mut path, mut at)) = started else { return };
        while let (Some(Token::Symbol('.')), Some(Token::Name(name))) =
            (self.tokens.get(at), self.tokens.get(at + 1))
        {
            if let Some(next) = self.kept(at + 1) {
                at = next;
            } else if name == "joinpath" {
                let arguments = self.arguments_at(at + 3, 1);
                texts(&arguments).into_iter().for_each(|part| push(&mut path, part));
                at = self.closing(at + 2) + 1;
            } else {
                let name = name.clone();
                return self.method(&name, &path, at + 2, true);
            }
        }
    }

    /// Adds the effect of the method `name` on `path`. `at` is the token after the name.
    pub(super) fn method(&mut self, name: &str, path: &str, at: usize, is_path: bool) {
        const WRITES: [&str; 9] = [
            "write",
            "append",
            "touch",
            "setText",
            "writeText",
            "writeBytes",
            "appendText",
            "mkfifo",
            "leftShift",
        ];
        const REMOVES: [&str; 6] =
            ["unlink", "rmdir", "rmtree", "deleteDir", "deleteRecursively", "deleteOnExit"];
        let is_call = self.tokens.get(at) == Some(&Token::Symbol('('));
        let arguments = if is_call { self.arguments(at + 1) } else { Vec::new() };
        let first = texts(&arguments).first().copied();
        let write = Effect::Write(path.into());
        match name {
            "text" if is_path && self.tokens.get(at) == Some(&Token::Symbol('=')) => self.found.push(write),
            _ if name.starts_with("write_") || is_path && WRITES.contains(&name) => self.found.push(write),
            _ if REMOVES.contains(&name) || is_path && name == "delete" => self.remove(std::iter::once(path)),
            "rename" | "renameTo" | "replace" if is_path => {
                if let Some(to) = first {
                    self.run_words(&["mv", path, to]);
                }
            }
            "symlink_to" | "make_symlink" => self.run_words(&["ln", "-s", first.unwrap_or("x"), path]),
            "hardlink_to" | "link_to" => self.run_words(&["ln", first.unwrap_or("x"), path]),
            "chmod" | "lchmod" if is_path => self.run_words(&["chmod", "u=rw", path]),
            "open"
                if is_path
                    && first.is_some_and(|mode| mode.len() < 5 && mode.contains(['w', 'a', '+', 'x'])) =>
            {
                self.found.push(write);
            }
            "rglob" | "glob" | "iterdir" | "walk" => {
                self.roots.push((path.to_owned(), first.map(str::to_owned)))
            }
            _ => {}
        }
    }

    /// Registers the folder that a call traverses.
    pub(super) fn search(&mut self, name: &str, at: usize) {
        const NAMES: [&str; 10] = [
            "walk",
            "fwalk",
            "scandir",
            "listdir",
            "glob",
            "iglob",
            "readdirSync",
            "globSync",
            "finddepth",
            "Dir.glob",
        ];
        let last = names::last(name);
        if !NAMES.contains(&last) && !((last == "find" || name == "Dir") && self.syntax == Syntax::Perl) {
            return;
        }
        let near = self.tokens.iter().skip(at).take(48);
        let folder = near.take_while(|token| **token != Token::Newline).find_map(|token| match token {
            Token::Str(text) if text.starts_with(['/', '~', '.', '*']) => Some(text.clone()),
            _ => None,
        });
        if let Some(folder) = folder {
            self.roots.push((folder, None));
        } else if let Some(Value::Text(folder)) = self.arguments(at).first() {
            self.roots.push((folder.clone(), None));
        }
    }

    /// Removals in the traversed folders, as the equivalent `find`.
    pub(super) fn searched(&mut self) {
        if !self.removes {
            return;
        }
        const ASKS: [&str; 6] = ["if", "unless", "endswith", "fnmatch", "filter", "grep"];
        let asks = self.tokens.iter().any(|token| match token {
            Token::Name(word) => ASKS.contains(&names::last(word)),
            _ => false,
        });
        for (root, pattern) in std::mem::take(&mut self.roots) {
            let pattern = pattern.unwrap_or_else(|| if asks { "some".to_owned() } else { "*".to_owned() });
            self.run_words(&["find", &root, "-name", &pattern, "-delete"]);
        }
    }
}

/// Appends a component to a path.
fn push(path: &mut String, part: &str) {
    if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(part.trim_start_matches('/'));
}
