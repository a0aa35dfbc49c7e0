//! Calls in other environments than this machine.

use super::super::environment::configured;
use super::dialog::{COMMAND, MCP, answered, at_work, dialog, read};
use super::{HOOKS, INITIALIZED, MCP_STARTED, thread};
use crate::client_call::ClientStep;
use crate::dialog::Dialog;
use serde_json::{Value, json};

#[test]
fn nothing_outside_this_machine_is_allowed() {
    let mut dialog = at_work("dangerFullAccess");
    let declined = |id: Value, key: &str| json!({ "id": id, "result": { key: "decline" } });
    let command = COMMAND.replace(r#""local""#, r#""remote""#);
    assert_eq!(answered(&mut dialog, &command, "call_A"), [declined(json!(0), "decision")]);
    let elsewhere =
        |line: &str, field: &str| line.replace(field, &format!(r#""environmentId":"remote",{field}"#));
    // The server of the same name on this machine has another environment.
    read(&mut dialog, MCP_STARTED);
    let request = elsewhere(MCP, r#""serverName""#);
    assert_eq!(answered(&mut dialog, &request, "call_M"), [declined(json!(21), "action")]);
    read(&mut dialog, &elsewhere(MCP_STARTED, r#""server""#).replace("call_M", "call_R"));
    assert_eq!(answered(&mut dialog, &request, "call_R"), [declined(json!(21), "action")]);
    let null = |line: &str, field: &str| line.replace(field, &format!(r#""environmentId":null,{field}"#));
    let allowed = json!({ "id": 21, "result": { "action": "accept", "content": {} } });
    assert_eq!(answered(&mut dialog, &null(MCP, r#""serverName""#), "call_M"), [allowed]);
    let overruled = dialog.overruled();
    let calls: Vec<&str> = overruled.iter().map(|call| call.tool_use_id.as_str()).collect();
    assert_eq!(calls, ["call_A", "call_R"]);
    let why = r#"the guard cannot check calls in the environment "remote" of Codex, only on this machine"#;
    assert!(overruled.iter().all(|call| call.reason == why), "{overruled:?}");
    dialog.client_steps();
    let permissions = r#"{"id":5,"method":"item/permissions/requestApproval","params":{"environmentId":"remote","permissions":{}}}"#;
    read(&mut dialog, permissions);
    let [ClientStep::Refuse { reason, .. }] = &dialog.client_steps()[..] else { panic!() };
    assert_eq!(reason, why);
}

#[test]
fn a_file_or_a_variable_can_make_calls_run_elsewhere() {
    let home = tempfile::tempdir().unwrap();
    let found = |url: Option<&str>| {
        let env = |name: &str| url.filter(|_| name == "CODEX_EXEC_SERVER_URL").map(Into::into);
        configured(home.path(), &env)
    };
    assert_eq!((found(None), found(Some("none"))), (None, None));
    assert_eq!(found(Some("ws://host")).unwrap(), "CODEX_EXEC_SERVER_URL");
    let file = home.path().join(".codex/environments.toml");
    std::fs::create_dir(home.path().join(".codex")).unwrap();
    std::fs::write(&file, "").unwrap();
    assert_eq!(found(Some("ws://host")).unwrap(), file.display().to_string());
}

#[test]
fn no_turn_runs_in_a_thread_with_another_environment() {
    let begun = |environments: &str| {
        let thread = thread("untrusted", "dangerFullAccess");
        thread.replace(r#""turns":[]"#, &format!(r#""turns":[],"environments":{environments}"#))
    };
    let one = |id: &str| format!(r#"{{"environmentId":"{id}","cwd":"/w","runtimeWorkspaceRoots":["/w"]}}"#);
    let both = format!("[{},{}]", one("local"), one("remote"));
    for (environments, runs) in [
        ("null", true),
        ("[]", true),
        (&*format!("[{}]", one("local")), true),
        (&*format!("[{}]", one("remote")), false),
        (&*both, false),
    ] {
        let mut dialog = dialog(None);
        dialog.open();
        dialog.send("Go.");
        read(&mut dialog, INITIALIZED);
        read(&mut dialog, HOOKS);
        assert_eq!(!read(&mut dialog, &begun(environments)).is_empty(), runs, "{environments}");
        assert_eq!(dialog.has_begun(), runs, "{environments}");
    }
}
