//! The tmux session that this process is in.

/// Its name; `None` outside of tmux.
#[must_use]
pub fn session_name() -> Option<String> {
    None
}
