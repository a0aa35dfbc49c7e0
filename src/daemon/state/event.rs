//! The events of the daemon's state machine, and its effects.

use super::BeatSummary;
use crate::daemon::client::Beats;
use crate::daemon::data_folder::Lost;
use crate::daemon::heartbeats::{
    Accounts, DeferredBeat, HeartbeatHold, HeartbeatRef, HoldChange, LastRuns, Start,
};
use crate::daemon::last_runs::MissedRuns;
use crate::daemon::launch::BeatReport;
use crate::daemon::pauses::Pauses;
use crate::daemon::pending_runs::Runs;
use jiff::Timestamp;
use murmur_core::config::heartbeat::{Heartbeat, HeartbeatId};
use murmur_core::failures::Streak;
use murmur_core::id::BeatId;
use murmur_core::permit::request::RequestId;
use murmur_store::failures::Streaks;
use murmur_store::journal::entry::JournalEntry;
use murmur_store::journal::unfinished::Survey;
use murmur_store::limits::Limits;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::path::PathBuf;
use sys::error::Failure;

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// The daemon started; the PATH for agents is not known yet.
    Started,
    /// The PATH for agents is known.
    PathFound,
    /// There is nothing else to do: due beats may start.
    Idle,
    /// A planned time has come.
    Due,
    /// The clock was set.
    ClockSet,
    /// It is time to check for edits, because files cannot be watched or the user asked for it.
    Tick,
    /// The configuration was edited, and the edit is complete.
    Edited,
    /// The configuration was read.
    Loaded(Configuration),
    /// These heartbeats were read again: all those of the workspaces in which one was edited.
    HeartbeatsEdited(Vec<Heartbeat>),
    /// These heartbeats are paused.
    PausesRead(Pauses),
    /// config.json has these last runs.
    RunsWritten(Runs),
    /// An earlier daemon saved these last runs.
    SavedRuns {
        /// The runs.
        runs: LastRuns,
        /// When they were saved; `None` if that is not known.
        as_of: Option<Timestamp>,
    },
    /// The journal has these runs, which nobody saved.
    MissedRuns(MissedRuns),
    /// Beats that an earlier daemon announced and no process took over, in the order of their ids.
    Orphaned(Vec<Orphan>),
    /// A beat's record or the journal changed.
    BeatsChanged,
    /// Beats can no longer be watched.
    BeatsUnwatched,
    /// The records of beats.
    Surveyed(Survey),
    /// New journal lines of beats.
    JournalRead {
        /// The lines.
        lines: Vec<BeatSummary>,
        /// Whether there may be more.
        more: bool,
    },
    /// The journal may have more lines.
    Unread,
    /// What is known of usage limits, if that changed.
    Limits(Limits),
    /// How often each heartbeat has failed in a row, if that changed.
    Failures(Streaks),
    /// The heartbeats whose budgets are used up, if that may have changed.
    OverBudget(HashMap<HeartbeatId, HeartbeatHold>),
    /// The beats that wait for an answer.
    Deferred(Vec<DeferredBeat>),
    /// A client requests a beat.
    Requested(StartRequest),
    /// A requested beat starts or is refused. Where a newer configuration or a beat's end could help, `is_last` is
    /// whether they were looked for.
    Decide {
        /// The request.
        request: StartRequest,
        /// Whether this is the last attempt.
        is_last: bool,
    },
    /// Beats of ours whose journal line is written and whose process has not reported it yet.
    Written(Vec<BeatId>),
    /// A beat was announced.
    Announced {
        /// The beat.
        beat: BeatId,
        /// Whether it has a record.
        recorded: Recorded,
    },
    /// A beat's process started.
    Spawned(BeatId),
    /// A beat's process did not start.
    NotSpawned {
        /// The beat.
        beat: BeatId,
        /// Why.
        error: Failure,
    },
    /// A beat's process ended.
    Exited {
        /// The beat.
        beat: BeatId,
        /// Its report, or how it died without one.
        report: Result<BeatReport, Failure>,
    },
    /// The same, once the journal was read.
    Concluded {
        /// The beat.
        beat: BeatId,
        /// Its report, or how it died without one.
        report: Result<BeatReport, Failure>,
    },
    /// Files that start these heartbeats changed.
    FilesChanged(Vec<HeartbeatId>),
    /// A client or a signal stops the daemon.
    Stop(Beats),
    /// The data folder or what makes it ours was moved or deleted.
    Lost(Lost),
    /// These beats have records that their processes hold.
    RecordsLocked(HashSet<BeatId>),
    /// Whether beats of earlier daemons are running.
    OthersRunning(bool),
    /// What the daemon waited for while it stops has not happened in time.
    TimedOut,
}

/// A configuration that was read.
#[derive(Debug)]
pub struct Configuration {
    /// Its heartbeats.
    pub heartbeats: Vec<Heartbeat>,
    /// How many beats may run at once.
    pub max_concurrent: NonZeroU32,
    /// The accounts that they use.
    pub accounts: Accounts,
    /// The heartbeats whose budgets are used up.
    pub over_budget: HashMap<HeartbeatId, HeartbeatHold>,
}

/// A beat that was announced and has no process.
#[derive(Debug)]
pub struct Orphan {
    /// The workspace.
    pub workspace: PathBuf,
    /// The name of a named heartbeat.
    pub name: Option<String>,
    /// When it was announced, unless its record is withdrawn: then a process is taking it over.
    pub taken_at: Option<Timestamp>,
    /// The heartbeat's last run before it.
    pub before: Option<Timestamp>,
}

