//! The arrival times of output, according to the session's index.

use std::io::{Read, Write};
use std::path::Path;

use derun::record::Stretch;
use jiff::{SignedDuration, Timestamp};
use sys::clock;

use super::{By, Place};

/// Writes a byte, and the next ones whenever the gate is opened.
const WRITES: &str = "printf a; read x < gate; printf b; read x < gate; printf c";

/// The times between which each of a session's bytes, or groups of so many bytes, arrived.
#[derive(Default)]
pub(crate) struct Arrivals(Vec<(u64, Timestamp, Timestamp)>);

impl Arrivals {
    /// Waits until more has arrived; `wait` returns the number of bytes.
    pub(crate) fn come(&mut self, wait: impl FnOnce() -> u64) {
        let before = clock::now();
        let length = wait();
        self.0.push((length, before, clock::now()));
    }

    /// Checks the index in a session's folder: a line has the time of its first byte, and every byte arrived less than
    /// 50 ms after that.
    pub(crate) fn are_in(&self, session: &Path) {
        let index = std::fs::read_to_string(session.join("index.jsonl")).unwrap();
        let lines: Vec<Stretch> = index.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut first = 0;
        for (length, before, after) in &self.0 {
            let line = lines.iter().find(|line| line.end() > first).unwrap();
            // Times are rounded to milliseconds.
            let tolerance = SignedDuration::from_millis(if line.offset == first { 1 } else { 51 });
            let is_in_time = *before - tolerance <= line.timestamp && line.timestamp <= *after;
            assert!(is_in_time, "byte {first} came from {before} to {after}, not when this says: {index}");
            first += length;
        }
        assert_eq!(lines.last().unwrap().end(), first);
    }
}

/// The folder of the only session.
fn session(place: &Place) -> std::path::PathBuf {
    let mut sessions = place.state().join("sessions").read_dir().unwrap();
    sessions.next().unwrap().unwrap().path()
}

#[test]
fn output_in_a_pipe_has_the_time_it_arrived() {
    let place = Place::new(By::Murmur);
    let (_, mut gate) = place.env.gate("gate");
    let mut arrivals = Arrivals::default();
    let mut child = None;
    arrivals.come(|| {
        let child = child.insert(place.command(&["sh", "-c", WRITES]).start());
        child.stdout.as_mut().unwrap().read(&mut [0]).unwrap() as u64
    });
    let mut child = child.unwrap();
    for _ in ["b", "c"] {
        arrivals.come(|| {
            gate.write_all(b"\n").unwrap();
            child.stdout.as_mut().unwrap().read(&mut [0]).unwrap() as u64
        });
    }
    assert!(child.wait().unwrap().success());
    arrivals.are_in(&session(&place));
}

#[test]
fn output_on_a_terminal_has_the_time_it_arrived() {
    let place = Place::new(By::Murmur);
    let (_, mut gate) = place.env.gate("gate");
    let mut arrivals = Arrivals::default();
    let mut terminal = None;
    arrivals.come(|| {
        terminal.insert(place.on_terminal(&["sh", "-c", WRITES])).wait_for("a");
        1
    });
    let mut terminal = terminal.unwrap();
    for byte in ["b", "c"] {
        arrivals.come(|| {
            gate.write_all(b"\n").unwrap();
            terminal.wait_for(byte);
            1
        });
    }
    assert_eq!(terminal.finish().text(), "abc");
    arrivals.are_in(&session(&place));
}
