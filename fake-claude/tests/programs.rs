//! Both programs run. Cargo builds a package's programs for its tests, so this is also what builds them for murmur's
//! (tests/built.rs), from the dependencies that those are built from.

use std::process::{Command, Stdio};

#[test]
fn both_programs_say_what_they_are() {
    for (program, option, begins) in [
        (env!("CARGO_BIN_EXE_fake-claude"), "--version", "2.1."),
        (env!("CARGO_BIN_EXE_fake-model"), "--help", "usage: fake-model "),
    ] {
        let ran = Command::new(program).arg(option).env_clear().stdin(Stdio::null()).output().unwrap();
        let said = [ran.stdout, ran.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.starts_with(begins), "{program}: {said}");
    }
}
