//! The files that a beat creates. Each costs time and an inode, so a new one must not go unnoticed.

use crate::env::{Env, fixture};
use insta::assert_snapshot;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_beat_creates_only_these_files() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let during = env.root().join("during");
    // An agent that lists the files once it has read its prompt.
    std::fs::remove_file(env.claude()).unwrap();
    let script = format!(
        "#!/bin/sh\ncat >'{prompt}'\ncd '{root}'\nfind data home/.local site >'{during}'\ncat '{recorded}/stdout'\n",
        prompt = env.root().join("prompt").display(),
        root = env.root().display(),
        during = during.display(),
        recorded = fixture("ok"),
    );
    std::fs::write(env.claude(), script).unwrap();
    std::fs::set_permissions(env.claude(), PermissionsExt::from_mode(0o755)).unwrap();
    let sorted = |names: String| {
        let mut names: Vec<String> = names.lines().map(str::to_owned).collect();
        names.sort();
        names
    };
    let now = || {
        let found = env.program("find", ["data", "home/.local", "site"]).output();
        sorted(String::from_utf8(found.stdout).unwrap())
    };
    // The first beat also creates folders, and space for lines on a full disk.
    env.run(["beat", "site"]);
    let before = now();
    env.run(["beat", "site"]);
    let line = &env.journal()[1];
    let new = |names: Vec<String>| {
        let names = names.into_iter().filter(|name| !before.contains(name)).collect::<Vec<_>>().join("\n");
        ["agent", "capture"].iter().fold(names, |names, id| names.replace(line[id].as_str().unwrap(), id))
    };
    assert_snapshot!(new(sorted(std::fs::read_to_string(during).unwrap())), @r"
    data/beats/[BEAT].json
    data/hosts/agent.json
    data/hosts/agent.sock
    home/.local/state/derun/sessions/capture.draft
    ");
    assert_snapshot!(new(now()), @"home/.local/state/derun/sessions/capture.zst");
}
