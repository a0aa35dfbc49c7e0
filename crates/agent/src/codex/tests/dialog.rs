//! What murmur writes for what the app-server wrote.

use super::{HOOKS, INITIALIZED, MCP_STARTED, TURN_ACCEPTED, TURN_STARTED, thread, turn_completed};
use crate::client_call::{ClientCall, ClientStep};
use crate::codex::CodexDialog;
use crate::dialog::{CallDecision, Conversation, Dialog, Overruled};
use crate::event::PermissionRequest;
use serde_json::{Value, json};

pub(super) fn dialog(resume: Option<&str>) -> CodexDialog {
    let resume = resume.map(str::to_owned);
    let model = Some("gpt-5.5".to_owned());
    CodexDialog::new(Conversation { cwd: "/w".into(), model, resume, ..Conversation::default() })
}

pub(super) fn messages(bytes: &[u8]) -> Vec<Value> {
    std::str::from_utf8(bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(super) fn read(dialog: &mut CodexDialog, line: &str) -> Vec<Value> {
    messages(&dialog.read(format!("{line}\n").as_bytes()))
}

/// A dialog with a thread in `sandbox` and a running turn.
pub(super) fn at_work(sandbox: &str) -> CodexDialog {
    let mut dialog = dialog(None);
    dialog.open();
    read(&mut dialog, INITIALIZED);
    read(&mut dialog, HOOKS);
    read(&mut dialog, &thread("untrusted", sandbox));
    dialog.send("Go.");
    read(&mut dialog, TURN_ACCEPTED);
    read(&mut dialog, TURN_STARTED);
    dialog
}

/// The answer to `request`, if only the call `call` is allowed.
pub(super) fn answered(dialog: &mut CodexDialog, request: &str, call: &str) -> Vec<Value> {
    let mut answers = read(dialog, request);
    answers.extend(messages(&dialog.repeat_decisions(&mut |asked| asked == call)));
    answers
}

pub(super) const COMMAND: &str = r#"{"method":"item/commandExecution/requestApproval","id":0,"params":{"kind":"command","threadId":"t1","turnId":"u1","itemId":"call_A","environmentId":"local","command":"/bin/bash -lc 'touch ran.txt'","cwd":"/w","availableDecisions":["accept","cancel"]}}"#;

const PATCH: &str = r#"{"method":"item/fileChange/requestApproval","id":"q","params":{"threadId":"t1","turnId":"u1","itemId":"call_B","reason":null,"grantRoot":null}}"#;

pub(super) const MCP: &str = r#"{"method":"mcpServer/elicitation/request","id":21,"params":{"threadId":"t1","turnId":"u1","serverName":"t","mode":"form","_meta":{"codex_approval_kind":"mcp_tool_call","persist":["session","always"],"tool_name":"poke","tool_params":{"x":"1"}},"message":"Allow the t MCP server to run tool \"poke\"?","requestedSchema":{"type":"object","properties":{}}}}"#;

#[test]
fn a_message_waits_for_the_handshake() {
    let mut dialog = dialog(None);
    let opening = messages(&dialog.open());
    assert_eq!((&opening[0]["method"], &opening[0]["id"]), (&json!("initialize"), &json!("initialize")));
    assert_eq!(dialog.send("Go."), b"");
    // Output arrives in chunks of any size.
    let (start, rest) = INITIALIZED.split_at(10);
    assert_eq!(dialog.read(start.as_bytes()), b"");
    let next = read(&mut dialog, rest);
    assert_eq!(next[0], json!({ "method": "initialized" }));
    assert_eq!(next[1], json!({ "method": "hooks/list", "id": "hooks", "params": { "cwds": ["/w"] } }));
    let next = read(&mut dialog, HOOKS);
    let params = json!({ "approvalPolicy": "untrusted", "approvalsReviewer": "user", "model": "gpt-5.5" });
    assert_eq!(next[0], json!({ "method": "thread/start", "id": "thread", "params": params }));
    let turn = read(&mut dialog, &thread("untrusted", "dangerFullAccess"));
    let input = json!([{ "type": "text", "text": "Go." }]);
    let params = json!({ "threadId": "t1", "input": input, "approvalPolicy": "untrusted" });
    let limits = json!({ "method": "account/rateLimits/read", "id": "limits", "params": null });
    assert_eq!(turn, [json!({ "method": "turn/start", "id": "turn", "params": params }), limits]);
}

#[test]
fn a_conversation_is_resumed_without_its_turns() {
    let mut dialog = dialog(Some("t0"));
    dialog.open();
    read(&mut dialog, INITIALIZED);
    let next = read(&mut dialog, HOOKS);
    assert_eq!(next[0]["method"], "thread/resume");
    assert_eq!(
        (&next[0]["params"]["threadId"], &next[0]["params"]["excludeTurns"]),
        (&json!("t0"), &json!(true))
    );
}

#[test]
fn without_a_sandbox_the_recorded_decision_is_repeated() {
    let mut dialog = at_work("dangerFullAccess");
    assert!(dialog.asks_before("Bash(ls)") && !dialog.asks_before("mcp__t__poke"));
    let allowed = |id: Value| json!({ "id": id, "result": { "decision": "accept" } });
    let denied = |id: Value| json!({ "id": id, "result": { "decision": "decline" } });
    assert_eq!(answered(&mut dialog, COMMAND, "call_A"), [allowed(json!(0))]);
    assert_eq!(answered(&mut dialog, COMMAND, "call_X"), [denied(json!(0))]);
    assert_eq!(answered(&mut dialog, PATCH, "call_B"), [allowed(json!("q"))]);
    assert_eq!(answered(&mut dialog, PATCH, "call_A"), [denied(json!("q"))]);
    let wider = PATCH.replace(r#""grantRoot":null"#, r#""grantRoot":"/""#);
    assert_eq!(dialog.overruled(), []);
    assert_eq!(answered(&mut dialog, &wider, "call_B"), [denied(json!("q"))]);
    let [Overruled { tool_use_id, reason }] = &dialog.overruled()[..] else { panic!() };
    assert!(tool_use_id == "call_B" && reason.contains("a whole folder"), "{reason}");
}

#[test]
fn no_call_leaves_the_users_sandbox() {
    for (sandbox, name) in
        [("readOnly", "read-only"), ("workspaceWrite", "workspace-write"), ("somethingNew", "somethingNew")]
    {
        let mut dialog = at_work(sandbox);
        assert!(!dialog.asks_before("Bash(ls)"));
        let denied = json!({ "id": 0, "result": { "decision": "decline" } });
        assert_eq!(answered(&mut dialog, COMMAND, "call_A"), [denied], "{sandbox}");
        assert_eq!(answered(&mut dialog, PATCH, "call_B")[0]["result"]["decision"], "decline");
        let overruled = dialog.overruled();
        let calls: Vec<&str> = overruled.iter().map(|call| call.tool_use_id.as_str()).collect();
        assert_eq!(calls, ["call_A", "call_B"]);
        assert!(overruled.iter().all(|call| call.reason.contains(name)), "{overruled:?}");
        // The rest of such a command runs, so that only the part is denied.
        let part = COMMAND.replace(r#""environmentId":"local""#, r#""approvalId":"x""#);
        assert_eq!(answered(&mut dialog, &part, "call_A")[0]["result"]["decision"], "decline");
        assert_eq!(dialog.overruled(), []);
        let [ClientStep::Refuse { request, reason, .. }] = &dialog.client_steps()[..] else { panic!() };
        assert!(request.tool == "Bash" && request.tool_use_id == "request-0" && reason.contains(name));
        let turn = messages(&dialog.send("More."));
        assert_eq!(turn[0]["params"]["approvalPolicy"], "on-request");
    }
}

#[test]
fn an_mcp_call_is_found_by_its_contents_and_counts_once() {
    let mut dialog = at_work("workspaceWrite");
    let declined = json!({ "id": 21, "result": { "action": "decline" } });
    assert_eq!(answered(&mut dialog, MCP, "call_M"), std::slice::from_ref(&declined));
    let [ClientStep::Refuse { request, .. }] = &dialog.client_steps()[..] else { panic!() };
    assert_eq!((request.tool.as_str(), &request.input), ("mcp__t__poke", &json!({ "x": "1" })));
    read(&mut dialog, MCP_STARTED);
    assert_eq!(
        answered(&mut dialog, &MCP.replace(r#""x":"1""#, r#""x":"2""#), "call_M"),
        std::slice::from_ref(&declined)
    );
    let mut dialog = at_work("workspaceWrite");
    read(&mut dialog, MCP_STARTED);
    let accepted = json!({ "id": 21, "result": { "action": "accept", "content": {} } });
    assert_eq!(answered(&mut dialog, MCP, "call_M"), [accepted]);
    assert_eq!(answered(&mut dialog, MCP, "call_M"), [declined]);
}

#[test]
fn other_requests_are_refused() {
    let mut dialog = at_work("dangerFullAccess");
    let answer = read(&mut dialog, r#"{"id":5,"method":"something/new","params":{}}"#);
    assert_eq!((&answer[0]["id"], &answer[0]["error"]["code"]), (&json!(5), &json!(-32601)));
    // Without parameters there is no call to allow.
    let bare = r#"{"id":6,"method":"item/commandExecution/requestApproval"}"#;
    assert_eq!(answered(&mut dialog, bare, "call_A")[0]["result"]["decision"], "decline");
}

/// The step that `request` leads to: what is asked, as tool and input, or why it is refused.
fn step(dialog: &mut CodexDialog, request: &str) -> (String, String) {
    let answers = read(dialog, request);
    match &dialog.client_steps()[..] {
        [ClientStep::Ask { request, call: ClientCall::Consent }] if answers.is_empty() => {
            (format!("{} {}", request.tool, request.input), request.request_id.clone())
        }
        [ClientStep::Refuse { request, reason, .. }] if answers.len() == 1 => {
            (format!("{} {}", request.tool, request.input), format!("{reason}: {}", answers[0]))
        }
        other => panic!("{other:?} {answers:?}"),
    }
}

#[test]
fn what_codex_asks_a_person_is_decided_on_like_a_call() {
    let command = |from: &str, to: &str| COMMAND.replace(from, to);
    let environment = r#""environmentId":"local""#;
    let network = command(environment, r#""networkApprovalContext":{"host":"a.b","protocol":"https"}"#);
    let permissions = r#"{"id":0,"method":"item/permissions/requestApproval","params":{"itemId":"x","cwd":"/w","permissions":{"network":{"enabled":true}},"reason":"to fetch"}}"#;
    let asks = r#"{"id":0,"method":"mcpServer/elicitation/request","params":{"serverName":"t","mode":"form","message":"Sure?","requestedSchema":{"type":"object","properties":{}}}}"#;
    let url = r#"{"id":0,"method":"mcpServer/elicitation/request","params":{"serverName":"t","mode":"url","message":"Log in","url":"https://a.b","elicitationId":"e"}}"#;
    for (request, sandbox, shown, allowed, denied) in [
        (
            &*network,
            "workspaceWrite",
            r#"SandboxAccess {"host":"a.b","protocol":"https"}"#,
            json!({ "decision": "accept" }),
            json!({ "decision": "decline" }),
        ),
        (
            &*command(environment, r#""approvalId":"x""#),
            "dangerFullAccess",
            r#"Bash {"command":"/bin/bash -lc 'touch ran.txt'"}"#,
            json!({ "decision": "accept" }),
            json!({ "decision": "decline" }),
        ),
        (
            &*command(r#""kind":"command""#, r#""kind":"writeStdin""#),
            "dangerFullAccess",
            r#"Bash {"command":"/bin/bash -lc 'touch ran.txt'"}"#,
            json!({ "decision": "accept" }),
            json!({ "decision": "decline" }),
        ),
        (
            permissions,
            "readOnly",
            r#"SandboxAccess {"permissions":{"network":{"enabled":true}},"reason":"to fetch"}"#,
            json!({ "permissions": { "network": { "enabled": true } }, "scope": "turn" }),
            json!({ "permissions": {}, "scope": "turn" }),
        ),
        (
            asks,
            "readOnly",
            r#"mcp__t__elicitation {"message":"Sure?"}"#,
            json!({ "action": "accept", "content": {} }),
            json!({ "action": "decline" }),
        ),
        (
            url,
            "readOnly",
            r#"mcp__t__elicitation {"message":"Log in","url":"https://a.b"}"#,
            json!({ "action": "accept" }),
            json!({ "action": "decline" }),
        ),
    ] {
        for is_allowed in [true, false] {
            let mut dialog = at_work(sandbox);
            assert_eq!(step(&mut dialog, request), (shown.to_owned(), "0".to_owned()));
            let asked = PermissionRequest { request_id: "0".to_owned(), ..PermissionRequest::default() };
            let decision = match is_allowed {
                true => CallDecision::Allow { input: None },
                false => CallDecision::Deny { reason: String::new() },
            };
            let answer = messages(&dialog.answer(&asked, &decision));
            let result = if is_allowed { &allowed } else { &denied };
            assert_eq!(answer, [json!({ "id": 0, "result": result })]);
            assert_eq!(dialog.answer(&asked, &decision), b"", "only once");
        }
        // Codex no longer waits.
        for end in [
            r#"{"method":"serverRequest/resolved","params":{"threadId":"t1","requestId":0}}"#,
            &turn_completed("completed", "null", ""),
        ] {
            let mut dialog = at_work(sandbox);
            step(&mut dialog, request);
            read(&mut dialog, end);
            assert_eq!(dialog.client_steps(), [ClientStep::Withdraw("0".to_owned())]);
        }
    }
}

#[test]
fn what_an_approval_does_not_answer_is_refused_with_a_reason() {
    let mut dialog = at_work("dangerFullAccess");
    let form = r#"{"id":"q","method":"mcpServer/elicitation/request","params":{"serverName":"t","mode":"form","message":"Color?","requestedSchema":{"type":"object","properties":{"c":{"type":"string"}},"required":["c"]}}}"#;
    for (request, expected) in [
        (form.to_owned(), "murmur cannot fill in the form of the MCP server t"),
        (form.replace(r#""mode":"form""#, r#""mode":"openai/form""#), "murmur cannot fill in the form"),
    ] {
        let (shown, why) = step(&mut dialog, &request);
        assert!(shown.starts_with(r#"mcp__t__elicitation {"message":"Color?""#), "{shown}");
        assert!(
            why.starts_with(expected) && why.ends_with(r#"{"id":"q","result":{"action":"decline"}}"#),
            "{why}"
        );
    }
    let question = r#"{"id":1,"method":"item/tool/requestUserInput","params":{"itemId":"x","questions":[{"id":"a","header":"h","question":"Which?"}]}}"#;
    let (shown, why) = step(&mut dialog, question);
    assert!(shown.starts_with("AskUserQuestion ") && shown.contains("Which?"), "{shown}");
    assert!(why.contains("-32603"), "{why}");
    for number in 0..65 {
        let request = format!(
            r#"{{"id":{number},"method":"item/permissions/requestApproval","params":{{"permissions":{{}}}}}}"#
        );
        assert_eq!(read(&mut dialog, &request).len(), usize::from(number == 64));
    }
}

#[test]
fn an_interrupted_turn_leaves_nothing_running() {
    let mut dialog = at_work("dangerFullAccess");
    let params = json!({ "threadId": "t1", "turnId": "u1" });
    assert_eq!(
        messages(&dialog.interrupt()),
        [json!({ "method": "turn/interrupt", "id": "interrupt", "params": params })]
    );
    let next = read(&mut dialog, &turn_completed("interrupted", "null", ""));
    assert_eq!(next[0]["method"], "thread/backgroundTerminals/clean");
    assert_eq!(dialog.interrupt(), b"");
    assert!(read(&mut dialog, &turn_completed("completed", "null", "")).is_empty());
}

#[test]
fn an_interrupt_before_the_thread_exists_drops_the_message() {
    for stage in 0..3 {
        let mut dialog = dialog(None);
        dialog.open();
        dialog.send("Go.");
        for line in [INITIALIZED, HOOKS].iter().take(stage) {
            read(&mut dialog, line);
        }
        assert!(dialog.withdraw() && !dialog.withdraw() && !dialog.has_begun(), "{stage}");
        for line in [INITIALIZED, HOOKS].iter().skip(stage) {
            read(&mut dialog, line);
        }
        assert_eq!(dialog.send("More."), b"");
        let turns = read(&mut dialog, &thread("untrusted", "dangerFullAccess"));
        assert_eq!(turns[0]["params"]["input"][0]["text"], "More.", "{turns:?}");
        assert_eq!(turns[1]["method"], "account/rateLimits/read");
        assert!(dialog.has_begun() && !dialog.withdraw());
    }
}

#[test]
fn an_interrupt_before_the_turn_has_started_is_sent_when_it_has() {
    for is_accepted in [false, true] {
        let mut dialog = at_work("dangerFullAccess");
        read(&mut dialog, &turn_completed("completed", "null", ""));
        dialog.send("More.");
        if is_accepted {
            read(&mut dialog, TURN_ACCEPTED);
        }
        assert!(!dialog.withdraw() && dialog.interrupt().is_empty());
        if !is_accepted {
            assert!(read(&mut dialog, TURN_ACCEPTED).is_empty());
        }
        assert!(read(&mut dialog, &TURN_STARTED.replace("t1", "t2")).is_empty());
        assert_eq!(read(&mut dialog, TURN_STARTED)[0]["method"], "turn/interrupt");
        read(&mut dialog, &turn_completed("interrupted", "null", ""));
        dialog.send("And more.");
        read(&mut dialog, TURN_ACCEPTED);
        assert!(read(&mut dialog, TURN_STARTED).is_empty());
    }
}

#[test]
fn an_interrupt_of_a_turn_that_is_refused_is_forgotten() {
    let mut dialog = at_work("dangerFullAccess");
    read(&mut dialog, &turn_completed("completed", "null", ""));
    dialog.send("More.");
    dialog.interrupt();
    assert!(read(&mut dialog, r#"{"id":"turn","error":{"code":-32600,"message":"no"}}"#).is_empty());
    dialog.send("Again.");
    assert!(read(&mut dialog, TURN_STARTED).is_empty());
}

#[test]
fn a_thread_that_would_not_ask_gets_no_message() {
    let mut dialog = dialog(None);
    dialog.open();
    dialog.send("Go.");
    read(&mut dialog, INITIALIZED);
    read(&mut dialog, HOOKS);
    assert!(read(&mut dialog, &thread("never", "dangerFullAccess")).is_empty());
    // The next message tries again.
    assert_eq!(messages(&dialog.send("Go."))[0]["method"], "hooks/list");
    assert_eq!(read(&mut dialog, HOOKS)[0]["method"], "thread/start");
    let turn = read(&mut dialog, &thread("untrusted", "dangerFullAccess"));
    let methods: Vec<&Value> = turn.iter().map(|message| &message["method"]).collect();
    assert_eq!(methods, ["turn/start", "account/rateLimits/read"]);
}

#[test]
fn without_its_hooks_there_is_no_thread() {
    for (from, to) in [
        (r#""trusted""#, r#""untrusted""#),
        (r#""enabled":true"#, r#""enabled":false"#),
        ("pre_tool_use:0:0", "pre_tool_use:1:0"),
        (r#""data""#, r#""other""#),
    ] {
        let mut dialog = dialog(None);
        dialog.open();
        dialog.send("Go.");
        read(&mut dialog, INITIALIZED);
        assert!(read(&mut dialog, &HOOKS.replace(from, to)).is_empty(), "{to}");
    }
}

#[test]
fn hostile_output_is_survived() {
    let mut dialog = at_work("dangerFullAccess");
    for line in ["", "null", "{", "\u{0}", r#"{"id":"thread"}"#, r#"{"method":"item/started","params":[]}"#] {
        assert!(read(&mut dialog, line).is_empty(), "{line}");
    }
    for _ in 0..20 {
        assert_eq!(dialog.read(&[b'x'; 1 << 20]), b"");
    }
    assert!(read(&mut dialog, "the end of a line that is too long").is_empty());
    let mut fresh = at_work("dangerFullAccess");
    assert_eq!(read(&mut fresh, r#"{"id":1,"method":"x"}"#).len(), 1);
}
