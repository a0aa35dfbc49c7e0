//! `murmur record` from the command line: the run is unchanged, its fixture contains no secrets.

mod agents;

use fake_claude::replay::{End, Fixture};
use insta::assert_snapshot;
use serde_json::json;

use crate::env::{Env, result};

const SECRET: &str = "sk-ant-api03-abcdefghij0123456789";

/// The saved fixture `name`; checks that its text contains no secret.
fn saved(env: &Env, name: &str) -> Fixture {
    let saved = Fixture::load(&env.root().join("fixtures/claude").join(name)).unwrap();
    let text = String::from_utf8_lossy(&[&saved.stdout[..], &saved.stderr[..]].concat()).into_owned();
    assert!(text.contains("[removed]") && !text.contains("abcdefghij"), "{text}");
    saved
}

#[test]
fn a_beat_is_recorded_and_passes_through() {
    let env = Env::new();
    let site = env.workspace("site", "Look.");
    let stdout = result(&format!("it is {SECRET}"));
    site.plays(&json!({ "stdout": stdout, "stderr": "oh\n", "exit": 3 }));
    let output = env.murmur(["record", "nightly", "--beat", "site"]).output();
    assert_eq!(String::from_utf8_lossy(&output.stdout), stdout);
    assert_eq!((String::from_utf8_lossy(&output.stderr).as_ref(), output.status.code()), ("oh\n", Some(3)));
    let saved = saved(&env, "nightly");
    assert_eq!((saved.run.program.as_str(), saved.run.end), ("claude", End::Code(3)));
    assert!(String::from_utf8_lossy(&saved.stdin).contains("Look."));
    // It isn't a beat: nothing is journaled.
    assert!(!env.data().join("heartbeats.jsonl").exists());
}

#[test]
fn a_named_heartbeat_is_recorded_with_its_own_prompt() {
    let env = Env::new();
    let site = env.workspace("site", "Look.");
    site.named("nightly", "Count.");
    site.plays(&json!({ "stdout": format!("{SECRET}\n") }));
    let words = ["record", "named", "--beat", "site", "--heartbeat", "nightly"];
    assert!(env.run(words).ends_with("[exit 0]"));
    let stdin = String::from_utf8(saved(&env, "named").stdin).unwrap();
    assert!(stdin.contains("Count.") && !stdin.contains("Look."), "{stdin}");
}

#[test]
fn a_command_is_recorded_and_passes_through() {
    let env = Env::new();
    let site = env.workspace("site", "");
    site.plays(&json!({ "stdout": format!("token {SECRET}\n"), "exit": 4 }));
    let words = ["record", "hello", "--into", "../fixtures/claude", "--", "claude", "--print", "hi"];
    assert_snapshot!(env.murmur(words).at(&site.0).run(), @"
    token sk-ant-api03-abcdefghij0123456789
    [exit 4]
    ");
    let saved = saved(&env, "hello");
    assert_eq!((saved.run.argv, saved.run.end), (vec!["--print".into(), "hi".into()], End::Code(4)));
}

#[test]
fn a_private_key_is_refused_and_the_run_still_passes_through() {
    let env = Env::new();
    let site = env.workspace("site", "Look.");
    site.plays(&json!({ "stdout": "-----BEGIN RSA PRIVATE KEY-----\n" }));
    assert_snapshot!(env.run(["record", "key", "--beat", "site"]), @"
    -----BEGIN RSA PRIVATE KEY-----
    | error: cannot save the recording key: recording refused: stdout line 1, column 1 contains a private key
    | hint: record it again with a made-up value, or with the secret in a variable whose name contains PASSWORD, TOKEN, SECRET or KEY: such values are removed
    [exit 1]
    ");
    assert!(!env.root().join("fixtures").exists());
}
