//! Whatever is planted in a session leads nowhere: nothing outside is read, created, changed or removed, by anybody at
//! any time.

use std::fmt::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use derun::log::Log;
use derun::record::Channel;
use derun::retention;
use derun::store::DEFAULT_RETENTION;
use derun::writer::End;
use insta::assert_snapshot;
use jiff::SignedDuration;
use std::ops::ControlFlow;
use sys::clock;

use super::{Vault, contents, create};
use crate::env::show;

const SECRET: &str = "TOP-SECRET";

const FILES: [&str; 5] = ["meta.json", "output.bin", "index.jsonl", "final.json", "append.lock"];

const KINDS: [&str; 5] = ["link", "dangling", "hard link", "pipe", "folder"];

/// A place outside with a file and a folder that must not change, and a snapshot of its state.
struct Outside {
    folder: PathBuf,
    before: std::collections::BTreeMap<PathBuf, (u32, Vec<u8>)>,
}

impl Outside {
    fn new(vault: &Vault) -> Self {
        let folder = vault.env.root().join("outside");
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::write(folder.join("secret"), SECRET).unwrap();
        std::fs::write(folder.join("sub/output.bin"), SECRET).unwrap();
        let before = contents(&folder);
        Self { folder, before }
    }

    /// Replaces whatever is at `path` with this kind of thing.
    fn plant(&self, kind: &str, path: &Path) {
        match path.symlink_metadata() {
            Ok(seen) if seen.is_dir() => std::fs::remove_dir_all(path).unwrap(),
            Ok(_) => std::fs::remove_file(path).unwrap(),
            Err(_) => {}
        }
        match kind {
            "link" => symlink(self.folder.join("secret"), path).unwrap(),
            "link to a folder" => symlink(self.folder.join("sub"), path).unwrap(),
            "dangling" => symlink(self.folder.join("nothing"), path).unwrap(),
            "hard link" => std::fs::hard_link(self.folder.join("secret"), path).unwrap(),
            "pipe" => sys::fifo::make(path).unwrap(),
            "folder" => std::fs::create_dir(path).unwrap(),
            _ => std::fs::write(path, "").unwrap(),
        }
    }

    fn is_as_it_was(&self, after: &str) {
        assert_eq!(contents(&self.folder), self.before, "after {after}");
    }
}

/// Every file, replaced by every kind of thing.
fn every(mut look: impl FnMut(&str, &str)) {
    for file in FILES {
        for kind in KINDS {
            look(file, kind);
        }
    }
}

fn line(report: &mut String, what: &str, output: &Output) {
    let shown = show(output);
    assert!(!shown.contains(SECRET), "{what}: {shown}");
    writeln!(report, "{what}: {}", shown.replace('\n', " ")).unwrap();
}

#[test]
fn links_planted_before_a_session_is_created_are_not_followed() {
    let vault = Vault::new();
    let outside = Outside::new(&vault);
    let mut report = String::new();
    every(|file, kind| {
        let folder = vault.path("s");
        let _first = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        outside.plant(kind, &folder.join(file));
        let output = vault.murmur(["run", "--session-id", "s", "--", "echo", "hi"]).output().unwrap();
        line(&mut report, &format!("{file} {kind}"), &output);
        outside.is_as_it_was(&format!("run over {file} {kind}"));
    });
    for kind in ["link to a folder", "dangling", "pipe", "file"] {
        let _first = std::fs::remove_dir_all(vault.path("s"));
        outside.plant(kind, &vault.path("s"));
        let output = vault.murmur(["run", "--session-id", "s", "--", "echo", "hi"]).output().unwrap();
        line(&mut report, &format!("itself {kind}"), &output);
        outside.is_as_it_was(&format!("run over {kind}"));
        std::fs::remove_file(vault.path("s")).unwrap();
    }
    assert_snapshot!("planted_before_a_session_is_made", report);
}

