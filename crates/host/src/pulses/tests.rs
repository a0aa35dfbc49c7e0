//! The pulses of agents, from lines of their output.

use super::*;
use crate::state::AgentKind;
use murmur_agent::parser::{Dialect, Parser};
use murmur_core::config::backend::Backend;
use murmur_core::id::AgentId;
use murmur_store::pulse::folder;

fn info(backend: Backend) -> AgentInfo {
    AgentInfo {
        agent_id: AgentId::parse("site-1").unwrap(),
        kind: AgentKind::Live,
        project: "site".to_owned(),
        role: "coding".to_owned(),
        backend,
        worktree: "/site".into(),
        issue: None,
        beat: None,
        heartbeat: None,
        started_at: String::new(),
    }
}

#[test]
fn the_host_of_an_agent_without_hooks_writes_its_pulses() {
    let folder = tempfile::tempdir().unwrap();
    let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
    let mut pulses = Pulses::of(&dir, &info(Backend::Acp("x".into())));
    pulses.note(&Progress::Spawned(Some(7)));
    let mut parser = Parser::new(Dialect::Acp);
    let mut shown = Vec::new();
    for line in [
        r#"{"id":"murmur-session","result":{"sessionId":"s"}}"#,
        r#"{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"1","kind":"execute","status":"in_progress","rawInput":{"command":"ls"}}}}"#,
        r#"{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"failed","rawOutput":{"output":"no\nthing"}}}}"#,
        r#"{"id":"murmur-prompt:1","result":{"stopReason":"end_turn"}}"#,
    ] {
        parser.feed(format!("{line}\n").as_bytes(), &mut |event| pulses.see(&event));
        let Pulse { tool_name, last_action, state, error, .. } =
            folder::read(&dir.pulse("site-1")).unwrap().pulse;
        shown.push(format!("{} {tool_name} {last_action} {error:?}", state.as_str()));
    }
    pulses.end();
    let last = folder::read(&dir.pulse("site-1")).unwrap().pulse;
    shown.push(format!(
        "{} {} {} {:?} {:?}",
        last.state.as_str(),
        last.backend,
        last.tool_name,
        last.session_id,
        last.pid
    ));
    insta::assert_snapshot!(shown.join("\n"), @r#"
    starting  session began None
    starting  session began None
    running Bash ls Some("no")
    idle Bash ls None
    exited acp:x Bash Some(SessionId("s")) Some(7)
    "#);
}

#[test]
fn where_hooks_report_no_failures_the_host_writes_only_these() {
    let folder = tempfile::tempdir().unwrap();
    let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
    let mut pulses = Pulses::of(&dir, &info(Backend::Codex));
    let mut parser = Parser::new(Dialect::CodexAppServer);
    let mut see = |line: &str| {
        parser.feed(format!("{line}\n").as_bytes(), &mut |event| pulses.see(&event));
        let read = folder::read(&dir.pulse("site-1"))?.pulse;
        Some(format!("{} {} {} {:?}", read.state.as_str(), read.tool_name, read.last_action, read.error))
    };
    let item = |event: &str, id: &str, status: &str| {
        format!(
            r#"{{"method":"item/{event}","params":{{"item":{{"type":"commandExecution","id":"{id}","command":"/bin/bash -lc 'make {id}'","status":"{status}"}}}}}}"#
        )
    };
    let end = |status: &str| {
        format!(r#"{{"method":"turn/completed","params":{{"turn":{{"id":"t","status":"{status}"}}}}}}"#)
    };
    let session = r#"{"id":"thread","result":{"thread":{"id":"s"},"approvalPolicy":"untrusted"}}"#;
    for line in [
        session,
        &item("started", "a", "inProgress"),
        &item("completed", "a", "completed"),
        &end("completed"),
    ] {
        assert_eq!(see(line), None, "{line}");
    }
    see(&item("started", "b", "inProgress"));
    let interrupted = see(&end("interrupted")).unwrap();
    assert_eq!(interrupted, r#"idle Bash make b Some("the turn was interrupted")"#);
    see(&item("started", "c", "inProgress"));
    assert_eq!(see(&item("completed", "c", "failed")).unwrap(), r#"running Bash make c Some("failed")"#);
}

/// That an agent waits for an answer about `git push`.
fn wait() -> Wait {
    let call = serde_json::json!({ "request": "22222222", "call": {
        "agent": "site-1", "session": "s", "toolUseId": "call_1", "tool": "Bash",
        "input": { "command": "git push" }, "cwd": "/", "workspace": "/", "project": "site",
        "whom": "person", "hook": "h" } });
    serde_json::from_value(call).unwrap()
}

#[test]
fn a_call_that_was_interrupted_while_it_waited_is_the_last_action() {
    let [session, end] = [
        r#"{"id":"thread","result":{"thread":{"id":"s"},"approvalPolicy":"untrusted"}}"#,
        r#"{"method":"turn/completed","params":{"turn":{"id":"t","status":"interrupted"}}}"#,
    ];
    let blocked = r#"{"method":"hook/completed","params":{"run":{"id":"pre-tool-use:0:/<session-flags>/config.toml:call_1","status":"blocked","eventName":"preToolUse"}}}"#;
    let rejected = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"call_1","is_error":true,"content":"The user doesn't want to proceed with this tool use."}]}}"#;
    let ran = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"call_1","content":"done"}]}}"#;
    let failed = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["[ede_diagnostic] result_type=user x"]}"#;
    let init = r#"{"type":"system","subtype":"init","session_id":"s"}"#;
    let acp = r#"{"id":"murmur-session","result":{"sessionId":"s"}}"#;
    let cancelled = r#"{"id":"murmur-prompt:1","result":{"stopReason":"cancelled"}}"#;
    let (codex, claude) = (Dialect::CodexAppServer, Dialect::StreamJson);
    for (backend, dialect, before, after, is_last) in [
        (Backend::Codex, codex, session, &[end][..], true),
        (Backend::Codex, codex, session, &[blocked, end], false),
        (Backend::Claude, claude, init, &[rejected, failed], true),
        (Backend::Claude, claude, init, &[failed], true),
        (Backend::Claude, claude, init, &[ran, failed], false),
        (Backend::Acp("x".into()), Dialect::Acp, acp, &[cancelled], true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        // An earlier call of the same session, of which a hook wrote the pulse.
        let earlier = Pulse {
            agent_id: "site-1".to_owned(),
            tool_name: "Read".to_owned(),
            last_action: "a.txt".to_owned(),
            session_id: Some(SessionId::new("s".to_owned())),
            ..Pulse::default()
        };
        let mut pulses = Pulses::of(&dir, &info(backend.clone()));
        let mut parser = Parser::new(dialect);
        let mut feed = |pulses: &mut Pulses, line: &str| {
            parser.feed(format!("{line}\n").as_bytes(), &mut |event| pulses.see(&event));
        };
        feed(&mut pulses, before);
        put(&dir, earlier).unwrap();
        pulses.waits(&wait());
        after.iter().for_each(|line| feed(&mut pulses, line));
        let last = folder::read(&dir.pulse("site-1")).unwrap().pulse;
        let expected = if is_last { ("Bash", "git push") } else { ("Read", "a.txt") };
        assert_eq!((&*last.tool_name, &*last.last_action), expected, "{backend} {after:?}");
    }
}

