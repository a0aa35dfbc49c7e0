//! Golden screens, at the sizes that people use: 80×24, a large one, and a tiny one.

mod guide;

use crate::input::Action;
use crate::keys::Key;
use crate::model::{Model, Update};
use crate::rows::{
    Agent, Daemon, Health, Heartbeat, HeartbeatState, Limit, LineKind, LogLine, Outcome, Question, Request,
    TranscriptLine,
};
use crate::text::Text;
use insta::assert_snapshot;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use std::fmt::Write;

fn now() -> Timestamp {
    "2026-02-03T10:00:00Z".parse().unwrap()
}

fn ago(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

fn text(raw: &str) -> Text {
    Text::new(raw)
}

fn heartbeat(name: &str, state: HeartbeatState, note: &str) -> Heartbeat {
    let beat = matches!(state, HeartbeatState::Running(_)).then(|| format!("beat-{name}"));
    let id = format!("/home/you/{name}").into();
    let is_failing = matches!(state, HeartbeatState::Off("problem"));
    Heartbeat { id, title: text(name), schedule: text("every 1h"), state, note: text(note), beat, is_failing }
}

fn agent(id: &str, health: Health, doing: &str, folder: &str) -> Agent {
    Agent {
        id: id.into(),
        name: text(id),
        health,
        state: text("running"),
        doing: text(doing),
        folder: text(folder),
        since: ago(754),
        context: Some((93_000, 200_000)),
        cost: Some(0.42),
        beat: Some("beat-site".to_owned()).filter(|_| id.starts_with("site")),
        is_hosted: health.is_live(),
    }
}

fn request(id: &str, agent: &str, command: &str, doubt: Option<&str>) -> Request {
    Request {
        id: id.to_owned(),
        name: text(if id == "7ggs733k" { "1" } else { "12" }),
        agent: agent.into(),
        asker: text(&format!("{agent} in /home/you/site")),
        tool: text("Bash"),
        summary: text(command),
        body: Text::lines(command),
        doubt: doubt.map(Text::new),
        questions: Vec::new(),
        is_deferred: false,
        asked: ago(95),
        expires: Some(now() + SignedDuration::from_secs(25)),
    }
}

fn question() -> Request {
    let options = vec![text("Monday"), text("Friday")];
    Request {
        tool: text("AskUserQuestion"),
        body: Text::lines("q1 [Day] When to publish?\n  1. Monday\n  2. Friday"),
        questions: vec![Question { text: text("When to publish?"), options }],
        expires: None,
        ..request("k3m9x2aa", "docs-1", "q1 [Day] When to publish?", None)
    }
}

fn line(seconds: i64, name: &str, outcome: Outcome, said: &str) -> LogLine {
    LogLine {
        at: ago(seconds),
        heartbeat: format!("/home/you/{name}").into(),
        name: text(name),
        outcome,
        label: None,
        took_ms: 8_200,
        cost: Some(0.0312),
        text: text(said),
        beat: Some(format!("beat-{name}-{seconds}")),
    }
}

/// A model with a bit of everything, some of it hostile.
pub(crate) fn model() -> Model {
    let mut model = Model::new(TimeZone::UTC);
    model.on(Update::Daemon(Daemon::Up { version: text("0.1.0"), since: ago(7_500) }));
    model.on(Update::Heartbeats(vec![
        heartbeat("site", HeartbeatState::Running(ago(42)), ""),
        heartbeat("backups", HeartbeatState::Next(now() + SignedDuration::from_secs(1_500)), ""),
        heartbeat("docs", HeartbeatState::Waits, ""),
        heartbeat(
            "mail",
            HeartbeatState::Held(now() + SignedDuration::from_secs(30)),
            "failed 3 times in a row",
        ),
        heartbeat("--all", HeartbeatState::Paused(None), "release day"),
        heartbeat(
            "new\u{1b}[31m\u{202e}",
            HeartbeatState::Off("problem"),
            "HEARTBEAT.md:2: unknown key \"evry\"",
        ),
    ]));
    model.on(Update::Agents(vec![
        agent("backups-9", Health::Exited, "", "/home/you/backups"),
        agent("site-1", Health::Active, "Bash: cargo test --workspace", "/home/you/site"),
        agent("fixer", Health::Idle, "Edit: src/lib.rs", "/home/you/site"),
        agent("docs-1", Health::Active, "AskUserQuestion: When to publish?", "/home/you/docs"),
        agent("日本-2", Health::Stuck, "Bash: sleep \u{7}1000", "/home/you/日本"),
    ]));
    for (seconds, events) in [(100, 1), (61, 4), (25, 9), (2, 3)] {
        (0..events).for_each(|_| model.on(Update::Activity("site-1".into(), ago(seconds))));
    }
    model.on(Update::Requests(vec![question()]));
    model.on(Update::Opened(request("7ggs733k", "site-1", "git push origin main", None)));
    let mut lines: Vec<LogLine> =
        (0..40).rev().map(|hour| line(3_600 * hour + 90, "site", Outcome::Ok, "")).collect();
    lines.push(line(80, "backups", Outcome::Attention, "ATTENTION: the backup is\n9 days old \u{1b}[2J"));
    lines.push(line(70, "mail", Outcome::Error, "exited with code 1"));
    lines.push(line(60, "docs", Outcome::Waiting, "AskUserQuestion"));
    lines.push(LogLine {
        label: Some("failing"),
        ..line(50, "mail", Outcome::Attention, "3 failures in a row")
    });
    lines.push(line(40, "site", Outcome::Limited, "5-hour limit"));
    lines.push(line(30, "site", Outcome::Skipped, "nothing to do"));
    lines.push(line(20, "site", Outcome::Stopped, "after 3s"));
    model.on(Update::Logged(lines));
    let window = |name: &str, used, held| Limit {
        account: text("claude ~/.claude (subscription)"),
        window: text(name),
        used,
        is_reached: name == "7-day opus",
        resets: Some(now() + SignedDuration::from_secs(4_000)),
        held,
    };
    model.on(Update::Limits(vec![
        window("5-hour", Some(0.97), Some(now() + SignedDuration::from_secs(4_060))),
        window("7-day", Some(0.31), None),
        window("7-day opus", None, None),
    ]));
    model
}

/// What the model looks like at this size.
pub(crate) fn screen(model: &Model, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| super::draw(frame, model, now())).unwrap();
    let buffer = terminal.backend().buffer();
    let mut shown = String::new();
    for y in 0..rows {
        let mut row = String::new();
        let mut x = 0;
        while x < columns {
            let symbol = buffer.cell((x, y)).unwrap().symbol();
            row.push_str(symbol);
            x += u16::try_from(crate::text::width(symbol).max(1)).unwrap();
        }
        writeln!(shown, "{}", row.trim_end()).unwrap();
    }
    shown.trim_end().to_owned()
}

