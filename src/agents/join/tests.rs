//! Host × pulse × session: which agents there are, and their health.

use super::*;
use crate::agents::session::Session;
use murmur_core::id::AgentId;
use murmur_host::calls::Call;
use murmur_store::pulse::Pulse;
use std::path::PathBuf;

/// The base of the table's times; `now` is 100 minutes later.
const BEGIN: i64 = 1_700_000_000;

fn minute(minute: i64) -> Timestamp {
    Timestamp::from_second(BEGIN + 60 * minute).unwrap()
}

#[derive(Default)]
struct Case {
    known: KnownAgents,
}

impl Case {
    /// A host that started at minute 10 and reported at `at`.
    fn host(mut self, id: &str, session: &str, status: HostStatus, at: Option<i64>) -> Self {
        let session_id = Some(session).filter(|id| !id.is_empty()).map(SessionId::new);
        let (started_at, at) = (Some(minute(10)), at.map(minute));
        let host = Hosted {
            status,
            backend: None,
            worktree: "/host".into(),
            session_id,
            beat: None,
            project: None,
            heartbeat: None,
            started_at,
            at,
            task: None,
        };
        self.known.hosts.insert(AgentId::parse(id).unwrap(), host);
        self
    }

    fn up(self, id: &str, session: &str, state: State, at: Option<i64>) -> Self {
        let call = (state == State::Running)
            .then(|| Call { tool_name: "Grep".to_owned(), last_action: "now".to_owned() });
        self.host(
            id,
            session,
            HostStatus::Up { state, word: state.as_str(), pid: Some(1), call, background: 0, hold: None },
            at,
        )
    }

    fn pulse(mut self, id: &str, session: &str, state: State, is_alive: Option<bool>, at: i64) -> Self {
        let pulse = Pulse {
            agent_id: id.to_owned(),
            tool_name: "Bash".to_owned(),
            last_action: "then".to_owned(),
            current_task: "old".to_owned(),
            session_id: Some(session).filter(|id| !id.is_empty()).map(SessionId::new),
            state,
            pid: is_alive.map(|_| 2),
            ..Pulse::default()
        };
        let known_pulse = KnownPulse { pulse, at: minute(at), is_alive, task: None };
        self.known.pulses.insert(PathBuf::from(format!("{id}-{at}")), known_pulse);
        self
    }

    fn session(mut self, session: &str, pid: u32, is_busy: Option<bool>, at: i64) -> Self {
        let (session_id, cwd, at) = (SessionId::new(session), "/session".into(), minute(at));
        let session_file = Session { session_id, pid, cwd, is_busy, started_at: at, updated_at: at, at };
        self.known.sessions.insert(
            PathBuf::from(format!("{session}-{pid}")),
            KnownSession { session: session_file, task: None },
        );
        self
    }

    /// One line per agent: id, state, health, source, minutes of silence, tool.
    fn agents(&self) -> String {
        let now = minute(100);
        let agents = agents(&self.known, &Quiet::default(), now);
        let line = |agent: &Agent| {
            let minutes = agent.age(now).as_secs() / 60;
            let (health, source, tool) = (agent.health.as_str(), agent.source, &agent.tool_name);
            format!("{} {} {health} {source:?} {minutes} {tool}", agent.agent_id, agent.state)
                .trim_end()
                .to_owned()
        };
        agents.iter().map(line).collect::<Vec<_>>().join("; ")
    }
}

fn case() -> Case {
    Case::default()
}

const ALIVE: Option<bool> = Some(true);
const DEAD: Option<bool> = Some(false);

#[test]
fn each_source_alone_is_an_agent() {
    let table = [
        (case(), ""),
        (case().up("a", "s", State::Running, Some(99)), "a running active Host 1 Grep"),
        (case().up("a", "s", State::Idle, Some(20)), "a idle idle Host 80"),
        (case().up("a", "s", State::Running, None), "a running stuck Host 90 Grep"),
        (
            case().host("a", "", HostStatus::Closed { word: "unresponsive" }, None),
            "a unresponsive stuck Host 90",
        ),
        (case().host("a", "", HostStatus::Dead, None), "a dead dead Host 90"),
        (case().host("a", "", HostStatus::Ended { killed: false }, Some(99)), "a exited exited Host 1"),
        (case().pulse("a", "s", State::Running, ALIVE, 90), "a running stale Pulse 10 Bash"),
        (case().pulse("a", "s", State::Running, None, 80), "a running warning Pulse 20 Bash"),
        (case().pulse("a", "s", State::Running, DEAD, 99), "a running dead Pulse 1 Bash"),
        (case().pulse("a", "s", State::Exited, DEAD, 99), "a exited exited Pulse 1 Bash"),
        (case().session("s", 3, Some(true), 60), "claude-s running stuck Session 40"),
        (case().session("s", 3, Some(false), 60), "claude-s idle idle Session 40"),
        (case().session("s", 3, None, 60), "claude-s idle idle Session 40"),
    ];
    for (case, expected) in table {
        assert_eq!(case.agents(), expected);
    }
}

