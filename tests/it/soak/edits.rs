//! Scripts that edit config.json in every possible way while murmur writes `lastRun` into it.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use murmur_core::config::edit;
use serde_json::{Value, json};
use sys::clock;

use super::times;
use crate::env::Env;

/// The interval between edits: 80 a second.
const PACE: Duration = Duration::from_micros(12_500);

/// How a script writes its change.
#[derive(Debug, Clone, Copy)]
enum Way {
    Rename,
    InPlace,
    Truncate,
}

/// Reads config.json, adds one to `edits`, and writes it; returns the old value.
fn edit_by_script(path: &Path, way: Way) -> u64 {
    let counted = |text: &str| {
        let mut config: Value = serde_json::from_str(text).unwrap();
        let found = config["edits"].as_u64().unwrap();
        config["edits"] = json!(found + 1);
        (found, config.to_string())
    };
    if let Way::InPlace = way {
        let mut file = File::options().read(true).write(true).open(path).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        let (found, next) = counted(&text);
        file.rewind().unwrap();
        file.write_all(next.as_bytes()).unwrap();
        file.set_len(next.len() as u64).unwrap();
        return found;
    }
    let (found, next) = counted(&std::fs::read_to_string(path).unwrap());
    match way {
        Way::Rename => {
            let beside = path.with_extension("new");
            std::fs::write(&beside, next).unwrap();
            std::fs::rename(beside, path).unwrap();
        }
        _ => std::fs::write(path, next).unwrap(),
    }
    found
}

#[test]
fn no_edit_is_lost_while_last_runs_are_written() {
    let edits = times(120, 2000);
    let env = Env::for_as_long_as(Duration::from_secs(60 + edits / 4));
    let workspaces: Vec<_> = (0..3).map(|n| env.workspace(&format!("w{n}"), "Do it.")).collect();
    let entry = |path: &std::path::PathBuf| json!({ "path": path, "interval": "1s" });
    let mut entries: Vec<Value> = workspaces.iter().map(|workspace| entry(&workspace.0)).collect();
    // Somebody runs beats of this one manually.
    let hand = env.root().join("hand");
    entries.push(json!({ "path": hand, "interval": "1000h" }));
    env.configure(&json!({ "edits": 0, "maxConcurrent": 1, "workspaces": entries }).to_string());
    let daemon = env.daemon();
    env.wait_for_journal(1);
    let (config, lock) = (env.data().join("config.json"), env.data().join("config.lock"));
    let mut lost = Vec::new();
    let (over, is_over) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (config, lock, hand) = (&config, &lock, &hand);
        let by_hand = scope.spawn(move || {
            let mut written = 0;
            while is_over.recv_timeout(PACE * 3) == Err(mpsc::RecvTimeoutError::Timeout) {
                let at = clock::now();
                let run = edit::LastRun { workspace: hand, name: None, at };
                edit::apply(config, lock, |source| edit::set_last_run(source, &[run], at)).unwrap();
                written += 1;
            }
            written
        });
        let (_never, pace) = mpsc::channel::<()>();
        let mut expected = 0;
        for edit in 0..edits {
            let way = [Way::Rename, Way::InPlace, Way::Truncate][usize::try_from(edit % 3).unwrap()];
            let found = edit_by_script(config, way);
            if found != expected {
                lost.push((edit, found, expected));
            }
            expected = found + 1;
            let _it_is_time = pace.recv_timeout(PACE);
        }
        drop(over);
        let written = by_hand.join().unwrap();
        eprintln!("{} of {edits} edits were lost while {written} runs were written by hand", lost.len());
        let config: Value = serde_json::from_str(&env.config()).unwrap();
        assert_eq!(config["edits"], json!(expected));
    });
    assert_eq!(lost, []);
    daemon.signal(rustix::process::Signal::TERM);
    let (status, said) = daemon.ended();
    assert!(status.success(), "{said:#?}");
    assert!(!env.names(&env.data()).contains("other"), "{said:#?}");
    // What the daemon knows is there in the end.
    assert_eq!(env.config().matches("\"lastRun\":\"").count(), 4, "{}", env.config());
}
