//! What keys do: answers above all.

use crate::draw::tests::{model, press, screen};
use crate::input::Action;
use crate::keys::Key;
use crate::model::{Model, Update};
use crate::rows::{HeartbeatState, LineKind, Problem, Question, Request, TranscriptLine};
use crate::text::Text;

/// The action of the last of these keys; a frame is drawn before each.
fn act(model: &mut Model, keys: &str) -> Option<Action> {
    let mut action = None;
    for key in keys.chars() {
        screen(model, 80, 24);
        action = press(model, &key.to_string());
    }
    action
}

fn request(model: &Model, id: &str) -> Request {
    model.requests.iter().find(|request| request.id == id).unwrap().clone()
}

#[test]
fn a_call_is_answered_only_after_it_was_shown() {
    let mut model = model();
    assert_eq!(act(&mut model, "3y"), None);
    assert!(screen(&model, 80, 24).contains("git push origin main"));
    assert_eq!(act(&mut model, "y"), Some(Action::Allow("7ggs733k".to_owned())));
    assert_eq!(act(&mut model, "\nn"), Some(Action::Deny("7ggs733k".to_owned(), None)));
    press(&mut model, "\nNnot on a Friday");
    assert_eq!(
        model.key(Key::Enter),
        Some(Action::Deny("7ggs733k".to_owned(), Some("not on a Friday".to_owned())))
    );
}

#[test]
fn a_long_call_is_allowed_only_once_its_end_was_shown() {
    let mut model = model();
    let body = (0..100).map(|line| Text::new(&format!("line {line}"))).collect();
    model.on(Update::Opened(Request { body, ..request(&model, "7ggs733k") }));
    assert_eq!(act(&mut model, "3\ny"), None);
    assert!(screen(&model, 80, 24).contains("scroll to its end first"));
    model.key(Key::End);
    assert_eq!(act(&mut model, "y"), Some(Action::Allow("7ggs733k".to_owned())));
}

#[test]
fn a_long_question_is_answered_only_once_its_end_was_shown() {
    for keys in ["a2\n", "22"] {
        let mut model = model();
        let body = (0..100).map(|line| Text::new(&format!("line {line}"))).collect();
        model.on(Update::Opened(Request { body, ..request(&model, "k3m9x2aa") }));
        press(&mut model, "3j\n");
        assert_eq!(act(&mut model, keys.trim_end()), None, "{keys}");
        assert!(screen(&model, 80, 24).contains("scroll to its end first"), "{keys}");
        model.key(Key::End);
        let answer = Some(Action::Answer("k3m9x2aa".to_owned(), vec!["2".to_owned()]));
        assert_eq!(act(&mut model, keys), answer, "{keys}");
    }
}

#[test]
fn a_doubted_call_needs_yes_in_full() {
    let mut model = model();
    let doubt = Some(Text::new("\"$X\" is not known"));
    model.on(Update::Opened(Request { doubt, ..request(&model, "7ggs733k") }));
    for typed in ["y", "Yes", "yes please", ""] {
        press(&mut model, "\u{1b}3\n");
        assert_eq!(act(&mut model, &format!("y{typed}\n")), None, "{typed}");
    }
    press(&mut model, "\u{1b}3\n");
    assert_eq!(act(&mut model, "yyes\n"), Some(Action::Allow("7ggs733k".to_owned())));
}

#[test]
fn a_question_is_answered_by_number_or_text() {
    let mut model = model();
    press(&mut model, "3j\n");
    assert_eq!(act(&mut model, "y"), None);
    assert_eq!(act(&mut model, "3"), None);
    let answer = |text: &str| Some(Action::Answer("k3m9x2aa".to_owned(), vec![text.to_owned()]));
    assert_eq!(act(&mut model, "22"), answer("2"));
    assert_eq!(act(&mut model, "\n1\n"), answer("1"));
    assert_eq!(act(&mut model, "\na=never\n"), answer("=never"));
    assert_eq!(act(&mut model, "\na\n"), None);
}

#[test]
fn a_digit_answers_only_once_it_is_confirmed() {
    let mut model = model();
    press(&mut model, "3j\n");
    assert_eq!(act(&mut model, "2"), None);
    let footer = |model: &Model| screen(model, 80, 24).lines().last().unwrap().trim_end().to_owned();
    assert_eq!(footer(&model), "answer Friday? 2 or Enter, or any other key:");
    for other in ["1", "y", "\u{1b}"] {
        assert_eq!(act(&mut model, other), None, "{other}");
        assert_eq!(footer(&model), "a answer  1-9 choose  PgDn scroll  Esc back");
        assert_eq!(act(&mut model, "2"), None, "{other}");
    }
    let mut long = request(&model, "k3m9x2aa");
    long.questions[0].options[1] = Text::new(&"On a Friday ".repeat(20));
    model.on(Update::Opened(long));
    assert!(footer(&model).ends_with("…? 2 or Enter, or any other key:"), "{}", footer(&model));
}

