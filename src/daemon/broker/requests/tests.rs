use super::*;
use murmur_core::id::SessionId;
use murmur_core::permit::decision::{DecidedBy, DecisionKind};
use murmur_core::permit::request::Approver;
use serde_json::json;

const NOW: Timestamp = Timestamp::constant(1_767_225_600, 0);

fn request(tool_use_id: &str) -> Request {
    Request {
        agent: "site-1".to_owned(),
        session: Some(SessionId::new("s")),
        tool_use_id: tool_use_id.to_owned(),
        tool: "Bash".to_owned(),
        input: json!({ "command": "git push" }),
        cwd: "/w".into(),
        workspace: "/w".into(),
        project: "site".to_owned(),
        whom: Approver::Person,
        doubt: None,
        wait: Some(120),
        defer: true,
        expiry: Some(86_400),
        beat: None,
        again: false,
        asked_at: None,
        hook: "h1".to_owned(),
    }
}

fn allowed(id: &RequestId) -> Answer {
    Answer {
        decision: DecisionKind::Allow,
        reason: None,
        answers: None,
        by: DecidedBy::Person,
        id: id.clone(),
        answered_by: None,
    }
}

fn ask(requests: &mut Requests<u32>, request: Request, sender: u32) -> SendResult<u32> {
    let input = Body::new(request.input.clone());
    requests.ask(request, input, sender, NOW)
}

fn waiting(requests: &mut Requests<u32>, request: Request, sender: u32) -> RequestId {
    match ask(requests, request, sender) {
        SendResult::Waiting(id) => id,
        SendResult::Answered(_, answer, _) => panic!("{answer:?}"),
    }
}

