use super::fixture::{at, beat, heartbeat};
use super::*;
use jiff::tz::TimeZone;
use murmur_core::config::cron::Crons;
use murmur_core::config::timing::Schedule;

fn state(max_concurrent: u32, heartbeats: Vec<Heartbeat>, now: &str) -> Heartbeats {
    let mut state = Heartbeats::default();
    state.load(heartbeats, NonZeroU32::new(max_concurrent).unwrap(), at(now));
    state
}

/// What starts at `now`, by workspace and name, which are also the beat ids.
fn starts(state: &mut Heartbeats, now: &str) -> Vec<String> {
    let mut count = 0;
    let started = state.start_due(at(now), true, usize::MAX, || {
        count += 1;
        BeatId::new(format!("{now}#{count}"))
    });
    let named = |start: &Start| match &start.heartbeat.name {
        Some(name) => format!("{}::{name}", start.running.workspace.display()),
        None => start.running.workspace.display().to_string(),
    };
    started.iter().map(named).collect()
}

#[test]
fn a_heartbeat_that_never_ran_is_due_and_then_waits_its_interval() {
    let mut state = state(4, vec![heartbeat("/a", None, 30, None)], "10:00:00");
    assert_eq!(starts(&mut state, "10:00:00"), ["/a"]);
    state.ended(&beat("10:00:00#1"), Timestamp::UNIX_EPOCH);
    assert_eq!(state.wake_at(), Some(at("10:30:00")));
    assert!(starts(&mut state, "10:29:59").is_empty());
    assert_eq!(starts(&mut state, "10:30:00"), ["/a"]);
}

#[test]
fn missed_times_are_one_run() {
    let mut state = state(4, vec![heartbeat("/a", None, 30, Some("01:00:00"))], "10:00:00");
    assert_eq!(starts(&mut state, "10:00:00"), ["/a"]);
    state.ended(&beat("10:00:00#1"), Timestamp::UNIX_EPOCH);
    assert!(starts(&mut state, "10:00:01").is_empty());
}

#[test]
fn one_workspace_has_one_beat_at_a_time_and_what_is_due_waits_without_queueing() {
    let own = heartbeat("/a", None, 30, None);
    let nightly = heartbeat("/a", Some("nightly"), 30, None);
    let mut state = state(4, vec![own, nightly], "10:00:00");
    assert_eq!(starts(&mut state, "10:00:00"), ["/a"]);
    assert_eq!(state.wake_at(), None, "nothing can start before the beat ends");
    assert!(starts(&mut state, "11:10:00").is_empty());
    state.ended(&beat("10:00:00#1"), Timestamp::UNIX_EPOCH);
    assert_eq!(starts(&mut state, "11:10:01"), ["/a::nightly"]);
    state.ended(&beat("11:10:01#1"), Timestamp::UNIX_EPOCH);
    assert_eq!(starts(&mut state, "11:10:02"), ["/a"]);
    state.ended(&beat("11:10:02#1"), Timestamp::UNIX_EPOCH);
    assert!(starts(&mut state, "11:10:03").is_empty());
}

#[test]
fn the_limit_holds_and_the_longest_due_goes_first() {
    let times = [("/a", "09:20:00"), ("/b", "09:00:00"), ("/c", "09:10:00")];
    let heartbeats = times.map(|(path, last)| heartbeat(path, None, 30, Some(last)));
    let mut state = state(2, heartbeats.to_vec(), "10:00:00");
    assert_eq!(starts(&mut state, "10:00:00"), ["/b", "/c"]);
    assert!(starts(&mut state, "10:00:01").is_empty());
    assert_eq!(state.wake_at(), None);
    state.ended(&beat("10:00:00#1"), Timestamp::UNIX_EPOCH);
    assert_eq!(starts(&mut state, "10:00:02"), ["/a"]);
}

#[test]
fn a_beat_of_another_process_holds_its_workspace_and_counts() {
    let mut state =
        state(2, vec![heartbeat("/a", None, 30, None), heartbeat("/b", None, 30, None)], "10:00:00");
    let other = Running {
        beat: beat("by hand"),
        workspace: "/a".into(),
        name: None,
        since: at("09:59:00"),
        ours: false,
        resumes: None,
    };
    state.record_run(Path::new("/a"), None, other.since, at("10:00:00"));
    state.set_others(vec![other], Timestamp::UNIX_EPOCH);
    assert_eq!(starts(&mut state, "10:00:00"), ["/b"]);
    state.set_others(Vec::new(), Timestamp::UNIX_EPOCH);
    assert_eq!(state.running().len(), 1, "ours is not forgotten with the others");
    assert!(starts(&mut state, "10:00:01").is_empty());
    assert_eq!(starts(&mut state, "10:29:00"), ["/a"]);
}

