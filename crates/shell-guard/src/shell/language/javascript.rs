//! JavaScript: `exec` of processes and of regular expressions.

use super::lex::Token;
use super::reader::CodeReader;

impl CodeReader<'_> {
    /// Whether `exec` runs a process rather than a regular expression.
    pub(super) fn is_process_exec(&self, name: &str, at: usize) -> bool {
        const OWNERS: [&str; 9] =
            ["child_process", "childProcess", "cp", "proc", "process", "shell", "shelljs", "runtime", "os"];
        match name.strip_suffix(".exec") {
            Some(owner) => {
                OWNERS.iter().any(|known| owner == *known || owner.ends_with(&format!(".{known}")))
            }
            None => {
                let before = |count: usize| at.checked_sub(2 + count).and_then(|at| self.tokens.get(at));
                before(1) != Some(&Token::Symbol('.')) || before(2) == Some(&Token::Symbol(')'))
            }
        }
    }
}
