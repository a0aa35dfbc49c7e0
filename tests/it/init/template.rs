//! `--template`: its values, and that it is never silently ignored.

use insta::assert_snapshot;

use crate::env::Env;

#[test]
fn an_unknown_template_error_lists_the_known_ones_and_the_nearest() {
    let env = Env::new();
    std::fs::create_dir(env.root().join("site")).unwrap();
    assert_snapshot!(env.run(["init", "site", "--template", "test"]), @r#"
    | error: no template "test", and no file of this name
    | hint: did you mean "tests"? Templates are default, tests, issues, deploy, or the path of a file
    [exit 1]
    "#);
    assert_snapshot!(env.run(["init", "site", "--template", "my/own.md"]), @r#"
    | error: no template "my/own.md", and no file of this name
    | hint: templates are default, tests, issues, deploy, or the path of a file
    [exit 1]
    "#);
    assert_eq!(env.names(&env.root().join("site")), "");
    assert!(!env.data().join("config.json").exists());
}

#[test]
fn a_template_that_has_no_effect_is_an_error_and_nothing_is_written() {
    let env = Env::new();
    let site = env.workspace("site", "Mine.");
    site.named("nightly", "---\ninterval: 1d\n---\nMine.");
    assert_snapshot!(env.run(["init", "site", "--template", "tests"]), @r#"
    | error: template "tests" was not applied: [ENV]/site/HEARTBEAT.md already exists
    | hint: move that file away first, or leave --template out
    [exit 1]
    "#);
    assert_snapshot!(env.run(["init", "site", "--name", "nightly", "--template", "tests"]), @r#"
    | error: template "tests" was not applied: [ENV]/site/heartbeats/nightly/HEARTBEAT.md already exists
    | hint: move that file away first, or leave --template out
    [exit 1]
    "#);
    assert_eq!(std::fs::read_to_string(site.0.join("HEARTBEAT.md")).unwrap(), "Mine.");
    assert!(!env.data().join("config.json").exists());
}
