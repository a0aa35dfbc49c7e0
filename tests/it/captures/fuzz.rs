//! Random input: a few hundred cases in every check; `just fuzz` sets PROPTEST_CASES for more.

use std::cell::RefCell;
use std::time::Duration;

use derun::id::SessionId;
use derun::record::Channel;
use proptest::prelude::*;

use super::torn::{check, line, plant};
use super::{Vault, create};
use crate::env::Env;

/// Enough for the requested number of cases.
fn vault() -> Vault {
    let cases = ProptestConfig::default().cases;
    Vault::of(Env::for_as_long_as(Duration::from_secs(60 + u64::from(cases) / 20)))
}

/// A text that is usually close to an id.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-z0-9_. /\\\\:-]{0,12}",
        r"\.{0,3}/?[a-z]{0,3}/?\.{0,3}",
        "\\PC{100,140}",
        "[äöü💣\u{202e}\u{0}\n]{1,40}",
    ]
}

/// A line of an index: plausible, true, or garbage.
fn claim() -> impl Strategy<Value = Vec<u8>> {
    let number = || {
        prop_oneof![
            4 => 0_u64..400,
            1 => any::<u64>(),
            1 => Just(u64::MAX),
        ]
    };
    let channel = prop_oneof![Just(Channel::Stdout), Just(Channel::Stderr), Just(Channel::Pty)];
    prop_oneof![
        8 => (number(), number(), channel).prop_map(|(at, length, of)| line(at, length, of).into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..200),
        1 => (number(), 0_usize..120).prop_map(|(at, cut)| {
            let line = line(at, 5, Channel::Pty).into_bytes();
            line[..cut.min(line.len())].to_vec()
        }),
        1 => (1_usize..6000).prop_map(|length| vec![0; length]),
    ]
}

#[test]
fn an_id_creates_a_folder_in_sessions_or_nothing() {
    let vault = vault();
    let around = || {
        let names = |path| vault.env.names(path);
        (names(vault.env.root()), names(vault.store.root()))
    };
    let before = around();
    proptest!(|(text in text())| {
        if let Ok(id) = SessionId::parse(&text) {
            prop_assert_eq!(id.as_str(), &text);
            drop(create(&vault.store, &text).unwrap());
            prop_assert_eq!(vault.env.names(&vault.path("")), text.clone());
            prop_assert_eq!(vault.session(&text).meta().session_id.clone(), id);
            std::fs::remove_dir_all(vault.path("").join(&text)).unwrap();
        } else {
            prop_assert!(vault.store.session(&text).is_err());
            prop_assert_eq!(vault.env.names(&vault.path("")), "");
        }
        prop_assert_eq!(around(), before.clone());
    });
}

#[test]
fn a_page_has_the_requested_bytes_whatever_the_index_contains() {
    let vault = vault();
    drop(vault.begin("s"));
    let output: Vec<u8> = (0..2000_u32).map(|n| (n * 31 % 251) as u8).collect();
    let vault = RefCell::new(vault);
    let index = prop::collection::vec(claim(), 0..200).prop_map(|lines| lines.concat());
    let most = prop_oneof![0_usize..600, Just(usize::MAX)];
    proptest!(|(index in index, length in 0_usize..2000, cursor in 0_u64..2100, most in most)| {
        let vault = vault.borrow();
        plant(&vault, &index, &output[..length]);
        check(&vault, &output[..length], cursor, most);
    });
}

#[test]
fn arbitrary_records_are_read_or_rejected() {
    let vault = vault();
    vault.ended("s");
    let read = |name: &str| std::fs::read(vault.path("s").join(name)).unwrap();
    let whole = [("meta.json", read("meta.json")), ("final.json", read("final.json"))];
    let change =
        (0_usize..2, any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..8), 0_usize..8);
    proptest!(|((which, at, put, cut) in change)| {
        let (name, bytes) = &whole[which];
        let at = at.index(bytes.len());
        let mut changed = bytes.clone();
        changed.splice(at..(at + cut).min(bytes.len()), put);
        std::fs::write(vault.path("s").join(name), changed).unwrap();
        if let Ok(session) = vault.store.session("s") {
            let now = sys::clock::now();
            if session.status(now).is_ok() {
                prop_assert_eq!(session.read(0, 100, now).unwrap().bytes, b"out\nerr\nend\n");
            }
        }
        drop(vault.store.list().unwrap());
        std::fs::write(vault.path("s").join(name), bytes).unwrap();
    });
}
