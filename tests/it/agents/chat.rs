//! `murmur agent chat`: a conversation on a terminal.

use rustix::process::Signal;
use serde_json::json;

use crate::env::{Env, MURMUR, kill};
use crate::run::terminal::Terminal;

/// An agent that answers "Hello.", then pushes, then answers "Done.".
fn start(env: &Env) {
    let call = json!({ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "git push" } });
    let says = |text: &str| json!({ "type": "text", "text": text });
    let site = env.workspace("site", "");
    site.plays(&json!({ "script": [[says("Hello.")], [call], [says("Done.")], [says("More.")]] }));
    env.run(["agent", "start", "--agent-id", "fixer", "--worktree", site.path(), "Hi"]);
}

/// A chat with it that has shown its first turn, and the terminal's settings before.
fn chat(env: &Env) -> (Terminal, String) {
    let program = |words: &[&str]| env.program("setsid", words).set("TERM", "xterm").set("NO_COLOR", "1");
    let terminal = Terminal::open();
    let before = terminal.look();
    let mut chat = terminal.start(program, &[MURMUR, "agent", "chat", "fixer", "--from", "0"]);
    chat.wait_for("chat with fixer; Ctrl-C interrupts its turn, Ctrl-D leaves it running\r\n");
    chat.wait_for("Hello.\r\n");
    chat.wait_for("[state] idle (1 turn)\r\n");
    (chat, before)
}

#[test]
fn messages_of_several_lines_are_sent_and_requests_answered() {
    let env = Env::new();
    let daemon = env.daemon();
    start(&env);
    let (mut chat, before) = chat(&env);
    chat.send("push it\\\rto ");
    chat.send("\u{1b}[200~origin\rnow\u{1b}[201~\r");
    chat.wait_for("[user] push it\r\n  to origin\r\n  now\r\n");
    chat.wait_for("  run: murmur allow 1, or: murmur deny 1 --reason '...'\r\n");
    chat.wait_for("[q]uit: ");
    chat.send("yes\r");
    // One comes from the daemon, the other from the host.
    chat.wait_for_all(&["allowed Bash for fixer\r\n", "Done.\r\n"]);
    chat.wait_for("[state] idle (2 turns)\r\n");
    // The message before, from the history.
    chat.send("\u{1b}[A!\r");
    chat.wait_for("[user] push it\r\n  to origin\r\n  now!\r\n");
    chat.wait_for("More.\r\n");
    chat.wait_for("[state] idle (3 turns)\r\n");
    chat.send("\u{3}");
    chat.wait_for("no turn is running; to leave the chat, press Ctrl-D\r\n");
    chat.send("\u{4}");
    let status = chat.ended();
    assert_eq!((status.code(), chat.look()), (Some(0), before));
    assert!(env.run(["host", "list"]).contains("fixer  site     agent  idle"));
    env.run(["agent", "stop", "fixer"]);
    daemon.stop();
}

