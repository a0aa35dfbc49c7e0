//! Calls that the agent delegates to murmur (ACP client methods).

use super::super::AcpDialog;
use crate::client_call::{
    ClientCall, ClientError, ClientErrorKind, ClientReply, ClientStep, CommandLine, TerminalAction,
};
use crate::dialog::{CallDecision, Conversation, Dialog};
use crate::event::PermissionRequest;
use murmur_core::config::acp_program::Offers;
use serde_json::{Value, json};
use sys::process::Exit;

const BOTH: Offers = Offers { fs: true, terminal: true };

fn dialog(offers: Offers) -> AcpDialog {
    AcpDialog::new("mine", Conversation { offers, ..Conversation::default() })
}

/// The messages in `bytes`.
fn messages(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// Makes a request. Returns what is replied at once: `-` or the error's code and message.
fn ask(dialog: &mut AcpDialog, id: u64, method: &str, params: &Value) -> String {
    let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    match &messages(&dialog.read(format!("{line}\n").as_bytes()))[..] {
        [] => "-".to_owned(),
        [reply] => {
            assert_eq!(reply["id"], id);
            format!("{} {}", reply["error"]["code"], reply["error"]["message"].as_str().unwrap())
        }
        more => panic!("{more:?}"),
    }
}

/// The only step, which is to ask.
fn asked(dialog: &mut AcpDialog) -> PermissionRequest {
    match &dialog.client_steps()[..] {
        [ClientStep::Ask { request, .. }] => request.clone(),
        steps => panic!("{steps:?}"),
    }
}

#[test]
fn capabilities_are_declared_as_offered() {
    for (fs, terminal, expected) in [
        (false, false, json!({})),
        (true, false, json!({ "fs": { "readTextFile": true, "writeTextFile": true } })),
        (false, true, json!({ "terminal": true })),
    ] {
        let hello = messages(&dialog(Offers { fs, terminal }).open());
        assert_eq!(hello[0]["params"]["clientCapabilities"], expected);
    }
}

#[test]
fn what_is_not_offered_is_unknown() {
    let mut dialog = dialog(Offers { fs: false, terminal: true });
    let params = json!({ "path": "/w/a", "command": "ls" });
    assert_eq!(ask(&mut dialog, 1, "fs/read_text_file", &params), "-32601 murmur has no fs/read_text_file");
    assert_eq!(ask(&mut dialog, 2, "terminal/resize", &params), "-32601 murmur has no terminal/resize");
    assert_eq!(ask(&mut dialog, 3, "terminal/create", &params), "-");
}

#[test]
fn a_call_is_asked_about_and_performed_if_it_is_allowed() {
    let mut dialog = dialog(BOTH);
    let params = json!({ "sessionId": "s", "path": "/w/a", "line": 3, "limit": null });
    assert_eq!(ask(&mut dialog, 7, "fs/read_text_file", &params), "-");
    let request = asked(&mut dialog);
    let said = (request.request_id.as_str(), request.tool.as_str(), request.tool_use_id.as_str());
    assert_eq!(said, ("7", "Read", "client-1"));
    assert_eq!(request.input, json!({ "file_path": "/w/a", "offset": 3 }));
    assert!(dialog.answer(&request, &CallDecision::Allow { input: None }).is_empty());
    let call = ClientCall::Read { path: "/w/a".into(), line: Some(3), limit: None };
    assert_eq!(dialog.client_steps(), [ClientStep::Perform("7".to_owned(), call)]);
    let reply = dialog.reply("7", Ok(ClientReply::Text("text".to_owned())));
    assert_eq!(messages(&reply), [json!({ "jsonrpc": "2.0", "id": 7, "result": { "content": "text" } })]);
    assert!(dialog.reply("7", Ok(ClientReply::Done)).is_empty());
}

#[test]
fn a_refused_or_changed_call_is_an_error() {
    let mut dialog = dialog(BOTH);
    let changed = CallDecision::Allow { input: Some(json!({ "file_path": "/w/b" })) };
    let denied = CallDecision::Deny { reason: "no".to_owned() };
    for (id, decision, message) in [(1, denied, "no"), (2, changed, "it was changed")] {
        ask(&mut dialog, id, "fs/write_text_file", &json!({ "path": "/w/a", "content": "x" }));
        let request = asked(&mut dialog);
        assert_eq!(request.input, json!({ "file_path": "/w/a", "content": "x" }));
        let reply = messages(&dialog.answer(&request, &decision));
        assert_eq!(reply[0]["error"], json!({ "code": -32001, "message": message }));
        assert_eq!(dialog.client_steps(), []);
    }
}

#[test]
fn a_command_is_asked_about_as_a_shell_would_write_it() {
    let mut dialog = dialog(BOTH);
    let env = json!([{ "name": "CI", "value": "a b" }]);
    let params = json!({ "command": "npm", "args": ["run", "x;y"], "env": env, "cwd": "/w/sub", "outputByteLimit": 9 });
    assert_eq!(ask(&mut dialog, 1, "terminal/create", &params), "-");
    let request = asked(&mut dialog);
    assert_eq!((request.tool.as_str(), request.cwd.as_deref()), ("Bash", Some("/w/sub")));
    assert_eq!(request.input, json!({ "command": "CI='a b' npm run 'x;y'" }));
    dialog.answer(&request, &CallDecision::Allow { input: None });
    let command = CommandLine {
        program: "npm".to_owned(),
        args: vec!["run".to_owned(), "x;y".to_owned()],
        env: vec![("CI".to_owned(), "a b".to_owned())],
        cwd: Some("/w/sub".into()),
        output_limit: Some(9),
    };
    assert_eq!(dialog.client_steps(), [ClientStep::Perform("1".to_owned(), ClientCall::Run(command))]);
}

#[test]
fn a_terminal_needs_no_further_decision() {
    let mut dialog = dialog(BOTH);
    for (id, method, action, reply, expected) in [
        (
            1,
            "output",
            TerminalAction::Output,
            ClientReply::Output { text: "x".to_owned(), is_truncated: true, exit: Some(Exit::Code(1)) },
            json!({ "output": "x", "truncated": true, "exitStatus": { "exitCode": 1, "signal": null } }),
        ),
        (
            2,
            "wait_for_exit",
            TerminalAction::Wait,
            ClientReply::Exited(Exit::Signal(9)),
            json!({ "exitCode": null, "signal": "SIGKILL" }),
        ),
        (3, "kill", TerminalAction::Kill, ClientReply::Done, json!({})),
        (4, "release", TerminalAction::Release, ClientReply::Done, json!({})),
    ] {
        let method = format!("terminal/{method}");
        assert_eq!(ask(&mut dialog, id, &method, &json!({ "terminalId": "t" })), "-");
        let call = ClientCall::Terminal { id: "t".to_owned(), action };
        assert_eq!(dialog.client_steps(), [ClientStep::Perform(id.to_string(), call)]);
        assert_eq!(messages(&dialog.reply(&id.to_string(), Ok(reply)))[0]["result"], expected);
    }
}

#[test]
fn wrong_parameters_and_failures_are_errors() {
    let mut dialog = dialog(BOTH);
    for (method, params, expected) in [
        ("fs/read_text_file", json!({}), "path is missing"),
        ("fs/read_text_file", json!({ "path": "a" }), "path is not an absolute path: \"a\""),
        ("fs/read_text_file", json!({ "path": "/a", "line": -1 }), "line is not a whole number: -1"),
        ("fs/write_text_file", json!({ "path": "/a" }), "content is not a string"),
        ("terminal/create", json!({ "args": ["a"] }), "command is missing"),
        ("terminal/create", json!({ "command": "a", "args": "b" }), "args is not a list"),
        (
            "terminal/create",
            json!({ "command": "a", "args": [1] }),
            "args has an element that is not a string",
        ),
        ("terminal/create", json!({ "command": "a", "cwd": "b" }), "cwd is not an absolute path: \"b\""),
        (
            "terminal/create",
            json!({ "command": "a", "env": [{ "name": "A;id", "value": "" }] }),
            "env has \"A;id\", which is not the name of a variable",
        ),
        ("terminal/output", json!({}), "terminalId is missing"),
    ] {
        assert_eq!(ask(&mut dialog, 1, method, &params), format!("-32602 {expected}"), "{method}");
    }
    for (kind, code) in [
        (ClientErrorKind::Invalid, -32602),
        (ClientErrorKind::NotFound, -32002),
        (ClientErrorKind::Failed, -32603),
    ] {
        ask(&mut dialog, 5, "terminal/kill", &json!({ "terminalId": "t" }));
        let reply = dialog.reply("5", Err(ClientError { kind, message: "why".to_owned() }));
        assert_eq!(messages(&reply)[0]["error"], json!({ "code": code, "message": "why" }));
    }
}

#[test]
fn a_call_that_the_agent_withdraws_is_not_performed() {
    let mut dialog = dialog(BOTH);
    ask(&mut dialog, 1, "fs/read_text_file", &json!({ "path": "/a" }));
    let request = asked(&mut dialog);
    let cancel = json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": 1 } });
    dialog.read(format!("{cancel}\n").as_bytes());
    assert_eq!(dialog.client_steps(), [ClientStep::Withdraw("1".to_owned())]);
    assert!(dialog.answer(&request, &CallDecision::Allow { input: None }).is_empty());
    assert_eq!(dialog.client_steps(), []);
}

#[test]
fn only_so_many_calls_may_wait() {
    let mut dialog = dialog(BOTH);
    for id in 0..64 {
        assert_eq!(ask(&mut dialog, id, "fs/read_text_file", &json!({ "path": "/a" })), "-");
    }
    let refused = ask(&mut dialog, 64, "fs/read_text_file", &json!({ "path": "/a" }));
    assert_eq!(refused, "-32603 too many calls at once; wait for their results");
    assert_eq!(dialog.client_steps().len(), 64);
}

#[test]
fn what_waits_for_a_decision_ends_with_its_turn() {
    for ends in ["interrupt", "response"] {
        let mut dialog = dialog(BOTH);
        dialog.open();
        dialog.send("go");
        for (id, result) in [
            ("murmur-initialize", json!({ "protocolVersion": 1 })),
            ("murmur-session", json!({ "sessionId": "s" })),
        ] {
            let line = json!({ "jsonrpc": "2.0", "id": id, "result": result });
            dialog.read(format!("{line}\n").as_bytes());
        }
        ask(&mut dialog, 1, "fs/read_text_file", &json!({ "path": "/a" }));
        let request = asked(&mut dialog);
        let bytes = if ends == "interrupt" {
            dialog.interrupt()
        } else {
            let line =
                json!({ "jsonrpc": "2.0", "id": "murmur-prompt:1", "result": { "stopReason": "end_turn" } });
            dialog.read(format!("{line}\n").as_bytes())
        };
        let reply = messages(&bytes).pop().unwrap();
        let error = json!({ "code": -32800, "message": "the turn has ended" });
        assert_eq!((&reply["id"], &reply["error"]), (&json!(1), &error), "{ends}");
        assert_eq!(dialog.client_steps(), [ClientStep::Withdraw("1".to_owned())]);
        assert!(dialog.answer(&request, &CallDecision::Allow { input: None }).is_empty());
        assert_eq!(dialog.client_steps(), []);
    }
}
