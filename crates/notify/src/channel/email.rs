//! Email through a local program such as sendmail.

use super::program::{Input, run};
use super::{SendError, Sent};
use crate::message::Message;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write as _;

pub(super) fn send(to: &str, sendmail: &str, message: &Message) -> Result<Sent, SendError> {
    let argv = [sendmail, "-i", "--", to].map(str::to_owned);
    run(&argv, &Input { stdin: email(to, message).into_bytes(), env: Vec::new() })
}

/// The email. Title and body are encoded, so nothing in them can become a header.
fn email(to: &str, message: &Message) -> String {
    let mut text = format!("To: {to}\nSubject: {}\n", subject(&message.title));
    text.push_str("Auto-Submitted: auto-generated\nMIME-Version: 1.0\n");
    text.push_str("Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n");
    let body = STANDARD.encode(format!("{}\n", message.body));
    for line in body.as_bytes().chunks(76) {
        let _infallible = writeln!(text, "{}", String::from_utf8_lossy(line));
    }
    text
}

/// RFC 2047: encoded words of at most 75 characters, each of whole characters.
fn subject(title: &str) -> String {
    if title.bytes().all(|byte| matches!(byte, b' '..=b'~')) && !title.contains("=?") {
        return title.to_owned();
    }
    let mut words: Vec<String> = vec![String::new()];
    for letter in title.chars() {
        match words.last_mut() {
            Some(word) if word.len() + letter.len_utf8() <= 42 => word.push(letter),
            _ => words.push(letter.to_string()),
        }
    }
    let words: Vec<String> =
        words.iter().map(|word| format!("=?utf-8?B?{}?=", STANDARD.encode(word))).collect();
    words.join("\n ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use murmur_core::config::notify::EventKind;

    #[test]
    fn nothing_in_a_message_becomes_a_header() {
        let event = Event {
            heartbeat: Some("sité\nBcc: all@example.com".to_owned()),
            ..Event::new(EventKind::Error, String::new(), ".\nFrom: x")
        };
        let email = email("me@example.com", &Message::new(vec![event], &jiff::tz::TimeZone::UTC));
        insta::assert_snapshot!(email, @r"
        To: me@example.com
        Subject: =?utf-8?B?c2l0w6lcbkJjYzogYWxsQGV4YW1wbGUuY29tIGZhaWxlZA==?=
        Auto-Submitted: auto-generated
        MIME-Version: 1.0
        Content-Type: text/plain; charset=utf-8
        Content-Transfer-Encoding: base64

        LgpGcm9tOiB4Cg==
        ");
    }
}
