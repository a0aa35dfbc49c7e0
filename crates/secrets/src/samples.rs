//! Sample texts with and without secrets, for tests of this crate's users.
//!
//! The repository contains no real secrets: the fixtures give the length and alphabet of each token, and it is
//! generated here.

#![expect(clippy::unwrap_used, reason = "the fixtures are part of this crate, and only tests use them")]

use std::fmt::Write;

/// Ordinary lines from repositories and sessions that resemble secrets.
#[must_use]
pub fn ordinary() -> Vec<&'static str> {
    include_str!("../fixtures/ordinary.txt").lines().filter(|line| !line.starts_with("## ")).collect()
}

/// Names and generated tokens of every shape.
#[must_use]
pub fn tokens() -> Vec<(&'static str, String)> {
    let lines = include_str!("../fixtures/tokens.txt").lines();
    let read = |line: &'static str| {
        let (name, shape) = line.split_once('\t').unwrap();
        (name, generated(shape))
    };
    lines.filter(|line| !line.starts_with('#')).map(read).collect()
}

/// Texts, each with the secrets in it.
#[must_use]
pub fn in_context() -> Vec<(String, Vec<String>)> {
    let lines = include_str!("../fixtures/context.txt").lines();
    lines.filter(|line| !line.starts_with('#')).map(in_marks).collect()
}

fn in_marks(line: &str) -> (String, Vec<String>) {
    let line =
        line.replace("\\\\n", "\u{1}").replace("\\n", "\n").replace('\u{1}', "\\n").replace("I~V", "IV");
    let (mut text, mut secrets) = (String::new(), Vec::new());
    for (index, part) in line.split(['«', '»']).enumerate() {
        let part = if index % 2 == 1 || part.contains("{h32}") { generated(part) } else { part.to_owned() };
        text.push_str(&part);
        if index % 2 == 1 {
            secrets.push(part);
        }
    }
    (text, secrets)
}

/// Expands `{b36}` to 36 letters and digits, always the same ones.
fn generated(shape: &str) -> String {
    const HEX: &[u8] = b"0123456789abcdef";
    const UPPER: &[u8] = b"A2BC3DE4FG5HI6JK7LMNOPQRSTUVWXYZ";
    const LOWER: &[u8] = b"a1b2c3d4e5f6g7h8i9j0klmnopqrstuvwxyz";
    const BOTH: &[u8] = b"aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uVwXyZ";
    let mut sample = String::new();
    let mut seed = 7_u64;
    let mut rest = shape;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((part, after)) = after.split_once('}').filter(|(part, _)| {
            part.len() > 1 && part.is_ascii() && part[1..].bytes().all(|byte| byte.is_ascii_digit())
        }) else {
            write!(sample, "{before}{{").unwrap();
            rest = after;
            continue;
        };
        sample.push_str(before);
        let alphabet = match part.as_bytes()[0] {
            b'h' => HEX,
            b'd' => &HEX[..10],
            b'u' | b'U' => UPPER,
            b'l' => LOWER,
            b'a' => b"abcDEFghiJKLmnoPQRstuVWXyz",
            _ => BOTH,
        };
        for _ in 0..part[1..].parse::<usize>().unwrap() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sample.push(char::from(alphabet[usize::try_from(seed >> 33).unwrap() % alphabet.len()]));
        }
        rest = after;
    }
    sample + rest
}

/// `token` in various contexts.
#[must_use]
pub fn around(token: &str) -> Vec<String> {
    let json = serde_json::json!({ "command": format!("run {token}"), "x": token }).to_string();
    let nested = serde_json::json!({ "text": json, "lines": format!("one\n{token}\ntwo") }).to_string();
    vec![
        token.to_owned(),
        format!("{token} at the start"),
        format!("at the end {token}"),
        format!("one\n{token}\ntwo"),
        format!("see {token}, please"),
        format!("use it ({token})."),
        format!("curl -s 'https://example.com/?q={token}' | head"),
        format!("export MY_VALUE={token}; ./run \"{token}\""),
        format!("./run --value={token} --next"),
        json,
        nested,
    ]
}

/// `text` as is, nested in JSON, and nested in JSON in JSON.
#[must_use]
pub fn wrapped(text: &str) -> Vec<String> {
    let json = serde_json::json!({ "command": text }).to_string();
    let nested = serde_json::json!({ "content": json }).to_string();
    vec![text.to_owned(), format!("one\n{text}"), json, nested]
}

/// `secret` as it appears in each text of [`wrapped`].
#[must_use]
pub fn escaped(secret: &str) -> Vec<String> {
    let quoted = |text: &str| {
        let json = serde_json::Value::from(text).to_string();
        json[1..json.len() - 1].to_owned()
    };
    vec![secret.to_owned(), secret.to_owned(), quoted(secret), quoted(&quoted(secret))]
}
