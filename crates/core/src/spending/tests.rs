use super::*;
use crate::config::cron::Crons;
use crate::config::file::File;
use crate::config::heartbeat;

/// The heartbeats of `/NAME`, each with the budgets that a config.json and the frontmatter set.
struct Site {
    folder: tempfile::TempDir,
    heartbeats: Vec<Heartbeat>,
}

impl Site {
    /// Two workspaces, `a` and `b`; `a` also has a heartbeat called `n`.
    fn new(total: &str, of_a: &str, own: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for file in ["a/HEARTBEAT.md", "a/heartbeats/n/HEARTBEAT.md", "b/HEARTBEAT.md"] {
            std::fs::create_dir_all(path(file).parent().unwrap()).unwrap();
            std::fs::write(path(file), "Look.").unwrap();
        }
        std::fs::write(path("a/HEARTBEAT.md"), format!("---\n{own}\n---\nLook.")).unwrap();
        let text = format!(
            r#"{{{total}"workspaces":[{{"path":{:?}{of_a}}},{{"path":{:?},"interval":"1h"}}]}}"#,
            path("a"),
            path("b")
        );
        let crons = Crons::new(sys::clock::named_zone("Europe/Berlin").unwrap());
        let file = File::parse(text.as_bytes(), Path::new("/config.json"), &crons).unwrap();
        let folders = ["a", "b"].map(path);
        let found = folders.iter().map(|path| heartbeat::resolve_registered(&file, path, &crons).unwrap());
        let heartbeats: Vec<Heartbeat> = found.flatten().collect();
        assert!(heartbeats.iter().all(|heartbeat| heartbeat.problem.is_none()), "{heartbeats:?}");
        Self { folder, heartbeats }
    }

    fn ledger(&self, now: &str) -> Ledger {
        Ledger::new(self.heartbeats.iter(), at(now))
    }