#[test]
fn links_planted_while_a_session_is_written_are_not_followed() {
    let vault = Vault::new();
    let outside = Outside::new(&vault);
    every(|file, kind| {
        let mut writer = vault.begin("s");
        writer.append(Channel::Stdout, b"before", clock::now()).unwrap();
        outside.plant(kind, &vault.path("s").join(file));
        let started = writer.started(7);
        assert_eq!(started.is_err(), (file, kind) == ("meta.json", "folder"), "{file} {kind}");
        writer.append(Channel::Stderr, b"after", clock::now()).unwrap();
        let finished = writer.finish(&End::Exited(0), None, clock::now());
        assert_eq!(finished.is_err(), (file, kind) == ("final.json", "folder"), "{file} {kind}");
        outside.is_as_it_was(&format!("writing over {file} {kind}"));
        std::fs::remove_dir_all(vault.path("s")).unwrap();
    });
    // The folder: writes go to its old location.
    for kind in ["link to a folder", "dangling", "pipe", "file"] {
        let mut writer = vault.begin("s");
        std::fs::rename(vault.path("s"), vault.path("moved")).unwrap();
        outside.plant(kind, &vault.path("s"));
        writer.started(7).unwrap();
        writer.append(Channel::Stdout, b"bytes", clock::now()).unwrap();
        writer.finish(&End::Exited(0), None, clock::now()).unwrap();
        assert_eq!(vault.all("moved").bytes, b"bytes");
        outside.is_as_it_was(&format!("writing over {kind}"));
        std::fs::remove_file(vault.path("s")).unwrap();
        std::fs::remove_dir_all(vault.path("moved")).unwrap();
    }
}

#[test]
fn links_planted_before_a_session_is_read_are_not_followed() {
    let vault = Vault::new();
    let outside = Outside::new(&vault);
    let mut report = String::new();
    // A hard link's other name is unknowable.
    every(|file, kind| {
        if kind == "hard link" {
            return;
        }
        vault.ended("s");
        outside.plant(kind, &vault.path("s").join(file));
        let shown = vault.murmur(["show", "s", "--follow"]).output().unwrap();
        line(&mut report, &format!("{file} {kind}"), &shown);
        let listed = vault.murmur(["sessions", "--json"]).output().unwrap();
        assert!(!show(&listed).contains(SECRET) && listed.status.success(), "{}", show(&listed));
        if let Ok(session) = vault.store.session("s") {
            let _only_no_hang = (session.status(clock::now()), session.end(), session.stretches());
            let page = session.read(0, 1000, clock::now());
            assert!(page.is_err() || page.is_ok_and(|page| b"out\nerr\nend\n".starts_with(&page.bytes)));
            drop(vault.store.list().unwrap());
        }
        outside.is_as_it_was(&format!("reading {file} {kind}"));
        std::fs::remove_dir_all(vault.path("s")).unwrap();
    });
    for kind in ["link to a folder", "dangling", "pipe", "file"] {
        outside.plant(kind, &vault.path("s"));
        line(&mut report, &format!("itself {kind}"), &vault.murmur(["show", "s"]).output().unwrap());
        assert_eq!(vault.store.list().unwrap().len(), 0);
        outside.is_as_it_was(&format!("reading {kind}"));
        std::fs::remove_file(vault.path("s")).unwrap();
    }
    assert_snapshot!("planted_before_a_session_is_read", report);
}

#[test]
fn a_sweep_removes_planted_links_but_not_their_targets() {
    let vault = Vault::new();
    let outside = Outside::new(&vault);
    let sweep = || {
        let mut log = Log::open(vault.store.root());
        let later = clock::now() + SignedDuration::from_hours(48);
        let go_on = || ControlFlow::Continue(());
        retention::sweep(&vault.store, DEFAULT_RETENTION, later, &mut log, go_on).unwrap()
    };
    every(|file, kind| {
        vault.ended("s");
        outside.plant(kind, &vault.path("s").join(file));
        assert_eq!(sweep().removed, 1, "{file} {kind}");
        assert!(!vault.path("s").exists());
        outside.is_as_it_was(&format!("sweeping {file} {kind}"));
    });
    for kind in ["link to a folder", "dangling", "pipe", "file"] {
        outside.plant(kind, &vault.path("s"));
        assert_eq!(sweep().checked, 0, "{kind} is no session");
        outside.is_as_it_was(&format!("sweeping {kind}"));
        std::fs::remove_file(vault.path("s")).unwrap();
    }
}

#[test]
fn anything_in_place_of_the_log_or_the_sweep_marker_is_left_alone() {
    let vault = Vault::new();
    let outside = Outside::new(&vault);
    std::fs::create_dir(vault.store.root().join("logs")).unwrap();
    for kind in ["link", "dangling", "pipe", "folder"] {
        outside.plant(kind, &vault.store.root().join("logs/derun.log"));
        outside.plant(kind, &vault.store.root().join("swept"));
        let output = vault.murmur(["run", "--", "echo", "hi"]).output().unwrap();
        assert_eq!(show(&output), "hi\n[exit 0]", "{kind}");
        outside.is_as_it_was(&format!("running beside {kind}"));
    }
    drop(create(&vault.store, "s").unwrap());
}
