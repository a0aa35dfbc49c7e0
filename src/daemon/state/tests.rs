use super::*;
use crate::daemon::client::Beats;
use crate::daemon::heartbeats::fixture::{at, beat, heartbeat};
use crate::daemon::launch::BeatReport;
use murmur_store::journal::unfinished::Survey;
use std::num::NonZeroU32;
use std::path::PathBuf;
use sys::error::Failure;

/// A state with the heartbeats of these workspaces, which never ran. The ids of beats are the times at which they
/// start.
fn state(workspaces: &[&str]) -> State {
    let mut state = State::new(|now| BeatId::new(now.strftime("%H:%M:%S").to_string()));
    let heartbeats = workspaces.iter().map(|path| heartbeat(path, None, 30, None)).collect();
    let configuration = Configuration {
        heartbeats,
        max_concurrent: NonZeroU32::new(4).unwrap(),
        accounts: Default::default(),
        over_budget: Default::default(),
    };
    state.on(Event::Loaded(configuration), at("10:00:00"));
    state
}

/// The same, running, with an empty journal.
fn running(workspaces: &[&str]) -> State {
    let mut state = state(workspaces);
    state.on(Event::PathFound, at("10:00:00"));
    read(&mut state);
    state
}

fn read(state: &mut State) -> Vec<String> {
    on(state, Event::JournalRead { lines: Vec::new(), more: false })
}

/// The effects of `event`, by name, with the beat or the time limit in them.
fn on(state: &mut State, event: Event) -> Vec<String> {
    state.on(event, at("10:00:00")).iter().map(name).collect()
}

fn name(effect: &Effect) -> String {
    match effect {
        Effect::Announce(start) => format!("Announce {}", start.running.beat),
        Effect::Answer(beat, result) => match result {
            Ok(()) => format!("Answer {beat}"),
            Err(failure) => format!("Answer {beat}: {failure}"),
        },
        Effect::Spawn(beat) => format!("Spawn {beat}"),
        Effect::Withdraw(beat) => format!("Withdraw {beat}"),
        Effect::Release(beat) => format!("Release {beat}"),
        Effect::Then(event) => format!("Then {}", variant(event)),
        other => variant(other),
    }
}

/// The name of an enum's variant.
fn variant(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    text[..end].to_owned()
}

fn request(id: &str, workspace: &str) -> StartRequest {
    StartRequest { id: beat(id), workspace: workspace.into(), real: None, name: None }
}

fn request_now(state: &mut State, id: &str, workspace: &str) -> Vec<String> {
    on(state, Event::Decide { request: request(id, workspace), is_last: false })
}

fn announced(id: &str, recorded: Recorded) -> Event {
    Event::Announced { beat: beat(id), recorded }
}

fn exited(id: &str, report: Result<BeatReport, Failure>) -> Event {
    Event::Exited { beat: beat(id), report }
}

fn concluded(id: &str, report: Result<BeatReport, Failure>) -> Event {
    Event::Concluded { beat: beat(id), report }
}

/// Starts the beat of one workspace, until its process runs.
fn start(state: &mut State) {
    assert_eq!(on(state, Event::Idle), ["RememberRun", "Announce 10:00:00"]);
    assert_eq!(on(state, announced("10:00:00", Recorded::Yes)), ["Spawn 10:00:00"]);
    assert!(on(state, Event::Spawned(beat("10:00:00"))).is_empty());
}

#[test]
fn nothing_starts_before_the_path_is_known_and_the_journal_is_caught_up() {
    let mut state = state(&["/a"]);
    assert!(on(&mut state, Event::Idle).is_empty());
    assert!(on(&mut state, Event::Requested(request("r", "/a"))).is_empty(), "it waits");
    let effects = on(&mut state, Event::PathFound);
    let order = ["RepairJournal", "ReadFailures", "ReadSavedRuns", "Then Requested"];
    let places = order.map(|wanted| effects.iter().position(|effect| effect == wanted).expect(wanted));
    assert!(places.is_sorted(), "{effects:?}");
    assert!(state.has_unread(), "the end of a resumed beat may be unread");
    let saved = Event::SavedRuns { runs: [].into(), as_of: None };
    assert_eq!(on(&mut state, saved), ["WithdrawOrphans", "Survey", "ReadMissedRuns"]);
    assert!(on(&mut state, Event::PathFound).is_empty(), "only once");
}

#[test]
fn a_beat_has_its_record_before_its_process() {
    let mut state = running(&["/a"]);
    start(&mut state);
    assert!(on(&mut state, Event::Idle).is_empty());
    assert_eq!(
        on(&mut state, exited("10:00:00", Ok(BeatReport::Journaled))),
        ["ReadLimits", "ReadFailures", "ReadBudgets", "ReadJournal", "Then Concluded"]
    );
    assert!(state.is_ours(&beat("10:00:00")), "its line is read while it is ours");
    assert_eq!(on(&mut state, concluded("10:00:00", Ok(BeatReport::Journaled))), ["Release 10:00:00"]);
    assert!(!state.is_ours(&beat("10:00:00")));
}

