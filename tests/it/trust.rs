//! Workspace trust: what a repository's Claude files do before their user trusts them (nothing), afterward, and after
//! they changed. Each of them only creates a marker file.

mod servers;
mod shown;

use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::{Env, Workspace};

/// The marker files of what ran.
const MARKERS: &str = "ran";

impl Env {
    fn markers(&self) -> PathBuf {
        self.root().join(MARKERS)
    }

    /// The names of what ran since the last call.
    fn ran(&self) -> String {
        let names = self.names(&self.markers()).replace('\n', " ");
        std::fs::remove_dir_all(self.markers()).unwrap();
        std::fs::create_dir(self.markers()).unwrap();
        names
    }

    /// A workspace whose files run everything they can.
    fn hostile(&self) -> Workspace {
        std::fs::create_dir_all(self.markers()).unwrap();
        let site = self.workspace("site", "Do it.");
        site.plays(
            &json!({ "script": [[{ "type": "text", "text": "HEARTBEAT_OK" }]], "version": "2.1.330" }),
        );
        let mark = |name: &str| format!("touch {}/{name}", self.markers().display());
        let hook = |name: &str| json!([{ "hooks": [{ "type": "command", "command": mark(name) }] }]);
        write(
            &site.0,
            ".claude/settings.json",
            &json!({ "apiKeyHelper": mark("helper"),
            "env": { "ANTHROPIC_BASE_URL": "http://127.0.0.1:1" }, "hooks": { "SessionStart": hook("hook") } }),
        );
        write(
            &site.0,
            ".claude/settings.local.json",
            &json!({ "hooks": { "UserPromptSubmit": hook("local") } }),
        );
        let server = |name: &str| json!({ "command": "sh", "args": ["-c", mark(name)] });
        write(&site.0, ".mcp.json", &json!({ "mcpServers": { "evil": server("server") } }));
        // The user's own files run in any case.
        write(&self.home(), ".claude.json", &json!({ "mcpServers": { "mine": server("mine") } }));
        site
    }

