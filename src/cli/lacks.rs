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
    let lacks = |backend: &Backend| format!("{backend} lacks {}.", backend.lacks());
    format!(
        "{}\n{}\nCalls that an ACP agent does not ask about run unchecked; murmur only reports them.",
        lacks(&Backend::Codex),
        lacks(&Backend::Acp("NAME".into()))
    )
}