#[test]
fn a_workspace_found_busy_is_due_again_after_a_pause() {
    let mut state = state(2, vec![heartbeat("/a", None, 30, Some("09:00:00"))], "10:00:00");
    assert_eq!(starts(&mut state, "10:00:00"), ["/a"]);
    assert!(state.found_busy(&beat("10:00:00#1"), Some(at("09:00:00")), at("10:00:00")).is_some());
    assert_eq!(state.entries()[0].last_run, Some(at("09:00:00")));
    assert!(starts(&mut state, "10:00:00").is_empty());
    assert_eq!(state.wake_at(), Some(at("10:00:01")));
    assert_eq!(starts(&mut state, "10:00:01"), ["/a"]);
}

#[test]
fn an_edited_schedule_applies_and_known_runs_stay() {
    let mut state = state(2, vec![heartbeat("/a", None, 30, None)], "10:00:00");
    assert_eq!(starts(&mut state, "10:00:00"), ["/a"]);
    state.ended(&beat("10:00:00#1"), Timestamp::UNIX_EPOCH);
    // The last run is not in config.json yet.
    state.load(vec![heartbeat("/a", None, 10, None)], NonZeroU32::MIN, at("10:05:00"));
    assert!(starts(&mut state, "10:05:00").is_empty());
    assert_eq!(state.wake_at(), Some(at("10:10:00")));
}

#[test]
fn our_own_write_of_a_last_run_is_not_an_edit() {
    let mut state = state(2, vec![heartbeat("/a", None, 30, None)], "10:00:00");
    assert_eq!(starts(&mut state, "10:00:00"), ["/a"]);
    state.ended(&beat("10:00:00#1"), Timestamp::UNIX_EPOCH);
    state.set_written(Path::new("/a"), None, at("10:00:00"));
    assert_eq!(starts(&mut state, "10:30:00"), ["/a"]);
    state.ended(&beat("10:30:00#1"), Timestamp::UNIX_EPOCH);
    // The file still has the previous run.
    state.load(vec![heartbeat("/a", None, 30, Some("10:00:00"))], NonZeroU32::MIN, at("10:31:00"));
    assert!(starts(&mut state, "10:31:00").is_empty());
}

/// Loads `/a` and its heartbeat `n` with this last run; returns the known run and the corrections.
fn reloaded(
    state: &mut Heartbeats,
    last_run: Option<&str>,
    now: &str,
) -> (Option<Timestamp>, Vec<Timestamp>) {
    let heartbeats = [None, Some("n")].map(|name| heartbeat("/a", name, 30, last_run));
    let corrections = state.load(heartbeats.to_vec(), NonZeroU32::MIN, at(now));
    let [own, named] = state.entries() else { panic!("two heartbeats") };
    assert_eq!(own.last_run, named.last_run);
    assert!(corrections.is_empty() || corrections.len() == 2);
    (own.last_run, corrections.iter().take(1).map(|correction| correction.at).collect())
}

#[test]
fn a_last_run_in_the_file_only_moves_forward() {
    let mut state = Heartbeats::default();
    let mut reload = |last_run, now| reloaded(&mut state, last_run, now);
    assert_eq!(reload(Some("09:50:00"), "10:00:00"), (Some(at("09:50:00")), vec![]));
    for older in [None, Some("09:40:00"), Some("01:00:00")] {
        assert_eq!(reload(older, "10:00:00"), (Some(at("09:50:00")), vec![at("09:50:00")]));
    }
    assert_eq!(reload(Some("09:50:00"), "10:00:00"), (Some(at("09:50:00")), vec![]));
    // It was run manually.
    assert_eq!(reload(Some("09:55:00"), "10:00:00"), (Some(at("09:55:00")), vec![]));
    // A stale copy without the workspace, then one with it.
    state.load(Vec::new(), NonZeroU32::MIN, at("10:00:00"));
    assert_eq!(reloaded(&mut state, None, "10:00:01"), (Some(at("09:55:00")), vec![at("09:55:00")]));
    assert!(starts(&mut state, "10:00:01").is_empty());
    assert_eq!(starts(&mut state, "10:25:00").len(), 1);
}

#[test]
fn a_last_run_in_the_future_counts_as_now_once() {
    let mut state = Heartbeats::default();
    let mut reload = |last_run, now| reloaded(&mut state, last_run, now);
    assert_eq!(reload(Some("20:00:00"), "10:00:00"), (Some(at("10:00:00")), vec![at("10:00:00")]));
    // Not corrected yet.
    assert_eq!(reload(Some("20:00:00"), "10:10:00"), (Some(at("10:00:00")), vec![]));
    assert_eq!(starts(&mut state, "10:30:00").len(), 1);
}

