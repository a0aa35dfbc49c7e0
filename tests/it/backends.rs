//! docs/reference/backends.md, held against the capabilities in the code.

use murmur_core::config::backend::{Backend, Capability};

#[test]
fn the_page_lists_what_each_backend_can_do() {
    let page = include_str!("../../docs/reference/backends.md");
    for (shown, name) in [("claude", "claude"), ("codex", "codex"), ("acp", "acp:opencode")] {
        let backend: Backend = name.parse().unwrap();
        let has = Capability::ALL.into_iter().filter(|capability| backend.has(*capability));
        let names: Vec<&str> = has.map(Capability::name).collect();
        let line = format!("- `{shown}`: {}\n", names.join(", "));
        assert!(page.contains(&line), "{line}");
    }
}
