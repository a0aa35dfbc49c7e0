use super::*;
use crate::event::{Event, Request};
use jiff::tz::TimeZone;
use murmur_core::config::notify::{Channel, EventKind};
use murmur_core::config::settings::Settings;
use murmur_core::permit::request::RequestId;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

/// What a server received: the first line, the headers in lower case, and the body.
struct Received {
    line: String,
    headers: String,
    body: Vec<u8>,
}

/// Answers one request with `response`.
fn server(response: &'static str) -> (String, JoinHandle<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let (mut headers, mut length) = (String::new(), 0);
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            if header == "\r\n" {
                break;
            }
            let (name, value) = header.split_once(':').unwrap();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap();
            }
            headers.push_str(&format!("{}:{value}", name.to_lowercase()));
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        stream.write_all(response.as_bytes()).unwrap();
        Received { line, headers, body }
    });
    (url, serving)
}

const FINE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";

fn channel(text: &str) -> Channel {
    let text = format!("[notify.channels.x]\n{text}");
    Settings::parse(text.as_bytes(), Path::new("/c.toml")).unwrap().notify.channels.remove("x").unwrap()
}

fn now() -> Timestamp {
    "2026-02-03T10:00:00Z".parse().unwrap()
}

fn failed(text: &str) -> Message {
    let event = Event::new(EventKind::Error, "2026-02-03T10:00:00Z".to_owned(), text);
    Message::new(vec![Event { heartbeat: Some("site".to_owned()), ..event }], &TimeZone::UTC)
}

fn waiting() -> Message {
    let request = Request {
        id: RequestId::parse("7ggs733k").unwrap(),
        is_question: false,
        tool: "Bash".to_owned(),
        input: json!({ "command": "git push" }),
        cwd: "/w".to_owned(),
        doubt: None,
        expires_at: None,
    };
    let event = Event::new(EventKind::Waiting, "2026-02-03T10:00:00Z".to_owned(), "");
    let event = Event { heartbeat: Some("site".to_owned()), request: Some(request), ..event };
    let action = |label: &str, answer: &str| Action { label: label.to_owned(), answer: answer.to_owned() };
    let actions = vec![action("Allow", "allow 00ff"), action("Deny", "deny 00ff")];
    Message { actions, ..Message::new(vec![event], &TimeZone::UTC) }
}

/// Sends `message` to a server that answers with `response`.
fn deliver(text: &str, message: &Message, response: &'static str) -> (Result<Sent, SendError>, Received) {
    let (url, serving) = server(response);
    let channel = channel(&text.replace("URL", &url));
    let sent = send(&channel.destination, message, Path::new("/nowhere"), now());
    (sent, serving.join().unwrap())
}

fn json_of(received: &Received) -> Value {
    serde_json::from_slice(&received.body).unwrap()
}

#[test]
fn a_webhook_gets_the_event_and_a_signature() {
    let text = "type = \"webhook\"\nurl = \"URL/in/secret-path?x=1\"\nsecret = \"shh\"";
    let (sent, received) = deliver(text, &failed("broken"), FINE);
    sent.unwrap();
    assert_eq!(received.line, "POST /in/secret-path?x=1 HTTP/1.1\r\n");
    assert!(received.headers.contains("x-murmur-signature: sha256="), "{}", received.headers);
    assert!(received.headers.contains("x-murmur-timestamp: 1770112800"), "{}", received.headers);
    let expected = json!({
        "version": 1, "sentAt": "2026-02-03T10:00:00Z", "title": "site failed", "body": "broken",
        "events": [{ "kind": "error", "ts": "2026-02-03T10:00:00Z", "heartbeat": "site", "text": "broken" }],
    });
    assert_eq!(json_of(&received), expected);
}

#[test]
fn chat_formats_mention_nobody() {
    let message = failed("<!channel> @everyone");
    for (format, expected) in [
        ("slack", json!({ "text": "site failed\n&lt;!channel&gt; @everyone", "mrkdwn": false })),
        (
            "discord",
            json!({
                "content": "site failed\n```\n<!channel> @everyone\n```", "allowed_mentions": { "parse": [] },
            }),
        ),
    ] {
        let text = format!("type = \"webhook\"\nurl = \"URL/\"\nformat = \"{format}\"");
        let (sent, received) = deliver(&text, &message, FINE);
        sent.unwrap();
        assert_eq!(json_of(&received), expected);
    }
    let text = "type = \"webhook\"\nurl = \"URL/\"\nformat = \"teams\"";
    let (_, received) = deliver(text, &message, FINE);
    let card = &json_of(&received)["attachments"][0];
    assert_eq!(card["content"]["body"][1]["inlines"][0]["text"], "<!channel> @everyone");
}

