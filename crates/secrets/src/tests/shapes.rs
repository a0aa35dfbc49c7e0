//! Masks every shape in `crates/secrets/fixtures`. The `replay` tests run them through the recorder.
//!
//! The repository contains no real secrets: the fixtures give the length and alphabet of each token, and the tests
//! generate it.

use super::super::providers::PROVIDERS;
use super::super::samples::{around, escaped, in_context, tokens, wrapped};
use super::super::{REMOVED, mask};

fn leaks(said: &str, secret: &str) -> bool {
    said.contains(secret)
}

#[test]
fn every_published_token_is_masked_in_any_position() {
    let mut wrong = Vec::new();
    let tokens = tokens();
    assert!(tokens.len() >= 120, "{}", tokens.len());
    for (name, token) in &tokens {
        for text in around(token) {
            let masked = mask(&text);
            // The end must not remain either: half a token is half a secret.
            let end = &token[token.len() - 12..];
            if leaks(&masked, token) || masked.contains(end) || !masked.contains(REMOVED) {
                wrong.push(format!("{name}: {text}\n    → {masked}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} stay:\n{}", wrong.len(), 11 * tokens.len(), wrong.join("\n"));
}

#[test]
fn every_secret_is_masked_by_its_context() {
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
fn the_table_is_sorted_and_every_shape_is_well_formed() {
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