#[test]
fn without_room_for_its_line_a_beat_does_not_start_and_is_due_again() {
    let mut state = running(&["/a"]);
    on(&mut state, Event::Idle);
    let no_room = Recorded::NoRoom(Failure::new("full"));
    assert_eq!(on(&mut state, announced("10:00:00", no_room)), ["ForgetRun", "Release 10:00:00"]);
    assert!(on(&mut state, Event::Idle).is_empty(), "not at once");
    assert_eq!(state.wake_at(), Some(at("10:00:10")));
}

#[test]
fn a_beat_without_a_process_has_an_error_line() {
    let mut state = running(&["/a"]);
    on(&mut state, Event::Idle);
    on(&mut state, announced("10:00:00", Recorded::No));
    let failed = Event::NotSpawned { beat: beat("10:00:00"), error: Failure::new("no memory") };
    assert_eq!(on(&mut state, failed), ["Withdraw 10:00:00", "KeepFailure", "Release 10:00:00"]);
    assert!(state.heartbeats().running().is_empty());
}

#[test]
fn each_report_keeps_the_line() {
    let failure = || Failure::new("killed");
    let unsaved = BeatReport::Unsaved { line: "{}".to_owned() };
    let cases: [(Result<BeatReport, Failure>, &[&str]); 5] = [
        (Ok(BeatReport::Journaled), &[]),
        (Ok(BeatReport::Waiting), &["RecoverLines"]),
        (Ok(unsaved), &["Withdraw 10:00:00", "KeepLine"]),
        (Err(failure()), &["Withdraw 10:00:00", "RecoverOrFail"]),
        (Ok(BeatReport::Busy), &["Withdraw 10:00:00", "ForgetRun", "Survey"]),
    ];
    for (report, expected) in cases {
        let mut state = running(&["/a"]);
        start(&mut state);
        let mut effects = on(&mut state, concluded("10:00:00", report.clone()));
        assert_eq!(effects.pop().as_deref(), Some("Release 10:00:00"));
        assert_eq!(effects, expected, "{report:?}");
        assert!(state.heartbeats().running().is_empty());
    }
}

#[test]
fn a_requested_beat_is_answered_once_it_has_a_process_or_will_not_have_one() {
    let mut state = running(&["/a", "/b", "/c"]);
    assert_eq!(
        on(&mut state, Event::Requested(request("r", "/a"))),
        ["Survey", "ReadJournal", "Then Decide"]
    );
    assert_eq!(request_now(&mut state, "r", "/a"), ["RememberRun", "Announce r"]);
    assert_eq!(on(&mut state, announced("r", Recorded::Yes)), ["Spawn r"]);
    assert_eq!(on(&mut state, Event::Spawned(beat("r"))), ["Answer r"]);

    request_now(&mut state, "s", "/b");
    let full = announced("s", Recorded::NoRoom(Failure::new("full")));
    assert_eq!(on(&mut state, full), ["ForgetRun", "Answer s: full", "Release s"]);

    request_now(&mut state, "t", "/c");
    on(&mut state, announced("t", Recorded::Yes));
    let failed = Event::NotSpawned { beat: beat("t"), error: Failure::new("no memory") };
    assert_eq!(on(&mut state, failed), ["Withdraw t", "KeepFailure", "Answer t: no memory", "Release t"]);
}

#[test]
fn a_refused_request_looks_again_once() {
    let mut state = running(&["/a"]);
    assert_eq!(request_now(&mut state, "r", "/new"), ["Reload", "Then Decide"]);
    let last = Event::Decide { request: request("r", "/new"), is_last: true };
    assert_eq!(on(&mut state, last), ["Answer r: /new is not registered"]);

    start(&mut state);
    assert_eq!(request_now(&mut state, "s", "/a"), ["FindWritten", "Then Decide"]);
    on(&mut state, Event::Written(vec![beat("10:00:00")]));
    let last = Event::Decide { request: request("s", "/a"), is_last: true };
    assert_eq!(
        on(&mut state, last),
        ["RememberRun", "Announce s"],
        "its line is written: the next one may start"
    );
}

#[test]
fn a_request_finds_a_workspace_by_its_real_path() {
    let mut state = running(&["/real"]);
    let request = StartRequest { real: Some(PathBuf::from("/real")), ..request("r", "/link") };
    assert_eq!(on(&mut state, Event::Decide { request, is_last: false }), ["RememberRun", "Announce r"]);
}

