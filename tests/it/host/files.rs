//! The files of hosts: their owner, their modes, and their names.

use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use insta::assert_snapshot;
use serde_json::json;

use super::ID;
use crate::env::Env;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o7777
}

#[test]
fn files_and_sockets_are_private() {
    let env = Env::new();
    let agent = env.live(&json!({}));
    assert_eq!(mode(&env.hosts()), 0o700);
    assert_eq!(env.names(&env.hosts()), "site-1.json\nsite-1.log\nsite-1.sock");
    for name in ["site-1.json", "site-1.log", "site-1.sock"] {
        assert_eq!(mode(&env.hosts().join(name)), 0o600, "{name}");
    }
    agent.stop();
    agent.wait_for_end();
    // An empty log is removed.
    assert_eq!(env.names(&env.hosts()), "site-1.json");
}

#[test]
fn a_hosts_folder_that_others_can_write_to_is_refused() {
    let env = Env::new();
    env.create_data();
    env.site(&json!({}));
    std::fs::create_dir(env.hosts()).unwrap();
    std::fs::set_permissions(env.hosts(), PermissionsExt::from_mode(0o777)).unwrap();
    assert_snapshot!(env.spawning(ID, &[]).run(), @"
    | error: [ENV]/data/hosts is open to other users (mode 0777)
    | hint: run: chmod 700 [ENV]/data/hosts
    [exit 1]
    ");
    assert!(env.agents().is_empty());
}

#[test]
fn a_data_folder_too_deep_for_a_socket_address_works() {
    let env = Env::new();
    let site = env.site(&json!({}));
    let data = env.root().join("deep".repeat(40)).join("deeper".repeat(30));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&data).unwrap();
    let murmur = |args: &[&str]| env.murmur(args).at(&site).set("MURMUR_DIR", &data).output();
    let said = |args: &[&str]| {
        let output = murmur(args);
        assert!(output.status.success(), "{args:?} {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    said(&["host", "spawn", "--agent-id", ID]);
    assert_snapshot!(said(&["host", "list"]), @"
    AGENT   PROJECT  ROLE   STATE
    site-1  site     agent  idle
    ");
    said(&["host", "send", ID, "one"]);
    said(&["host", "stop", ID, "--grace", "1h"]);
    assert!(said(&["attach", ID, "--from", "0"]).contains("[state] exited"));
    assert!(said(&["host", "discover"]).starts_with("Discovered 0 running hosts"));
}

#[test]
fn an_invalid_id_is_refused() {
    let env = Env::new();
    env.site(&json!({}));
    assert_snapshot!(env.spawning("../x", &[]).run(), @r#"
    | error: --agent-id: invalid agent id "../x"
    | hint: use 1 to 80 letters, digits, '-', '_' and '.', and begin with neither '-' nor '.'; see: murmur host spawn --help
    [exit 2]
    "#);
    for command in ["status", "stop"] {
        let shown = env.run(["host", command, "../x"]);
        assert!(shown.contains("invalid agent id \"../x\""), "{shown}");
    }
    assert!(!env.data().exists());
}

#[test]
fn an_agent_has_one_host() {
    let env = Env::new();
    let agent = env.live(&json!({}));
    assert_snapshot!(env.spawning(ID, &[]).run(), @"
    | error: agent site-1 already has a host (PID [PID])
    | hint: choose another id, or stop it with: murmur agent stop site-1
    [exit 1]
    ");
    agent.assert_answers();
    assert_eq!(env.agents().len(), 1);
}

#[test]
fn a_host_that_cannot_start_its_agent_says_why_and_leaves_no_socket() {
    let env = Env::new();
    env.site(&json!({}));
    std::fs::remove_file(env.claude()).unwrap();
    let shown = env.spawning(ID, &[]).run();
    assert!(
        shown.starts_with("| error: claude not found on PATH (") && shown.ends_with("[exit 1]"),
        "{shown}"
    );
    std::fs::write(env.claude(), "#!/no/such/program\n").unwrap();
    std::fs::set_permissions(env.claude(), PermissionsExt::from_mode(0o755)).unwrap();
    assert_snapshot!(env.spawning(ID, &[]).run(), @"
    | error: cannot start [ENV]/home/bin/claude: No such file or directory (os error 2)
    [exit 1]
    ");
    assert!(!env.hosts().join("site-1.sock").exists());
    assert_snapshot!(env.run(["host", "discover"]), @"
    Discovered 0 running hosts
    [exit 0]
    ");
}
