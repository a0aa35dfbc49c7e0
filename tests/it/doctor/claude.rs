//! The `claude` programs that the doctor finds, and what keeps them from working.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;

use super::{claude_is, finding, write};
use crate::env::{Env, programs};

#[test]
fn a_login_shell_that_does_not_find_claude_is_reported() {
    let env = Env::new();
    std::fs::remove_file(env.home().join(".profile")).unwrap();
    let shown = env.run(["doctor"]);
    let shown: Vec<&str> = shown.lines().take(2).collect();
    assert_snapshot!(shown.join("\n"));
    let shell = env.root().join("shell");
    write(&shell, "#!/bin/sh\nexit 1\n", 0o755);
    let shown = env.murmur(["doctor"]).set("SHELL", shell).run();
    let shown: Vec<&str> = shown.lines().take(2).collect();
    assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_missing_login_shell_is_reported() {
    let env = Env::new();
    let shown = env.murmur(["doctor"]).set("SHELL", "/no/such/shell").run();
    assert!(shown.starts_with("warn login PATH       login shell /no/such/shell does not exist;"), "{shown}");
}

#[test]
fn a_broken_login_shell_is_reported_along_with_a_missing_claude() {
    let env = Env::new();
    std::fs::remove_file(env.claude()).unwrap();
    let bare = |shell: &str| {
        let empty = env.home().join("bin");
        let object = env.murmur(["doctor", "--json"]).set("PATH", empty).set("SHELL", shell).json();
        let findings = object["findings"].as_array().unwrap();
        let of =
            |one: &Value| format!("{} {}", one["level"].as_str().unwrap(), one["check"].as_str().unwrap());
        findings.iter().take(2).map(of).collect::<Vec<_>>()
    };
    assert_eq!(bare("/no/such/shell"), ["warn login PATH", "fail claude"]);
    let broken = env.root().join("shell");
    write(&broken, "#!/bin/sh\nexit 1\n", 0o755);
    assert_eq!(bare(broken.to_str().unwrap()), ["warn login PATH", "fail claude"]);
}

#[test]
fn two_different_claudes_are_reported_but_two_links_to_one_are_fine() {
    let env = Env::new();
    let other = env.root().join("other");
    std::fs::create_dir(&other).unwrap();
    let path = |folder: &Path| format!("{}:{}", folder.display(), programs());
    let login = |folder: &Path| {
        let shown = env.murmur(["doctor"]).set("PATH", path(folder)).run();
        shown.lines().take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    std::os::unix::fs::symlink(env.claude(), other.join("claude")).unwrap();
    assert!(login(&other)[0].starts_with("ok "), "{:?}", login(&other));
    std::fs::remove_file(other.join("claude")).unwrap();
    write(&other.join("claude"), "#!/bin/sh\necho 2.1.329\n", 0o755);
    let [found, hint] = &login(&other)[..] else { panic!() };
    assert!(found.starts_with("warn login PATH ") && found.ends_with("/other/claude"), "{found}");
    assert!(hint.trim().starts_with("remove one of them, "), "{hint}");
}

#[test]
fn as_root_claude_refuses_unless_the_machine_is_a_sandbox() {
    let env = Env::new();
    claude_is(&env, "2.1.329 (Claude Code)");
    let claude = || {
        let object = env.murmur(["doctor", "--json"]).unset("IS_SANDBOX").json();
        object["findings"].as_array().unwrap().iter().find(|one| one["check"] == "claude").unwrap().clone()
    };
    let is_root = rustix::process::getuid().is_root();
    assert_eq!(claude()["level"], if is_root { "fail" } else { "ok" });
    std::fs::create_dir(env.home().join(".claude")).unwrap();
    write(&env.home().join(".claude/settings.json"), r#"{"env":{"IS_SANDBOX":"1"}}"#, 0o600);
    assert_eq!(claude()["level"], "ok");
}

#[test]
fn a_failing_claude_is_reported_with_secrets_masked() {
    let env = Env::new();
    std::fs::remove_file(env.claude()).unwrap();
    let secret = "sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let script = format!("#!/bin/sh\nprintf '\\n\\033[31mno {secret}\\nmore\\n' >&2\nexit 3\n");
    write(&env.claude(), &script, 0o755);
    let found = finding(&env, "claude");
    assert_eq!(found["level"], "fail");
    let text = found["found"].as_str().unwrap();
    assert!(text.contains("ended with exit status: 3: no "), "{text:?}");
    assert!(!text.contains(secret) && !text.contains("more") && !text.contains('\u{1b}'), "{text:?}");
}