#[test]
fn beats_are_left_once_each_has_a_record() {
    let mut state = running(&["/a"]);
    start(&mut state);
    assert_eq!(
        on(&mut state, Event::Stop(Beats::Leave)),
        ["ReportStopping", "SetTimeout", "FindLockedRecords"]
    );
    assert!(on(&mut state, Event::Idle).is_empty(), "nothing starts any more");
    assert!(on(&mut state, Event::RecordsLocked([].into())).is_empty());
    assert_eq!(on(&mut state, Event::BeatsChanged), ["FindLockedRecords"]);
    let effects = on(&mut state, Event::RecordsLocked([beat("10:00:00")].into()));
    let last = ["SetTimeout", "WriteRuns", "CheckReplaced", "WriteLastLines", "Survey", "ReadJournal"];
    assert_eq!(effects, last);
    assert!(!state.is_over());
    on(&mut state, Event::JournalRead { lines: Vec::new(), more: true });
    assert!(!state.is_over(), "clients get every line");
    assert_eq!(read(&mut state), ["EndEvents"]);
    assert!(state.is_over());
}

#[test]
fn beats_are_told_to_end_then_killed_and_those_of_others_are_waited_for() {
    let mut state = running(&["/a"]);
    start(&mut state);
    assert_eq!(on(&mut state, Event::Stop(Beats::End)), ["ReportStopping", "EndBeats", "SetTimeout"]);
    assert!(state.check_stop(Beats::Leave).is_err());
    assert_eq!(on(&mut state, Event::TimedOut), ["SetTimeout", "KillBeats"]);
    let died = concluded("10:00:00", Err(Failure::new("killed")));
    let effects = on(&mut state, died);
    assert_eq!(effects[effects.len() - 2..], ["SetTimeout", "FindOthers"]);
    assert!(on(&mut state, Event::OthersRunning(true)).is_empty());
    assert_eq!(on(&mut state, Event::BeatsChanged), ["FindOthers"]);
    assert!(!on(&mut state, Event::OthersRunning(false)).is_empty());
    assert_eq!(read(&mut state), ["EndEvents"]);
}

#[test]
fn a_signal_while_beats_are_left_ends_them() {
    let mut state = running(&["/a"]);
    start(&mut state);
    on(&mut state, Event::Stop(Beats::Leave));
    assert!(state.check_stop(Beats::End).is_ok());
    assert_eq!(on(&mut state, Event::Stop(Beats::End)), ["ReportStopping", "EndBeats", "SetTimeout"]);
}

#[test]
fn requests_that_wait_for_the_path_are_refused_by_a_stop() {
    let mut state = state(&["/a"]);
    on(&mut state, Event::Requested(request("r", "/a")));
    let effects = on(&mut state, Event::Stop(Beats::End));
    assert!(effects.contains(&"Answer r: the daemon is stopping".to_owned()), "{effects:?}");
    assert!(on(&mut state, Event::PathFound).is_empty());
}

#[test]
fn without_its_folder_the_daemon_writes_nothing() {
    let mut state = running(&["/a"]);
    start(&mut state);
    let effects = on(&mut state, Event::Lost(Lost::Folder(PathBuf::from("/data"))));
    assert_eq!(effects[..3], ["Log", "StopWriting", "CheckHosts"]);
    on(&mut state, concluded("10:00:00", Ok(BeatReport::Journaled)));
    assert_eq!(on(&mut state, Event::OthersRunning(false)), ["SetTimeout", "ReportLostLines", "EndEvents"]);
    assert!(state.is_over());
}

#[test]
fn without_its_socket_the_daemon_leaves_its_beats() {
    let mut state = running(&["/a"]);
    start(&mut state);
    let effects = on(&mut state, Event::Lost(Lost::File(PathBuf::from("/data/murmur.sock"))));
    assert_eq!(effects, ["Log", "CheckHosts", "ReportStopping", "SetTimeout", "FindLockedRecords"]);
    assert!(on(&mut state, Event::Lost(Lost::Folder(PathBuf::from("/data")))).is_empty(), "it stops already");
}

#[test]
fn a_withdrawn_orphan_is_due_again_and_one_with_a_process_is_not() {
    let mut state = running(&["/a", "/b"]);
    let orphan = |workspace: &str, taken_at| Orphan {
        workspace: workspace.into(),
        name: None,
        taken_at,
        before: Some(at("09:45:00")),
    };
    let orphans = vec![orphan("/a", None), orphan("/b", Some(at("09:59:00")))];
    assert_eq!(on(&mut state, Event::Orphaned(orphans)), ["RememberRun"]);
    let last_runs: Vec<_> = state.heartbeats().entries().iter().map(|entry| entry.last_run).collect();
    assert_eq!(last_runs, [Some(at("09:45:00")), Some(at("09:59:00"))]);
}

#[test]
fn waiting_lines_are_counted_after_every_survey() {
    let mut state = running(&["/a"]);
    assert_eq!(on(&mut state, Event::Surveyed(Survey::default())), ["RecountLines"]);
}
