//! The tmux session that this process runs in.

/// Its name; `None` where there is none.
#[must_use]
pub fn session_name() -> Option<String> {
    None
}
