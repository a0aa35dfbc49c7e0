//! `murmur beat`: how the agent is started, what is printed, and what is written.

mod argv;
mod calls;
mod files;
mod outcomes;
mod quiet;
mod terminal;
mod unregistered;

use insta::assert_snapshot;
use serde_json::json;

use crate::env::{Env, result};

/// The words of an argv, one per line.
fn lines(words: &serde_json::Value) -> String {
    let words: Vec<&str> = words.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    words.join("\n")
}

#[test]
fn an_unregistered_workspace_runs_with_the_defaults() {
    let env = Env::new();
    let site = env.workspace("site", "Look after it.\n");
    assert_snapshot!(env.run(["beat", "site"]), @"
    ok [S]
    [exit 0]
    ");
    assert_snapshot!(env.journal_text(), @r#"{"ts":"[TIME]","workspace":"[ENV]/site","outcome":"ok","durationMs":[MS],"beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00044,"numTurns":1,"exit":{"code":0},"model":"claude-opus-5-5","tokens":{"input":10,"output":20,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}"#);
    let [agent] = &env.agents()[..] else { panic!("not one agent") };
    assert_snapshot!(lines(&agent["argv"]), @r#"
    --print
    --dangerously-skip-permissions
    --verbose
    --output-format
    stream-json
    --max-turns
    3
    --disallowedTools
    Bash(rm -rf /)
    Bash(rm -rf /*)
    Bash(rm -rf ~)
    Bash(rm -rf ~/*)
    Bash(mkfs*)
    Bash(dd if=* of=/dev/*)
    Bash(shred *)
    Bash(sudo *)
    Bash(shutdown *)
    Bash(reboot*)
    Bash(halt*)
    Bash(poweroff*)
    --setting-sources
    user
    --strict-mcp-config
    --permission-prompt-tool
    stdio
    --settings
    {"disableAllHooks":false,"disableSkillShellExecution":true,"env":{"CLAUDE_CODE_SHELL_PREFIX":"","LD_AUDIT":"","LD_LIBRARY_PATH":"","LD_PRELOAD":"","MURMUR_AGENT_ID":"site-[ID]","MURMUR_BEAT":"[BEAT]","MURMUR_CONFIG_DIR":"[ENV]/data/config","MURMUR_DIR":"[ENV]/data","MURMUR_FURTHER_CONFIG_DIR":"","MURMUR_HEARTBEAT":"","MURMUR_HOME":"[ENV]/home","MURMUR_PERMISSIONS":"{\"guard\":true,\"manager\":false,\"planMode\":false,\"checker\":\"off\",\"approval\":\"defer\",\"approvalWait\":null,\"approvalExpiry\":null,\"questions\":\"broker\"}","MURMUR_PROJECT":"site","MURMUR_SOCKET":"[ENV]/data/murmur.sock","MURMUR_WORKSPACE":"[ENV]/site"},"hooks":{"PermissionRequest":[{"hooks":[{"command":"'[HOOK]' PermissionRequest || exit 2","onFailure":"block","timeout":2073630,"type":"command"}],"matcher":"*"}],"PostToolUse":[{"hooks":[{"command":"'[HOOK]' PostToolUse","timeout":5,"type":"command"}],"matcher":"*"}],"PostToolUseFailure":[{"hooks":[{"command":"'[HOOK]' PostToolUseFailure","timeout":5,"type":"command"}],"matcher":"*"}],"PreToolUse":[{"hooks":[{"command":"'[HOOK]' PreToolUse || exit 2","onFailure":"block","timeout":2073630,"type":"command"}],"matcher":"*"}],"SessionEnd":[{"hooks":[{"command":"'[HOOK]' SessionEnd","timeout":5,"type":"command"}]}],"SessionStart":[{"hooks":[{"command":"'[HOOK]' SessionStart","timeout":5,"type":"command"}]}],"Stop":[{"hooks":[{"command":"'[HOOK]' Stop","timeout":5,"type":"command"}]}],"StopFailure":[{"hooks":[{"command":"'[HOOK]' StopFailure","timeout":5,"type":"command"}]}],"UserPromptSubmit":[{"hooks":[{"command":"'[HOOK]' UserPromptSubmit","timeout":5,"type":"command"}]}]}}
    "#);
    assert_eq!(agent["cwd"], site.path());
    assert_snapshot!(agent["stdin"].as_str().unwrap(), @"
    You are a heartbeat agent. Follow the instructions below.

    WORKSPACE: [ENV]/site
    TIME: [TIME]

    ---
    Look after it.
    ---

    Rules:
    - Do what the instructions above ask.
    - If there is nothing to report: respond with exactly HEARTBEAT_OK (nothing else).
    - If something needs human attention: respond with ATTENTION: followed by a concise summary.
    - Be brief.
    ");
    // It is still not registered, and nothing else was left in the data folder.
    assert_snapshot!(env.names(&env.data()), @"
    beats
    beats.reserve
    config.lock
    heartbeats.jsonl
    hosts
    journal.reserve
    locks
    ");
    assert_snapshot!(env.names(&env.data().join("beats")), @"");
}

#[test]
fn the_agent_inherits_the_environment_and_gets_the_hooks_variables() {
    let env = Env::new();
    env.workspace("site", "Look after it.");
    env.murmur(["beat", "site"]).set("ANTHROPIC_MODEL", "theirs").run();
    let agent = &env.agents()[0]["env"];
    let mut all: Vec<String> = agent
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap()))
        .collect();
    all.sort();
    assert_snapshot!(all.join("\n"), @r#"
    ANTHROPIC_MODEL=theirs
    CLAUDE_CODE_SHELL_PREFIX=
    FAKE_CLAUDE_LOG=[ENV]/log/agents
    HOME=[ENV]/home
    IS_SANDBOX=1
    LD_AUDIT=
    LD_LIBRARY_PATH=
    LD_PRELOAD=
    MURMUR_AGENT_ID=site-[ID]
    MURMUR_BEAT=[BEAT]
    MURMUR_CONFIG_DIR=[ENV]/data/config
    MURMUR_DIR=[ENV]/data
    MURMUR_FURTHER_CONFIG_DIR=
    MURMUR_HEARTBEAT=
    MURMUR_HOME=[ENV]/home
    MURMUR_PERMISSIONS={"guard":true,"manager":false,"planMode":false,"checker":"off","approval":"defer","approvalWait":null,"approvalExpiry":null,"questions":"broker"}
    MURMUR_PROJECT=site
    MURMUR_SOCKET=[ENV]/data/murmur.sock
    MURMUR_WORKSPACE=[ENV]/site
    PATH=[ENV]/home/bin:[PROGRAMS]
    SHELL=/bin/sh
    TZ=UTC
    "#);
    assert_eq!(env.journal()[0]["agent"], agent["MURMUR_AGENT_ID"]);
}

#[test]
fn frontmatter_is_not_sent_and_a_megabyte_prompt_arrives_whole() {
    let env = Env::new();
    let long = "All work and no play. 😀\n".repeat(36_000);
    env.workspace("site", &format!("---\nname: Site\n---\n{long}"));
    assert_snapshot!(env.run(["beat", "site"]), @"
    ok [S]
    [exit 0]
    ");
    let sent = env.agents()[0]["stdin"].as_str().unwrap().to_owned();
    assert!(sent.contains(&format!("\n---\n{long}---\n\nRules:\n")), "{}", sent.len());
}

#[test]
fn json_prints_only_the_journal_line() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    let output = env.murmur(["beat", "site", "--json"]).output();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), env.journal_text());
    let line = env.murmur(["beat", "site", "--json", "--verbose"]).json();
    assert_eq!(line, env.journal()[1]);
    assert!(line["turns"].is_array());
}

#[test]
fn a_dry_run_shows_what_would_run_and_writes_nothing() {
    let env = Env::new();
    env.workspace("site", "---\npermissions: skip\nmodel: opus\n---\nLook after it.\n");
    assert_snapshot!(env.run(["beat", "site", "--dry-run"]), @r#"
    cwd: [ENV]/site
    argv:
      [ENV]/home/bin/claude
      --print
      --dangerously-skip-permissions
      --verbose
      --output-format
      stream-json
      --max-turns
      3
      --disallowedTools
      Bash(rm -rf /)
      Bash(rm -rf /*)
      Bash(rm -rf ~)
      Bash(rm -rf ~/*)
      Bash(mkfs*)
      Bash(dd if=* of=/dev/*)
      Bash(shred *)
      Bash(sudo *)
      Bash(shutdown *)
      Bash(reboot*)
      Bash(halt*)
      Bash(poweroff*)
      --model
      opus
      --setting-sources
      user
      --strict-mcp-config
      --permission-prompt-tool
      stdio
      --settings
      {"disableAllHooks":false,"disableSkillShellExecution":true,"env":{"CLAUDE_CODE_SHELL_PREFIX":"","LD_AUDIT":"","LD_LIBRARY_PATH":"","LD_PRELOAD":"","MURMUR_AGENT_ID":"site-[ID]","MURMUR_BEAT":"[BEAT]","MURMUR_CONFIG_DIR":"[ENV]/data/config","MURMUR_DIR":"[ENV]/data","MURMUR_FURTHER_CONFIG_DIR":"","MURMUR_HEARTBEAT":"","MURMUR_HOME":"[ENV]/home","MURMUR_PERMISSIONS":"{\"guard\":true,\"manager\":false,\"planMode\":false,\"checker\":\"off\",\"approval\":\"defer\",\"approvalWait\":null,\"approvalExpiry\":null,\"questions\":\"broker\"}","MURMUR_PROJECT":"site","MURMUR_SOCKET":"[ENV]/data/murmur.sock","MURMUR_WORKSPACE":"[ENV]/site"},"hooks":{"PermissionRequest":[{"hooks":[{"command":"'[HOOK]' PermissionRequest || exit 2","onFailure":"block","timeout":2073630,"type":"command"}],"matcher":"*"}],"PostToolUse":[{"hooks":[{"command":"'[HOOK]' PostToolUse","timeout":5,"type":"command"}],"matcher":"*"}],"PostToolUseFailure":[{"hooks":[{"command":"'[HOOK]' PostToolUseFailure","timeout":5,"type":"command"}],"matcher":"*"}],"PreToolUse":[{"hooks":[{"command":"'[HOOK]' PreToolUse || exit 2","onFailure":"block","timeout":2073630,"type":"command"}],"matcher":"*"}],"SessionEnd":[{"hooks":[{"command":"'[HOOK]' SessionEnd","timeout":5,"type":"command"}]}],"SessionStart":[{"hooks":[{"command":"'[HOOK]' SessionStart","timeout":5,"type":"command"}]}],"Stop":[{"hooks":[{"command":"'[HOOK]' Stop","timeout":5,"type":"command"}]}],"StopFailure":[{"hooks":[{"command":"'[HOOK]' StopFailure","timeout":5,"type":"command"}]}],"UserPromptSubmit":[{"hooks":[{"command":"'[HOOK]' UserPromptSubmit","timeout":5,"type":"command"}]}]}}
    settings:
      schedule: none  (default)
      agent: claude  (default)
      maxTurns: 3  (default)
      timeout: 5m  (default)
      backgroundWait: 10s  (default)
      model: opus  (HEARTBEAT.md)
      permissions: the built-in deny list  (default)
      permissionsChecker: off  (default)
      questions: broker  (default)
      onLimit: resume  (default)
      minFree: 256MiB  (default)
      enabled: true  (default)
      catchUp: once  (default)
      overlap: queue  (default)
      gates: config  (default)
      breaker: 5  (default)
      startTimeout: 2m  (default)
      captures: keep 14d, keep-failed 90d, max 2GiB, max-per-run 64MiB  (default)
      notice: permissions: skip in HEARTBEAT.md has no effect; only config.json can set it
    environment:
      MURMUR_AGENT_ID=site-[ID]
      MURMUR_DIR=[ENV]/data
      MURMUR_PROJECT=site
      MURMUR_SOCKET=[ENV]/data/murmur.sock
      MURMUR_WORKSPACE=[ENV]/site
      MURMUR_CONFIG_DIR=[ENV]/data/config
      MURMUR_FURTHER_CONFIG_DIR=
      MURMUR_HOME=[ENV]/home
      MURMUR_PERMISSIONS={"guard":true,"manager":false,"planMode":false,"checker":"off","approval":"defer","approvalWait":null,"approvalExpiry":null,"questions":"broker"}
      CLAUDE_CODE_SHELL_PREFIX=
      LD_AUDIT=
      LD_LIBRARY_PATH=
      LD_PRELOAD=
      MURMUR_BEAT=[BEAT]
      MURMUR_HEARTBEAT=
      PATH=[ENV]/home/bin:[PROGRAMS]
    prompt:
    You are a heartbeat agent. Follow the instructions below.

    WORKSPACE: [ENV]/site
    TIME: [TIME]

    ---
    Look after it.
    ---

    Rules:
    - Do what the instructions above ask.
    - If there is nothing to report: respond with exactly HEARTBEAT_OK (nothing else).
    - If something needs human attention: respond with ATTENTION: followed by a concise summary.
    - Be brief.

    [exit 0]
    "#);
    assert!(env.agents().is_empty() && !env.data().exists());
}

#[test]
fn a_named_heartbeat_runs_in_the_workspace_root() {
    let env = Env::new();
    let site = env.workspace("site", "Look after it.");
    site.named("nightly", "---\npermissions: skip\n---\nCount the backups.");
    assert_snapshot!(env.run(["beat", "site", "--name", "nightly"]), @"
    ok [S]
    | warning: permissions: skip in HEARTBEAT.md has no effect; only config.json can set it
    [exit 0]
    ");
    assert_snapshot!(env.journal_text(), @r#"{"ts":"[TIME]","workspace":"[ENV]/site","outcome":"ok","durationMs":[MS],"beat":"[BEAT]","heartbeat":"nightly","agent":"site-nightly-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00044,"numTurns":1,"exit":{"code":0},"model":"claude-opus-5-5","tokens":{"input":10,"output":20,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}"#);
    let agent = &env.agents()[0];
    assert_eq!(agent["cwd"], site.path());
    assert!(agent["stdin"].as_str().unwrap().contains("\n---\nCount the backups.\n---\n"));
    assert_snapshot!(env.run(["beat", "site", "--name", "daily"]), @r#"
    | error: no heartbeat "daily" in [ENV]/site
    | hint: use --name with one of: nightly
    [exit 1]
    "#);
}

#[test]
fn a_registered_heartbeat_runs_by_its_name_from_anywhere() {
    let env = Env::new();
    let (site, other) = (env.workspace("site", "Look."), env.workspace("other", "Look."));
    site.named("nightly", "---\ninterval: 1d\n---\nCount the backups.");
    site.named("weekly", "---\ninterval: 7d\n---\nCount them.");
    other.named("weekly", "---\ninterval: 7d\n---\nCount them.");
    env.register(&[&site, &other]);
    let from_home = |args: &[&str]| env.murmur(args).at(&env.home()).run();
    assert!(from_home(&["beat", "nightly"]).starts_with("ok"));
    assert!(from_home(&["beat", "site"]).starts_with("ok"));
    assert!(from_home(&["beat", "site", "--name", "nightly"]).starts_with("ok"));
    let lines = env.journal();
    let ran = |line: &serde_json::Value| (line["workspace"] == json!(site.path()), line["heartbeat"].clone());
    assert_eq!(
        lines.iter().map(ran).collect::<Vec<_>>(),
        [(true, json!("nightly")), (true, serde_json::Value::Null), (true, json!("nightly"))]
    );
    assert_snapshot!(from_home(&["beat", "weekly"]), @r#"
    | error: 2 heartbeats are called "weekly"
    | hint: use one of: [ENV]/site::heartbeats/weekly/HEARTBEAT.md, [ENV]/other::heartbeats/weekly/HEARTBEAT.md
    [exit 1]
    "#);
    assert_snapshot!(from_home(&["beat", "nigthly"]), @r#"
    | error: no heartbeat or workspace "nigthly"
    | hint: did you mean nightly?
    [exit 1]
    "#);
    assert_snapshot!(from_home(&["beat", "not/there"]), @r#"
    | error: cannot open workspace not/there: No such file or directory (os error 2)
    | hint: check the path
    [exit 1]
    "#);
}

#[test]
fn last_run_is_written_and_every_other_byte_is_kept() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.named("nightly", "Count.");
    let config = |last_run: &str, rest: &str| {
        format!(
            "{{ \"mine\" : [1,2 ,  3],\n\t\"workspaces\":[ {{\"path\":\"/elsewhere\",\"interval\":\"1h\"}},\n\n \
             {{ \"lastRun\": {last_run} , \"path\":\"{}\",\"zzz\":\"ü\\u00fc\", \"interval\" : \"30m\"{rest}}}  ] \
             }}\n\n",
            site.path()
        )
    };
    env.configure(&config("null", ""));
    env.run(["beat", "site"]);
    let first = &env.journal()[0]["ts"];
    assert_eq!(env.config(), config(&first.to_string(), ""));
    env.run(["beat", "site", "--name", "nightly"]);
    let last_runs = json!({ "nightly": env.journal()[1]["ts"] });
    let parsed: serde_json::Value = serde_json::from_str(&env.config()).unwrap();
    assert_eq!(parsed["workspaces"][1]["lastRuns"], last_runs);
    assert_eq!(parsed["workspaces"][1]["lastRun"], *first);
    assert!(
        env.config().starts_with("{ \"mine\" : [1,2 ,  3],\n\t\"workspaces\":[ {\"path\":\"/elsewhere\"")
    );
}

#[test]
fn the_agent_is_found_on_the_login_shells_path_if_ours_lacks_it() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    assert_snapshot!(env.murmur(["beat", "site"]).set("PATH", "/nonexistent").run(), @"
    ok [S]
    [exit 0]
    ");
    let path = env.agents()[0]["env"]["PATH"].as_str().unwrap().to_owned();
    assert!(path.starts_with(env.home().join("bin").to_str().unwrap()), "{path}");
    assert!(path.ends_with(":/nonexistent"), "{path}");
}

#[test]
fn a_second_beat_of_a_workspace_is_refused_while_one_runs() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let (pace, mut gate) = env.gate("gate");
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK"), "pace": pace }));
    let mut first = env.murmur(["beat", "site"]).start();
    env.wait_for_agents(1);
    assert_snapshot!(env.run(["beat", "site"]), @"
    | error: a beat is already running in [ENV]/site
    | hint: wait until it ends; see: murmur status
    [exit 1]
    ");
    std::io::Write::write_all(&mut gate, b".").unwrap();
    assert!(first.wait().unwrap().success());
    assert_eq!(env.journal().len(), 1);
}
