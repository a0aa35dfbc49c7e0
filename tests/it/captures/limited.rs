//! Captures of beats that are larger than `max-per-run`.

use serde_json::{Value, json};

use crate::env::Env;

#[test]
fn a_large_capture_keeps_its_beginning_and_end_and_every_reader_says_so() {
    let env = Env::new();
    env.setting("config.toml", "[captures]\nmax-per-run = \"1MiB\"\n");
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let said = |number: usize| {
        let text = format!("message {number} {}", "x".repeat(1000));
        json!({ "type": "assistant", "message": { "id": "m", "content": [{ "type": "text", "text": text }] } })
    };
    let lines: String = (0..4000).map(|number| said(number).to_string() + "\n").collect();
    site.plays(&json!({ "stdout": lines }));
    env.run(["beat", "site"]);
    let line = env.journal().pop().unwrap();
    let (capture, agent) = (line["capture"].as_str().unwrap(), line["agent"].as_str().unwrap());
    let sessions: Value =
        serde_json::from_slice(&env.murmur(["sessions", "--json"]).output().stdout).unwrap();
    let gap = &sessions["sessions"][0]["gap"];
    let (offset, length) = (gap["offset"].as_u64().unwrap(), gap["length"].as_u64().unwrap());
    assert_eq!(sessions["sessions"][0]["output_bytes"], json!(lines.len()));

    let shown = env.murmur(["show", capture, "--raw"]).output();
    assert_eq!(shown.stdout.len() as u64, lines.len() as u64 - length);
    assert!(shown.stdout.len() <= 1 << 20);
    let (begin, end) = shown.stdout.split_at(usize::try_from(offset).unwrap());
    assert!(lines.as_bytes().starts_with(begin) && lines.as_bytes().ends_with(end));
    let note = String::from_utf8(shown.stderr).unwrap();
    assert!(note.contains(&format!("{length} bytes after the first {offset} were not kept")), "{note}");
    let tail = env.murmur(["show", capture, "--tail", "999999"]).output().stdout;
    assert_eq!(tail, end, "no further back than the gap");

    let attached = env.murmur(["attach", agent, "--from", "0", "--json"]).output();
    let events: Vec<Value> = attached
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let gaps: Vec<&Value> = events.iter().filter(|event| event["event_type"] == "gap").collect();
    assert_eq!(gaps.len(), 1, "{}", String::from_utf8_lossy(&attached.stderr));
    let next = events.iter().find(|event| event["offset"] == gaps[0]["payload"]["to"]).unwrap();
    assert_eq!(next["event_type"], "chat");
    assert_eq!(events.last().unwrap()["payload"]["state"], "exited");
}
