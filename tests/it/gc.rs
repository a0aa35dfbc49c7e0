//! What beats leave on the disk, and what removes it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use derun::id::SessionId;
use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::json;

use crate::env::{Env, result};

fn sessions(env: &Env) -> PathBuf {
    env.home().join(".local/state/derun/sessions")
}

/// The bytes on disk of every file and folder below `folder`.
fn usage(folder: &Path, found: &mut BTreeMap<PathBuf, u64>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        found.insert(path.clone(), path.symlink_metadata().unwrap().blocks() * 512);
        if path.is_dir() && !path.is_symlink() {
            usage(&path, found);
        }
    }
}

#[test]
fn a_quiet_beat_leaves_one_small_file() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let all = || {
        let mut found = BTreeMap::new();
        usage(&env.home(), &mut found);
        usage(&env.data(), &mut found);
        found
    };
    env.run(["beat", site.path()]);
    let before = all();
    env.run(["beat", site.path()]);
    let after = all();
    let new: Vec<&PathBuf> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    let [capture] = new[..] else { panic!("{new:#?}") };
    assert_eq!(
        (capture.parent(), capture.extension().unwrap().to_str()),
        (Some(&*sessions(&env)), Some("zst"))
    );
    let grown = after.values().sum::<u64>() - before.values().sum::<u64>();
    assert!(grown <= 6 << 10, "{grown} bytes");
    // It reads as ever.
    let id = env.journal()[1]["capture"].as_str().unwrap().to_owned();
    assert!(env.run(["show", &id]).contains("HEARTBEAT_OK"));
    assert!(env.run(["sessions"]).contains(&id));
}

/// Copies of the only pack, as if the beats had run this many days ago.
fn age(env: &Env, ages: &[i64]) -> Vec<PathBuf> {
    let pack = fs::read_dir(sessions(env)).unwrap().next().unwrap().unwrap().path();
    let copy = |days: &i64| {
        let id = SessionId::new(sys::clock::now() - SignedDuration::from_hours(24 * days)).unwrap();
        let path = sessions(env).join(format!("{id}.zst"));
        fs::copy(&pack, &path).unwrap();
        path
    };
    ages.iter().map(copy).collect()
}

fn left(paths: &[PathBuf]) -> Vec<bool> {
    paths.iter().map(|path| path.exists()).collect()
}

#[test]
fn the_daemon_removes_old_captures_and_gc_shows_which() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.run(["beat", site.path()]);
    let captures = age(&env, &[91, 20, 13]);
    let shown = env.murmur(["gc", "--dry-run", "--json"]).json();
    let paths: Vec<_> = shown["removed"].as_array().unwrap().iter().map(|removed| &removed["path"]).collect();
    assert_eq!(paths, [captures[0].to_str().unwrap(), captures[1].to_str().unwrap()]);
    assert_eq!(shown["removed"][0]["why"], "too old");
    let what = shown["removed"][0]["what"].as_str().unwrap();
    assert!(what.starts_with("capture of site-"), "{what}");
    assert_eq!(left(&captures), [true; 3]);
    // Invalid settings remove no capture: they may be meant to keep more.
    for (settings, problem) in [
        ("[captures]\nkeep = \"1 year\"\n", "config.toml:2:8: \"keep\": \"1 year\" is not an interval"),
        ("[captures\n", "config.toml:1:"),
    ] {
        let leftover = env.data().join("heartbeats/.new-abcdef");
        fs::create_dir_all(leftover.parent().unwrap()).unwrap();
        let file = fs::File::create(&leftover).unwrap();
        file.set_modified((sys::clock::now() - SignedDuration::from_hours(2)).into()).unwrap();
        env.setting("config.toml", settings);
        let refused = env.run(["gc"]);
        assert!(refused.contains("no capture is removed: ") && refused.contains(problem), "{refused}");
        assert_eq!((left(&captures), leftover.exists()), (vec![true; 3], false));
    }
    env.setting("config.toml", "[captures]\nkeep = \"30d\"\n");
    let daemon = env.daemon();
    env.wait(&sessions(&env), || (!captures[0].exists()).then_some(()));
    daemon.stop();
    assert_eq!(left(&captures), [false, true, true]);
    // Larger than the smallest `max`: what follows a capture in its file isn't read.
    fs::File::options().append(true).open(&captures[2]).unwrap().set_len(2 << 20).unwrap();
    env.setting("config.toml", "[captures]\nmax = \"1MiB\"\n");
    let removed = env.run(["gc"]);
    assert!(removed.contains("removed 2 entries"), "{removed}");
    assert!(
        removed.contains("KiB  capture of site-") && removed.contains(" (captures exceed max): "),
        "{removed}"
    );
    // The newest one stays.
    assert_eq!(left(&captures), [false; 3]);
    assert_eq!(fs::read_dir(sessions(&env)).unwrap().count(), 1);
}

#[test]
fn wrong_limits_of_captures_are_reported_once_and_deny_no_call() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.setting("config.toml", "[captures]\nmax = \"2GB\"\n");
    assert_snapshot!(env.run(["config", "check"]), @r#"
    problem: no capture is removed: [ENV]/data/config/config.toml:2:7: "max": "2GB" is not a size; write a whole number with B, KiB, MiB, GiB or TiB, such as "256MiB"
    [exit 1]
    "#);
    let beat = env.run(["beat", site.path()]);
    assert!(beat.ends_with("[exit 0]") && !beat.contains("denied"), "{beat}");
    let daemon = env.daemon();
    daemon.says("no capture is removed");
    let reported = |status: &str| status.matches("problem: no capture is removed: ").count();
    assert_eq!(reported(&env.run(["status"])), 1);
    daemon.stop();
    assert_eq!(reported(&env.run(["status"])), 1);
}

#[test]
fn captures_of_failed_beats_are_kept_longer() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "script": [result("no")], "exit": 1 }));
    env.run(["beat", site.path()]);
    assert_eq!(env.journal()[0]["outcome"], "error");
    let captures = age(&env, &[91, 20]);
    let removed = env.run(["gc"]);
    assert!(removed.contains("removed 1 entry, 4 KiB"), "{removed}");
    assert_eq!(left(&captures), [false, true]);
}