    /// Adds a beat of `workspace`, which ended then, and returns what it uses up.
    fn add(&self, ledger: &mut Ledger, workspace: &str, ended: &str, cost: f64, tokens: u64) -> Vec<String> {
        let (workspace, name) = workspace.split_once(':').unwrap_or((workspace, ""));
        let name = if name.is_empty() { String::new() } else { format!(r#","heartbeat":{name:?}"#) };
        let line = format!(
            r#"{{"ts":"{}","workspace":{:?},"outcome":"ok","durationMs":0,"costUsd":{cost},"tokens":{{"output":{tokens}}}{name}}}"#,
            at(ended),
            self.folder.path().join(workspace)
        );
        let used_up = ledger.add(&BeatUsage::parse(line.as_bytes()).unwrap());
        used_up.iter().map(|used_up| self.shown(used_up)).collect()
    }

    fn shown(&self, used_up: &UsedUp) -> String {
        let text = format!("{used_up} until {}", used_up.until);
        text.replace(&format!("{}/", self.folder.path().display()), "/")
    }

    /// What holds each heartbeat.
    fn holds(&self, ledger: &Ledger, now: &str) -> Vec<Option<String>> {
        let hold = |heartbeat| ledger.hold(heartbeat, at(now)).map(|used_up| self.shown(&used_up));
        self.heartbeats.iter().map(hold).collect()
    }
}

/// A time in February 2026, in UTC.
fn at(text: &str) -> Timestamp {
    format!("2026-02-{text}:00Z").parse().unwrap()
}

#[test]
fn a_budget_that_is_used_up_holds_its_heartbeats_until_the_day_ends() {
    let site = Site::new("", r#","budget":{"day":1}"#, "model: opus");
    let mut ledger = site.ledger("03T10:00");
    assert!(site.add(&mut ledger, "a", "03T10:00", 0.4, 0).is_empty());
    assert!(site.add(&mut ledger, "b", "03T10:10", 9.0, 0).is_empty());
    assert!(site.add(&mut ledger, "a", "02T22:59", 9.0, 0).is_empty(), "yesterday in Berlin");
    let said = "the budget of 1 USD a day for workspace /a is used up until 2026-02-03T23:00:00Z";
    assert_eq!(site.add(&mut ledger, "a:n", "03T10:20", 0.6, 0), [said]);
    assert!(site.add(&mut ledger, "a", "03T10:30", 0.1, 0).is_empty(), "it is said once");
    let held = Some(said.to_owned());
    assert_eq!(site.holds(&ledger, "03T22:59"), [held.clone(), held, None]);
    assert_eq!(site.holds(&ledger, "03T23:00"), [None, None, None]);
    assert!(site.add(&mut ledger, "a", "03T23:00", 0.9, 0).is_empty(), "a new day");
    assert_eq!(site.add(&mut ledger, "a", "04T12:00", 0.2, 0).len(), 1);
}

#[test]
fn the_budget_that_lasts_longest_holds_a_heartbeat() {
    let site = Site::new(
        r#""budget":{"week":"100 tokens"},"#,
        r#","budget":{"day":"50 tokens"},"cron":"0 9 * * *","tz":"America/New_York""#,
        "budget: {month: 2 USD}",
    );
    let mut ledger = site.ledger("03T10:00");
    assert_eq!(ledger.since(), Some("2026-01-31T23:00:00Z".parse().unwrap()));
    let day = "the budget of 50 tokens a day for workspace /a is used up until 2026-02-04T05:00:00Z";
    let week = "the budget of 100 tokens a week for all heartbeats is used up until 2026-02-08T23:00:00Z";
    let month = "the budget of 2 USD a month for heartbeat /a is used up until 2026-02-28T23:00:00Z";
    assert_eq!(site.add(&mut ledger, "a:n", "03T10:00", 0.0, 50), [day]);
    let held = |text: &str| Some(text.to_owned());
    assert_eq!(site.holds(&ledger, "03T10:00"), [held(day), held(day), None]);
    assert_eq!(site.add(&mut ledger, "b", "03T11:00", 5.0, 50), [week]);
    assert_eq!(site.holds(&ledger, "03T11:00"), [held(week), held(week), held(week)]);
    assert_eq!(site.add(&mut ledger, "a", "03T12:00", 2.0, 0), [month]);
    assert_eq!(site.holds(&ledger, "03T12:00"), [held(month), held(week), held(week)]);
    assert_eq!(site.holds(&ledger, "10T12:00"), [held(month), None, None]);
}

#[test]
fn parts_of_a_journal_can_be_counted_apart() {
    let site = Site::new(r#""budget":{"day":10,"month":10},"#, "", "model: opus");
    let (mut whole, mut one, mut two) =
        (site.ledger("03T10:00"), site.ledger("03T10:00"), site.ledger("03T10:00"));
    for (hour, is_first) in [("03T09:00", true), ("03T10:00", false), ("04T10:00", true)] {
        site.add(if is_first { &mut one } else { &mut two }, "a", hour, 4.0, 0);
        site.add(&mut whole, "a", hour, 4.0, 0);
    }
    let merged = one.merged(&two);
    assert_eq!(merged, whole);
    assert_eq!(site.holds(&merged, "04T11:00"), site.holds(&whole, "04T11:00"));
    assert!(merged.is_ahead(at("03T10:00")) && !merged.is_ahead(at("04T10:00")));
    assert!(merged.has_budgets_of(&site.ledger("10T10:00")));
    let other = Site::new(r#""budget":{"day":10},"#, "", "model: opus");
    assert!(!merged.has_budgets_of(&other.ledger("03T10:00")));
    assert!(Site::new("", "", "model: opus").ledger("03T10:00").is_empty());
}

#[test]
fn periods_are_those_of_the_calendar() {
    for (period, at, zone, start, end) in [
        (
            Period::Day,
            "2026-03-29T12:00:00Z",
            "Europe/Berlin",
            "2026-03-28T23:00:00Z",
            "2026-03-29T22:00:00Z",
        ),
        (
            Period::Week,
            "2026-03-29T12:00:00Z",
            "Europe/Berlin",
            "2026-03-22T23:00:00Z",
            "2026-03-29T22:00:00Z",
        ),
        (
            Period::Week,
            "2026-03-29T22:00:00Z",
            "Europe/Berlin",
            "2026-03-29T22:00:00Z",
            "2026-04-05T22:00:00Z",
        ),
        (Period::Month, "2026-12-31T23:00:00Z", "UTC", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        (
            Period::Month,
            "2026-12-31T23:00:00Z",
            "Europe/Berlin",
            "2026-12-31T23:00:00Z",
            "2027-01-31T23:00:00Z",
        ),
    ] {
        let window = Window::of(period, at.parse().unwrap(), &sys::clock::named_zone(zone).unwrap()).unwrap();
        assert_eq!((window.start.to_string(), window.end.to_string()), (start.to_owned(), end.to_owned()));
    }
}
