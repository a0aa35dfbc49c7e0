//! Budgets: beats that exceed theirs, and heartbeats on hold until the next day, week or month.

use serde_json::{Value, json};

use crate::env::{Env, Workspace};

/// Each message of the agent costs this much, in US dollars.
fn costs(site: &Workspace, cost: f64) {
    site.plays(&json!({ "script": [[{ "type": "text", "text": "HEARTBEAT_OK" }]], "costUsd": cost }));
}

#[test]
fn a_beat_that_exceeds_its_budget_is_an_error_that_says_so() {
    let env = Env::new();
    let site = env.workspace("site", "---\nmaxBudgetUsd: 0.25\n---\nDo it.");
    env.configure(
        &json!({ "workspaces": [{ "path": site.0, "interval": "30m", "maxBudgetUsd": 2.5 }] }).to_string(),
    );
    let call =
        json!({ "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": { "command": "echo 1" } });
    let said = json!({ "type": "text", "text": "HEARTBEAT_OK" });
    site.plays(&json!({ "script": [[call], [said]], "costUsd": 0.2 }));
    assert!(env.run(["beat", "site"]).starts_with("error"));
    let line = env.journal().pop().unwrap();
    assert_eq!(line["error"], "exceeded maxBudgetUsd: Reached maximum budget ($0.25)");
    assert_eq!((&line["costUsd"], &line["exit"]), (&json!(0.4), &json!({ "code": 1 })));
    let argv = env.agents().pop().unwrap()["argv"].as_array().unwrap().clone();
    let place = argv.iter().position(|arg| arg == "--max-budget-usd").unwrap();
    assert_eq!(argv[place + 1], "0.25");
    costs(&site, 0.25);
    assert!(env.run(["beat", "site"]).starts_with("ok"), "exactly the budget");
    let shown = env.run(["beat", "site", "--dry-run"]);
    assert!(shown.contains("maxBudgetUsd: 0.25 USD  (HEARTBEAT.md)"), "{shown}");
}

#[test]
fn other_agents_cannot_limit_their_cost() {
    let env = Env::new();
    for (key, value) in [("maxBudgetUsd", json!(1)), ("budget", json!({ "day": 5 }))] {
        let site = env.workspace("site", "Do it.");
        let entry = json!({ "path": site.0, "interval": "30m", "agent": "codex", key: value });
        env.configure(&json!({ "workspaces": [entry] }).to_string());
        let said = env.run(["beat", "site"]);
        let error = format!("{key} needs cost reporting, which codex doesn't have");
        assert!(said.contains(&error), "{said}");
    }
}

