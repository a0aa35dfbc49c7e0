//! Every shape of `fixtures/secrets`, through what masks; `replay` puts them through what records.
//!
//! No secret stands in the repository: the files say how long a token is and what it is made of, and it is made up here.

use std::fmt::Write;

use super::super::providers::PROVIDERS;
use super::super::{REMOVED, mask};

/// A name and a token of the shape that has it.
pub(crate) fn tokens() -> Vec<(&'static str, String)> {
    let lines = include_str!("../../../fixtures/secrets/tokens.txt").lines();
    let read = |line: &'static str| {
        let (name, shape) = line.split_once('\t').unwrap();
        (name, made_up(shape))
    };
    lines.filter(|line| !line.starts_with('#')).map(read).collect()
}

/// A text, and what of it is secret.
pub(crate) fn in_context() -> Vec<(String, Vec<String>)> {
    let lines = include_str!("../../../fixtures/secrets/context.txt").lines();
    lines.filter(|line| !line.starts_with('#')).map(in_marks).collect()
}

fn in_marks(line: &str) -> (String, Vec<String>) {
    let line =
        line.replace("\\\\n", "\u{1}").replace("\\n", "\n").replace('\u{1}', "\\n").replace("I~V", "IV");
    let (mut text, mut secrets) = (String::new(), Vec::new());
    for (index, part) in line.split(['«', '»']).enumerate() {
        let part = if index % 2 == 1 || part.contains("{h32}") { made_up(part) } else { part.to_owned() };
        text.push_str(&part);
        if index % 2 == 1 {
            secrets.push(part);
        }
    }
    (text, secrets)
}

/// `{b36}` as 36 letters and digits, the same ones every time.
fn made_up(shape: &str) -> String {
    const HEX: &[u8] = b"0123456789abcdef";
    const UPPER: &[u8] = b"A2BC3DE4FG5HI6JK7LMNOPQRSTUVWXYZ";
    const LOWER: &[u8] = b"a1b2c3d4e5f6g7h8i9j0klmnopqrstuvwxyz";
    const BOTH: &[u8] = b"aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uVwXyZ";
    let mut said = String::new();
    let mut seed = 7_u64;
    let mut rest = shape;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((part, after)) = after.split_once('}').filter(|(part, _)| {
            part.len() > 1 && part.is_ascii() && part[1..].bytes().all(|byte| byte.is_ascii_digit())
        }) else {
            write!(said, "{before}{{").unwrap();
            rest = after;
            continue;
        };
        said.push_str(before);
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
            said.push(char::from(alphabet[usize::try_from(seed >> 33).unwrap() % alphabet.len()]));
        }
        rest = after;
    }
    said + rest
}

/// The places a token can stand in.
pub(crate) fn around(token: &str) -> Vec<String> {
    let json = serde_json::json!({ "command": format!("run {token}"), "x": token }).to_string();
    let nested = serde_json::json!({ "text": json, "lines": format!("one\n{token}\ntwo") }).to_string();
    vec![
        token.to_owned(),
        format!("{token} at the beginning"),
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

fn leaks(said: &str, secret: &str) -> bool {
    said.contains(secret)
}

#[test]
fn every_published_token_is_masked_wherever_it_stands() {
    let mut wrong = Vec::new();
    let tokens = tokens();
    assert!(tokens.len() >= 120, "{}", tokens.len());
    for (name, token) in &tokens {
        for text in around(token) {
            let masked = mask(&text);
            // Nor may its end stay: half a token is half a secret.
            let end = &token[token.len() - 12..];
            if leaks(&masked, token) || masked.contains(end) || !masked.contains(REMOVED) {
                wrong.push(format!("{name}: {text}\n    → {masked}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} stay:\n{}", wrong.len(), 11 * tokens.len(), wrong.join("\n"));
}

/// A text as it is, within JSON, and within JSON in JSON.
pub(crate) fn wrapped(text: &str) -> Vec<String> {
    let json = serde_json::json!({ "command": text }).to_string();
    let nested = serde_json::json!({ "content": json }).to_string();
    vec![text.to_owned(), format!("one\n{text}"), json, nested]
}

/// A secret as it stands in each of [`wrapped`].
pub(crate) fn escaped(secret: &str) -> Vec<String> {
    let quoted = |text: &str| {
        let json = serde_json::Value::from(text).to_string();
        json[1..json.len() - 1].to_owned()
    };
    vec![secret.to_owned(), secret.to_owned(), quoted(secret), quoted(&quoted(secret))]
}

#[test]
fn every_secret_is_masked_by_what_stands_around_it() {
    let mut wrong = Vec::new();
    let shapes = in_context();
    assert!(shapes.len() >= 120, "{}", shapes.len());
    for (text, secrets) in &shapes {
        for (index, text) in wrapped(text).iter().enumerate() {
            let masked = mask(text);
            if secrets.iter().any(|secret| leaks(&masked, &escaped(secret)[index])) {
                wrong.push(format!("{text}\n    → {masked}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} stay:\n{}", wrong.len(), 4 * shapes.len(), wrong.join("\n"));
}

#[test]
fn the_table_is_in_order_and_every_shape_in_it_is_well_formed() {
    let first: Vec<u8> = PROVIDERS.iter().map(|provider| provider.prefix.as_bytes()[0]).collect();
    assert!(first.is_sorted());
    for (index, provider) in PROVIDERS.iter().enumerate() {
        let later = &PROVIDERS[index + 1..];
        let same = later.iter().take_while(|later| later.prefix.as_bytes()[0] == first[index]);
        assert!(same.clone().all(|later| later.prefix.len() <= provider.prefix.len()), "{provider:?}");
        assert!(!provider.name.is_empty() && provider.body.starts_with('{'), "{provider:?}");
        let parts = provider.body.split('{').skip(1);
        for part in parts {
            let (shape, _) = part.split_once('}').unwrap();
            assert!(b"hduUlbwsx=".contains(&shape.as_bytes()[0]), "{provider:?}");
        }
    }
}
