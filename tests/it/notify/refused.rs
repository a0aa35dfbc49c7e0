//! Answers that are refused: from strangers, to another call than the one that was shown, or too late.

use super::server::{Ntfy, Telegram};
use super::{button, log, ntfy};
use crate::env::{Env, Workspace, ended};
use serde_json::{Value, json};

/// What a beat waits for is answered after its hook has stopped waiting.
const DEFERS: &str = "permissionsChecker: manual\napproval: defer\napprovalWait: 1s";

/// The workspace `site` whose agent wants to push.
fn pushes(env: &Env, frontmatter: &str) -> Workspace {
    let site = env.workspace("site", &format!("---\n{frontmatter}\n---\nPush."));
    let push = json!({ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "git push" } });
    site.plays(&json!({ "script": [[push], [{ "type": "text", "text": "HEARTBEAT_OK" }]] }));
    site
}

/// The lines about answers once there are `count` lines.
fn answers(env: &Env, count: usize) -> Vec<Value> {
    log(env, count).into_iter().filter(|line| line["result"] != "delivered").collect()
}

#[test]
fn answers_of_unlisted_senders_and_from_other_chats_are_refused_without_a_reply() {
    let (env, server) = (Env::new(), Telegram::start());
    let channel = "[notify.channels.chat]\ntype = \"telegram\"\ntoken = \"1:abc\"\nchat = 5\nsenders = [7]";
    env.setting("config.toml", &format!("{channel}\nserver = \"{}\"\n", server.url));
    let site = pushes(&env, "permissionsChecker: manual");
    // Not registered, since the daemon would run it at once.
    env.register(&[]);
    let daemon = env.daemon();
    let beat = env.murmur(["beat", site.path()]).start();
    let message = server.next();
    let allow = &message["reply_markup"]["inline_keyboard"][0][0]["callback_data"];
    server.press(8, allow);
    server.reply(8, "allow");
    // People may talk.
    server.say(8, "allow");
    // The same message id in another chat is another message.
    server.chat.set(6);
    server.reply(7, "allow");
    server.press(7, allow);
    server.chat.set(5);
    server.press(7, allow);
    // The strangers got no reply before.
    let reply = server.next();
    assert_eq!((&reply["callback_query_id"], &reply["text"]), (&json!("c"), &json!("Allowed.")));
    ended(beat).success();
    let lines = answers(&env, 6);
    for line in &lines[..2] {
        assert_eq!(
            (&line["channel"], &line["result"], &line["sender"], &line["error"]),
            (&json!("chat"), &json!("refused"), &json!("8"), &json!("the sender is not in \"senders\""))
        );
    }
    for line in &lines[2..4] {
        assert_eq!(
            (&line["result"], &line["sender"], &line["error"]),
            (&json!("refused"), &json!("7"), &json!("it was written in another chat"))
        );
    }
    assert_eq!((&lines[4]["result"], &lines[4]["sender"]), (&json!("accepted"), &json!("7")));
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert_eq!(env.decisions().last().unwrap()["answeredBy"]["channel"], "chat");
    daemon.stop();
}

#[test]
fn a_deferred_request_can_be_answered_after_its_beat_ended_unless_its_call_changed() {
    let (env, server) = (Env::new(), Ntfy::start());
    env.setting("config.toml", &ntfy(&server, "answers = \"back\""));
    let site = pushes(&env, DEFERS);
    env.register(&[&site]);
    let daemon = env.daemon();
    let message = server.next();
    let allow = button(&message, "Allow");
    let line = env.wait_for_journal(1).remove(0);
    let request = line["waiting"].as_str().unwrap_or_else(|| panic!("{line}")).to_owned();
    log(&env, 1);
    daemon.stop();
    let file = env.data().join("approvals").join(format!("{request}.json"));
    let kept = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, kept.replace("git push", "git push --force")).unwrap();
    let daemon = env.daemon();
    let _of_the_first_daemon = server.stream();
    let mut stream = server.stream();
    stream.send(&allow);
    assert_eq!(server.next()["message"], "Not accepted: the call is not the one that was shown");
    let refused = answers(&env, 2).remove(0);
    assert_eq!(
        (&refused["channel"], &refused["result"], &refused["request"], &refused["error"]),
        (
            &json!("phone"),
            &json!("refused"),
            &json!(request),
            &json!("the call is not the one that was shown")
        )
    );
    daemon.stop();
    std::fs::write(&file, kept).unwrap();
    let daemon = env.daemon();
    let mut stream = server.stream();
    stream.send(&allow);
    assert_eq!(server.next()["message"], "Allowed.");
    let line = env.wait_for_journal(2).remove(1);
    assert_eq!((&line["outcome"], &line["resumes"]), (&json!("ok"), &json!(request)), "{line}");
    daemon.stop();
}

