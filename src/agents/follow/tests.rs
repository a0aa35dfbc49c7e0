//! What is checked again, and when.

use super::*;
use jiff::SignedDuration;
use murmur_core::config::quiet::Quiet;
use serde_json::json;
use std::path::Path;
use sys::clock;
use sys::paths::DataDir;
use tokio::time::timeout;

fn sources(folder: &Path) -> Sources {
    let dir = DataDir::find(Some(&folder.join("data")), None, None).unwrap();
    Sources { dir, claude: Some(folder.join("claude")), quiet: Quiet::default() }
}

#[tokio::test(flavor = "current_thread")]
async fn what_cannot_be_watched_is_checked_within_a_minute() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(folder.path());
    let follower = Follower::new(sources.clone()).await.unwrap();
    assert_eq!(follower.recheck_in(), None);
    let sessions = session::folder(sources.claude.as_deref().unwrap());
    std::fs::create_dir_all(&sessions).unwrap();
    let (pid, began) = (std::process::id(), clock::now().as_millisecond());
    let session = json!({ "pid": pid, "sessionId": "s", "startedAt": began });
    std::fs::write(sessions.join("1.json"), session.to_string()).unwrap();
    let mut follower = Follower::new(sources).await.unwrap();
    assert!(follower.recheck_in().unwrap() <= MINUTE);
    follower.checked_at = Instant::now().checked_sub(MINUTE).unwrap();
    assert_eq!(follower.recheck_in(), Some(Duration::ZERO));
    follower.recheck();
    assert_ne!(follower.recheck_in(), Some(Duration::ZERO));
}

#[tokio::test(flavor = "current_thread")]
async fn without_a_watch_everything_is_read_even_if_other_events_keep_coming() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(folder.path());
    let mut follower = Follower::new(sources.clone()).await.unwrap();
    follower.watch = None;
    std::fs::create_dir_all(sources.dir.pulses()).unwrap();
    let pulse = json!({ "timestamp": clock::now().to_string(), "agent_id": "a" });
    std::fs::write(sources.dir.pulse("a"), pulse.to_string()).unwrap();
    let read = async {
        while follower.agents(clock::now()).is_empty() {
            // Another event wakes the waiting task.
            let _woken = timeout(TICK / 50, follower.changed()).await;
        }
    };
    timeout(Duration::from_secs(30), read).await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn a_later_pulse_is_news_of_its_agent_alone_unless_its_state_or_health_changes() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(folder.path());
    let pulses = sources.dir.pulses();
    std::fs::create_dir_all(&pulses).unwrap();
    let write = |id: &str, ago: i64, state: &str, tool: &str| {
        let at = (clock::now() - SignedDuration::from_secs(ago)).to_string();
        let pulse =
            json!({ "timestamp": at, "agent_id": id, "session_id": id, "state": state, "tool_name": tool });
        let new = folder.path().join("new");
        std::fs::write(&new, pulse.to_string()).unwrap();
        std::fs::rename(new, sources.dir.pulse(id)).unwrap();
    };
    for id in ["a", "b", "c"] {
        write(id, 1_200, "running", "Read");
    }
    write("b", 60, "running", "Read");
    let mut follower = Follower::new(sources.clone()).await.unwrap();
    // The hosts are looked for in the background; there are none.
    while !matches!(follower.hosts.next_change().await, HostChange::All { .. }) {}
    let news = |follower: &mut Follower| {
        let (word, agents) = match follower.news(clock::now()) {
            News::All(agents) => ("all", agents),
            News::Some(agents) => ("some", agents),
        };
        let mut agents: Vec<String> =
            agents.iter().map(|agent| format!("{} {}", agent.agent_id, agent.tool_name)).collect();
        agents.sort();
        format!("{word}: {}", agents.join(", "))
    };
    assert_eq!(news(&mut follower), "all: a Read, b Read, c Read");
    assert_eq!(news(&mut follower), "some: ");
    let changes = [
        ("b", 30, "running", "Edit", "some: b Edit"),
        ("b", 0, "idle", "Edit", "all: a Read, b Edit, c Read"),
        ("b", 0, "idle", "Bash", "some: b Bash"),
        // It was quiet for long.
        ("a", 0, "running", "Read", "all: a Read, b Bash, c Read"),
        ("d", 0, "running", "Grep", "all: a Read, b Bash, c Read, d Grep"),
    ];
    for (id, ago, state, tool, expected) in changes {
        follower.rest();
        write(id, ago, state, tool);
        follower.changed().await.unwrap();
        assert_eq!(news(&mut follower), expected);
    }
    follower.renew();
    assert_eq!(news(&mut follower), "all: a Read, b Bash, c Read, d Grep");
}