#[test]
fn digits_are_offered_only_where_they_answer() {
    let mut model = model();
    press(&mut model, "3j\n");
    let footer = |model: &Model| screen(model, 80, 24).lines().last().unwrap().trim_end().to_owned();
    assert_eq!(footer(&model), "a answer  1-9 choose  PgDn scroll  Esc back");
    let single = request(&model, "k3m9x2aa");
    let question = single.questions[0].clone();
    let open = Question { options: Vec::new(), ..question.clone() };
    for questions in [vec![question.clone(), question], vec![open]] {
        model.on(Update::Opened(Request { questions, ..single.clone() }));
        assert_eq!(act(&mut model, "1"), None);
        assert_eq!(footer(&model), "a answer  PgDn scroll  Esc back");
    }
}

#[test]
fn a_request_that_is_gone_is_left() {
    let mut model = model();
    press(&mut model, "3\n");
    model.on(Update::Closed("7ggs733k".to_owned()));
    assert!(screen(&model, 80, 24).contains("the request is no longer open"));
    assert_eq!(act(&mut model, "y"), None);
}

#[test]
fn keys_are_about_the_same_heartbeat_when_the_first_one_makes_it_move() {
    let mut model = model();
    let Some(Action::Run(first)) = act(&mut model, "r") else { panic!() };
    let mut rows = model.heartbeats.clone();
    let place = rows.iter().position(|row| row.id == first).unwrap();
    let mut row = rows.remove(place);
    row.state = HeartbeatState::Paused(None);
    row.is_failing = false;
    rows.push(row);
    model.on(Update::Heartbeats(rows));
    assert_eq!(act(&mut model, "p"), Some(Action::Resume(first)));
}

#[test]
fn keys_of_a_heartbeat_act_on_the_selected_one() {
    let mut model = model();
    // One that fails comes first.
    assert_eq!(act(&mut model, "r"), Some(Action::Run("/home/you/mail".into())));
    assert_eq!(act(&mut model, "jjp"), Some(Action::Pause("/home/you/backups".into())));
    assert_eq!(act(&mut model, "jjjp"), Some(Action::Resume("/home/you/--all".into())));
    assert_eq!(act(&mut model, "ge"), Some(Action::Edit("/home/you/mail".into())));
    assert_eq!(act(&mut model, "jjjj\n"), Some(Action::ShowBeat("beat-site".to_owned())));
    assert_eq!(act(&mut model, "k\n"), Some(Action::ShowHeartbeat("/home/you/docs".into())));
}

#[test]
fn stopping_asks_first() {
    let mut model = model();
    assert_eq!(act(&mut model, "jjjjs"), None);
    assert!(screen(&model, 80, 24).contains("stop agent site-1?"));
    assert_eq!(act(&mut model, "n"), None);
    assert_eq!(act(&mut model, "sy"), Some(Action::Stop("site-1".into())));
    assert_eq!(act(&mut model, "gs"), None);
    assert!(screen(&model, 80, 24).contains("mail has no running beat"));
    assert_eq!(act(&mut model, "2aGs"), None);
    assert!(screen(&model, 80, 24).contains("murmur cannot stop this agent"));
}

#[test]
fn a_row_stays_selected_when_others_come() {
    let mut model = model();
    press(&mut model, "3j");
    let new = Request { id: "aaaa1111".to_owned(), ..request(&model, "7ggs733k") };
    model.on(Update::Opened(new));
    press(&mut model, "\n");
    assert!(screen(&model, 80, 24).contains("When to publish?"));
}

#[test]
fn commands_name_heartbeats_agents_and_panes() {
    let mut model = model();
    assert_eq!(act(&mut model, ":run back\n"), Some(Action::Run("/home/you/backups".into())));
    assert_eq!(act(&mut model, ":pause\n"), Some(Action::Pause("/home/you/mail".into())));
    assert_eq!(act(&mut model, ":q\n"), Some(Action::Quit));
    assert_eq!(act(&mut model, ":stop fixer\n"), None);
    assert_eq!(model.key(Key::Char('y')), Some(Action::Stop("fixer".into())));
    for (typed, said) in [
        ("dance", "no command \"dance\""),
        ("run x", "no heartbeat \"x\""),
        ("stop x", "no agent \"x\""),
        ("log backups", "log (1 of 47)"),
    ] {
        press(&mut model, &format!(":{typed}\n"));
        assert!(screen(&model, 80, 24).contains(said), "{}", screen(&model, 80, 24));
    }
}

#[test]
fn a_click_selects_and_the_wheel_scrolls() {
    let mut model = model();
    screen(&model, 80, 24);
    model.key(Key::Click(3, 6));
    assert_eq!(model.key(Key::Char('r')), Some(Action::Run("/home/you/backups".into())));
    model.key(Key::Wheel { up: false });
    assert_eq!(model.key(Key::Char('r')), Some(Action::Run("/home/you/--all".into())));
    model.key(Key::Click(3, 0));
    assert_eq!(model.key(Key::Char('r')), Some(Action::Run("/home/you/--all".into())));
}

