//! Lisp, whose names contain dashes: `(call-process "rm" nil nil nil "-rf" "/")`.

use super::Effect;
use super::call::texts;
use super::lex::Token;
use super::reader::CodeReader;

impl CodeReader<'_> {
    /// Adds the effects of a form. `at` is the last word of its name.
    pub(super) fn form(&mut self, name: &str, at: usize) {
        let mut full = name.to_owned();
        let mut start = at;
        while let (Some(Token::Name(before)), Some(Token::Symbol('-'))) = (
            start.checked_sub(2).and_then(|at| self.tokens.get(at)),
            self.tokens.get(start.saturating_sub(1)),
        ) {
            full = format!("{before}-{full}");
            start -= 2;
        }
        let arguments = self.arguments(at + 1);
        let paths = texts(&arguments);
        match (full.as_str(), paths.as_slice()) {
            ("delete-directory" | "delete-file" | "move-file-to-trash", [path, ..]) => {
                self.remove(std::iter::once(*path));
            }
            ("write-file" | "append-to-file" | "write-region" | "set-visited-file-name", [.., path]) => {
                self.found.push(Effect::Write((*path).into()));
            }
            ("copy-file" | "copy-directory", [from, to, ..]) => self.run_words(&["cp", "-r", from, to]),
            ("rename-file", [from, to, ..]) => self.run_words(&["mv", from, to]),
            ("make-symbolic-link", [from, to, ..]) => self.run_words(&["ln", "-s", from, to]),
            // The process name and buffer come first.
            ("start-process" | "start-process-shell-command", [_, rest @ ..]) => {
                let from = rest.len().min(usize::from(rest.len() > 1));
                self.run_words(&rest[from..]);
                self.run_words(rest);
            }
            _ => self.call(name, &arguments, at + 1),
        }
    }
}
