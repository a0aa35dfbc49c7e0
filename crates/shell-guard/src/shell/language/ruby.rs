//! Ruby: calls through `send`.

use super::Value;
use super::lex::Token;
use super::reader::CodeReader;

impl CodeReader<'_> {
    /// `Kernel.send :system, "text"`. `at` is the token after the name.
    pub(super) fn ruby_send(&mut self, name: &str, at: usize) {
        let arguments = self.arguments(at);
        self.call(name, &arguments, at);
    }

    /// Calls the method that is the first argument of `send`.
    pub(super) fn call_sent(&mut self, arguments: &[Value], at: usize) {
        let tokens = self.tokens;
        let at = at + usize::from(tokens.get(at) == Some(&Token::Symbol(':')));
        if let Some(Token::Name(name) | Token::Str(name)) = tokens.get(at) {
            self.call(name, &arguments[1..], at + 1);
        }
    }
}
