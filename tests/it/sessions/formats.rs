//! Every shipped version of a session's files still loads: `fixtures/captures/<version>/`.

use std::path::{Path, PathBuf};

use derun::record::State;
use insta::assert_snapshot;

use super::Captures;

/// An environment whose sessions are the fixtures, each with its version as its id.
fn fixtures() -> (Captures, Vec<String>) {
    let place = Captures::new();
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/captures"));
    let mut versions: Vec<String> = names(&folder);
    versions.sort();
    for version in &versions {
        let copy = place.store.root().join("sessions").join(version);
        std::fs::create_dir(&copy).unwrap();
        for name in names(&folder.join(version)) {
            std::fs::copy(folder.join(version).join(&name), copy.join(&name)).unwrap();
        }
    }
    (place, versions)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn every_shipped_version_still_loads() {
    let (place, versions) = fixtures();
    assert_eq!(versions, ["v1alpha1"]);
    for version in versions {
        let session = place.store.session(&version).unwrap();
        let now = "2026-02-03T10:00:05Z".parse().unwrap();
        let status = session.status(now).unwrap();
        assert_eq!((status.state, session.meta().command.join(" ")), (State::Exited, "make test".to_owned()));
        let page = session.read(0, 1 << 20, now).unwrap();
        let chunks = page.chunks().map(|(stretch, bytes)| (stretch.channel, String::from_utf8_lossy(bytes)));
        let shown: Vec<String> = chunks.map(|(channel, text)| format!("{channel:?} {text:?}")).collect();
        assert_snapshot!(shown.join("\n"), @r#"
        Stdout "cc -o test test.c\n"
        Stderr "\u{1b}[31mtest.c:1: error\u{1b}[0m\n"
        Stdout "make: ***\n"
        "#);
        assert!(page.eof);
    }
}

#[test]
fn the_sample_session_is_shown() {
    let (place, _) = fixtures();
    assert_snapshot!(place.run(["show", "v1alpha1", "--plain"]), @"
    cc -o test test.c
    test.c:1: error
    make: ***
    | note: 70 bytes after the first 53 were lost: No space left on device (os error 28)
    [exit 0]
    ");
    let listed = place.murmur(["sessions", "--json"]).json();
    assert_snapshot!(serde_json::to_string_pretty(&listed["sessions"][0]).unwrap(), @r#"
    {
      "command": [
        "make",
        "test"
      ],
      "ended_at": "2026-02-03T10:00:01.5Z",
      "error": null,
      "exit_code": 2,
      "expires_at": "2026-02-04T10:00:01.5Z",
      "gap": null,
      "lost": {
        "kept_bytes": 53,
        "lost_bytes": 70,
        "reason": "No space left on device (os error 28)"
      },
      "output_bytes": 53,
      "pid": [PID],
      "retention_seconds": 86400,
      "session_id": "v1alpha1",
      "signal": null,
      "started_at": "[TIME]",
      "state": "expired",
      "transport_mode": "pipe",
      "tty_attached": false,
      "working_directory": "/work"
    }
    "#);
}
