//! `murmur capture list` and `murmur capture show`: captured sessions for people and for programs.

mod formats;
mod show;

use std::time::Duration;

use derun::id::SessionId;
use derun::record::{Channel, Lost, TransportMode};
use derun::store::{NewSession, Store};
use derun::writer::{End, Writer};
use insta::assert_snapshot;
use jiff::Timestamp;
use sys::clock;

use crate::env::{Env, MURMUR, Run};
use crate::run::terminal::Terminal;

/// An environment with a store.
pub(crate) struct Captures {
    pub(crate) env: Env,
    pub(crate) store: Store,
}

impl Captures {
    pub(crate) fn new() -> Self {
        let env = Env::new();
        let store = Store::open(&env.root().join("state")).unwrap();
        Self { env, store }
    }

    /// `murmur` with this store.
    pub(crate) fn murmur<const N: usize>(&self, args: [&str; N]) -> Run {
        self.env.murmur(args).set("DERUN_STATE_ROOT", self.store.root())
    }

    pub(crate) fn run<const N: usize>(&self, args: [&str; N]) -> String {
        self.murmur(args).run()
    }

    /// Starts the session `id` of `command`.
    pub(crate) fn begin(&self, id: &str, command: &[&str], at: Timestamp) -> Writer {
        let new = NewSession {
            id: Some(SessionId::parse(id).unwrap()),
            command: command.iter().map(ToString::to_string).collect(),
            working_directory: "/work".to_owned(),
            retention: Duration::from_secs(60 * 60 * 24 * 365 * 100),
            transport: TransportMode::Pipe,
            tty_attached: false,
            max_bytes: None,
            group: None,
        };
        self.store.create(new, at).unwrap()
    }

    /// A session that wrote `output` and ended.
    pub(crate) fn ended(&self, id: &str, output: &[u8], end: &End) {
        let mut writer = self.begin(id, &["make", "test"], began());
        writer.started(7).unwrap();
        writer.append(Channel::Stdout, output, began()).unwrap();
        writer.finish(end, None, began() + Duration::from_millis(1500)).unwrap();
    }

    /// Four sessions; the newest is running.
    fn four() -> Self {
        let place = Self::new();
        place.ended("build-1", b"ok\n", &End::Exited(0));
        let later = began() + Duration::from_secs(5);
        let mut killed = place.begin("build-2", &["sh", "-c", "printf '\x1b[31m'\nsleep 9"], later);
        killed.append(Channel::Stdout, &[b'x'; 3000], later).unwrap();
        killed.finish(&End::Signaled("SIGKILL".to_owned()), None, later + Duration::from_secs(3700)).unwrap();
        let later = later + Duration::from_secs(5);
        let lost = Lost { kept_bytes: 0, lost_bytes: 5, reason: "disk full".to_owned() };
        let failed = place.begin("no such", &["no-such\u{202e}"], later);
        failed.finish(&End::Failed("no-such: not found".to_owned()), Some(lost), later).unwrap();
        place
    }
}

fn began() -> Timestamp {
    "2026-02-03T10:00:00Z".parse().unwrap()
}