#[test]
fn a_budget_of_all_heartbeats_says_which_costs_it_cannot_count() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let entry = json!({ "path": site.0, "interval": "30m", "agent": "codex" });
    env.configure(&json!({ "budget": { "day": 5 }, "workspaces": [entry] }).to_string());
    let line = |more: &Value| {
        let mut line = json!({ "ts": sys::clock::rfc3339(sys::clock::now()), "workspace": site.path(), "outcome": "ok", "durationMs": 0 });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let unknown = line(&json!({ "backend": "codex", "exit": { "code": 0 }, "costUnknown": true }));
    let lines = line(&json!({ "costUsd": 0.5 })) + &unknown + &unknown;
    std::fs::write(env.data().join("heartbeats.jsonl"), lines).unwrap();
    let why = "budget: 5 USD a day in config.json counts its beats as free, since codex reports no cost";
    let status = env.run(["status", "site"]);
    assert!(status.contains(&format!("notice    {why}; use a budget in tokens")), "{status}");
    let spent =
        "spent     0.5 USD of 5 USD this day by all heartbeats, and 2 beats of unknown cost; the day ends";
    assert!(status.contains(spent), "{status}");
    let json = env.run(["status", "site", "--json"]);
    assert!(json.contains(r#""spent":"0.5 USD","costUnknown":2"#), "{json}");
    for command in [&["config", "check"][..], &["doctor"]] {
        let said = env.run(command);
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_budget_that_is_used_up_holds_the_workspace_and_survives_a_restart() {
    let env = Env::new();
    let (site, other) = (env.workspace("site", "Do it."), env.workspace("other", "Do that."));
    let entries = [
        json!({ "path": site.0, "interval": "1s", "budget": { "month": "0.5 USD" } }),
        json!({ "path": other.0, "interval": "30m" }),
    ];
    env.configure(&json!({ "workspaces": entries }).to_string());
    costs(&site, 0.3);
    costs(&other, 0.3);
    let daemon = env.daemon();
    let said = daemon.says("is used up");
    let lines = env.wait_for_journal(4);
    let used_up = lines.iter().find(|line| line["kind"] == "budget").unwrap();
    let mut events = env.connect();
    events.ask("attach", &json!({ "from": 0 }));
    assert_eq!(events.next_of("budget_used_up")["payload"]["summary"], used_up["summary"]);
    let why = format!("the budget of 0.5 USD a month for workspace {} is used up", site.path());
    assert!(used_up["summary"].as_str().unwrap().starts_with(&format!("{why}; on hold until ")), "{used_up}");
    assert!(said.contains(&why), "{said}");
    assert_eq!((&used_up["outcome"], &used_up["workspace"]), (&json!("attention"), &json!(site.path())));
    let held =
        |status: &Value| (status["heartbeats"][0]["held"].clone(), status["heartbeats"][1]["held"].clone());
    let (first, none) = held(&env.ask("status", &Value::Null));
    assert_eq!((&first["kind"], &first["why"], &none), (&json!("budget"), &json!(why), &Value::Null));
    let inbox = env.run(["inbox"]);
    assert!(inbox.starts_with(&format!("1  budget  {}: {why}\n  ends in ", site.path())), "{inbox}");
    assert!(inbox.ends_with("\n  see: murmur usage\n[exit 0]"), "{inbox}");
    let spent = format!(
        "\n  spent     0.6 USD of 0.5 USD this month by workspace {}; the month ends in ",
        site.path()
    );
    let shown = env.run(["status", "site"]);
    assert!(shown.contains(&spent), "{shown}");
    let refused = env.connect().refusal("beat", &json!({ "workspace": site.0 }));
    assert!(refused.contains("the heartbeat may not start until") && refused.contains(&why), "{refused}");
    daemon.stop();
    let beats = env.journal().len();

    // The next daemon counts again.
    let daemon = env.daemon();
    assert_eq!(held(&env.ask("status", &Value::Null)), (first, Value::Null));
    assert_eq!(env.journal().len(), beats, "it is not said again");
    daemon.stop();
    let refused = env.run(["beat", "site"]);
    assert!(refused.contains(&why) && refused.contains("add --ignore-limits"), "{refused}");
    assert!(env.run(["beat", "site", "--ignore-limits"]).starts_with("ok"));
    let shown = env.run(["log", "-n", "20"]);
    assert!(shown.contains("budget: the budget of 0.5 USD a month"), "{shown}");
}

#[test]
fn a_budget_of_all_workspaces_holds_every_heartbeat_until_it_is_raised() {
    let env = Env::new();
    let (site, other) = (env.workspace("site", "Do it."), env.workspace("other", "Do that."));
    let configure = |most: &str| {
        let entries = [&site, &other].map(|site| json!({ "path": site.0, "interval": "30m" }));
        env.configure(&json!({ "budget": { "month": most }, "workspaces": entries }).to_string());
    };
    configure("0.5 USD");
    costs(&site, 0.6);
    costs(&other, 0.6);
    assert!(env.run(["beat", "site"]).starts_with("ok"));
    let refused = env.run(["beat", "other"]);
    assert!(refused.contains("the budget of 0.5 USD a month for all heartbeats is used up"), "{refused}");
    let daemon = env.daemon();
    let status = env.ask("status", &Value::Null);
    assert!(
        status["heartbeats"][1]["held"]["why"].as_str().unwrap().contains("for all heartbeats"),
        "{status}"
    );
    configure("1 USD");
    // The other one may start now.
    env.wait_for_journal(2);
    daemon.says("is used up");
    daemon.stop();
}

#[test]
fn a_budget_that_is_used_up_while_no_daemon_runs_is_reported_once_one_starts() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let entry = json!({ "path": site.0, "interval": "1d", "budget": { "month": "0.5 USD" } });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    costs(&site, 0.6);
    assert!(env.run(["beat", "site"]).starts_with("ok"));
    for is_news in [true, false] {
        let daemon = env.daemon();
        if is_news {
            daemon.says("is used up");
        }
        env.ask("status", &Value::Null);
        let lines = env.wait_for_journal(2);
        assert_eq!((lines.len(), &lines[1]["kind"]), (2, &json!("budget")));
        assert!(lines[1]["summary"].as_str().unwrap().contains("a month for workspace"), "{lines:?}");
        daemon.stop();
    }
    assert_eq!(env.journal().len(), 2, "it is not said again");
}

#[test]
fn a_budget_of_0_is_an_error_that_holds_only_its_heartbeat() {
    for (key, budget, error) in [
        (
            "maxBudgetUsd",
            json!(0),
            "\"maxBudgetUsd\": 0 is not a budget; write a number of US dollars above 0",
        ),
        ("budget", json!({ "day": 0 }), "\"budget\": 0 is not a budget for a day; write amounts"),
        (
            "budget",
            json!({ "week": "0 tokens" }),
            "\"budget\": \"0 tokens\" is not a budget for a week; write",
        ),
    ] {
        let env = Env::new();
        let (site, other) = (env.workspace("site", "Do it."), env.workspace("other", "Do that."));
        costs(&site, 0.3);
        costs(&other, 0.3);
        let entries = [
            json!({ "path": site.0, "interval": "30m", key: budget }),
            json!({ "path": other.0, "interval": "30m" }),
        ];
        env.configure(&json!({ "workspaces": entries }).to_string());
        let daemon = env.daemon();
        let lines = env.wait_for_journal(2);
        let of = |site: &Workspace| lines.iter().find(|line| line["workspace"] == site.path()).unwrap();
        assert_eq!(of(&other)["outcome"], "ok");
        let said = of(&site)["error"].as_str().unwrap();
        assert!(said.contains("config.json:1:") && said.contains(error), "{said}");
        assert_eq!(env.agents().len(), 1);
        daemon.stop_after_saying("is not a budget");
    }
}