/// `text` without ids, times and the trailing space of a prompt.
fn stable(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let text = regex::Regex::new(r"(?m)^1  [a-z0-9]{8}  Bash")
        .unwrap()
        .replace_all(&text, "1  [ID]  Bash")
        .into_owned();
    let text = regex::Regex::new(r"\d+(ms|\.?\d*s)\b").unwrap().replace_all(&text, "[S]").into_owned();
    let text = regex::Regex::new(r" in /\S+/site").unwrap().replace_all(&text, " in [SITE]").into_owned();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_guide_shows_a_real_chat() {
    let env = Env::new();
    let daemon = env.daemon();
    start(&env);
    let (mut chat, _) = chat(&env);
    chat.send("push it\r");
    chat.wait_for("[q]uit: ");
    let mut parser = vt100::Parser::new(40.try_into().unwrap(), 80.try_into().unwrap(), 0);
    parser.process(chat.so_far());
    let shown = stable(&parser.screen().contents());
    let (_, shown) = shown.split_once("[tool] ").unwrap();
    let guide = stable(include_str!("../../../docs/guide/agents.md"));
    assert!(guide.contains(shown.trim_end()), "docs/guide/agents.md needs:\n{shown}");
    chat.send("\u{4}");
    chat.ended();
    env.run(["agent", "stop", "fixer"]);
    daemon.stop();
}

#[test]
fn a_request_that_already_waits_is_asked_about() {
    let env = Env::new();
    let daemon = env.daemon();
    start(&env);
    let (mut first, _) = chat(&env);
    first.send("push it\r");
    first.wait_for("[q]uit: ");
    first.send("\u{4}");
    assert_eq!(first.ended().code(), Some(0));
    let program = |words: &[&str]| env.program("setsid", words).set("TERM", "xterm").set("NO_COLOR", "1");
    let terminal = Terminal::open();
    let mut second = terminal.start(program, &[MURMUR, "agent", "chat", "fixer"]);
    second.wait_for("fixer in ");
    second.wait_for(
        "/site: running (turn 2)\r\n[earlier turns: add --from 0]\r\n[user] push it\r\n[tool] 1 call\r\n",
    );
    second.wait_for("[tool] Bash(git push), in progress\r\n");
    second.wait_for("  run: murmur allow 1, or: murmur deny 1 --reason '...'\r\n");
    second.wait_for("[q]uit: ");
    second.send("yes\r");
    second.wait_for_all(&["allowed Bash for fixer\r\n", "Done.\r\n"]);
    second.send("\u{4}");
    assert_eq!(second.ended().code(), Some(0));
    env.run(["agent", "stop", "fixer"]);
    daemon.stop();
}

#[test]
fn ctrl_c_ends_the_turn_and_not_the_agent() {
    let env = Env::new();
    let daemon = env.daemon();
    start(&env);
    let (mut chat, _) = chat(&env);
    chat.send("push\r");
    chat.wait_for("[q]uit: ");
    chat.send("\u{3}");
    chat.wait_for("[turn over] interrupted, ");
    chat.wait_for("[state] idle (2 turns)\r\n");
    chat.wait_for("> ");
    // One that clears what is typed.
    chat.send("nonsense\u{3}go on\r");
    chat.wait_for("[user] go on\r\n");
    chat.wait_for("[state] idle (3 turns)\r\n");
    env.run(["agent", "stop", "fixer"]);
    chat.wait_for("[state] exited");
    assert_eq!(chat.finish().code(), Some(0));
    daemon.stop();
}

#[test]
fn the_terminal_is_given_back_when_the_chat_is_stopped_or_killed() {
    let env = Env::new();
    start(&env);
    let (mut first, before) = chat(&env);
    assert_ne!(first.look(), before);
    for is_key in [true, false] {
        if is_key {
            first.send("\u{1a}");
        } else {
            kill(first.pid(), Signal::TSTP);
        }
        first.wait_for("\u{1b}[?2004l");
        kill(first.pid(), Signal::CONT);
        first.wait_for("\u{1b}[?2004h");
        first.wait_for("> ");
    }
    kill(first.pid(), Signal::TERM);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&first.ended()), Some(Signal::TERM.as_raw()));
    assert_eq!(first.look(), before);
    env.run(["agent", "stop", "fixer"]);
}

#[test]
fn a_chat_needs_a_terminal_and_a_running_agent() {
    let env = Env::new();
    insta::assert_snapshot!(env.run(["agent", "chat", "fixer"]), @"
    | error: a chat needs a terminal
    | hint: run: murmur agent send fixer MESSAGE, and: murmur agent attach fixer
    [exit 1]
    ");
    let program = |words: &[&str]| env.program("setsid", words).set("TERM", "xterm").set("NO_COLOR", "1");
    let session = Terminal::open().start(program, &[MURMUR, "agent", "chat", "fixer"]).finish();
    assert_eq!(
        (session.text(), session.code()),
        ("error: no hosted agent \"fixer\"\r\nhint: see: murmur agent list --all\r\n".to_owned(), Some(1))
    );
}
