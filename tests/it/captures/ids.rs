//! Ids that would lead outside the store.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::{Vault, contents};
use crate::env::show;

#[test]
fn a_rejected_id_leaves_no_trace_not_even_a_store() {
    let vault = Vault::new();
    std::fs::remove_dir_all(vault.store.root()).unwrap();
    let before = contents(vault.env.root());
    let long = "x".repeat(129);
    let refused: [&[u8]; 16] = [
        b"",
        b".",
        b"..",
        b"../s",
        b"s/../../t",
        b"/tmp/s",
        b"a/b",
        b"s/",
        b".s",
        b"s.",
        b"s ",
        b"a\\b",
        b"C:",
        b"a\nb",
        b"\xff",
        long.as_bytes(),
    ];
    for id in refused {
        let id = OsStr::from_bytes(id);
        let output = vault
            .murmur([OsStr::new("run"), OsStr::new("--session-id"), id, OsStr::new("--"), OsStr::new("echo")])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{id:?}: {}", show(&output));
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{id:?}: {}", show(&output));
        assert_eq!(contents(vault.env.root()), before, "{id:?}");
    }
}
