//! From a folder and a config.json to heartbeats, and what the cache notices.

mod limits;

use super::*;
use crate::config::approval::{Checker, Questions, ResolvedApproval};
use crate::config::backend::Backend;
use crate::config::limit::Sourced;
use jiff::tz::TimeZone;
use std::fs;
use std::os::unix::fs::symlink;
use sys::error::Hinted;

/// A config.json and the folders it names; `now` is far enough ahead that every file counts as settled.
struct Home {
    folder: tempfile::TempDir,
    cache: Cache,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), cache: Cache::new(TimeZone::UTC) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Entries name folders as `@/a`.
    fn config(&self, entries: &str) {
        let root = self.folder.path().display().to_string();
        self.write("config.json", format!("{{\"workspaces\": [{}]}}", entries.replace('@', &root)));
    }

    fn load(&mut self) -> Resolved {
        let path = self.path("config.json");
        self.cache.load(&path, "2100-01-01T00:00:00Z".parse().unwrap()).unwrap()
    }

    /// One line per heartbeat: id, schedule, problem; the folder is `@`.
    fn lines(&mut self) -> Vec<String> {
        let resolved = self.load();
        let line = |beat: &Heartbeat| {
            let schedule = beat.schedule.as_ref().map_or("never".into(), ToString::to_string);
            let problem =
                beat.problem.as_ref().map_or(String::new(), |problem| format!(" ! {}", problem.line()));
            format!("{} {schedule}{problem}", beat.id).replace(&self.folder.path().display().to_string(), "@")
        };
        resolved.heartbeats.iter().map(line).collect()
    }
}

