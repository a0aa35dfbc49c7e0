//! The machine's own programs for tests: `sh`, `git`, `less`. Not from the PATH of whoever runs the tests:
//! it may have their own agent.

use crate::built::built;
use std::path::Path;
use std::sync::LazyLock;

/// A PATH without any `claude`: `MURMUR_TEST_PATH`, or else the system's own folders. With Nix those contain only
/// `sh`, so nix/checks.nix and nix/shell.nix set it.
pub(crate) fn programs() -> &'static str {
    static PROGRAMS: LazyLock<String> = LazyLock::new(|| {
        let path = std::env::var("MURMUR_TEST_PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
        if let Some(folder) = path.split(':').find(|folder| Path::new(folder).join("claude").exists()) {
            panic!("tests would run the claude in {folder}; set MURMUR_TEST_PATH to folders without one");
        }
        path
    });
    &PROGRAMS
}

/// The path of fake-claude.
pub(crate) fn fake_claude() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| built("fake-claude").unwrap());
    &PATH
}

/// The path of fake-model.
pub(crate) fn fake_model() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| built("fake-model").unwrap());
    &PATH
}
