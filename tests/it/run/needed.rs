//! Programs that are driven here and that not every machine has. `.ci/run` installs them where it may.

use std::path::Path;

use crate::env::programs;

/// The programs that some test cannot do without.
const NEEDED: [&str; 5] = ["vim", "less", "htop", "fish", "tmux"];

/// Whether `program` can be driven here. A test of one that cannot says so and is decided to pass: what it would
/// show of murmur, others show everywhere: `a_full_screen_program_works` for `murmur run`, `sys::tmux` for a session's name.
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