#[test]
fn without_sessions_listing_prints_and_creates_nothing() {
    let env = Env::new();
    assert_snapshot!(env.run(["sessions"]), @"
    no sessions; see: murmur capture run -- COMMAND
    [exit 0]
    ");
    assert_snapshot!(env.run(["sessions", "--json"]), @r#"
    {"schema":"captures/1","schema_version":"v1alpha1","sessions":[]}
    [exit 0]
    "#);
    assert_snapshot!(env.run(["show", "x"]), @r#"
    | error: no beat, heartbeat, agent or capture "x"
    | hint: see: murmur log, murmur agent list, murmur capture list
    [exit 1]
    "#);
    assert!(!env.home().join(".local").exists());
}

#[test]
fn sessions_are_listed_newest_first() {
    let place = Captures::four();
    let mut running = place.begin("running", &["tail", "-f", &"long ".repeat(30)], clock::now());
    running.started(7).unwrap();
    assert_snapshot!(place.run(["sessions"]), @"
    ID       STATE             STARTED              DURATION       BYTES  COMMAND
    running  running           [WHEN] [S]         0 B  tail -f long long long long long long long long long long long long long long long long long long lo…
    no such  failed            [WHEN] [S]         0 B  no-such
    build-2  signaled SIGKILL  [WHEN]     1h 1m     2.9 KiB  sh -c printf '' sleep 9
    build-1  exited 0          [WHEN] [S]         3 B  make test
    [exit 0]
    ");
}

#[test]
fn filters_apply_before_n() {
    let place = Captures::four();
    let _starting = place.begin("starting", &["make"], clock::now());
    assert_snapshot!(place.run(["sessions", "--state", "signaled"]), @"
    ID       STATE             STARTED              DURATION       BYTES  COMMAND
    build-2  signaled SIGKILL  [WHEN]     1h 1m     2.9 KiB  sh -c printf '' sleep 9
    [exit 0]
    ");
    assert_snapshot!(place.run(["sessions", "-n", "2"]), @"
    ID        STATE     STARTED              DURATION       BYTES  COMMAND
    starting  starting  [WHEN] [S]         0 B  make
    no such   failed    [WHEN] [S]         0 B  no-such
    [exit 0]
    ");
    assert_snapshot!(place.run(["sessions", "--state", "running"]), @"
    no matching sessions; see: murmur capture list
    [exit 0]
    ");
    assert_snapshot!(place.run(["sessions", "--state", "done"]), @r#"
    | error: --state "done" is not a known value
    | hint: write starting, running, exited, signaled, failed or expired; see: murmur sessions --help
    [exit 2]
    "#);
}

#[test]
fn json_has_everything_known() {
    let place = Captures::four();
    let shown = place.murmur(["sessions", "--json"]).json();
    assert_snapshot!(serde_json::to_string_pretty(&shown["sessions"][0]).unwrap(), @r#"
    {
      "command": [
        "no-such[RLO]"
      ],
      "ended_at": "[TIME]",
      "error": "no-such: not found",
      "exit_code": null,
      "expires_at": "[TIME]",
      "gap": null,
      "lost": {
        "kept_bytes": 0,
        "lost_bytes": 5,
        "reason": "disk full"
      },
      "output_bytes": 0,
      "pid": [PID],
      "retention_seconds": 3153600000,
      "session_id": "no such",
      "signal": null,
      "started_at": "[TIME]",
      "state": "failed",
      "transport_mode": "pipe",
      "tty_attached": false,
      "working_directory": "/work"
    }
    "#);
    assert_snapshot!(serde_json::to_string_pretty(&shown["sessions"][2]).unwrap(), @r#"
    {
      "command": [
        "make",
        "test"
      ],
      "ended_at": "2026-02-03T10:00:01.5Z",
      "error": null,
      "exit_code": 0,
      "expires_at": "2126-01-10T10:00:01.5Z",
      "gap": null,
      "lost": null,
      "output_bytes": 3,
      "pid": [PID],
      "retention_seconds": 3153600000,
      "session_id": "build-1",
      "signal": null,
      "started_at": "[TIME]",
      "state": "exited",
      "transport_mode": "pipe",
      "tty_attached": false,
      "working_directory": "/work"
    }
    "#);
    assert_eq!(
        (shown["sessions"].as_array().unwrap().len(), &shown["schema_version"]),
        (3, &"v1alpha1".into())
    );
}

#[test]
fn an_unreadable_session_does_not_hide_others() {
    let place = Captures::four();
    let sessions = place.store.root().join("sessions");
    std::fs::remove_file(sessions.join("build-1/final.json")).unwrap();
    std::fs::create_dir(sessions.join("build-1/final.json")).unwrap();
    std::fs::remove_file(sessions.join("build-2/output.bin")).unwrap();
    assert_snapshot!(place.run(["sessions"]), @"
    ID       STATE             STARTED              DURATION       BYTES  COMMAND
    no such  failed            [WHEN] [S]         0 B  no-such
    build-2  signaled SIGKILL  [WHEN]     1h 1m           ?  sh -c printf '' sleep 9
    | note: session build-1: final.json: it is not a regular file
    [exit 0]
    ");
}

#[test]
fn a_state_root_that_is_not_a_folder_is_an_error() {
    let place = Captures::new();
    let file = place.env.root().join("file");
    std::fs::write(&file, "").unwrap();
    assert_snapshot!(place.env.murmur(["sessions"]).set("DERUN_STATE_ROOT", &file).run(), @"
    | error: cannot use the state folder [ENV]/file: Not a directory (os error 20)
    | hint: choose another with DERUN_STATE_ROOT
    [exit 1]
    ");
    assert_snapshot!(place.env.murmur(["show", "x"]).unset("HOME").run(), @"
    | error: no state folder: none of DERUN_STATE_ROOT, XDG_STATE_HOME and HOME is set
    | hint: set one
    [exit 1]
    ");
}

#[test]
fn a_state_root_that_cannot_be_read_is_an_error() {
    let place = Captures::new();
    let root = place.env.root().join("loop");
    std::os::unix::fs::symlink("loop", &root).unwrap();
    for command in [&["sessions"][..], &["show", "x"], &["capture", "list"], &["gc"]] {
        let said = place.env.murmur(command.iter().copied()).set("DERUN_STATE_ROOT", &root).run();
        assert!(said.contains("Too many levels of symbolic links"), "{command:?}: {said}");
        assert!(said.ends_with("[exit 1]"), "{command:?}: {said}");
    }
    let offered =
        place.env.murmur(["offer", "--", "capture", "show", ""]).set("DERUN_STATE_ROOT", &root).run();
    assert_eq!(offered, "[exit 0]");
}

#[test]
fn a_beats_capture_is_listed_with_its_heartbeat_and_outcome() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    env.run(["beat", "site"]);
    env.murmur(["capture", "run", "--session-id", "build", "--", "true"]).assert().success();
    let listed = env.run(["capture", "list"]);
    let last: Vec<&str> =
        listed.lines().skip(1).map(|line| line.split("  ").last().unwrap().trim()).collect();
    assert_eq!(last, ["true", "site: ok", "[exit 0]"], "{listed}");
    let object = env.murmur(["capture", "list", "--json"]).json();
    assert!(object["sessions"][1]["command"][0].as_str().unwrap().ends_with("claude"), "{object}");
    // The heartbeat and the outcome are from the data folder.
    let there = env.murmur(["capture", "list", "--data-dir", "elsewhere"]).run();
    assert!(!there.contains("site: ok") && there.ends_with("[exit 0]"), "{there}");
    let data = env.data().into_os_string().into_string().unwrap();
    for args in [&["capture", "list", "--data-dir", &data][..], &["--data-dir", &data, "sessions"]] {
        let listed = env.murmur(args).set("MURMUR_DIR", "elsewhere").run();
        assert!(listed.contains("site: ok"), "{args:?}: {listed}");
    }
}

#[test]
fn one_session_is_json_like_those_that_are_listed() {
    let place = Captures::four();
    let listed = place.murmur(["capture", "list", "--json"]).json()["sessions"].clone();
    for (typed, index) in [("build-1", 2), ("no", 0), ("last", 0)] {
        let mut shown = place.murmur(["capture", "show", typed, "--json"]).json();
        let schema = shown.as_object_mut().unwrap().remove("schema");
        assert_eq!((schema, &shown), (Some("capture/1".into()), &listed[index]), "{typed}");
    }
    assert_snapshot!(place.run(["capture", "show", "build", "--json"]), @r#"
    | error: 2 captures begin with "build"
    | hint: use one of: build-2, build-1
    [exit 1]
    "#);
    assert_snapshot!(place.run(["capture", "show", "x", "--json"]), @"
    | error: session not found: x
    | hint: list them with: murmur capture list
    [exit 1]
    ");
}

#[test]
fn the_session_of_a_beat_is_json_as_in_show() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    env.run(["beat", "site"]);
    let beat = env.journal().remove(0);
    let id = beat["capture"].as_str().unwrap();
    let shown = env.murmur(["capture", "show", id, "--json"]).json();
    assert_eq!(shown, env.murmur(["show", "site", "--json"]).json());
    assert_eq!((&shown["schema"], &shown["beat"]), (&"show/1".into(), &beat));
}

#[test]
fn a_narrow_terminal_has_short_ids_and_fewer_columns() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    env.run(["beat", "site"]);
    let shown = |columns| {
        let terminal = Terminal::open();
        terminal.resize(24, columns);
        let program = |words: &[&str]| env.program("setsid", words).set("NO_COLOR", "1");
        let shown = terminal.start(program, &[MURMUR, "capture", "list"]).finish().text();
        shown.replace("\r\n", "\n")
    };
    for (columns, head) in [
        (80, "ID           STATE     STARTED      DURATION  COMMAND"),
        (60, "ID           STATE     STARTED      DURATION  COMMAND"),
        (50, "ID           STATE     STARTED      COMMAND"),
        (40, "ID           STATE     COMMAND"),
        (29, "ID           COMMAND"),
    ] {
        let shown = shown(columns);
        let [first, row] = shown.lines().collect::<Vec<_>>()[..] else { panic!("{shown}") };
        assert_eq!(first, head);
        assert!(row.ends_with("  site: ok"), "{row}");
        assert!(env.run(["capture", "show", &row[..11]]).contains("HEARTBEAT_OK"), "{row}");
    }
}