#[test]
fn saved_runs_count_for_present_and_returning_heartbeats() {
    let mut state = state(2, vec![heartbeat("/a", None, 30, Some("09:00:00"))], "10:00:00");
    let id = |path: &str| HeartbeatId::new(Path::new(path), None);
    state.merge_last_runs([(id("/a"), at("09:50:00")), (id("/b"), at("09:55:00"))].into(), at("10:00:00"));
    state.merge_last_runs([(id("/a"), at("09:40:00")), (id("/b"), at("09:45:00"))].into(), at("10:00:00"));
    assert_eq!(state.unwritten()[0].at, at("09:50:00"));
    assert_eq!(state.retired()[&id("/b")], at("09:55:00"));
    let both = ["/a", "/b"].map(|path| heartbeat(path, None, 30, None));
    state.load(both.to_vec(), NonZeroU32::MIN, at("10:01:00"));
    assert!(starts(&mut state, "10:01:00").is_empty() && state.retired().is_empty());
    assert_eq!(starts(&mut state, "10:20:00"), ["/a"]);
}

#[test]
fn a_clock_set_back_neither_fires_twice_nor_starves() {
    let mut state = state(2, vec![heartbeat("/a", None, 30, None)], "10:00:00");
    assert_eq!(starts(&mut state, "10:00:00"), ["/a"]);
    state.ended(&beat("10:00:00#1"), Timestamp::UNIX_EPOCH);
    state.clock_set(at("08:00:00"));
    assert!(starts(&mut state, "08:00:00").is_empty());
    assert_eq!(state.wake_at(), Some(at("08:30:00")));
    // A reload does not delay it further.
    state.load(vec![heartbeat("/a", None, 30, None)], NonZeroU32::MIN, at("08:20:00"));
    assert_eq!(starts(&mut state, "08:30:00"), ["/a"]);
}

#[test]
fn a_missed_cron_time_runs_once() {
    let crons = Crons::new(TimeZone::UTC);
    let schedule = Schedule::Cron(crons.get("0 * * * *", None).unwrap());
    let hourly = Heartbeat { schedule: Some(schedule), ..heartbeat("/a", None, 1, Some("06:30:00")) };
    let mut state = state(2, vec![hourly], "10:15:00");
    assert_eq!(starts(&mut state, "10:15:00"), ["/a"]);
    state.ended(&beat("10:15:00#1"), Timestamp::UNIX_EPOCH);
    assert_eq!(state.wake_at(), Some(at("11:00:00")));
}

#[test]
fn without_a_schedule_nothing_starts_and_a_stopping_daemon_starts_nothing() {
    let never = Heartbeat { schedule: None, ..heartbeat("/a", None, 1, None) };
    let mut state = state(2, vec![never, heartbeat("/b", None, 1, None)], "10:00:00");
    state.stop();
    assert!(starts(&mut state, "10:00:00").is_empty());
    assert_eq!(state.wake_at(), None);
}

#[test]
fn ten_thousand_due_at_once_are_decided_quickly_enough_to_test() {
    let heartbeats = (0..10_000).map(|n| heartbeat(&format!("/{n}"), None, 30, None)).collect();
    let mut state = state(4, heartbeats, "10:00:00");
    for round in 0..20 {
        let started = state.start_due(at("10:00:00"), true, usize::MAX, || BeatId::new(round.to_string()));
        assert_eq!(state.running().len(), 4);
        assert_eq!(started.len(), 4);
        state.ended(&BeatId::new(round.to_string()), Timestamp::UNIX_EPOCH);
    }
}

#[test]
fn as_many_running_as_heartbeats_are_decided_quickly_enough_to_test() {
    const COUNT: u32 = 3000;
    let heartbeats =
        (0..COUNT).map(|n| heartbeat(&format!("/a/folder/of/many/{n}"), None, 30, None)).collect();
    let mut state = state(COUNT, heartbeats, "10:00:00");
    let mut count = 0;
    let mut id = || {
        count += 1;
        BeatId::new(count.to_string())
    };
    while !state.start_due(at("10:00:00"), true, 1, &mut id).is_empty() {
        let _next = state.wake_at();
    }
    assert_eq!(state.running().len(), COUNT as usize);
    for number in 1..=COUNT {
        state.ended(&beat(&number.to_string()), Timestamp::UNIX_EPOCH);
        assert!(state.start_due(at("10:00:00"), true, 1, || beat("")).is_empty());
        let _next = state.wake_at();
    }
    assert!(state.running().is_empty());
}

#[test]
fn no_more_beats_start_at_once_than_asked_for() {
    let heartbeats = (0..5).map(|n| heartbeat(&format!("/{n}"), None, 30, None)).collect();
    let mut state = state(8, heartbeats, "10:00:00");
    let mut count = 0;
    let mut start = |state: &mut Heartbeats| {
        let mut id = || {
            count += 1;
            BeatId::new(count.to_string())
        };
        state.start_due(at("10:00:00"), true, 2, &mut id).len()
    };
    assert_eq!([start(&mut state), start(&mut state)], [2, 2]);
    assert_eq!(state.wake_at(), Some(Timestamp::UNIX_EPOCH), "there is one more to start at once");
    assert_eq!([start(&mut state), start(&mut state)], [1, 0]);
}