/// A client's request to start a beat.
#[derive(Debug)]
pub struct StartRequest {
    /// The beat's id if it starts; the answer refers to it.
    pub id: BeatId,
    /// The workspace, absolute.
    pub workspace: PathBuf,
    /// The workspace's real path, if that is another one.
    pub real: Option<PathBuf>,
    /// The name of a named heartbeat.
    pub name: Option<String>,
}

/// Whether an announced beat has a record.
#[derive(Debug)]
pub enum Recorded {
    /// It has one.
    Yes,
    /// It has none, for a reason that does not keep it from starting.
    No,
    /// There is no room for its journal line: it must not start.
    NoRoom(Failure),
}

/// Something to do. Where the result matters, it comes back as the event after the arrow, before the next effect is
/// carried out.
#[derive(Debug)]
pub enum Effect {
    /// Handles this event after the effects before it.
    Then(Box<Event>),
    /// Logs a line.
    Log(String),

    /// Reads which heartbeats are paused, if paused.json changed → [`Event::PausesRead`].
    ReadPauses,
    /// Reads the configuration, if it is valid → [`Event::Loaded`].
    Reload,
    /// Reads what was edited → [`Event::HeartbeatsEdited`], or all of the configuration → [`Event::Loaded`].
    ReadEdits,
    /// Plans to write a last run to config.json.
    RememberRun(HeartbeatRef, Timestamp),
    /// Drops a planned last run.
    ForgetRun(HeartbeatRef),
    /// Writes the planned last runs → [`Event::RunsWritten`].
    WriteRuns,
    /// Writes them if the last attempt failed → [`Event::RunsWritten`].
    RetryRuns,
    /// Restores an edit of a program that had config.json open when it was last written.
    CheckReplaced,
    /// Reads what an earlier daemon saved → [`Event::SavedRuns`].
    ReadSavedRuns,
    /// Reads the runs in the journal since this time → [`Event::MissedRuns`].
    ReadMissedRuns(Option<Timestamp>),

    /// Warns if no agent can be started.
    CheckAgent,
    /// Ends an unfinished last line of the journal, writes lines that wait, and allocates the journal reserve.
    RepairJournal,
    /// Writes the lines of beats whose process died.
    RecoverLines,
    /// Retries waiting lines if their number changed; `in_records` of them are in records.
    RecountLines {
        /// How many are in records.
        in_records: usize,
    },
    /// Writes this line, the only copy, of a beat whose process could not keep it.
    KeepLine(String),
    /// Writes an error line for a beat that did not start.
    KeepFailure(BeatId, Failure),
    /// Writes the line of a beat whose process died, or an error line if it left none.
    RecoverOrFail(BeatId, Failure),
    /// Writes all waiting lines, and logs those that will be lost.
    WriteLastLines,
    /// Logs the lines that will be lost.
    ReportLostLines,
    /// Reads new journal lines and tells clients → [`Event::JournalRead`].
    ReadJournal,

    /// Reads what agents reported of usage limits, if that changed → [`Event::Limits`].
    ReadLimits,
    /// Logs that an account is on hold, or no longer, and tells clients.
    ReportHold(HoldChange),
    /// Reads failures.json, if it changed → [`Event::Failures`].
    ReadFailures,
    /// Writes how often a heartbeat has failed in a row.
    KeepStreak(HeartbeatId, Option<Streak>),
    /// Writes a journal line that is not about a beat.
    Report(Box<JournalEntry>),
    /// Reads what the journal says of budgets, if that used one up → [`Event::OverBudget`].
    ReadBudgets,
    /// Lists the records of beats and tells clients → [`Event::Surveyed`].
    Survey,
    /// Withdraws beats that an earlier daemon announced → [`Event::Orphaned`].
    WithdrawOrphans,
    /// Announces a beat → [`Event::Announced`].
    Announce(Box<Start>),
    /// Withdraws an announced beat.
    Withdraw(BeatId),
    /// Starts the process of an announced beat → [`Event::Spawned`] or [`Event::NotSpawned`].
    Spawn(BeatId),
    /// Forgets a beat that has ended or will not start.
    Release(BeatId),
    /// Finds which of these beats have their line → [`Event::Written`].
    FindWritten(Vec<BeatId>),
    /// Answers the client that requested a beat.
    Answer(BeatId, Result<(), Failure>),
    /// Tells clients that a requested beat found its workspace taken.
    ReportRefused(BeatId),

    /// Removes requests whose answers were delivered to a resumed beat → [`Event::Deferred`].
    ResumesEnded(Vec<RequestId>),
    /// Denies requests that were not answered in time → [`Event::Deferred`].
    ExpireRequests,
    /// Starts a scan of all agents if one is due.
    ScanAgents,
    /// Scans again, since planned times may be wrong.
    RescanAgents,
    /// Lists the hosts, and tells clients of changes.
    SurveyHosts,
    /// Removes what killed hosts left.
    ReapHosts,
    /// Tells hosts to check that their files exist.
    CheckHosts,
    /// Checks that the data folder is still ours; if not → [`Event::Lost`].
    CheckFolder,
    /// Stops all writing, because the data folder is gone.
    StopWriting,

    /// Tells clients that the daemon is stopping.
    ReportStopping,
    /// Tells all beats that daemons started to end.
    EndBeats,
    /// Tells a running beat to end for the next run, unless a person started it.
    ReplaceBeat(BeatId),
    /// Kills the beats of this daemon.
    KillBeats,
    /// Finds the beats that have records → [`Event::RecordsLocked`].
    FindLockedRecords,
    /// Finds whether beats of earlier daemons are running → [`Event::OthersRunning`].
    FindOthers,
    /// Waits this long for the next event → [`Event::TimedOut`]; `None` waits forever.
    SetTimeout(Option<std::time::Duration>),
    /// Ends the stream of events.
    EndEvents,
}
