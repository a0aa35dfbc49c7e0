//! Programs that tests need and that not every machine has. `.ci/run` installs them where it can.

use std::path::Path;

use crate::env::programs;

/// The programs that some test needs.
const NEEDED: [&str; 5] = ["vim", "less", "htop", "fish", "tmux"];

/// Whether `program` is available. A test whose program is missing prints a note and passes: other tests cover the
/// same: `a_full_screen_program_works` for `murmur run`, `sys::tmux` for a session's name.
pub(crate) fn has(program: &str) -> bool {
    assert!(NEEDED.contains(&program), "{program} is to be named in NEEDED and in .ci/run");
    let is_there = programs().split(':').any(|folder| Path::new(folder).join(program).exists());
    if !is_there {
        eprintln!("{program} is not installed: murmur was not tested with it");
    }
    is_there
}

#[test]
fn ci_installs_every_needed_program() {
    let ci = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/.ci/run")).unwrap();
    assert!(ci.contains(&format!("install {} ||", NEEDED.join(" "))), "{ci}");
}
