//! What is checked again, and when.

use super::*;
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
