//! Bursts, of a live agent and of a beat.

use fake_claude::replay::{Fixture, lines};
use serde_json::{Value, json};

use super::live::{ECHO, Live, user, well};
use super::live_control::INTERRUPT;
use super::{Stage, fixture};

#[test]
fn a_burst_precedes_the_result_with_numbered_lines() {
    let stage = Stage::new();
    std::fs::write(stage.path().join(".fake-claude.json"), r#"{"burst":1000}"#).unwrap();
    let mut live = Live::start(&stage, &[ECHO]);
    live.write(&[&user("one")]);
    assert_eq!(
        (live.line()["type"].clone(), live.line()["type"].clone()),
        (json!("system"), json!("assistant"))
    );
    for number in 1..=1000 {
        let line = live.line();
        let text = line["message"]["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(text.starts_with(&format!("burst {number} x")), "{text}");
        assert!((900..920).contains(&text.len()), "{}", text.len());
    }
    assert_eq!(live.line()["result"], "turn 1: one");
    live.write(&[&user("two")]);
    assert_eq!(live.turn().0.len(), 1003);
    assert_eq!(live.end(), well(0));
}

#[test]
fn a_beat_can_burst_too_and_an_invalid_burst_is_reported() {
    let count = lines(&Fixture::load(fixture("ok").as_ref()).unwrap().stdout).count();
    let output = Stage::new().run(&[("FIXTURE", &fixture("ok")), ("BURST", "3:10")]);
    let all: Vec<&[u8]> = lines(&output.stdout).collect();
    assert_eq!((all.len(), output.status.code()), (count + 3, Some(0)));
    let burst: Value = serde_json::from_slice(all[all.len() - 2]).unwrap();
    assert_eq!(burst["message"]["content"][0]["text"], "burst 3 xxxxxxxxxx");
    for (instructions, said) in [
        (("BURST", "many"), "fake-claude: invalid burst: many (N or N:BYTES)\n"),
        (("LIVE", "loud"), "fake-claude: unknown live mode: loud (echo)\n"),
    ] {
        let output = Stage::new().run(&[instructions]);
        assert_eq!((String::from_utf8_lossy(&output.stderr), output.status.code()), (said.into(), Some(70)));
    }
}

#[test]
fn an_interrupt_ends_a_huge_burst() {
    let stage = Stage::new();
    let mut live = Live::start(&stage, &[ECHO, ("BURST", "1000000000")]);
    live.write(&[&user("one")]);
    // After init and the answer, so the burst has started.
    (0..3).for_each(|_| drop(live.line()));
    live.write(&[INTERRUPT]);
    assert_eq!(live.turn().1["subtype"], "error_during_execution");
    assert_eq!(live.end(), well(1));
}
