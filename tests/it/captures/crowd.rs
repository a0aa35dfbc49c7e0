//! Concurrency: many sessions, and several that want the same id.

use std::sync::Barrier;

use derun::record::Channel;
use derun::store::StoreError;
use derun::writer::End;
use sys::clock;

use super::{Vault, contents, create, of_channel};
use crate::env::show;

#[test]
fn a_hundred_concurrent_sessions_stay_separate() {
    let vault = Vault::new();
    let children: Vec<_> = (0..100)
        .map(|n| {
            let (id, from, to) = (format!("s{n}"), format!("{n}000"), format!("{n}999"));
            vault.murmur(["run", "--session-id", &id, "--", "seq", &from, &to]).spawn().unwrap()
        })
        .collect();
    for (n, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        let wanted: String = (n * 1000..n * 1000 + 1000).map(|line| format!("{line}\n")).collect();
        assert!(output.stderr.is_empty() && output.status.success(), "{n}: {}", show(&output));
        // `seq 0000` counts without leading zeros.
        assert!(output.stdout == wanted.as_bytes(), "{n} has another's output");
        let page = vault.all(&format!("s{n}"));
        assert!(page.eof && of_channel(&page, Channel::Stdout) == wanted.as_bytes(), "{n}");
    }
    assert_eq!(vault.store.list().unwrap().len(), 100);
}

#[test]
fn exactly_one_of_several_threads_gets_an_id() {
    let vault = Vault::new();
    for round in 0..500 {
        let id = format!("s{round}");
        let line = Barrier::new(3);
        let winners = std::thread::scope(|scope| {
            let racers = [0, 1, 2].map(|racer| {
                let (line, id, store) = (&line, &id, &vault.store);
                scope.spawn(move || {
                    line.wait();
                    match create(store, id) {
                        Ok(mut writer) => {
                            writer.append(Channel::Stdout, &[racer], clock::now()).unwrap();
                            // Its lock is free again while others still try.
                            drop(writer);
                            Some(racer)
                        }
                        Err(StoreError::Exists(_)) => None,
                        Err(error) => panic!("{error}"),
                    }
                })
            });
            racers.into_iter().filter_map(|racer| racer.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(winners.len(), 1, "round {round}");
        assert_eq!(vault.all(&id).bytes, winners);
    }
}

#[test]
fn of_two_processes_with_one_id_one_runs_and_the_other_exits_with_2() {
    let vault = Vault::new();
    for round in 0..10 {
        let id = format!("s{round}");
        let start = |word| vault.murmur(["run", "--session-id", &id, "--", "echo", word]).spawn().unwrap();
        let outputs = [start("one"), start("two")].map(|child| child.wait_with_output().unwrap());
        let mut codes = outputs.each_ref().map(|output| output.status.code().unwrap());
        let winner = outputs.iter().find(|output| output.status.success()).unwrap();
        codes.sort_unstable();
        assert_eq!(codes, [0, 2]);
        assert_eq!(vault.all(&id).bytes, winner.stdout);
    }
}

#[test]
fn a_late_session_with_the_same_id_changes_nothing() {
    let vault = Vault::new();
    vault.ended("over");
    let mut live = vault.begin("live");
    live.append(Channel::Stdout, b"bytes", clock::now()).unwrap();
    // Created by a process that died at once, or partly removed by a sweep.
    for (id, left) in [("meta", "meta.json"), ("final", "final.json")] {
        std::fs::create_dir(vault.path(id)).unwrap();
        std::fs::write(vault.path(id).join(left), "{}").unwrap();
    }
    let before = contents(vault.store.root());
    for id in ["over", "live", "meta", "final"] {
        let output = vault.murmur(["run", "--session-id", id, "--", "echo", "hi"]).output().unwrap();
        assert_eq!(
            show(&output),
            format!(
                "| error: session id already exists: {id}\n| hint: choose another, or leave --session-id out\n[exit 2]"
            )
        );
        assert_eq!(contents(vault.store.root()), before, "{id}");
    }
}

#[test]
fn a_reader_during_writing_sees_a_prefix() {
    let vault = Vault::new();
    let mut writer = vault.begin("s");
    let wanted: Vec<(Channel, Vec<u8>)> = (0..3000_usize)
        .map(|n| {
            let channel = if n % 7 < 3 { Channel::Stdout } else { Channel::Stderr };
            (channel, format!("{channel:?} {n}\n").into_bytes())
        })
        .collect();
    let whole = |channel| {
        let parts = wanted.iter().filter(|(of, _)| *of == channel);
        parts.flat_map(|(_, bytes)| bytes.iter().copied()).collect::<Vec<u8>>()
    };
    let (out, err) = (whole(Channel::Stdout), whole(Channel::Stderr));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (channel, bytes) in &wanted {
                writer.append(*channel, bytes, clock::now()).unwrap();
            }
            writer.finish(&End::Exited(0), None, clock::now()).unwrap();
        });
        let session = vault.session("s");
        loop {
            let page = session.read(0, usize::MAX, clock::now()).unwrap();
            assert!(out.starts_with(&of_channel(&page, Channel::Stdout)));
            assert!(err.starts_with(&of_channel(&page, Channel::Stderr)));
            if page.eof {
                assert_eq!(page.bytes.len(), out.len() + err.len());
                break;
            }
        }
    });
}