/// Presses these keys, and returns what the last one does.
pub(crate) fn press(model: &mut Model, keys: &str) -> Option<Action> {
    let mut action = None;
    for key in keys.chars() {
        action = model.key(match key {
            '\n' => Key::Enter,
            '\u{1b}' => Key::Esc,
            letter => Key::Char(letter),
        });
    }
    action
}

#[test]
fn each_pane_on_80_columns() {
    let mut model = model();
    for (key, name) in
        ["1", "2", "3", "4", "5"].iter().zip(["heartbeats", "agents", "inbox", "log", "limits"])
    {
        press(&mut model, key);
        assert_snapshot!(format!("80x24-{name}"), screen(&model, 80, 24));
    }
}

#[test]
fn all_panes_on_a_large_screen() {
    let mut model = model();
    model
        .on(Update::Problems(vec![text("config.json:3:5: unknown key \"evry\"; hint: did you mean every?")]));
    assert_snapshot!("200x50", screen(&model, 200, 50));
}

#[test]
fn a_tiny_screen_still_shows_what_matters() {
    let mut model = model();
    let mut shown = Vec::new();
    for key in ["1", "2", "3", "4", "5", "?"] {
        press(&mut model, key);
        shown.push(screen(&model, 20, 5));
    }
    assert_snapshot!("20x5", shown.join("\n---\n"));
    for (columns, rows) in [(1, 1), (3, 1), (4, 2), (200, 2), (5, 50)] {
        screen(&model, columns, rows);
    }
}

#[test]
fn a_request_is_shown_in_full() {
    let mut model = model();
    let command = (1..40).map(|line| format!("echo {line}\u{1b}[8m")).collect::<Vec<_>>().join("\n");
    model.on(Update::Opened(request("2aaa1111", "site-1", &command, Some("\"$X\" is not known"))));
    press(&mut model, "3\n");
    let first = screen(&model, 80, 12);
    model.key(Key::End);
    assert_snapshot!("request", format!("{first}\n---\n{}", screen(&model, 80, 12)));
}

#[test]
fn a_transcript_follows_its_end_until_it_is_scrolled() {
    let mut model = model();
    model.on(Update::Transcript(
        text("/home/you/site"),
        vec![text("  beat     019c2d2f"), text("  model    opus")],
    ));
    let line = |kind, raw: &str| TranscriptLine { kind, text: text(raw) };
    let mut lines: Vec<TranscriptLine> =
        (1..30).map(|n| line(LineKind::Plain, &format!("line {n}"))).collect();
    lines.push(line(LineKind::Call, "  Bash(cargo test)  42 lines, 3.1s"));
    lines.push(line(LineKind::Failed, "  Bash(git push)  denied by the guard: no"));
    lines.push(line(LineKind::Note, "  [retry] 1 of 10 in 500 ms"));
    model.on(Update::Lines(lines));
    let mut shown = vec![screen(&model, 80, 20)];
    press(&mut model, "/line 7\n");
    shown.push(screen(&model, 80, 20));
    model.on(Update::TranscriptEnded);
    press(&mut model, "g");
    shown.push(screen(&model, 40, 8));
    assert_snapshot!("transcript", shown.join("\n---\n"));
}

