//! What murmur does for an ACP agent as its client, if config.toml offers it: each call is decided on like the agent's
//! own.

use serde_json::{Value, json};
use std::fs;

use super::{decisions, said};
use crate::env::{Env, Workspace};

/// A workspace whose beats run an ACP agent to which `offer` is offered.
pub(super) fn offering(env: &Env, offer: &str) -> Workspace {
    let site = super::site(env, "acp:opencode");
    settings(env, &format!("[acp.opencode]\noffer = {offer}\n"));
    site
}

fn settings(env: &Env, text: &str) {
    let folder = env.data().join("config");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), text).unwrap();
}

pub(super) fn client(method: &str, params: &Value) -> Value {
    json!([{ "type": "client", "method": method, "params": params }])
}

/// Runs a beat with these messages and a last one. Returns its journal line and the lines of the agent's texts.
pub(super) fn play(env: &Env, site: &Workspace, messages: &[Value]) -> (Value, Vec<String>) {
    let mut script = messages.to_vec();
    script.push(said("HEARTBEAT_OK"));
    site.plays(&json!({ "script": script }));
    env.run(["beat", "site"]);
    let items = items(env);
    let texts = items.iter().filter(|item| item["type"] == "text");
    let text: String = texts.map(|item| format!("{}\n", item["text"].as_str().unwrap())).collect();
    let lines = text.lines().filter(|line| !line.is_empty());
    (env.journal().pop().unwrap(), lines.map(str::to_owned).collect())
}

pub(super) fn items(env: &Env) -> Vec<Value> {
    env.murmur(["show", "site", "--json"]).json()["items"].as_array().unwrap().clone()
}