#[test]
fn a_live_host_takes_precedence_over_an_old_pulse_and_the_newest_time_counts() {
    let idle = || case().up("a", "s", State::Idle, Some(50));
    assert_eq!(idle().pulse("a", "s", State::Running, ALIVE, 40).agents(), "a idle idle Host 50 Bash");
    assert_eq!(idle().pulse("a", "s", State::Running, ALIVE, 98).agents(), "a idle active Pulse 2 Bash");
    assert_eq!(idle().pulse("a", "s", State::Exited, DEAD, 98).agents(), "a idle active Pulse 2 Bash");
    // An earlier run with the same id.
    assert_eq!(idle().pulse("a", "old", State::Running, DEAD, 5).agents(), "a idle idle Host 50");
    // A running call is newer than an ended one.
    let running = case().up("a", "s", State::Running, Some(60)).pulse("a", "s", State::Idle, ALIVE, 65);
    assert_eq!(running.agents(), "a running stuck Pulse 35 Grep");
    let silent = case().host("a", "", HostStatus::Closed { word: "unresponsive" }, None);
    assert_eq!(silent.pulse("a", "s", State::Idle, ALIVE, 30).agents(), "a unresponsive stuck Pulse 70 Bash");
}

#[test]
fn an_agent_whose_host_does_not_answer_is_stuck_whatever_it_did_last() {
    let silent = || case().host("a", "", HostStatus::Closed { word: "unresponsive" }, None);
    let at_work = silent().pulse("a", "s", State::Running, ALIVE, 30);
    assert_eq!(at_work.agents(), "a unresponsive stuck Pulse 70 Bash");
    assert_eq!(at_work.session("s", 2, Some(true), 40).agents(), "a unresponsive stuck Session 60 Bash");
    let idle = |at| silent().pulse("a", "s", State::Idle, ALIVE, at);
    assert_eq!(idle(30).agents(), "a unresponsive stuck Pulse 70 Bash");
    assert_eq!(idle(99).agents(), "a unresponsive active Pulse 1 Bash");
    // One with another version of the protocol may be fine.
    let other = case().host("a", "", HostStatus::Closed { word: "incompatible" }, None);
    assert_eq!(
        other.pulse("a", "s", State::Running, ALIVE, 30).agents(),
        "a incompatible warning Pulse 70 Bash"
    );
}

#[test]
fn a_host_that_has_ended_is_listed_by_its_pulse_only_and_a_killed_one_is_dead() {
    let ended = |killed| case().host("a", "", HostStatus::Ended { killed }, Some(90));
    assert_eq!(
        ended(false).pulse("a", "s", State::Running, DEAD, 80).agents(),
        "a exited exited Host 10 Bash"
    );
    assert_eq!(ended(true).pulse("a", "s", State::Running, DEAD, 80).agents(), "a dead dead Host 10 Bash");
    // Another agent has the id by now.
    assert_eq!(
        ended(false).pulse("a", "t", State::Running, ALIVE, 99).agents(),
        "a running active Pulse 1 Bash"
    );
}

