//! Two concurrent starts: one becomes the daemon, and the other reports which.

use std::time::Duration;

use super::times;
use crate::env::{Env, show};

#[test]
fn of_two_concurrent_starts_one_wins_and_the_other_names_it() {
    let env = Env::for_as_long_as(Duration::from_secs(60 + times(0, 600)));
    let races = times(15, 200);
    for race in 0..races {
        let starts = [(); 2].map(|()| env.murmur(["start"]).start());
        let mut said = starts.map(|start| show(&start.wait_with_output().unwrap()));
        said.sort();
        let pid = env.ask("ping", &serde_json::Value::Null)["pid"].clone();
        let expected = [
            format!("murmur is already running (PID {pid})\n[exit 0]"),
            format!("murmur is running (PID {pid})\n[exit 0]"),
        ];
        assert_eq!(said, expected, "race {race}");
        if race % 2 == 0 {
            assert_eq!(env.run(["stop"]), format!("murmur stopped (PID {pid})\n[exit 0]"));
        } else {
            // The leftovers of a killed one are in nobody's way.
            let pid = pid.as_i64().unwrap();
            crate::env::kill(pid, rustix::process::Signal::KILL);
            crate::env::wait_for_end(pid);
        }
    }
    let log = std::fs::read_to_string(env.data().join("murmur.log")).unwrap();
    assert_eq!(log.matches("started (PID").count() as u64, races, "{log}");
    eprintln!("{races} races");
}
