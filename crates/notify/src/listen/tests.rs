use super::*;
use murmur_core::config::settings::Settings;
use serde_json::json;
use std::io::Write;
use std::net::TcpListener;

/// A server that gives these answers, one per connection, and then closes them. Returns its URL.
fn server(answers: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut length, mut header) = (0, String::new());
            while reader.read_line(&mut header).unwrap() > 2 {
                if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                header.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
            stream.write_all(format!("{head}{answer}").as_bytes()).unwrap();
        }
    });
    url
}

/// What a listener hears until `count` things came.
fn incoming(channel: &str, read: Option<&str>, count: usize) -> Vec<Incoming> {
    let text = format!("[notify.channels.x]\n{channel}");
    let mut settings = Settings::parse(text.as_bytes(), Path::new("/c.toml")).unwrap();
    let destination = settings.notify.channels.remove("x").unwrap().destination;
    let mut all = Vec::new();
    run(&destination, Path::new("/"), read.map(str::to_owned), 0, |report| {
        if let Report::Incoming(incoming) = report {
            all.push(incoming);
        }
        all.len() < count
    });
    all
}

fn updates(updates: &Value) -> String {
    json!({ "ok": true, "result": updates }).to_string()
}

#[test]
fn telegrams_buttons_and_replies_are_heard_with_their_senders() {
    let old = json!([{ "update_id": 6, "message": { "text": "old", "from": { "id": 7 } } }]);
    let new = json!([
        { "update_id": 7, "callback_query": { "id": "c1", "from": { "id": 7 }, "message": { "chat": { "id": 1 } }, "data": "allow 00ff" } },
        { "update_id": 8, "message": { "text": "deny", "chat": { "id": 2 }, "from": { "id": 8 }, "reply_to_message": { "message_id": 3 } } },
        { "update_id": 9, "edited_message": {} },
    ]);
    let url = server(vec![updates(&old), updates(&new)]);
    let channel = format!("type = \"telegram\"\nserver = \"{url}\"\ntoken = \"t\"\nchat = 1\nsenders = [7]");
    let all = incoming(&channel, None, 4);
    // What was sent before murmur listened doesn't count.
    assert_eq!(all[0], Incoming { read: "7".to_owned(), answer: None });
    let answer = |text: &str, sender, chat, reply_to, button: Option<&str>| {
        Some(ChannelAnswer {
            text: text.to_owned(),
            sender: Some(sender),
            chat: Some(chat),
            reply_to,
            button: button.map(str::to_owned),
        })
    };
    assert_eq!(all[1].answer, answer("allow 00ff", 7, 1, None, Some("c1")));
    assert_eq!(all[2].answer, answer("deny", 8, 2, Some(3), None));
    assert_eq!(all[3], Incoming { read: "10".to_owned(), answer: None });
}

#[test]
fn an_ntfy_stream_is_read_on_after_it_ends_and_garbage_is_skipped() {
    let first = "{\"id\":\"o\",\"event\":\"open\"}\nnonsense\n{\"id\":\"m1\",\"event\":\"message\",\"message\":\"allow 00ff\"}\n";
    let long = format!("{{\"id\":\"m2\",\"event\":\"message\",\"message\":\"{}\"}}\n", "x".repeat(70_000));
    let last = "{\"id\":\"m3\",\"event\":\"message\",\"message\":\"bye\"}\n";
    let url = server(vec![format!("{first}{long}{last}")]);
    let channel = format!("type = \"ntfy\"\nserver = \"{url}\"\ntopic = \"a\"\nanswers = \"b\"");
    let texts: Vec<(String, String)> =
        incoming(&channel, None, 2).into_iter().map(|one| (one.read, one.answer.unwrap().text)).collect();
    assert_eq!(texts, [("m1".to_owned(), "allow 00ff".to_owned()), ("m3".to_owned(), "bye".to_owned())]);
}