    fn beat_line(&self) -> Value {
        let output = self.murmur(["beat", "site", "--json"]).output();
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Writes a file of a repository, and its parent folders.
fn write(folder: &Path, name: &str, content: &Value) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
    std::fs::write(path, text).unwrap();
}

#[test]
fn nothing_of_a_repository_runs_before_it_is_trusted_or_after_it_changed() {
    let env = Env::new();
    let site = env.hostile();
    let line = env.beat_line();
    assert_eq!(env.ran(), "mine");
    assert_eq!((&line["outcome"], &line["repositoryUntrusted"]), (&json!("ok"), &json!(true)));
    assert!(env.run(["trust", "site", "--yes"]).contains(
        "trusted; agents run with these files until one of them, except instructions, changes\n[exit 0]"
    ));
    let line = env.beat_line();
    assert_eq!(env.ran(), "helper hook local mine server");
    assert_eq!(line["repositoryUntrusted"], json!(null));
    for (name, content) in [
        (".mcp.json", json!({ "mcpServers": {} })),
        (".claude/settings.local.json", json!({})),
        (".claude/hooks/new.sh", json!("exit 0\n")),
        ("../.mcp.json", json!({})),
    ] {
        assert!(env.run(["trust", "site", "--yes"]).contains("trusted"));
        let before = std::fs::read(site.0.join(name)).ok();
        write(&site.0, name, &content);
        assert_eq!(env.beat_line()["repositoryUntrusted"], json!(true), "{name}");
        assert_eq!(env.ran(), "mine", "{name}");
        match before {
            Some(before) => std::fs::write(site.0.join(name), before).unwrap(),
            None => std::fs::remove_file(site.0.join(name)).unwrap(),
        }
        assert_eq!(env.beat_line()["repositoryUntrusted"], json!(null), "{name}");
        env.ran();
    }
}

#[test]
fn revoked_trust_no_longer_applies() {
    let env = Env::new();
    env.hostile();
    env.murmur(["trust", "site", "--yes"]).assert().success();
    assert_snapshot!(env.run(["trust", "--remove", "site"]), @"
    no longer trusted: [ENV]/site
    [exit 0]
    ");
    assert_snapshot!(env.run(["trust", "--remove", "site", "--json"]), @r#"
    {"schema":"trust-remove/1","removed":false,"workspace":"[ENV]/site"}
    [exit 0]
    "#);
    assert_eq!(env.beat_line()["repositoryUntrusted"], json!(true));
    assert_eq!(env.ran(), "mine");
}

#[test]
fn a_repository_is_also_named_by_its_heartbeat() {
    let env = Env::new();
    let site = env.hostile();
    site.named("nightly", "Count.");
    env.register(&[&site]);
    env.murmur(["trust", "nightly", "--yes"]).assert().success();
    assert_snapshot!(env.run(["trust", "--remove", "nightly"]), @"
    no longer trusted: [ENV]/site
    [exit 0]
    ");
    assert_snapshot!(env.run(["trust", "--remove", "nobody"]), @r#"
    | error: no heartbeat or workspace "nobody"
    | hint: see: murmur list
    [exit 1]
    "#);
}

#[test]
fn instructions_need_trust_but_may_change_afterward() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    assert_eq!(env.beat_line()["repositoryUntrusted"], json!(null));
    let argv = || env.agents().pop().unwrap()["argv"].to_string();
    assert!(argv().contains("\"--setting-sources\",\"user\",\"--strict-mcp-config\""), "{}", argv());
    write(&site.0, "CLAUDE.md", &json!("Be brief.\n"));
    assert_eq!(env.beat_line()["repositoryUntrusted"], json!(true));
    env.murmur(["trust", "site", "--yes"]).assert().success();
    write(&site.0, "CLAUDE.md", &json!("Be briefer.\n"));
    write(&site.0, ".claude/rules/more.md", &json!("And kind.\n"));
    assert_eq!(env.beat_line()["repositoryUntrusted"], json!(null));
    assert!(!argv().contains("--setting-sources") && !argv().contains("--strict-mcp-config"), "{}", argv());
}

#[test]
fn agents_cannot_trust() {
    let env = Env::new();
    env.hostile();
    let said = |args: &[&str]| env.murmur(args).set("MURMUR_AGENT_ID", "site-1").run();
    let refused = said(&["trust", "site", "--yes"]);
    assert_snapshot!(refused, @"
    | error: an agent started this, and agents cannot trust a repository
    | hint: do it yourself, in a terminal
    [exit 1]
    ");
    assert_eq!(said(&["trust", "site", "--remove"]), refused);
    assert_eq!(said(&["trust", "site", "--yes", "--json"]), refused);
    assert!(!env.data().join("trust.json").exists());
}

#[test]
fn unreadable_files_are_untrusted_and_do_not_block() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    std::fs::create_dir(site.0.join(".claude")).unwrap();
    sys::fifo::make(&site.0.join(".claude/settings.json")).unwrap();
    assert_eq!(env.beat_line()["repositoryUntrusted"], json!(true));
    assert_snapshot!(env.run(["trust", "site", "--yes"]), @"
    | error: cannot read [ENV]/site/.claude/settings.json: it is not a regular file
    | hint: check its owner and mode: ls -l [ENV]/site/.claude/settings.json
    [exit 1]
    ");
    std::fs::remove_dir_all(site.0.join(".claude")).unwrap();
    write(&site.0, "CLAUDE.md", &json!("Be brief.\n"));
    env.murmur(["trust", "site", "--yes"]).assert().success();
    std::fs::write(env.data().join("trust.json"), "{}").unwrap();
    assert_eq!(env.beat_line()["repositoryUntrusted"], json!(true));
}

#[test]
fn trust_is_stored_privately_and_outside_the_workspace() {
    use std::os::unix::fs::PermissionsExt;
    let env = Env::new();
    let site = env.hostile();
    let before = env.names(&site.0);
    env.murmur(["trust", "site", "--yes"]).assert().success();
    assert_eq!(env.names(&site.0), before);
    let file = env.data().join("trust.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let record: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(record["version"], 1);
    let files = record["workspaces"][site.path()]["files"].as_object().unwrap();
    let names: Vec<&String> = files.keys().collect();
    assert_eq!(names, [".claude/settings.json", ".claude/settings.local.json", ".mcp.json"]);
    assert!(files.values().all(|hash| hash.as_str().unwrap().len() == "sha256:".len() + 64), "{files:?}");
}

#[test]
fn a_hosted_agent_runs_without_untrusted_files_too() {
    let env = Env::new();
    env.hostile();
    let spawn = |expected: &str| {
        env.murmur(["host", "spawn", "--agent-id", "a", "--worktree", "site", "hi"]).assert().success();
        let ran = || env.names(&env.markers()).replace('\n', " ");
        env.wait(&env.markers(), || (ran() == expected).then_some(()));
        env.murmur(["host", "stop", "a"]).assert().success();
        assert_eq!(env.ran(), expected);
        env.agents().pop().unwrap()["argv"].to_string().contains("\"--setting-sources\",\"user\"")
    };
    assert!(spawn("mine"));
    assert!(!env.data().join("agents/a/mcp.json").exists());
    env.murmur(["trust", "site", "--yes"]).assert().success();
    assert!(!spawn("helper hook local mine server"));
}