#[test]
fn a_heartbeat_that_links_out_of_its_workspace_is_refused() {
    let mut home = Home::new();
    home.config(r#"{"path": "@/a", "interval": "30m"}"#);
    home.write("secret", "a key");
    home.write("elsewhere/HEARTBEAT.md", "x");
    home.write("a/docs/prompt.md", "x");
    fs::create_dir_all(home.path("a/heartbeats/b")).unwrap();
    symlink(home.path("a/docs/prompt.md"), home.path("a/HEARTBEAT.md")).unwrap();
    symlink(home.path("secret"), home.path("a/heartbeats/b/HEARTBEAT.md")).unwrap();
    symlink(home.path("elsewhere"), home.path("a/heartbeats/c")).unwrap();
    let elsewhere = "it links outside the workspace; replace the link with a copy of the file";
    assert_eq!(
        home.lines(),
        [
            "@/a every 30m".to_owned(),
            format!("@/a::heartbeats/b/HEARTBEAT.md every 30m ! @/a/heartbeats/b/HEARTBEAT.md: {elsewhere}"),
            format!("@/a::heartbeats/c/HEARTBEAT.md every 30m ! @/a/heartbeats/c/HEARTBEAT.md: {elsewhere}"),
        ]
    );
    let beats = home.load().heartbeats;
    let loaded =
        beats.iter().map(|beat| Content::of(&beat.workspace, &beat.file).body().is_ok()).collect::<Vec<_>>();
    assert_eq!(loaded, [true, false, false]);
}

#[test]
fn a_workspace_has_its_own_heartbeat_and_named_ones_in_order() {
    let mut home = Home::new();
    home.config(r#"{"path": "@/a", "interval": "30m", "lastRun": "2026-01-01T00:00:00Z", "lastRuns": {"b": "2026-01-02T00:00:00Z"}}"#);
    home.write("a/HEARTBEAT.md", "x");
    home.write("a/heartbeats/c/HEARTBEAT.md", "---\ncron: 0 9 * * *\nname: Third\n---\nx");
    home.write("a/heartbeats/b/HEARTBEAT.md", "x");
    home.write("a/heartbeats/.hidden/HEARTBEAT.md", "x");
    home.write("a/heartbeats/file", "x");
    fs::create_dir(home.path("a/heartbeats/empty")).unwrap();
    symlink(home.path("a/heartbeats/b"), home.path("a/heartbeats/link")).unwrap();
    assert_eq!(
        home.lines(),
        [
            "@/a every 30m",
            "@/a::heartbeats/b/HEARTBEAT.md every 30m",
            "@/a::heartbeats/c/HEARTBEAT.md cron 0 9 * * * UTC",
            "@/a::heartbeats/link/HEARTBEAT.md every 30m",
        ]
    );
    let beats = home.load().heartbeats;
    assert_eq!(beats[0].last_run, Some("2026-01-01T00:00:00Z".parse().unwrap()));
    assert_eq!(beats[1].last_run, Some("2026-01-02T00:00:00Z".parse().unwrap()));
    assert_eq!(beats[2].last_run, None);
    assert_eq!(beats.iter().map(|beat| &*beat.title).collect::<Vec<_>>(), ["a", "b", "Third", "link"]);
    assert_eq!(beats[1].file, home.path("a/heartbeats/b/HEARTBEAT.md"));
}

#[test]
fn a_heartbeat_chooses_among_the_agents_that_config_allows() {
    let mut home = Home::new();
    let mut by_default = Settings::default();
    let agent_on = |home: &mut Home, by_default: &Settings, config: &str, front: &str| {
        home.config(&format!(r#"{{"path": "@/a", "interval": "1h"{config}}}"#));
        home.write("a/HEARTBEAT.md", format!("---\n{front}\n---\nx"));
        let beat = home.load().heartbeats.remove(0);
        match beat.problem(Some(by_default)) {
            Some(problem) => problem.line().split_once(".md:").unwrap().1.to_owned(),
            None => beat.backend(by_default).to_string(),
        }
    };
    let agent =
        |home: &mut Home, config: &str, front: &str| agent_on(home, &Settings::default(), config, front);
    assert_eq!(agent(&mut home, "", "name: x"), "claude");
    assert_eq!(agent(&mut home, "", "agent: claude"), "claude");
    assert_eq!(
        agent(&mut home, "", "agent: codex"),
        "2:8: agent: codex in HEARTBEAT.md is not allowed by config.json; add \"agent\": \"codex\" to the workspace in config.json"
    );
    assert_eq!(agent(&mut home, r#", "agent": "codex""#, "name: x"), "codex");
    assert_eq!(agent(&mut home, r#", "agent": ["acp:opencode", "codex"]"#, "agent: codex"), "codex");
    assert_eq!(agent(&mut home, r#", "agent": ["acp:opencode", "codex"]"#, "name: x"), "acp:opencode");
    // To name the one that applies anyway changes nothing.
    by_default.agent = Some(Backend::Codex);
    let refused = |asked: &str| {
        format!(
            "2:8: agent: {asked} in HEARTBEAT.md is not allowed by config.json; add \"agent\": \"{asked}\" to the workspace in config.json"
        )
    };
    assert_eq!(agent_on(&mut home, &by_default, "", "agent: codex"), "codex");
    assert_eq!(agent_on(&mut home, &by_default, "", "agent: claude"), "claude");
    assert_eq!(agent_on(&mut home, &by_default, "", "agent: acp:opencode"), refused("acp:opencode"));
    let opencode = r#", "agent": "acp:opencode""#;
    assert_eq!(agent_on(&mut home, &by_default, opencode, "agent: codex"), refused("codex"));
}

#[test]
fn a_heartbeat_that_asks_for_more_than_its_agent_can_do_is_held() {
    let mut home = Home::new();
    let mut line = |config: &str, front: &str| {
        home.config(&format!(r#"{{"path": "@/a", "interval": "1h", "agent": "codex"{config}}}"#));
        home.write("a/HEARTBEAT.md", format!("---\n{front}\n---\nx"));
        home.lines().remove(0)
    };
    let lacks = |place: &str, key: &str, what: &str| {
        format!(
            "@/a every 1h ! @/{place}: {key} needs {what}, which codex doesn't have; remove {key}, or choose another agent"
        )
    };
    let config = |column: u32, key: &str, what: &str| lacks(&format!("config.json:2:{column}"), key, what);
    let front = |column: u32, key: &str, what: &str| lacks(&format!("a/HEARTBEAT.md:2:{column}"), key, what);
    assert_eq!(line(",\n\"maxTurns\": 3", "name: x"), config(13, "maxTurns", "a turn limit"));
    assert_eq!(line(r#", "maxTurns": 3"#, "maxTurns: 2"), front(11, "maxTurns", "a turn limit"));
    assert_eq!(line("", "maxTurns: 3"), front(11, "maxTurns", "a turn limit"));
    assert_eq!(line("", "requires: [mail]"), front(11, "requires", "a choice of MCP servers"));
    assert_eq!(line(",\n\"mcp\": \"none\"", "name: x"), config(8, "mcp", "a choice of MCP servers"));
    assert_eq!(line("", "approval: defer"), front(11, "approval: defer", "deferred calls"));
    assert_eq!(line("", "questions: broker"), front(12, "questions: broker", "user questions"));
    assert_eq!(line("", "name: x"), "@/a every 1h");
}

#[test]
fn frontmatters_approval_settings_are_kept_apart_from_the_users() {
    let mut home = Home::new();
    home.config(r#"{"path": "@/a", "interval": "1h", "permissionsChecker": "manual", "approvalWait": "1m"}"#);
    home.write("a/HEARTBEAT.md", "---\npermissionsChecker: off\nquestions: deny\n---\nx");
    let beat = home.load().heartbeats.remove(0);
    assert_eq!(
        (beat.settings.asking.checker, beat.settings.tighter.checker),
        (Some(Checker::Manual), Some(Checker::Off))
    );
    let both = ResolvedApproval::of(&[(Source::ConfigJson, &beat.settings.asking)], &beat.settings.tighter);
    assert_eq!(both.checker.map(|said| said.value), Some(Checker::Manual));
    assert_eq!(both.questions.map(|said| said.value), Some(Questions::Deny));
    assert_eq!(both.approval_wait.unwrap().value.as_secs(), 60);
}

#[test]
fn a_heartbeat_that_cannot_run_keeps_its_schedule_and_says_why() {
    let mut home = Home::new();
    let names = ["gone", "none", "empty", "bare", "folder", "large", "bytes", "yaml", "file"];
    let entries: Vec<String> =
        names.iter().map(|name| format!(r#"{{"path": "@/{name}", "interval": "1h"}}"#)).collect();
    home.config(&entries.join(","));
    fs::create_dir(home.path("none")).unwrap();
    home.write("empty/HEARTBEAT.md", " \n");
    home.write("bare/HEARTBEAT.md", "---\ninterval: 5m\n---\n\n");
    fs::create_dir_all(home.path("folder/HEARTBEAT.md")).unwrap();
    home.write("large/HEARTBEAT.md", vec![b'x'; 1024 * 1024 + 1]);
    home.write("bytes/HEARTBEAT.md", b"abc\xff");
    home.write("yaml/HEARTBEAT.md", "---\ninterval: soon\n---\nx");
    home.write("file", "x");
    assert_eq!(
        home.lines(),
        [
            "@/gone every 1h ! @/gone: the workspace does not exist; create the folder; if you moved it, change its path in config.json",
            "@/none every 1h ! @/none/HEARTBEAT.md: not found; create it, or run `murmur init` in its folder",
            "@/empty every 1h ! @/empty/HEARTBEAT.md: it is empty; write instructions for the agent",
            "@/bare every 1h ! @/bare/HEARTBEAT.md: it is empty; write instructions for the agent",
            "@/folder every 1h ! @/folder/HEARTBEAT.md: it is a folder; put a text file in its place",
            "@/large every 1h ! @/large/HEARTBEAT.md: it is larger than 1 MiB (1048576 bytes); shorten it, and have it refer to other files",
            "@/bytes every 1h ! @/bytes/HEARTBEAT.md: byte 3 is not UTF-8; save the file as UTF-8",
            "@/yaml every 1h ! @/yaml/HEARTBEAT.md:2:11: \"interval\": \"soon\" is not an interval; write whole numbers with d, h, m or s, largest first, such as \"30m\" or \"1h30m\"",
            "@/file every 1h ! @/file: the workspace is not a folder; fix its path in config.json",
        ]
    );
    for beat in home.load().heartbeats.iter().take(7) {
        assert!(Content::of(&beat.workspace, &beat.file).body().is_err(), "{}", beat.id);
    }
}

#[test]
fn invalid_entries_do_not_stop_others() {
    let mut home = Home::new();
    home.config(r#"{"interval": "1h"}, {"path": "@/a", "interval": "1h", "maxTurns": 0}, {"path": "@/b"}, {"path": "@/c", "interval": "1h"}"#);
    home.write("a/HEARTBEAT.md", "x");
    home.write("b/HEARTBEAT.md", "x");
    home.write("c/HEARTBEAT.md", "x");
    let root = home.folder.path().display().to_string().len();
    let column = 17 + r#"{"interval": "1h"}, {"path": "/a", "interval": "1h", "maxTurns": "#.len() + root;
    assert_eq!(
        home.lines(),
        [
            format!("@/a every 1h ! @/config.json:1:{column}: \"maxTurns\" is 0; write a whole number of at least 1, such as 3"),
            "@/b never ! @/b/HEARTBEAT.md: it has no schedule, so it never runs; write \"interval\", \"cron\" or \"on\" into config.json or its frontmatter".into(),
            "@/c every 1h".into(),
        ]
    );
    assert_eq!(home.load().problems.len(), 1);
}

#[test]
fn two_paths_to_one_folder_are_one_workspace() {
    let mut home = Home::new();
    home.write("a/HEARTBEAT.md", "x");
    symlink(home.path("a"), home.path("b")).unwrap();
    home.config(r#"{"path": "@/a", "interval": "1h"}, {"path": "@/b", "interval": "1h"}"#);
    assert_eq!(home.lines(), ["@/a every 1h"]);
    let problem = home.load().problems[0].line();
    assert!(problem.contains("/b\" is also listed in line 1, it is the same folder as"), "{problem}");
    home.config(
        r#"{"path": "@/a", "interval": "1h"}, {"path": "@/b", "interval": "1h", "permissions": "skip"}"#,
    );
    assert!(
        home.load().heartbeats[0]
            .problem
            .as_ref()
            .unwrap()
            .to_string()
            .contains("disagree on \"permissions\"")
    );
}

#[test]
fn edits_are_seen_and_unchanged_files_are_not_read_again() {
    let mut home = Home::new();
    home.write("a/HEARTBEAT.md", "---\ninterval: 1h\n---\nx");
    home.config(r#"{"path": "@/a"}"#);
    assert_eq!(home.lines(), ["@/a every 1h"]);
    assert_eq!(home.lines(), ["@/a every 1h"]);
    home.write("a/HEARTBEAT.md", "---\ninterval: 2h\n---\nx");
    assert_eq!(home.lines(), ["@/a every 2h"]);
    home.write("a/heartbeats/n/HEARTBEAT.md", "---\ninterval: 3h\n---\nx");
    assert_eq!(home.lines(), ["@/a every 2h", "@/a::heartbeats/n/HEARTBEAT.md every 3h"]);
    home.write("a/heartbeats/n/HEARTBEAT.md", "---\ninterval: 4h\n---\nx");
    home.write("a/heartbeats/m/HEARTBEAT.md", "---\ninterval: 5h\n---\nx");
    fs::remove_file(home.path("a/HEARTBEAT.md")).unwrap();
    assert_eq!(
        home.lines(),
        ["@/a::heartbeats/m/HEARTBEAT.md every 5h", "@/a::heartbeats/n/HEARTBEAT.md every 4h"]
    );
    fs::remove_dir_all(home.path("a")).unwrap();
    assert!(home.lines()[0].contains("does not exist"));
    home.write("a/HEARTBEAT.md", "---\ninterval: 6h\n---\nx");
    assert_eq!(home.lines(), ["@/a every 6h"]);
    home.config("");
    assert!(home.lines().is_empty());
}

#[test]
fn a_file_that_changed_just_now_is_read_again_even_if_it_looks_the_same() {
    let mut home = Home::new();
    home.write("a/HEARTBEAT.md", "---\ninterval: 1h\n---\nx");
    home.config(r#"{"path": "@/a"}"#);
    let changed = fs::metadata(home.path("config.json")).unwrap();
    let now = Timestamp::try_from(changed.modified().unwrap()).unwrap();
    let config = home.path("config.json");
    home.cache.load(&config, now).unwrap();
    home.write("a/HEARTBEAT.md", "---\ninterval: 2h\n---\nx");
    let beats = home.cache.load(&config, now).unwrap().heartbeats;
    assert_eq!(beats[0].schedule.as_ref().unwrap().to_string(), "every 2h");
}

#[test]
fn a_config_that_breaks_leaves_the_cache_as_it_was() {
    let mut home = Home::new();
    home.write("a/HEARTBEAT.md", "x");
    home.config(r#"{"path": "@/a", "interval": "1h"}"#);
    let before = home.load();
    home.write("config.json", "{");
    let path = home.path("config.json");
    assert!(home.cache.load(&path, Timestamp::MAX).is_err());
    home.config(r#"{"path": "@/a", "interval": "1h"}"#);
    assert_eq!(home.load(), before);
}

#[test]
fn a_folder_that_is_not_registered_resolves_without_a_schedule() {
    let home = Home::new();
    home.write("a/HEARTBEAT.md", "---\nmaxTurns: 7\n---\nhello\n");
    home.write("a/heartbeats/n/HEARTBEAT.md", "x");
    let beats = resolve_folder(&home.path("a"), &Crons::new(TimeZone::UTC));
    assert_eq!(beats.iter().map(|beat| beat.name.as_deref()).collect::<Vec<_>>(), [None, Some("n")]);
    assert!(beats.iter().all(|beat| beat.problem.is_none() && beat.schedule.is_none()));
    assert_eq!(
        (
            beats[0].settings.max_turns.unwrap().value.get(),
            Content::of(&beats[0].workspace, &beats[0].file).body().unwrap()
        ),
        (7, "hello\n")
    );
    fs::create_dir_all(home.path("a/heartbeats/b\u{7}d")).unwrap();
    let beats = resolve_folder(&home.path("a"), &Crons::new(TimeZone::UTC));
    assert!(beats[0].problem.as_ref().unwrap().to_string().contains("control characters"));
}

#[test]
fn single_workspaces_are_read_again_unless_there_is_something_to_report() {
    let mut home = Home::new();
    home.write("a/HEARTBEAT.md", "---\ninterval: 1h\n---\nx");
    home.write("b/HEARTBEAT.md", "x");
    home.config(r#"{"path": "@/a"}, {"path": "@/b", "interval": "1h"}"#);
    let (folder, unknown) = (home.path("a"), home.path("c"));
    let now = "2100-01-01T00:00:00Z".parse().unwrap();
    let again = |home: &mut Home, folder: &Path| home.cache.load_again([folder].into_iter(), now);
    assert_eq!(again(&mut home, &folder), None, "nothing was read yet");
    let before = home.load().heartbeats;
    assert_eq!(again(&mut home, &folder).unwrap(), before[..1]);
    assert_eq!(again(&mut home, &unknown), None);
    home.write("a/HEARTBEAT.md", "---\ninterval: 2h\n---\nlonger");
    let edited = again(&mut home, &folder).unwrap();
    assert_eq!(edited[0].schedule.as_ref().unwrap().to_string(), "every 2h");
    assert_eq!(home.load().heartbeats[0], edited[0]);
    home.write("a/HEARTBEAT.md", "---\ninterval: never\n---\nx");
    assert_eq!(again(&mut home, &folder), None);
    home.write("a/HEARTBEAT.md", "without a schedule");
    assert_eq!(again(&mut home, &folder), None);
}

#[test]
fn last_runs_that_murmur_wrote_need_not_be_read() {
    let mut home = Home::new();
    home.write("a/HEARTBEAT.md", "x");
    home.write("a/heartbeats/n/HEARTBEAT.md", "x");
    let entry = |at: &str| format!(r#"{{"path": "@/a", "interval": "1h", "lastRun": "{at}"}}"#);
    home.config(&entry("2026-01-01T10:00:00Z"));
    home.load();
    let path = home.path("config.json");
    let before = fs::read(&path).unwrap();
    let at: Timestamp = "2026-01-01T11:00:00Z".parse().unwrap();
    home.config(&entry("2026-01-01T11:00:00Z"));
    assert!(!home.cache.is_current(&path));
    let after = fs::read(&path).unwrap();
    let folder = home.path("a");
    let written = |home: &mut Home, before: &[u8]| {
        home.cache.runs_written((before, &after), [(&*folder, None, at)].into_iter(), at);
    };
    written(&mut home, b"what another program wrote");
    assert!(!home.cache.is_current(&path));
    written(&mut home, &before);
    assert!(home.cache.is_current(&path));
    let again = home.cache.load_again([&*folder].into_iter(), at).unwrap();
    assert_eq!(again[0].last_run, Some(at));
    home.config(&entry("2026-01-01T12:00:00Z"));
    assert!(!home.cache.is_current(&path));
}