fn told(answered: Result<AnswerEffect<u32>, AnswerError>) -> Vec<u32> {
    match answered {
        Ok(AnswerEffect::Notify(hooks)) => hooks,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_answer_wins_and_every_other_is_an_error() {
    let mut requests = Requests::default();
    let id = waiting(&mut requests, request("t1"), 1);
    assert_eq!(told(requests.answer(&id, allowed(&id))), [1]);
    let again = requests.answer(&id, allowed(&id)).unwrap_err();
    assert_eq!(again, AnswerError::Over { id: id.clone(), how: RequestEnd::Answered });
    let other = request("t2").id(0);
    assert_eq!(requests.answer(&other, allowed(&other)).unwrap_err(), AnswerError::Unknown(other));
    assert!(requests.all().is_empty());
}

#[test]
fn a_reconnected_hook_replaces_its_old_connection() {
    let mut requests = Requests::default();
    let id = waiting(&mut requests, request("t1"), 1);
    assert_eq!(waiting(&mut requests, request("t1"), 2), id);
    assert_eq!(told(requests.answer(&id, allowed(&id))), [2]);
}

#[test]
fn two_hooks_of_one_call_get_the_same_answer() {
    let mut requests = Requests::default();
    let id = waiting(&mut requests, request("t1"), 1);
    waiting(&mut requests, Request { hook: "h2".to_owned(), ..request("t1") }, 2);
    assert!(!requests.disconnect(&id, "h3"));
    assert_eq!(
        requests.timeout_outcome(&id, true, false, NOW),
        Timeout::Expired,
        "a call that another hook waits for is not deferred"
    );
    requests.apply_timeout(&id, "h1", &Timeout::Expired);
    assert_eq!(told(requests.answer(&id, allowed(&id))), [2]);
}

#[test]
fn a_request_is_closed_with_its_agent() {
    let mut requests = Requests::default();
    let id = waiting(&mut requests, request("t1"), 1);
    assert!(requests.disconnect(&id, "h1"));
    let over = requests.answer(&id, allowed(&id)).unwrap_err();
    assert_eq!(over, AnswerError::Over { id, how: RequestEnd::Gone });
}

#[test]
fn an_unanswered_request_expires_if_it_cannot_be_deferred() {
    for (defer, may_defer) in [(false, true), (true, false)] {
        let mut requests = Requests::default();
        let expiry = defer.then_some(9);
        let id = waiting(&mut requests, Request { defer, expiry, ..request("t1") }, 1);
        // If its hook can wait, it stays.
        let late = requests.timeout_outcome(&id, may_defer, true, NOW);
        assert_eq!(late, Timeout::Waits);
        requests.apply_timeout(&id, "h1", &late);
        assert!(requests.unanswered(&id).is_ok());
        let late = requests.timeout_outcome(&id, may_defer, false, NOW);
        assert_eq!(late, Timeout::Expired);
        requests.apply_timeout(&id, "h1", &late);
        let over = requests.answer(&id, allowed(&id)).unwrap_err();
        assert_eq!(over, AnswerError::Over { id, how: RequestEnd::Expired });
    }
}

#[test]
fn the_answer_to_a_deferred_call_is_given_once() {
    let mut requests = Requests::default();
    let id = waiting(&mut requests, request("t1"), 1);
    let late = requests.timeout_outcome(&id, true, true, NOW);
    let until = NOW + SignedDuration::from_hours(24);
    assert_eq!(late, Timeout::Deferred(Some(until)));
    requests.apply_timeout(&id, "h1", &late);
    assert_eq!(requests.next_expiry(), Some(until));
    assert!(matches!(requests.answer(&id, allowed(&id)), Ok(AnswerEffect::Resume)));
    assert!(matches!(
        requests.answer(&id, allowed(&id)),
        Err(AnswerError::Over { how: RequestEnd::Answered, .. })
    ));
    assert_eq!(requests.next_expiry(), None);

    let resumed = Request { hook: "h2".to_owned(), session: Some(SessionId::new("s2")), ..request("t1") };
    assert!(
        matches!(ask(&mut requests, resumed.clone(), 2), SendResult::Answered(_, answer, 2) if answer == allowed(&id))
    );
    // The same hook may have lost its connection; any other is a new call.
    assert!(matches!(ask(&mut requests, resumed.clone(), 3), SendResult::Answered(..)));
    assert!(matches!(
        ask(&mut requests, Request { hook: "h3".to_owned(), ..resumed }, 4),
        SendResult::Waiting(_)
    ));
}

#[test]
fn an_answer_is_not_given_to_another_call() {
    let mut requests = Requests::default();
    let id = waiting(&mut requests, request("t1"), 1);
    requests.apply_timeout(&id, "h1", &Timeout::Deferred(Some(NOW)));
    assert!(matches!(requests.answer(&id, allowed(&id)), Ok(AnswerEffect::Resume)));
    let other = |change: fn(&mut Request)| {
        let mut request = request("t1");
        change(&mut request);
        request
    };
    for changed in [
        other(|request| request.agent = "site-2".to_owned()),
        other(|request| request.tool_use_id = "t2".to_owned()),
        other(|request| request.cwd = "/v".into()),
        other(|request| request.input = json!({ "command": "git push -f" })),
        other(|request| request.tool = "Monitor".to_owned()),
    ] {
        assert!(matches!(ask(&mut requests, changed, 2), SendResult::Waiting(_)));
    }
}

#[test]
fn deferred_requests_expire() {
    let mut requests = Requests::default();
    let id = waiting(&mut requests, request("t1"), 1);
    let until = NOW + SignedDuration::from_secs(60);
    requests.apply_timeout(&id, "h1", &Timeout::Deferred(Some(until)));
    assert!(requests.expired(NOW).is_empty());
    assert_eq!(requests.expired(until), [id]);
}

#[test]
fn an_allowed_call_is_not_asked_about_again_by_claude_code() {
    let live = |id: &str| Request { defer: false, expiry: None, ..request(id) };
    let again = |id: &str| Request { again: true, hook: "h2".to_owned(), ..live(id) };
    let mut requests = Requests::default();
    let id = waiting(&mut requests, live("t1"), 1);
    // Until there is an answer it waits with the first.
    assert_eq!(waiting(&mut requests, again("t1"), 2), id);
    requests.answer(&id, allowed(&id)).unwrap();
    for named in ["t1", ""] {
        let SendResult::Answered(given, answer, 3) = ask(&mut requests, again(named), 3) else {
            panic!("{named}")
        };
        assert_eq!((given, answer.decision), (id.clone(), DecisionKind::Allow));
    }
    // A different call or conversation, or the same call made again, is asked about.
    for other in [
        again("t2"),
        Request { session: Some(SessionId::new("s2")), ..again("") },
        Request { input: json!({ "command": "git push --force" }), ..again("t1") },
        Request { agent: "site-2".to_owned(), ..again("t1") },
        live("t1"),
    ] {
        waiting(&mut requests, other, 4);
    }
    // A denied call, and a call of a beat, is asked about each time.
    let mut requests = Requests::default();
    let id = waiting(&mut requests, live("t1"), 1);
    requests.answer(&id, Answer { decision: DecisionKind::Deny, ..allowed(&id) }).unwrap();
    waiting(&mut requests, again("t1"), 2);
    let beat = Some(murmur_core::permit::request::BeatOf {
        beat: murmur_core::id::BeatId::new("b"),
        heartbeat: None,
    });
    let mut requests = Requests::default();
    let id = waiting(&mut requests, Request { beat: beat.clone(), ..live("t1") }, 1);
    requests.answer(&id, allowed(&id)).unwrap();
    waiting(&mut requests, Request { beat, ..again("t1") }, 2);
}