#[test]
fn a_search_in_a_transcript_finds_its_first_line() {
    let mut model = model();
    model.on(Update::Transcript(Text::new("site"), Vec::new()));
    let line = |text| TranscriptLine { kind: LineKind::Call, text: Text::new(text) };
    model.on(Update::Lines(vec![line("Bash(make docs)"), line("done")]));
    for is_at_start in [false, true] {
        screen(&model, 80, 24);
        press(&mut model, if is_at_start { "g/make\n" } else { "/make\n" });
        let shown = screen(&model, 80, 24);
        assert!(shown.contains("Bash(make docs)") && !shown.contains("matches"), "{shown}");
        press(&mut model, "n");
        assert!(screen(&model, 80, 24).contains("no other matches"));
    }
    press(&mut model, "/maker\n");
    assert!(screen(&model, 80, 24).contains("no matches"));
}

#[test]
fn the_request_of_a_shown_agent_is_answered_from_its_transcript() {
    for (keys, opened) in
        [("2j\n", Action::ShowAgent("site-1".into())), ("jjjj\n", Action::ShowBeat("beat-site".to_owned()))]
    {
        let mut model = model();
        assert_eq!(act(&mut model, keys), Some(opened));
        model.on(Update::Transcript(Text::new("site"), Vec::new()));
        let shown = screen(&model, 80, 24);
        assert!(shown.contains("site  following, waits for you ─"), "{shown}");
        assert!(shown.contains("\ny answer  j k PgUp"), "{shown}");
        assert_eq!(act(&mut model, "y"), Some(Action::Hide));
        assert!(screen(&model, 80, 24).contains("\ny allow  n deny"));
        assert_eq!(act(&mut model, "y"), Some(Action::Allow("7ggs733k".to_owned())));
    }
    let mut model = model();
    assert_eq!(act(&mut model, "1\n"), Some(Action::ShowHeartbeat("/home/you/mail".into())));
    model.on(Update::Transcript(Text::new("mail"), Vec::new()));
    assert!(!screen(&model, 80, 24).contains("waits for you ─"));
    assert_eq!(act(&mut model, "y"), None);
}

#[test]
fn problems_follow_the_requests_in_the_inbox_and_are_not_answered() {
    let mut model = model();
    let problem = |id: &str, kind, text: &str, command: &str| Problem {
        id: id.to_owned(),
        name: Text::new("7"),
        kind,
        text: Text::new(text),
        body: Text::lines(text),
        since: None,
        deadline: None,
        command: Text::lines(command),
    };
    model.on(Update::Stuck(vec![problem("s", "stuck", "site-1 is stuck", "murmur agent show site-1")]));
    model.on(Update::ToSolve(vec![
        problem("b", "breaker", "/home/you/mail: 3 failures in a row", "murmur resume /home/you/mail"),
        problem("r", "rules", "every call is denied", ""),
    ]));
    press(&mut model, "3");
    insta::assert_snapshot!(screen(&model, 80, 9), @"
    murmur 0.1.0, up 2h05m  1 beat running, 4 agents  5 waiting for you
     1 heartbeats  2 agents  3 inbox(5)  4 log  5 limits
    inbox (5) ──────────────────────────────────────────────────────────────────────
    NO.    LEFT AGENT           TOOL        REQUEST                              AGE
    1       25s site-1          Bash        git push origin main                  1m
    12        - docs-1          AskUserQue… q1 [Day] When to publish?             1m
    7         - -               breaker     /home/you/mail: 3 failures in a …      -
    7         - -               rules       every call is denied                   -
    Enter show  y n answer  / filter  : command  ? help  q quit
    ");
    // Neither y nor n answers a problem, in the pane or on its own screen.
    for keys in ["jjy", "n", "\ny", "n", "N", "a"] {
        assert_eq!(act(&mut model, keys), None, "{keys}");
        assert!(screen(&model, 80, 24).contains("this is not a request"), "{keys}");
    }
    press(&mut model, "j");
    insta::assert_snapshot!(screen(&model, 60, 10), @"
    murmur 0.1.0, up 2h05m  5 waiting for you
    breaker ────────────────────────────────────────────────────
    /home/you/mail: 3 failures in a row

    Run:
    murmur resume /home/you/mail



    PgDn scroll  Esc back
    ");
    // It stays selected while requests come and go, and is left when it is solved.
    model.on(Update::Closed("7ggs733k".to_owned()));
    assert!(screen(&model, 80, 24).contains("murmur resume"));
    model.on(Update::ToSolve(Vec::new()));
    assert!(screen(&model, 80, 24).contains("the problem is solved"));
    press(&mut model, "G\n");
    assert!(screen(&model, 80, 24).contains("murmur agent show site-1"));
    press(&mut model, "\u{1b}");
    assert!(screen(&model, 80, 24).contains("  2 waiting for you"));
}
