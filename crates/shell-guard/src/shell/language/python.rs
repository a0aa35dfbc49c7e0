//! Python: imported names and `getattr`.

use super::lex::Token;
use super::reader::CodeReader;
use super::{Effect, Value, names};

impl CodeReader<'_> {
    /// Whether the name at `at` is imported from `os`.
    pub(super) fn is_imported_from_os(&self, at: usize) -> bool {
        let before = &self.tokens[at.saturating_sub(12)..at];
        let import = [Token::Name("os".to_owned()), Token::Name("import".to_owned())];
        before.windows(2).any(|pair| *pair == import)
    }

    /// `from os import remove`
    pub(super) fn import_from_os(&mut self, name: &str) {
        let (alias, full) =
            if name == "remove" { ("remove", "os.remove") } else { ("replace", "os.replace") };
        self.names.insert(alias, full);
    }

    /// `getattr(os, 'system')('command')`
    pub(super) fn getattr(&mut self, arguments: &[Value], at: usize) {
        let [_, Value::Text(name), ..] = arguments else { return };
        let rest = &self.tokens[at.min(self.tokens.len())..];
        let called = rest.windows(3).take(24).find_map(|tokens| match tokens {
            [Token::Symbol(')'), Token::Symbol('('), Token::Str(text)] => Some(text.clone()),
            _ => None,
        });
        if names::runs(name)
            && let Some(text) = called
        {
            self.found.push(Effect::Shell(text));
        }
    }
}
