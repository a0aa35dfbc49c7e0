use super::*;
use crate::replay::Replay;
use murmur_core::config::backend::Backend;
use murmur_rpc::envelope::Event as Envelope;
use murmur_rpc::feed::{Filled, Past};

/// An agent's capture in `root`, of which 64 KiB are kept.
fn begin(root: &Path) -> Capture {
    let info = AgentInfo {
        agent_id: AgentId::parse("a").unwrap(),
        kind: AgentKind::Beat,
        project: String::new(),
        role: String::new(),
        backend: Backend::Claude,
        worktree: PathBuf::new(),
        issue: None,
        beat: None,
        heartbeat: None,
        started_at: String::new(),
    };
    let limits = Captures { max_per_run: "64KiB".parse().unwrap(), ..Captures::default() };
    let to = Destination { root: Some(root.to_owned()), limits, group: None };
    let dialect = murmur_agent::backend::dialect(&Backend::Claude);
    Capture::begin(&to, &info, dialect, Vec::new(), Path::new("/"), None)
}

/// The numbers of the events in `lines`, and where gaps end.
fn numbers(lines: &[u8]) -> (Vec<u64>, Vec<u64>) {
    let (mut numbers, mut gaps) = (Vec::new(), Vec::new());
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let event: Envelope = serde_json::from_slice(line).unwrap();
        match event.event_type == murmur_rpc::envelope::GAP {
            true => gaps.push(event.payload["to"].as_u64().unwrap()),
            false => numbers.push(event.offset),
        }
    }
    (numbers, gaps)
}

/// Checks that these are events from 0 to `next`, except for one gap that ends with a message of the right number.
fn check(numbers: &[u64], gaps: &[u64], next: u64) {
    let breaks: Vec<u64> =
        numbers.windows(2).filter(|pair| pair[0] + 1 != pair[1]).map(|pair| pair[1]).collect();
    assert_eq!((numbers[0], numbers[numbers.len() - 1], &breaks[..]), (0, next - 1, gaps));
    assert_eq!(gaps.len(), 1);
}

#[test]
fn events_that_were_not_kept_are_a_gap() {
    let root = tempfile::tempdir().unwrap();
    let mut capture = begin(root.path());
    for number in 0..4000 {
        let text = format!("message {number} {}", "x".repeat(number % 200));
        let line = format!(
            r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        ) + "\n";
        let (one, other) = line.as_bytes().split_at(number % line.len());
        capture.bytes(Channel::Stdout, one, |_| ());
        capture.bytes(Channel::Stdout, other, |_| ());
        if number % 500 == 0 {
            capture.own(MurmurEvent::Problem { text: "p".to_owned() });
        }
    }
    let (next, mut lines) = (capture.feed().next(), Vec::new());
    let mut reader = capture.feed().reader(Some(0));
    while reader.fill(&mut lines, 10_000) == Filled::Some {}
    let (found, gaps) = numbers(&lines);
    check(&found, &gaps, next);
    let session = capture.session().unwrap().clone();
    capture.last(MurmurEvent::Problem { text: "over".to_owned() }, |_| ());
    assert!(capture.finish(&End::Exited(0)).is_ok());
    let stored = StoredEvents {
        root: root.path().to_owned(),
        session,
        agent_id: AgentId::parse("a").unwrap(),
        dialect: murmur_agent::backend::dialect(&Backend::Claude),
        limit: Arc::new(AtomicU64::new(u64::MAX)),
        is_over: true,
    };
    let mut replay = Replay::open(stored.clone(), 0).unwrap();
    let (mut lines, mut gaps, mut expected) = (Vec::new(), Vec::new(), 0);
    loop {
        let range = replay.fill(&mut lines, 10_000).unwrap();
        if range.is_empty() {
            break;
        }
        gaps.extend((range.start > expected).then_some(range.start));
        expected = range.end;
    }
    check(&numbers(&lines).0, &gaps, next + 1);
    // From the middle of the gap, and the numbers are those of the messages.
    let mut lines = Vec::new();
    let range = Replay::open(stored, gaps[0] - 3).unwrap().fill(&mut lines, 1).unwrap();
    assert_eq!(range.start, gaps[0]);
    let first: Envelope =
        serde_json::from_slice(lines.split_inclusive(|byte| *byte == b'\n').next().unwrap()).unwrap();
    // Own events come after the messages 0, 500, 1000 and so on.
    let number = (0_u64..4000).find(|number| number + number.div_ceil(500) == first.offset).unwrap();
    assert!(first.payload["text"].as_str().unwrap().starts_with(&format!("message {number} ")), "{first:?}");
}
