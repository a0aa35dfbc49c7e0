//! What backends lack compared with Claude Code, in the doctor's words: where one is chosen, and in help.

use derun::cli::stdout::note;
use murmur_core::config::backend::Backend;
use std::io;

/// Says what `backend` lacks; nothing for Claude Code.
pub(super) fn say(backend: &Backend) -> io::Result<()> {
    if backend.is_default() { Ok(()) } else { note(format_args!("{backend} lacks {}", backend.lacks())) }
}

/// What all backends lack, for help.
pub(super) fn help() -> String {
    let (codex, unknown) = (Backend::Codex.lacks(), Backend::Acp("NAME".into()).lacks());
    format!("codex lacks {}.\nAn unknown acp:NAME backend lacks {}.", sentences(&codex), sentences(&unknown))
}

/// The clauses of `text`, each as a sentence: help has no semicolons.
fn sentences(text: &str) -> String {
    let mut clauses = text.split("; ");
    let first = clauses.next().unwrap_or_default().to_owned();
    clauses.fold(first, |said, clause| {
        let (start, rest) = clause.split_at(clause.chars().next().map_or(0, char::len_utf8));
        format!("{said}. {}{rest}", start.to_uppercase())
    })
}