#[test]
fn files_are_read_and_written_after_a_decision() {
    let env = Env::new();
    let site = offering(&env, "[\"fs\"]");
    fs::write(site.0.join("a.txt"), "one\ntwo\nthree\n").unwrap();
    let path = |name: &str| site.0.join(name);
    let (line, texts) = play(
        &env,
        &site,
        &[
            client("fs/read_text_file", &json!({ "path": path("a.txt"), "line": 2, "limit": 1 })),
            client("fs/write_text_file", &json!({ "path": path("b.txt"), "content": "new" })),
            client("fs/read_text_file", &json!({ "path": path("none.txt") })),
            client("fs/read_text_file", &json!({ "path": "a.txt" })),
            client("terminal/create", &json!({ "command": "ls" })),
        ],
    );
    assert_eq!(line["outcome"], "ok", "{line}");
    assert!(line["unguarded"].is_null() && line["denials"].is_null(), "{line}");
    let missing =
        format!("cannot read {}: No such file or directory (os error 2)", path("none.txt").display());
    assert_eq!(
        texts,
        [
            r#"{"content":"two\n"}"#,
            "{}",
            &missing,
            r#"path is not an absolute path: "a.txt""#,
            "terminal/create is not offered",
            "HEARTBEAT_OK",
        ]
    );
    assert_eq!(fs::read_to_string(path("b.txt")).unwrap(), "new");
    let tools: Vec<String> =
        decisions(&env).into_iter().map(|[tool, decision, _]| format!("{tool} {decision}")).collect();
    assert_eq!(tools, ["Read allow", "Write allow", "Read allow"]);
    let calls: Vec<Value> = items(&env).into_iter().filter(|item| item["type"] == "call").collect();
    let short = |call: &Value| {
        let subject = call["subject"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        format!(
            "{} {subject}: {} {}",
            call["tool"].as_str().unwrap(),
            call["result"]["output"],
            call["result"]["isError"]
        )
    };
    let calls: Vec<String> = calls.iter().map(short).collect();
    assert_eq!(calls[..2], ["Read a.txt: \"two\\n\" false", "Write b.txt: \"wrote 3 bytes\" false"]);
}

#[test]
fn a_refused_call_is_an_error_with_the_reason() {
    let env = Env::new();
    let site = offering(&env, "[\"fs\", \"terminal\"]");
    std::os::unix::fs::symlink("/etc/cron.d", site.0.join("link")).unwrap();
    let entry = json!({ "path": site.0, "interval": "30m", "agent": "acp:opencode", "permissions": { "deny": ["Read(//etc/hostname)"] } });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    std::os::unix::fs::symlink("/etc/hostname", site.0.join("name")).unwrap();
    let path = |name: &str| site.0.join(name);
    let (line, texts) = play(
        &env,
        &site,
        &[
            client("fs/write_text_file", &json!({ "path": path("link/evil"), "content": "x" })),
            client("fs/read_text_file", &json!({ "path": path("name") })),
            client("fs/read_text_file", &json!({ "path": "/proc/self/environ" })),
        ],
    );
    assert_eq!(
        (&line["outcome"], &line["denials"]),
        (&json!("attention"), &json!(["Write", "Read"])),
        "{line}"
    );
    assert!(line["summary"].as_str().unwrap().contains("but the guard refused Write("), "{line}");
    assert!(line["unguarded"].is_null(), "{line}");
    assert!(texts[0].contains("/evil is refused: "), "{texts:?}");
    assert_eq!(texts[1], "\"Read(//etc/hostname)\" in the deny list forbids it; continue without it");
    assert_eq!(texts[2], "/proc/self/environ is in /proc, which murmur does not open for agents");
    let shown = env.run(["show", "site"]);
    assert!(shown.contains("  denied by the guard: "), "{shown}");
}

#[test]
fn nothing_is_offered_unless_config_toml_says_so() {
    let env = Env::new();
    let site = super::site(&env, "acp:opencode");
    let read = client("fs/read_text_file", &json!({ "path": site.0.join("a.txt") }));
    let (_, texts) = play(&env, &site, &[read]);
    assert_eq!(texts[0], "fs/read_text_file is not offered");
    settings(&env, "[acp.opencode]\noffer = [\"files\"]\n");
    env.run(["beat", "site"]);
    let line = env.journal().pop().unwrap();
    let error = format!(
        "{}:2:9: \"offer\" has \"files\", which is not known; write offer = [\"fs\", \"terminal\"], or only one of them",
        env.data().join("config/config.toml").display()
    );
    assert_eq!(line["error"], error, "{line}");
}

#[test]
fn an_agents_own_call_that_murmur_did_is_not_undecided() {
    let own = |name: &str, path: &std::path::Path| json!({ "toolCallId": format!("own_{name}"), "kind": name, "title": name, "rawInput": { "filePath": path } });
    let message = |method: &str, params: Value, call: Value, swallows: bool| json!([{ "type": "client", "method": method, "params": params, "call": call, "swallows": swallows }]);
    let env = Env::new();
    let site = offering(&env, "[\"fs\"]");
    let path = |name: &str| site.0.join(name);
    fs::write(path("a.txt"), "a").unwrap();
    let read = |file: &str, call: Value, swallows| {
        message("fs/read_text_file", json!({ "path": path(file) }), call, swallows)
    };
    let write = message(
        "fs/write_text_file",
        json!({ "path": path("b.txt"), "content": "b" }),
        own("edit", &path("b.txt")),
        false,
    );
    let (line, _) = play(&env, &site, &[read("a.txt", own("read", &path("a.txt")), false), write]);
    assert!(line["unguarded"].is_null(), "{line}");
    // It reports to have done what it was refused, or something else.
    let env = Env::new();
    let site = offering(&env, "[\"fs\"]");
    let entry = json!({ "path": site.0, "interval": "30m", "agent": "acp:opencode", "permissions": { "deny": ["Read(no.txt)"] } });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    let path = |name: &str| site.0.join(name);
    let read = |file: &str, call: Value, swallows| {
        message("fs/read_text_file", json!({ "path": path(file) }), call, swallows)
    };
    let calls = [
        read("no.txt", own("read", &path("no.txt")), false),
        read("no.txt", own("read", &path("no.txt")), true),
        read("a.txt", own("edit", &path("a.txt")), true),
    ];
    let (line, _) = play(&env, &site, &calls);
    let [no, a] = ["no.txt", "a.txt"].map(|name| path(name).display().to_string());
    assert_eq!(line["unguarded"], json!([format!("Read({no})"), format!("Edit({a})")]), "{line}");
    for args in [&["log", "-n", "1"][..], &["show", "last"], &["status", "site"]] {
        let shown = env.run(args);
        assert!(shown.contains("2 calls ran without a decision"), "{args:?}: {shown}");
    }
    let shown = env.run(["show", "last"]);
    assert!(shown.contains(&format!("Read({no})  no decision  ")), "{shown}");
    let items = env.murmur(["show", "last", "--json"]).json()["items"].clone();
    let marked = items.as_array().unwrap().iter().filter(|item| item["unguarded"] == true).count();
    assert_eq!(marked, 2, "{items}");
    let status = env.murmur(["status", "--json"]).json();
    assert_eq!(status["heartbeats"][0]["last"]["unguarded"], 2, "{status}");
}