#[test]
fn the_last_action_of_a_turn_without_calls_is_its_message() {
    let folder = tempfile::tempdir().unwrap();
    let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
    let mut pulses = Pulses::of(&dir, &info(Backend::Acp("x".into())));
    let mut parser = Parser::new(Dialect::Acp);
    let chunk = |text: &str| {
        format!(
            r#"{{"method":"session/update","params":{{"update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}}}}}"#
        )
    };
    let mut last = |pulses: &mut Pulses, lines: &[String]| {
        for line in lines {
            parser.feed(format!("{line}\n").as_bytes(), &mut |event| pulses.see(&event));
        }
        folder::read(&dir.pulse("site-1")).unwrap().pulse.last_action
    };
    let session = r#"{"id":"murmur-session","result":{"sessionId":"s"}}"#.to_owned();
    let end =
        |number: u8| format!(r#"{{"id":"murmur-prompt:{number}","result":{{"stopReason":"end_turn"}}}}"#);
    pulses.note(&Progress::Message("Look\nafter it"));
    assert_eq!(last(&mut pulses, &[session]), "Look after it");
    assert_eq!(last(&mut pulses, &[chunk("All "), chunk("is well."), end(1)]), "All is well.");
    pulses.note(&Progress::Message("Again"));
    assert_eq!(last(&mut pulses, &[]), "Again");
    assert_eq!(
        last(&mut pulses, &[chunk(&"é".repeat(3000)), chunk("Done."), end(2)]).chars().next(),
        Some('é')
    );
}

#[test]
fn a_turn_that_ends_with_a_denial_names_the_call_and_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
    let call = |id: &str| {
        let update = format!(
            r#"{{"sessionUpdate":"tool_call","toolCallId":"{id}","kind":"execute","status":"in_progress","rawInput":{{"command":"make {id}"}}}}"#
        );
        format!(r#"{{"method":"session/update","params":{{"update":{update}}}}}"#)
    };
    let over = r#"{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"failed"}}}"#;
    let says = r#"{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Well."}}}}"#;
    let end = |reason: &str| format!(r#"{{"id":"murmur-prompt:1","result":{{"stopReason":"{reason}"}}}}"#);
    let canceled = end("cancelled");
    let denied = "the turn was canceled, after murmur denied Bash(make a): rule 1 denies it";
    for (after, error) in [
        (&[&*canceled][..], Some(denied)),
        // It repeats the call.
        (&[&*call("a"), over, &*canceled], Some(denied)),
        (&[&*call("b"), &*canceled], Some("the turn was canceled")),
        (&[says, &*canceled], Some("the turn was canceled")),
        (&[&*end("end_turn")], None),
        (&[&*end("end_turn"), &*canceled], Some("the turn was canceled")),
    ] {
        let mut pulses = Pulses::of(&dir, &info(Backend::Acp("x".into())));
        let mut parser = Parser::new(Dialect::Acp);
        let mut feed = |pulses: &mut Pulses, line: &str| {
            parser.feed(format!("{line}\n").as_bytes(), &mut |event| pulses.see(&event));
        };
        feed(&mut pulses, r#"{"id":"murmur-session","result":{"sessionId":"s"}}"#);
        feed(&mut pulses, &call("a"));
        pulses.note(&Progress::Denied { tool_use_id: "a", what: "Bash(make a): rule 1 denies it" });
        after.iter().for_each(|line| feed(&mut pulses, line));
        let last = folder::read(&dir.pulse("site-1")).unwrap().pulse;
        assert_eq!(last.error.as_deref(), error, "{after:?}");
    }
}