#[test]
fn one_agent_is_listed_once_by_its_id_its_conversation_or_its_process() {
    let hosted = || case().up("a", "s", State::Idle, Some(50));
    assert_eq!(hosted().session("s", 1, Some(true), 60).agents(), "a idle idle Session 40");
    assert_eq!(hosted().session("t", 1, Some(true), 60).agents(), "a idle idle Session 40");
    assert_eq!(hosted().pulse("claude-s", "s", State::Idle, ALIVE, 60).agents(), "a idle idle Pulse 40 Bash");
    let pulsing = || case().pulse("work", "s", State::Running, ALIVE, 60);
    assert_eq!(pulsing().session("s", 2, None, 99).agents(), "work running active Session 1 Bash");
    assert_eq!(pulsing().session("t", 2, None, 99).agents(), "work running active Session 1 Bash");
    assert_eq!(
        pulsing().session("t", 3, None, 99).agents(),
        "claude-t idle active Session 1; work running stuck Pulse 40 Bash"
    );
    // Two hosted agents stay two, even with the same conversation.
    let two = hosted().up("b", "s", State::Idle, Some(99));
    let two = two.pulse("b", "s", State::Idle, ALIVE, 99);
    assert_eq!(two.agents(), "a idle idle Host 50; b idle active Pulse 1 Bash");
}

#[test]
fn a_conversation_that_goes_on_elsewhere_is_listed_there() {
    let resumed = |is_alive| {
        let first = case().pulse("beat-1", "s", State::Running, is_alive, 60);
        first.pulse("beat-2", "s", State::Running, ALIVE, 99).agents()
    };
    assert_eq!(resumed(DEAD), "beat-2 running active Pulse 1 Bash");
    assert_eq!(resumed(ALIVE), "beat-1 running stuck Pulse 40 Bash; beat-2 running active Pulse 1 Bash");
    // Resumed by a process that writes no pulses.
    let quiet = case().pulse("claude-s", "s", State::Exited, DEAD, 60).session("s", 3, Some(true), 99);
    assert_eq!(quiet.agents(), "claude-s running active Session 1 Bash");
}

#[test]
fn an_interrupted_turn_is_over_and_an_ended_session_stays_ended() {
    let broken = case().pulse("a", "s", State::Running, ALIVE, 20).session("s", 2, Some(false), 60);
    assert_eq!(broken.agents(), "a idle idle Session 40 Bash");
    let ended = case().pulse("a", "s", State::Exited, ALIVE, 98).session("s", 2, Some(true), 99);
    assert_eq!(ended.agents(), "a exited exited Session 1 Bash");
}

#[test]
fn the_last_task_set_counts_and_a_cleared_one_is_empty() {
    let mut one = case().pulse("a", "s", State::Running, ALIVE, 99);
    let task = |case: &Case| agents(&case.known, &Quiet::default(), minute(100)).remove(0).current_task;
    assert_eq!(task(&one), "old");
    for said in ["new", ""] {
        one.known.pulses.values_mut().for_each(|known_pulse| known_pulse.task = Some(said.to_owned()));
        assert_eq!(task(&one), said);
    }
}

#[test]
fn a_clock_that_was_set_back_gives_no_negative_age() {
    assert_eq!(case().pulse("a", "s", State::Running, ALIVE, 500).agents(), "a running active Pulse 0 Bash");
}

#[test]
fn a_lone_pulse_makes_the_same_agent_by_itself() {
    let lone_ones = |case: &Case| {
        let paths = lone_pulses(&case.known);
        let mut paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        paths.sort();
        for path in &paths {
            let agent = lone(&case.known.pulses[&PathBuf::from(path)], &Quiet::default(), minute(100));
            assert!(agents(&case.known, &Quiet::default(), minute(100)).contains(&agent.unwrap()));
        }
        paths.join(" ")
    };
    let pulse = || case().pulse("a", "s", State::Running, ALIVE, 60);
    let table = [
        (pulse(), "a-60"),
        (
            pulse().pulse("b", "t", State::Exited, DEAD, 70).pulse("c", "", State::Idle, None, 5),
            "a-60 b-70 c-5",
        ),
        // Another pulse, host or session of the agent, its conversation or its process.
        (pulse().pulse("a", "t", State::Running, ALIVE, 70), ""),
        (pulse().pulse("b", "s", State::Running, ALIVE, 70), ""),
        (pulse().up("a", "", State::Running, Some(70)), ""),
        (pulse().up("b", "s", State::Running, Some(70)), ""),
        (pulse().session("s", 9, None, 70), ""),
        (pulse().session("t", 2, None, 70), ""),
        (case().pulse("claude-t", "", State::Running, ALIVE, 60).session("t", 9, None, 70), ""),
        (pulse().session("t", 9, None, 70).up("b", "u", State::Idle, None), "a-60"),
    ];
    for (case, expected) in table {
        assert_eq!(lone_ones(&case), expected);
    }
}
