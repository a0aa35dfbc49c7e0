//! The screens in docs/guide/watch.md are drawn by the code.

use super::*;

/// Fails unless the guide has this screen.
fn is_in_guide(screen: &str) {
    let guide = include_str!("../../../../../docs/guide/watch.md");
    assert!(guide.contains(screen), "docs/guide/watch.md needs:\n{screen}");
}

/// The first rows of the pane that `key` shows, from its title on.
fn pane(model: &mut Model, key: &str, rows: usize) -> String {
    press(model, key);
    let screen = screen(model, 80, 20);
    screen.lines().skip(2).take(rows + 2).collect::<Vec<_>>().join("\n")
}

fn ran(seconds: i64, name: &str, outcome: Outcome, (took_ms, cost): (u64, f64), said: &str) -> LogLine {
    LogLine { took_ms, cost: Some(cost), ..line(seconds, name, outcome, said) }
}

/// A morning with four agents, one of which waits for you.
fn morning() -> Model {
    let mut model = Model::new(TimeZone::UTC);
    model.on(Update::Daemon(Daemon::Up { version: text("0.1.0"), since: ago(7_500) }));
    let agents = [
        ("docs-5b90a1c3", Health::Active, 250, (38_000, 0.21), "Bash: mdbook build", "docs"),
        ("site-20444f29", Health::Active, 95, (61_000, 0.34), "Bash: git push", "site"),
        ("site-e41d7708", Health::Active, 12, (22_000, 0.09), "Edit: src/cart.rs", "site"),
        ("tests-7fe3c0d2", Health::Stuck, 2_490, (140_000, 1.12), "Bash: npm test", "tests"),
        ("backups-9ab4f610", Health::Exited, 640, (12_000, 0.03), "Bash: restic check", "backups"),
    ];
    let agents = agents.map(|(id, health, seconds, (tokens, cost), doing, folder)| Agent {
        since: ago(seconds),
        context: Some((tokens, 200_000)),
        cost: Some(cost),
        ..agent(id, health, doing, &format!("/home/me/{folder}"))
    });
    model.on(Update::Agents(agents.into()));
    let docs = [(115, 2), (92, 5), (80, 1), (41, 9), (20, 4)].map(|activity| ("docs-5b90a1c3", activity));
    let site = [(60, 3), (33, 6), (12, 8)].map(|activity| ("site-e41d7708", activity));
    for (id, (seconds, events)) in docs.into_iter().chain(site).chain([("site-20444f29", (97, 3))]) {
        (0..events).for_each(|_| model.on(Update::Activity(id.into(), ago(seconds))));
    }
    model.on(Update::Opened(request("7ggs733k", "site-20444f29", "git push", None)));
    model.on(Update::Heartbeats(vec![
        heartbeat("site", HeartbeatState::Running(ago(312)), ""),
        heartbeat("backups", HeartbeatState::Next(ago(-1_500)), ""),
        heartbeat("mail", HeartbeatState::Held(ago(-7_260)), ""),
    ]));
    let mut lines: Vec<LogLine> = (1..30)
        .rev()
        .map(|half| ran(1_800 * half + 2_400, "site", Outcome::Ok, (41_300, 0.02), ""))
        .collect();
    lines.push(ran(2_800, "backups", Outcome::Ok, (12_300, 0.03), ""));
    lines.push(ran(2_400, "site", Outcome::Attention, (12_000, 0.02), "ATTENTION: login fails."));
    lines.push(ran(640, "mail", Outcome::Error, (900, 0.0), "exited with code 1"));
    model.on(Update::Logged(lines));
    model.on(Update::Limits(vec![Limit {
        account: text("codex /home/me/.codex (login)"),
        window: text("5-hour"),
        used: Some(0.84),
        is_reached: false,
        resets: Some(ago(-4_000)),
        held: None,
    }]));
    model
}

#[test]
fn the_guide_shows_real_panes() {
    let mut model = morning();
    press(&mut model, "2");
    is_in_guide(screen(&model, 80, 9).split_once('\n').unwrap().1);
    for (key, rows) in [("1", 3), ("3", 1), ("4", 2), ("5", 1)] {
        is_in_guide(&pane(&mut model, key, rows));
    }
}

#[test]
fn the_guide_shows_a_real_transcript() {
    let mut model = morning();
    let head = Text::lines(
        "  beat     019c2552-3f6a-7c31-9e0d-5b90a1c37fe3\n  started  2026-02-03 09:54:48, running for 5m 12s",
    );
    model.on(Update::Transcript(text("site  /home/me/site"), head));
    let line = TranscriptLine {
        kind: LineKind::Call,
        text: Text::lines("  Bash(make test)  12 tests passed, 24.1s").remove(0),
    };
    model.on(Update::Lines(vec![line]));
    let screen = screen(&model, 80, 16);
    is_in_guide(screen.split("\n\n\n").next().unwrap().split_once('\n').unwrap().1);
}

#[test]
fn the_guide_shows_a_real_request() {
    let mut model = morning();
    let asker = text("site-20444f29 in /home/me/site");
    model.on(Update::Opened(Request {
        asker,
        ..request("7ggs733k", "site-20444f29", "\"$TOOL\" --now", Some("$TOOL is not known"))
    }));
    press(&mut model, "3\n");
    let screen = screen(&model, 80, 8);
    let lines: Vec<&str> = screen.lines().filter(|line| !line.is_empty()).collect();
    is_in_guide(&lines.join("\n"));
}
