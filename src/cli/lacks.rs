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
    let all = [Backend::Codex, Backend::Acp("NAME".into())];
    all.map(|backend| format!("{backend} lacks {}.", backend.lacks())).join("\n")
}
