//! Agents that don't end as they should, and invalid streams.

mod doing;
mod stream;
mod suspend;
mod watchdogs;

use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::json;

use crate::env::{Env, kill, result, show};

/// A heartbeat with a timeout of a second.
const SHORT: &str = "---\ntimeout: 1s\n---\nDo it.";

/// Beats of one workspace per fault, all at once because each takes its time; returns the output and journal line of
/// each.
fn beats(env: &Env, faults: &[&[&str]]) -> String {
    let ok = result("HEARTBEAT_OK");
    let names: Vec<String> = faults.iter().map(|faults| faults[0].replace(':', "-")).collect();
    let start = |(name, faults): (&String, &&[&str])| {
        env.workspace(name, SHORT).plays(&json!({ "stdout": ok, "faults": faults }));
        env.murmur(["beat", name]).start()
    };
    let running: Vec<_> = names.iter().zip(faults).map(start).collect();
    let ended: Vec<_> = running.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    assert_eq!(env.agents_alive(), [0; 0]);
    let journal = env.journal();
    assert_eq!(journal.len(), faults.len());
    let mut shown = String::new();
    for (name, output) in names.iter().zip(ended) {
        let line = journal.iter().find(|line| line["workspace"].as_str().unwrap().ends_with(name)).unwrap();
        let after = match line["durationMs"].as_u64().unwrap() {
            0..1000 => "before its time was up".to_owned(),
            1000..6000 => "when its time was up".to_owned(),
            6000..8000 => "after its grace".to_owned(),
            late => format!("late, after {late} ms"),
        };
        shown += &format!(
            "{name}: {}\n{after}, {}, timed out: {}\n",
            show(&output),
            line["exit"],
            line["timedOut"]
        );
    }
    shown
}

#[test]
fn an_agent_that_takes_too_long_is_stopped_whatever_it_prints() {
    let env = Env::new();
    let faults: &[&[&str]] = &[&["hang"], &["hang-before"], &["success-after-term"], &["close-stdout"]];
    assert_snapshot!(beats(&env, faults), @r#"
    hang: error [S] timed out after 1s, after answering
    [exit 1]
    when its time was up, {"code":143}, timed out: true
    hang-before: error [S] timed out after 1s, while waiting for the model ([SPAN])
    [exit 1]
    when its time was up, {"code":143}, timed out: true
    success-after-term: error [S] timed out after 1s, after answering
    [exit 1]
    when its time was up, {"code":143}, timed out: true
    close-stdout: error [S] timed out after 1s, after answering
    [exit 1]
    when its time was up, {"code":143}, timed out: true
    "#);
}

#[test]
fn an_agent_that_ignores_sigterm_is_killed_with_its_descendants() {
    let env = Env::new();
    let all = ["ignore-term", "hang", "setsid-child", "setsid-child-clean-env", "hold-output"];
    let faults: &[&[&str]] = &[&all, &["setsid-child", "hang"], &["setsid-child-clean-env", "hang"]];
    assert_snapshot!(beats(&env, faults), @r#"
    ignore-term: error [S] timed out after 1s, after answering
    [exit 1]
    after its grace, {"signal":9}, timed out: true
    setsid-child: error [S] timed out after 1s, after answering
    [exit 1]
    when its time was up, {"code":143}, timed out: true
    setsid-child-clean-env: error [S] timed out after 1s, after answering
    [exit 1]
    when its time was up, {"code":143}, timed out: true
    "#);
    let children: usize = env.agents().iter().map(|agent| agent["children"].as_array().unwrap().len()).sum();
    assert_eq!(children, 5);
}

#[test]
fn leftover_processes_are_killed_and_do_not_change_the_outcome() {
    let env = Env::new();
    let faults: &[&[&str]] = &[&["hold-output"], &["setsid-child"], &["setsid-child-clean-env"]];
    assert_snapshot!(beats(&env, faults), @r#"
    hold-output: ok [S]
    [exit 0]
    before its time was up, {"code":0}, timed out: null
    setsid-child: ok [S]
    [exit 0]
    before its time was up, {"code":0}, timed out: null
    setsid-child-clean-env: ok [S]
    [exit 0]
    before its time was up, {"code":0}, timed out: null
    "#);
}

#[test]
fn an_interrupted_beat_ends_its_agent_and_is_journaled() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let env = Env::new();
        let faults = ["setsid-child", "success-after-term"];
        env.workspace("site", "Do it.").plays(&json!({ "stdout": "", "faults": faults }));
        let beat = env.murmur(["beat", "site"]).start();
        env.wait_for_agents(1);
        kill(beat.id().into(), signal);
        let shown = show(&beat.wait_with_output().unwrap());
        insta::allow_duplicates! {
            assert_snapshot!(shown, @"
            stopped [S] by you after [SPAN], while waiting for the model ([SPAN])
            [exit 1]
            ");
            assert_snapshot!(env.journal_text(), @r#"{"ts":"[TIME]","workspace":"[ENV]/site","outcome":"error","durationMs":[MS],"error":"stopped after [SPAN], while waiting for the model ([SPAN])","beat":"[BEAT]","agent":"site-[ID]","costUsd":0.0,"numTurns":1,"exit":{"code":143},"stopped":true,"capture":"[SESSION]"}"#);
        }
        assert_eq!(env.agents_alive(), [0; 0]);
    }
}