#[test]
fn an_answer_after_the_request_has_expired_is_refused() {
    let (env, server) = (Env::new(), Ntfy::start());
    env.setting("config.toml", &ntfy(&server, "answers = \"back\""));
    let site = pushes(&env, "permissionsChecker: manual\napproval: wait\napprovalWait: 3s");
    env.register(&[]);
    let daemon = env.daemon();
    let beat = env.murmur(["beat", site.path()]).start();
    let allow = button(&server.next(), "Allow");
    ended(beat);
    let mut stream = server.stream();
    stream.send(&allow);
    // The beat's end is told as well, before or after the reply.
    let mut messages = std::iter::repeat_with(|| server.next()["message"].as_str().unwrap().to_owned());
    assert!(messages.any(|message| message == "Not accepted: the request has expired"));
    let refused = answers(&env, 2).remove(0);
    assert_eq!(
        (&refused["channel"], &refused["result"], &refused["error"]),
        (&json!("phone"), &json!("refused"), &json!("the request has expired"))
    );
    assert_eq!(env.decisions().last().unwrap()["decision"], "deny");
    daemon.stop();
}

#[test]
fn a_question_that_was_not_shown_as_a_whole_can_only_be_denied() {
    let (env, server) = (Env::new(), Telegram::start());
    let channel = "[notify.channels.chat]\ntype = \"telegram\"\ntoken = \"1:abc\"\nchat = 5\nsenders = [7]";
    env.setting("config.toml", &format!("{channel}\nserver = \"{}\"\n", server.url));
    let site = env.workspace("site", "---\nquestions: broker\n---\nAsk.");
    let options = json!([{ "label": "Yes", "description": "x".repeat(3000) }, { "label": "No" }]);
    let question = json!({ "questions": [{ "question": "Sure?", "options": options }] });
    let ask = json!({ "type": "tool_use", "id": "t1", "name": "AskUserQuestion", "input": question });
    site.plays(&json!({ "script": [[ask], [{ "type": "text", "text": "HEARTBEAT_OK" }]] }));
    env.register(&[]);
    let daemon = env.daemon();
    let beat = env.murmur(["beat", site.path()]).start();
    let message = server.next();
    assert!(!message["text"].as_str().unwrap().contains("Or reply"), "{message}");
    let buttons = message["reply_markup"]["inline_keyboard"].as_array().unwrap();
    let buttons: Vec<&Value> = buttons.iter().flat_map(|row| row.as_array().unwrap()).collect();
    let labels: Vec<&str> = buttons.iter().map(|button| button["text"].as_str().unwrap()).collect();
    assert_eq!(labels, ["Deny"]);
    let deny = &buttons[0]["callback_data"];
    let why = "the message did not show the whole request, or the guard doubts it, so it can only be denied";
    let choose = deny.as_str().unwrap().replace("deny", "1");
    server.press(7, &json!(choose));
    assert_eq!(server.next()["text"], format!("Not accepted: {why}"));
    server.reply(7, "No");
    assert_eq!(server.next()["text"], format!("Not accepted: {why}"));
    server.press(7, deny);
    assert_eq!(server.next()["text"], "Denied.");
    ended(beat);
    let lines = answers(&env, 4);
    for line in &lines[..2] {
        assert_eq!((&line["result"], &line["error"]), (&json!("refused"), &json!(why)), "{line}");
    }
    assert_eq!(lines[2]["result"], "accepted");
    daemon.stop();
}
