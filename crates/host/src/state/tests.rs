//! What each input does in each state.

use super::*;

const GRACE: Duration = Duration::from_secs(5);

fn live() -> Machine {
    let mut machine = Machine::new(AgentKind::Live, None);
    assert_eq!(machine.take(Input::Started), [Effect::Announce]);
    machine
}

fn send(machine: &mut Machine, text: &str) -> Vec<Effect> {
    machine.take(Input::Send(text.to_owned()))
}

#[test]
fn messages_are_queued_until_the_turn_ends() {
    let mut agent = live();
    assert_eq!(send(&mut agent, "one"), [Effect::Announce, Effect::Send("one".to_owned())]);
    assert_eq!(send(&mut agent, "two"), [Effect::Announce]);
    assert_eq!(*agent.state(), State::Running { turn: 1, queued: 1, background: 0 });
    assert_eq!(agent.take(Input::Acted), []);
    assert_eq!(agent.take(Input::TurnEnded), [Effect::Announce, Effect::Send("two".to_owned())]);
    assert_eq!(agent.take(Input::TurnEnded), [Effect::Announce]);
    assert_eq!(*agent.state(), State::Idle { turns: 2, background: 0 });
}

#[test]
fn the_first_message_may_precede_the_start() {
    let mut agent = Machine::new(AgentKind::Live, Some("one".to_owned()));
    assert_eq!(send(&mut agent, "two"), []);
    assert_eq!(agent.take(Input::Started), [Effect::Announce, Effect::Send("one".to_owned())]);
    assert_eq!(*agent.state(), State::Running { turn: 1, queued: 1, background: 0 });
}

#[test]
fn an_agent_may_start_a_turn_by_itself() {
    let mut agent = live();
    assert_eq!(agent.take(Input::Acted), [Effect::Announce]);
    assert_eq!(*agent.state(), State::Running { turn: 1, queued: 0, background: 0 });
    assert_eq!(agent.take(Input::TurnEnded), [Effect::Announce]);
    // A second result without any output before it.
    assert_eq!(agent.take(Input::TurnEnded), [Effect::Announce]);
    assert_eq!(*agent.state(), State::Idle { turns: 2, background: 0 });
}

#[test]
fn background_tasks_are_part_of_the_state() {
    let mut agent = live();
    assert_eq!(agent.take(Input::Background(0)), []);
    send(&mut agent, "one");
    assert_eq!(agent.take(Input::Background(2)), [Effect::Announce]);
    assert_eq!(*agent.state(), State::Running { turn: 1, queued: 0, background: 2 });
    assert_eq!(agent.take(Input::TurnEnded), [Effect::Announce]);
    assert_eq!(*agent.state(), State::Idle { turns: 1, background: 2 });
    assert_eq!(agent.take(Input::Background(2)), []);
    assert_eq!(agent.take(Input::Background(0)), [Effect::Announce]);
    assert_eq!(*agent.state(), State::Idle { turns: 1, background: 0 });
    agent.take(Input::Stop { force: false, grace: GRACE });
    assert_eq!((agent.take(Input::Background(1)), agent.state().background()), (Vec::new(), 0));
}

#[test]
fn stop_closes_stdin_when_idle_terminates_when_busy_and_kills_with_force() {
    let stop = |force| Input::Stop { force, grace: GRACE };
    let mut idle = live();
    assert_eq!(idle.take(stop(false)), [Effect::Announce, Effect::CloseInput, Effect::Wait(GRACE)]);
    assert_eq!(idle.take(stop(false)), []);
    assert_eq!(idle.check_send(), Err(SendError::Ending("stopping")));
    assert_eq!(idle.take(Input::GraceOver), [Effect::Kill]);
    let mut busy = live();
    send(&mut busy, "one");
    send(&mut busy, "two");
    let told = busy.take(stop(false));
    assert!(told.contains(&Effect::Terminate), "{told:?}");
    assert_eq!(busy.take(Input::TurnEnded), [], "what waited is not begun");
    assert_eq!(busy.take(stop(true)), [Effect::Announce, Effect::Kill]);
    assert_eq!(busy.take(stop(true)), []);
    assert_eq!(busy.take(Input::Ended(Exit::Signal(9))), [Effect::Announce]);
    assert_eq!(busy.take(stop(true)), []);
    assert_eq!(*busy.state(), State::Exited { exit: Exit::Signal(9) });
}

#[test]
fn a_beat_rejects_messages_and_the_queue_is_bounded() {
    let mut beat = Machine::new(AgentKind::Beat, None);
    beat.take(Input::Started);
    assert_eq!(*beat.state(), State::Running { turn: 1, queued: 0, background: 0 });
    assert_eq!(beat.check_send(), Err(SendError::Beat));
    assert_eq!(beat.take(Input::TurnEnded), []);
    let mut agent = live();
    for _ in 0..=QUEUE {
        assert_eq!(agent.check_send(), Ok(()));
        send(&mut agent, "more");
    }
    assert_eq!(agent.check_send(), Err(SendError::Full));
}

#[test]
fn states_serialize_with_their_data() {
    let text = |state: State| serde_json::to_string(&state).unwrap();
    assert_eq!(text(State::Starting), r#"{"state":"starting"}"#);
    assert_eq!(text(State::Idle { turns: 2, background: 0 }), r#"{"state":"idle","turns":2}"#);
    let working = State::Running { turn: 1, queued: 0, background: 3 };
    assert_eq!(text(working.clone()), r#"{"state":"running","turn":1,"queued":0,"background":3}"#);
    assert_eq!(serde_json::from_str::<State>(&text(working.clone())).unwrap(), working);
    assert_eq!(text(State::Exited { exit: Exit::Code(0) }), r#"{"state":"exited","exit":{"code":0}}"#);
}

#[test]
fn a_beat_that_starts_a_turn_by_itself_is_in_its_next_turn() {
    let mut beat = Machine::new(AgentKind::Beat, None);
    beat.take(Input::Started);
    assert_eq!((beat.take(Input::Acted), beat.turns_between()), (Vec::new(), None));
    assert_eq!((beat.take(Input::TurnEnded), beat.turns_between()), (Vec::new(), Some(1)));
    assert_eq!(beat.take(Input::Acted), [Effect::Announce]);
    assert_eq!(*beat.state(), State::Running { turn: 2, queued: 0, background: 0 });
    assert_eq!((beat.take(Input::Acted), beat.turns_between()), (Vec::new(), None));
}

#[test]
fn an_agent_that_has_answered_may_end_by_itself() {
    let mut agent = Machine::new(AgentKind::Beat, None);
    agent.take(Input::Started);
    agent.take(Input::TurnEnded);
    let effects = [Effect::Announce, Effect::CloseInput, Effect::Wait(GRACE)];
    assert_eq!(agent.take(Input::Finish { grace: GRACE }), effects);
    assert_eq!(agent.take(Input::Finish { grace: GRACE }), []);
    assert_eq!(agent.take(Input::GraceOver), [Effect::Kill]);
}