#[test]
fn agents_that_have_exited_are_listed_on_demand() {
    let mut model = model();
    press(&mut model, "2");
    assert!(!screen(&model, 80, 24).contains("backups-9"));
    press(&mut model, "a");
    assert!(screen(&model, 80, 24).contains("backups-9"));
    press(&mut model, "a");
    assert!(!screen(&model, 80, 24).contains("backups-9"));
    model.on(Update::Agents(vec![agent("backups-9", Health::Exited, "", "/home/you/backups")]));
    assert_snapshot!(screen(&model, 80, 5).lines().skip(2).collect::<Vec<_>>().join("\n"), @"
    no running agents; press a to list those that have exited

    Enter show  s stop  y n answer  a all  / filter  : command  ? help  q quit
    ");
}

#[test]
fn an_empty_view_says_what_to_do() {
    let mut model = Model::new(TimeZone::UTC);
    model.on(Update::Daemon(Daemon::Down(text("is not running; start it with: murmur start"))));
    assert_snapshot!("empty", screen(&model, 80, 10));
}

#[test]
fn without_a_daemon_what_waits_is_still_shown_on_80_columns() {
    let mut model = model();
    model.on(Update::Daemon(Daemon::Down(text("is not running; start it with: murmur start"))));
    assert_snapshot!(screen(&model, 80, 24).lines().next().unwrap_or_default(), @"murmur is not running; start it with: murmur start  2 waiting for you");
}

#[test]
fn a_filter_shows_rows_as_it_is_typed() {
    let mut model = model();
    press(&mut model, "4/BACK");
    assert_snapshot!("filter", screen(&model, 60, 8));
}

#[test]
fn time_changes_the_screen_only_when_something_counts() {
    let mut model = Model::new(TimeZone::UTC);
    assert_eq!(super::changes_in(&model, now()), None);
    model.on(Update::Heartbeats(vec![heartbeat(
        "a",
        HeartbeatState::Next(now() + SignedDuration::from_secs(150)),
        "",
    )]));
    assert_eq!(super::changes_in(&model, now()), Some(SignedDuration::from_secs(31)));
    model.on(Update::Heartbeats(vec![heartbeat("a", HeartbeatState::Running(ago(5)), "")]));
    assert_eq!(super::changes_in(&model, now()), Some(SignedDuration::from_secs(1)));
}

#[test]
fn an_agent_makes_a_difference_only_if_that_is_seen() {
    let mut model = model();
    let known =
        |model: &Model, id: &str| model.agents.iter().find(|agent| &*agent.id == id).cloned().unwrap();
    let differs = |model: &Model, row: &Agent| super::differs(model, &Update::Agent(row.clone()), now());
    press(&mut model, "2");
    screen(&model, 80, 24);
    let site = known(&model, "fixer");
    let same =
        |of: &Agent| Agent { since: of.since - SignedDuration::from_secs(1), beat: None, ..of.clone() };
    assert!(!differs(&model, &site) && !differs(&model, &same(&site)));
    let changed = [
        Agent { doing: text("Bash: ls"), ..site.clone() },
        Agent { since: now(), ..site.clone() },
        Agent { health: Health::Stuck, ..site.clone() },
        Agent { folder: text("/home/you/other"), ..site.clone() },
        Agent { cost: Some(9.0), ..site.clone() },
        Agent { id: "new".into(), ..site.clone() },
    ];
    assert!(changed.iter().all(|row| differs(&model, row)));
    // An end that was cut, and an agent that the filter might let through.
    let long = |end: &str| Agent { doing: text(&format!("{}{end}", "x".repeat(200))), ..site.clone() };
    model.on(Update::Agent(long("1")));
    screen(&model, 80, 24);
    assert!(!differs(&model, &long("2")) && differs(&model, &site));
    press(&mut model, "/x\n");
    assert!(differs(&model, &long("2")));
    // It is not on the screen.
    press(&mut model, "\u{1b}1");
    screen(&model, 80, 24);
    assert!(!differs(&model, &site) && differs(&model, &changed[2]));
    for change in changed {
        let mut other = self::model();
        other.on(Update::Agents(
            model.agents.iter().filter(|row| row.id != change.id).cloned().chain([change.clone()]).collect(),
        ));
        model.on(Update::Agent(change));
        assert_eq!((&model.agents, &model.shared), (&other.agents, &other.shared));
    }
}