#[test]
fn ntfy_shows_buttons_only_if_it_takes_answers() {
    let text = "type = \"ntfy\"\nserver = \"URL\"\ntopic = \"mine\"\ntoken = \"tk_1\"";
    let (sent, received) = deliver(text, &waiting(), FINE);
    sent.unwrap();
    assert!(received.headers.contains("authorization: Bearer tk_1"), "{}", received.headers);
    let body = json_of(&received);
    assert_eq!((&body["topic"], &body["title"]), (&json!("mine"), &json!("site waits for approval")));
    assert_eq!(body.get("actions"), None);
    let (_, received) = deliver(&format!("{text}\nanswers = \"back\""), &waiting(), FINE);
    let action = &json_of(&received)["actions"][0];
    assert_eq!((&action["label"], &action["body"]), (&json!("Allow"), &json!("allow 00ff")));
    assert!(action["url"].as_str().unwrap().ends_with("/back"), "{action}");
}

#[test]
fn telegram_returns_the_id_of_the_message() {
    const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 41\r\nConnection: close\r\n\r\n{\"ok\":true,\"result\":{\"message_id\":12345}}";
    let text = "type = \"telegram\"\nserver = \"URL\"\ntoken = \"1:abc\"\nchat = -42";
    let (sent, received) = deliver(text, &waiting(), ANSWER);
    assert_eq!(sent.unwrap().message, Some(12345));
    assert_eq!(received.line, "POST /bot1:abc/sendMessage HTTP/1.1\r\n");
    let body = json_of(&received);
    assert_eq!(body["reply_markup"]["inline_keyboard"][0][0]["callback_data"], "allow 00ff");
}

#[test]
fn a_failure_names_the_host_and_nothing_secret() {
    for (response, expected, is_final) in [
        (
            "HTTP/1.1 500 No\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret",
            "returned HTTP status 500",
            false,
        ),
        (
            "HTTP/1.1 302 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
            "302 (moved; redirects are not followed)",
            false,
        ),
        ("HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n", "returned HTTP status 400", true),
        ("nonsense\r\n\r\n", "cannot reach http://127.0.0.1:", false),
    ] {
        let (sent, _) = deliver("type = \"webhook\"\nurl = \"URL/secret-path\"", &failed("x"), response);
        let error = sent.unwrap_err();
        let line = error.failure.line();
        assert!(line.contains(expected) && line.contains("http://127.0.0.1:"), "{line}");
        assert!(!line.contains("secret"), "{line}");
        assert_eq!(error.is_final, is_final, "{line}");
    }
    let nobody = channel("type = \"webhook\"\nurl = \"http://127.0.0.1:1/secret-path\"");
    let error = send(&nobody.destination, &failed("x"), Path::new("/"), now()).unwrap_err();
    let line = error.failure.line();
    assert!(line.starts_with("cannot reach http://127.0.0.1:1") && !line.contains("secret"), "{line}");
}

#[test]
fn a_program_gets_the_event_on_stdin_and_its_exit_code_counts() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let script = format!("cat >{0}; printf '%s' \"$MURMUR_NOTIFY_TITLE\" >>{0}", out.display());
    let text = format!("type = \"command\"\ncommand = [\"sh\", \"-c\", {script:?}]");
    send(&channel(&text).destination, &failed("broken"), Path::new("/"), now()).unwrap();
    let written = std::fs::read_to_string(&out).unwrap();
    let (json, title) = written.split_once('\n').unwrap();
    let json: Value = serde_json::from_str(json).unwrap();
    assert_eq!((&json["events"][0]["text"], title), (&json!("broken"), "site failed"));
    for (command, expected) in [
        ("[\"sh\", \"-c\", \"exit 3\"]", "sh failed (exit status: 3)"),
        ("[\"murmur-no-such-program\"]", "cannot start murmur-no-such-program"),
    ] {
        let channel = channel(&format!("type = \"command\"\ncommand = {command}"));
        let error = send(&channel.destination, &failed("x"), Path::new("/"), now()).unwrap_err();
        assert!(error.failure.line().starts_with(expected), "{}", error.failure.line());
    }
    // A program that leaves a child behind doesn't keep the channel waiting.
    let channel = channel("type = \"command\"\ncommand = [\"sh\", \"-c\", \"sleep 1000 & exit 0\"]");
    send(&channel.destination, &failed("x"), Path::new("/"), now()).unwrap();
}

/// A program in `folder` that keeps its arguments, one per line, and its stdin.
fn program(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    let script = "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"${0%/*}/argv\"\ncat > \"${0%/*}/stdin\"\n";
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn an_email_is_given_to_sendmail() {
    let folder = tempfile::tempdir().unwrap();
    let sendmail = program(folder.path(), "send mail");
    let text = format!("type = \"email\"\nto = \"me@example.com\"\nsendmail = {sendmail:?}");
    send(&channel(&text).destination, &failed("exit 1"), Path::new("/"), now()).unwrap();
    let kept = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(kept("argv"), "-i\n--\nme@example.com\n");
    let stdin = kept("stdin");
    let body = stdin.strip_prefix(
        "To: me@example.com\nSubject: site failed\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n\
         Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n",
    );
    assert_eq!(body, Some("ZXhpdCAxCg==\n"), "{stdin}");
    // Mail that isn't accepted is reported.
    let text = "type = \"email\"\nto = \"me@example.com\"\nsendmail = \"false\"";
    let error = send(&channel(text).destination, &failed("x"), Path::new("/"), now()).unwrap_err();
    assert_eq!(error.failure.line(), "false failed (exit status: 1)");
}
