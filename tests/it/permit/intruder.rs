//! An agent's process that answers for a person or controls murmur: an orphan in its own session, with an empty
//! environment. The kernel tells whose process it is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use super::{acts, bash, line, text};
use crate::env::{Env, MURMUR, Socket, fake_claude};

const MANUAL: &str = "permissionsChecker: manual";

impl Env {
    /// Makes every agent start an orphan that runs the commands of [`Self::has_run`].
    fn with_orphan(&self) {
        let root = self.root().display();
        sys::fifo::make(&self.root().join("orders")).unwrap();
        fs::create_dir(self.root().join("orphan")).unwrap();
        let script = format!(
            "#!/bin/sh\n\
             case $1 in --version) ;; *)\n\
             ( setsid env -i /bin/sh {root}/orders >{root}/said 2>&1 </dev/null & ) ;;\n\
             esac\n\
             exec {} \"$@\"\n",
            fake_claude()
        );
        fs::remove_file(self.claude()).unwrap();
        fs::write(self.claude(), script).unwrap();
        fs::set_permissions(self.claude(), PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Makes the orphan run these commands; returns the output of each.
    fn has_run(&self, commands: &[String]) -> Vec<String> {
        let root = self.root().display().to_string();
        let mut orders = format!("cd {root}\n");
        for (number, command) in commands.iter().enumerate() {
            orders += &format!("{{ {command}\n}} >orphan/{number} 2>&1\n");
        }
        orders += ": >orphan/over\n";
        fs::write(self.root().join("orders"), orders).unwrap();
        let folder = self.root().join("orphan");
        self.wait(&folder, || folder.join("over").exists().then_some(()));
        let said =
            (0..commands.len()).map(|number| fs::read_to_string(folder.join(number.to_string())).unwrap());
        said.collect()
    }

    fn command(&self, args: &str) -> String {
        format!("{MURMUR} --data-dir {} {args}", self.data().display())
    }
}

/// A request to the socket `name` in the data folder.
fn asks(env: &Env, name: &str, msg_type: &str, payload: &Value) -> String {
    let line = json!({ "msg_type": msg_type, "id": "1", "payload": payload });
    format!("{} --fake-claude-ask {}/{name} <<'END'\n{line}\nEND", fake_claude(), env.data().display())
}

/// The same on so many connections, which stay open.
fn floods(env: &Env, msg_type: &str, payload: &Value, count: usize) -> String {
    sys::fifo::make(&env.root().join("flooded")).unwrap();
    let line = json!({ "msg_type": msg_type, "id": "1", "payload": payload });
    format!(
        "{} --fake-claude-ask {}/murmur.sock {count} >flooded <<'END' &\n{line}\nEND\n\
         n=0; exec 3<flooded; while [ $n -lt {count} ]; do read -r line <&3; echo \"$line\"; n=$((n + 1)); done",
        fake_claude(),
        env.data().display()
    )
}

/// Everything that is refused to an agent, through the CLI and the socket, while its request `id` waits.
fn attacks(env: &Env, id: &str, host: &str) -> Vec<String> {
    let site = env.root().join("site");
    let socket = |msg_type: &str, payload: Value| asks(env, "murmur.sock", msg_type, &payload);
    vec![
        env.command(&format!("permission respond {id} allow --always")),
        env.command(&format!("question respond {id} '{{}}'")),
        socket("permission.respond", json!({ "id": id, "decision": "allow", "always": true })),
        socket("question.respond", json!({ "id": id, "answers": {} })),
        socket("beat", json!({ "workspace": site })),
        socket("stop", json!({ "beats": "wait" })),
        socket("host.spawn", json!({ "agent_id": "more", "worktree": site })),
        socket("host.send", json!({ "agent_id": host, "text": "hello" })),
        socket("host.stop", json!({ "agent_id": host })),
        socket("host.discover", json!({})),
        socket("what.comes.later", json!({})),
        asks(env, &format!("hosts/{host}.sock"), "stop", &json!({})),
        asks(env, &format!("hosts/{host}.sock"), "send", &json!({ "text": "hello" })),
        // These don't ask the daemon, or would bypass it.
        env.command("stop"),
        env.command("stop --force"),
        env.command("restart"),
        env.command("start"),
        env.command("beat site"),
        env.command("init other"),
        env.command("workspaces add other"),
        env.command("workspaces remove site"),
        env.command("setup hooks"),
        format!("{MURMUR} record x -- true"),
        env.command("host spawn --worktree site hello"),
        env.command(&format!("host stop {host}")),
    ]
}

fn assert_all_refused(env: &Env, row: &Value) {
    let (id, host) = (text(row, "id"), text(row, "agent"));
    let attacks = attacks(env, id, host);
    let mut commands = attacks.clone();
    // What it may still do.
    commands.push(asks(env, "murmur.sock", "permission.list", &json!({})));
    commands.push(asks(env, "murmur.sock", "status", &json!({})));
    commands.push(asks(env, &format!("hosts/{host}.sock"), "status", &json!({})));
    let said = env.has_run(&commands);
    for (attack, said) in attacks.iter().zip(&said) {
        assert!(said.contains("an agent started this, and agents cannot "), "{attack}\n{said}");
    }
    for may in &said[attacks.len()..] {
        assert!(may.contains(r#""success":true"#), "{may}");
    }
    let requests = env.ask("permission.list", &json!({}));
    assert_eq!(requests["requests"][0]["id"], id, "it still waits");
    assert!(!env.data().join("config/permissions.toml").exists(), "no rule was made");
}

#[test]
fn a_daemons_beat_can_neither_answer_requests_nor_control_agents() {
    let env = Env::new();
    let site = env.workspace_calling(&format!("interval: 1h\n{MANUAL}"), &[bash("t1", "git push")]);
    env.register(&[&site]);
    env.with_orphan();
    let daemon = env.daemon();
    let row = env.opened();
    assert_all_refused(&env, &row);
    let said = env.run(["permission", "respond", text(&row, "id"), "allow"]);
    assert!(said.starts_with("allowed Bash for "), "a person still can: {said}");
    env.wait_for_journal(1);
    // Who answered is recorded: this process has no terminal, or its own.
    let decision = env.decisions().remove(0);
    assert_eq!(decision["by"], json!({ "kind": "person" }));
    let answered_by = &decision["answeredBy"];
    assert_eq!(answered_by["program"], "murmur", "{decision}");
    assert!(answered_by["pid"].as_u64().is_some_and(|pid| pid > 1), "{decision}");
    daemon.stop();
}

#[test]
fn a_manual_beat_can_neither_answer_requests_nor_control_agents() {
    let env = Env::new();
    env.workspace_calling(MANUAL, &[bash("t1", "git push")]);
    env.with_orphan();
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    assert_all_refused(&env, &row);
    env.run(["permission", "respond", text(&row, "id"), "deny"]);
    assert_eq!(line(beat)["denials"], json!(["Bash"]));
    daemon.stop();
}

#[test]
fn a_hosted_agent_cannot_answer_requests_and_a_manager_only_controls_agents() {
    let env = Env::new();
    let site = env.workspace("site", "");
    site.plays(&acts(&[bash("t1", "murmur host list")]));
    env.with_orphan();
    let daemon = env.daemon();
    for (agent, role) in [("worker", "worker"), ("boss", "manager")] {
        env.run(["host", "spawn", "--agent-id", agent, "--role", role, "--worktree", site.path(), "Go."]);
        let _folder = fs::remove_dir_all(env.root().join("orphan"));
        fs::create_dir(env.root().join("orphan")).unwrap();
        let respond = json!({ "id": "00000000", "decision": "allow" });
        let said = env.has_run(&[
            asks(&env, "murmur.sock", "permission.respond", &respond),
            asks(&env, "murmur.sock", "beat", &json!({ "workspace": site.path() })),
            asks(&env, "murmur.sock", "host.send", &json!({ "agent_id": "worker", "text": "hello" })),
            asks(&env, "hosts/worker.sock", "send", &json!({ "text": "hello" })),
        ]);
        let refused: Vec<bool> = said.iter().map(|said| said.contains("agents cannot ")).collect();
        let is_worker = agent == "worker";
        assert_eq!(refused, [true, true, is_worker, is_worker], "{agent}: {said:#?}");
    }
    env.run(["host", "stop", "--all"]);
    daemon.stop();
}

#[test]
fn an_agent_can_ask_only_for_itself_and_cannot_pause_a_timeout() {
    let env = Env::new();
    let site = env.workspace_calling(&format!("interval: 1h\n{MANUAL}"), &[bash("t1", "git push")]);
    env.register(&[&site]);
    env.with_orphan();
    let daemon = env.daemon();
    let row = env.opened();
    let agent = text(&row, "agent").to_owned();
    let mut own = waiting(&env, &agent, 7, "git status");
    own["workspace"] = json!(site.path());
    let beat = fs::read_dir(env.data().join("beats")).unwrap().next().unwrap().unwrap().file_name();
    own["beat"] = json!({ "beat": beat.to_str().unwrap().trim_end_matches(".json") });
    let with = |key: &str, value: Value| {
        let mut payload = own.clone();
        payload[key] = value;
        asks(&env, "murmur.sock", "permission.request", &payload)
    };
    let other = "the request names a different agent than its sender";
    let attacks = [
        (with("agent", json!("deployer")), other),
        (with("agent", json!("../site")), other),
        (with("workspace", json!("/")), other),
        (with("beat", json!({ "beat": "01JZZZZZZZZZZZZZZZZZZZZZZZ" })), other),
        (with("beat", Value::Null), other),
        (with("session", json!("--settings=/tmp/settings.json")), "the session id is not valid"),
        (
            asks(&env, &format!("hosts/{agent}.sock"), "wait", &json!({ "request": text(&row, "id") })),
            "only murmur-hook can send wait",
        ),
    ];
    let commands: Vec<String> = attacks.iter().map(|(command, _)| command.clone()).collect();
    for (said, (attack, refused)) in env.has_run(&commands).iter().zip(&attacks) {
        assert!(said.contains(refused), "{attack}\n{said}");
    }
    assert_eq!(env.ask("permission.list", &json!({}))["requests"].as_array().unwrap().len(), 1);
    env.run(["permission", "respond", text(&row, "id"), "deny"]);
    env.wait_for_journal(1);
    daemon.stop();
}

#[test]
fn an_answer_from_an_agent_posing_as_the_daemon_is_ignored() {
    let env = Env::new();
    let calls = [bash("t1", "git push"), bash("t2", "git push --force")];
    let site = env.workspace_calling(&format!("interval: 1h\n{MANUAL}"), &calls);
    env.register(&[&site]);
    env.with_orphan();
    let daemon = env.daemon();
    let row = env.opened();
    let id = text(&row, "id").to_owned();
    let answer = json!({ "msg_type": "permission.request", "id": "1", "success": true,
        "payload": { "decision": "allow", "by": { "kind": "person" }, "id": id } });
    let socket = env.data().join("murmur.sock");
    let squat = format!(
        "{} --fake-claude-listen {socket}.mine <<'END' &\n{answer}\nEND\n\
         while ! [ -S {socket}.mine ]; do :; done",
        fake_claude(),
        socket = socket.display()
    );
    assert_eq!(env.has_run(&[squat]), [""]);
    // Without an environment it may not find a program for this.
    fs::rename(&socket, env.data().join("murmur.sock.daemon")).unwrap();
    fs::rename(env.data().join("murmur.sock.mine"), &socket).unwrap();
    // A person's answer reaches the place where the request was sent.
    let stream = UnixStream::connect(env.data().join("murmur.sock.daemon")).unwrap();
    Socket::new(stream).ask("permission.respond", &json!({ "id": id, "decision": "deny" }));
    let line = env.wait_for_journal(1).remove(0);
    assert_eq!(line["outcome"], "error", "{line}");
    let second = env.decisions().remove(1);
    assert_eq!((&second["decision"], &second["by"]["kind"]), (&json!("deny"), &json!("failure")), "{second}");
    let why = "a process of the agent is listening on the daemon's socket";
    assert!(text(&second, "reason").contains(why), "{second}");
    fs::rename(env.data().join("murmur.sock.daemon"), &socket).unwrap();
    daemon.stop();
}

#[test]
fn an_agent_cannot_use_up_all_connections() {
    let env = Env::new();
    let site = env.workspace("site", "");
    site.plays(&acts(&[bash("t1", "true")]));
    env.with_orphan();
    let daemon = env.daemon();
    env.run(["host", "spawn", "--agent-id", "worker", "--worktree", site.path(), "Go."]);
    // None of them is idle: each follows events.
    let said = env.has_run(&[floods(&env, "attach", &json!({}), 300)]).remove(0);
    let rejected = said.lines().filter(|line| line.contains("too many clients are connected")).count();
    let followed = said.lines().filter(|line| line.contains(r#""success":true"#)).count();
    // One that hasn't sent a request yet is idle, and may have made room for the next.
    assert_eq!(followed + rejected, 300, "{said}");
    assert!((100..=128).contains(&followed), "{followed} of 300");
    let status = env.run(["status"]);
    assert!(status.starts_with("murmur 0.1.0 is running"), "{status}");
    env.run(["host", "stop", "--all"]);
    daemon.stop();
}

/// A process's private memory, in bytes; 0 if the system doesn't report it.
fn process_memory(pid: i64) -> usize {
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { return 0 };
    let field = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    field.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// A call that waits for a person.
fn waiting(env: &Env, agent: &str, number: usize, command: &str) -> Value {
    json!({ "agent": agent, "session": "s", "toolUseId": format!("t{number}"), "tool": "Bash",
        "input": { "command": command }, "cwd": env.root(), "workspace": env.root(), "project": "site",
        "whom": "person", "wait": 120, "hook": format!("{number:016x}") })
}

#[test]
fn one_agents_long_requests_leave_room_for_others_and_are_listed_in_pages() {
    let env = Env::new();
    let daemon = env.daemon();
    let mut events = env.events();
    let long = "x".repeat(900_000);
    let mut hooks: Vec<Socket> = Vec::new();
    let mut ask = |agent: &str, number: usize, command: &str| {
        let mut hook = env.connect();
        let asked = json!({ "msg_type": "permission.request", "id": "1", "payload": waiting(&env, agent, number, command) });
        hook.say(format!("{asked}\n"));
        hooks.push(hook);
    };
    // The feed of events is full after ten of them.
    let mut memory = Vec::new();
    for number in 0..96 {
        if [10, 20].contains(&number) {
            memory.push(process_memory(daemon.pid()));
        }
        let command = if number < 20 { &long } else { "git push" };
        ask("greedy", number, command);
        events.until("request_opened");
    }
    ask("greedy", 96, "git push");
    ask("modest", 97, "git push");
    assert_eq!(text(&events.until("request_opened"), "agent"), "modest");
    let greedy = hooks[96].receive().unwrap();
    let reason = text(&greedy["payload"], "reason");
    assert!(reason.starts_with("96 calls of this agent are already waiting for a person"), "{reason}");
    // The 9 MB of the other ten are in unnamed files.
    assert!(memory[1] < memory[0] + 5 * long.len(), "{memory:?}");
    // Each page is a line that any client can read.
    let mut requests = 0;
    let mut after = Value::Null;
    loop {
        let page = env.ask("permission.list", &json!({ "after": after }));
        assert!(page.to_string().len() < 1 << 20);
        requests += page["requests"].as_array().unwrap().len();
        after = page["next"].clone();
        if after.is_null() {
            break;
        }
    }
    let listed: Value =
        serde_json::from_slice(&env.murmur(["permission", "list", "--json"]).output().stdout).unwrap();
    assert_eq!((requests, listed["requests"].as_array().unwrap().len()), (97, 97));
    let first = listed["requests"][0]["input"]["command"].as_str().unwrap();
    assert!(first == long, "it is shown in full");
    daemon.stop();
}
