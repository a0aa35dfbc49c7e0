//! The monitor with real folders.

use super::*;

fn stuck_monitor(folder: &std::path::Path) -> StuckMonitor {
    let dir = DataDir::find(Some(folder), None, None).unwrap();
    StuckMonitor::new(MonitorPaths {
        settings: dir.root().join("config/config.toml"),
        dir,
        claude: None,
        captures: None,
    })
}

#[tokio::test(flavor = "current_thread")]
async fn without_agents_the_next_scan_is_when_one_could_be_stuck() {
    let folder = tempfile::tempdir().unwrap();
    let mut stuck_monitor = stuck_monitor(folder.path());
    let begun = clock::now();
    assert!(stuck_monitor.wake_at().unwrap() <= begun);
    stuck_monitor.scan_if_due(begun);
    assert_eq!(stuck_monitor.wake_at(), None);
    let scan = stuck_monitor.next_event().await;
    let findings = stuck_monitor.handle(scan, clock::now());
    assert!(findings.lines.is_empty() && findings.problems.is_empty(), "{findings:?}");
    let next = stuck_monitor.wake_at().unwrap().duration_since(begun);
    assert!(next >= SignedDuration::from_mins(30), "{next}");
    stuck_monitor.scan_if_due(clock::now());
    assert!(stuck_monitor.scanning.is_none());
}

#[tokio::test(flavor = "current_thread")]
async fn a_changed_clock_starts_a_scan_and_another_after_a_running_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut stuck_monitor = stuck_monitor(folder.path());
    stuck_monitor.clock_set(clock::now());
    stuck_monitor.clock_set(clock::now());
    let scan = stuck_monitor.next_event().await;
    stuck_monitor.handle(scan, clock::now());
    assert!(stuck_monitor.scanning.is_some());
    let scan = stuck_monitor.next_event().await;
    stuck_monitor.handle(scan, clock::now());
    assert!(stuck_monitor.scanning.is_none());
}

#[tokio::test(flavor = "current_thread")]
async fn a_problem_is_reported_once_and_the_defaults_apply() {
    let folder = tempfile::tempdir().unwrap();
    let mut stuck_monitor = stuck_monitor(folder.path());
    std::fs::create_dir(folder.path().join("config")).unwrap();
    std::fs::write(folder.path().join("config/config.toml"), "[quiet]\nstuck = \"soon\"\n").unwrap();
    let mut said = Vec::new();
    for _ in 0..3 {
        stuck_monitor.clock_set(clock::now());
        let scan = stuck_monitor.next_event().await;
        said.push(stuck_monitor.handle(scan, clock::now()).problems.len());
        assert!(stuck_monitor.scan_at.duration_since(clock::now()) > SignedDuration::from_mins(29));
    }
    assert_eq!(said, [1, 0, 0]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_new_pulse_that_is_already_old_is_a_reason_to_scan() {
    let folder = tempfile::tempdir().unwrap();
    let mut stuck_monitor = stuck_monitor(folder.path());
    stuck_monitor.scan_if_due(clock::now());
    let scan = stuck_monitor.next_event().await;
    stuck_monitor.handle(scan, clock::now());
    let now = clock::now();
    let dir = stuck_monitor.paths.dir.clone();
    let pulse = |name: &str, at: Timestamp| {
        let text = format!(r#"{{"timestamp":"{at}","agent_id":"{name}"}}"#);
        atomic::write(&dir.pulse(name), text.as_bytes()).unwrap();
    };
    pulse("new", now);
    pulse("old", now - SignedDuration::from_mins(29));
    while stuck_monitor.scan_at > now + SignedDuration::from_mins(2) {
        let event = stuck_monitor.next_event().await;
        stuck_monitor.handle(event, now);
    }
    assert_eq!(stuck_monitor.scan_at, now + SignedDuration::from_mins(1));
}

#[tokio::test(flavor = "current_thread")]
async fn a_failed_scan_is_retried_later_and_not_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut stuck_monitor = stuck_monitor(folder.path());
    let now = clock::now();
    stuck_monitor.scan(now);
    stuck_monitor.handle(Event::Scanned(None), now);
    assert_eq!(stuck_monitor.wake_at(), Some(now + RETRY));
}
