//! `murmur edit`: the editor is a script.

use insta::assert_snapshot;

use crate::env::{Env, Run};

fn edit(env: &Env, editor: &str, name: &str) -> Run {
    env.murmur(["edit", name]).at(&env.home()).unset("VISUAL").set("EDITOR", editor)
}

#[test]
fn a_heartbeat_is_checked_after_it_was_edited() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.named("nightly", "---\ninterval: 1d\n---\nCount.");
    env.register(&[&site]);
    assert_snapshot!(edit(&env, "sed -i s/1d/2h/", "nightly").run(), @"
    [ENV]/site::heartbeats/nightly/HEARTBEAT.md  every 2h
    [exit 0]
    ");
    assert_snapshot!(edit(&env, "sed -i s/interval/intervall/", "nightly").run(), @r#"
    | error: [ENV]/site/heartbeats/nightly/HEARTBEAT.md:2:1: unknown key "intervall"
    | hint: did you mean "interval"?
    [exit 1]
    "#);
    assert_snapshot!(edit(&env, "false", "site").run(), @r#"
    | error: the editor "false" failed (exit status: 1)
    | hint: set VISUAL or EDITOR to one that works
    [exit 1]
    "#);
    assert_snapshot!(edit(&env, "true", "siet").run(), @r#"
    | error: no heartbeat or workspace "siet"
    | hint: did you mean site?
    [exit 1]
    "#);
}

#[test]
fn visual_comes_before_editor() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    assert_snapshot!(edit(&env, "false", "site").set("VISUAL", "true").run(), @"
    [ENV]/site  every 1h
    [exit 0]
    ");
}
