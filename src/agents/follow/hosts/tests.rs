//! Hosts that refuse, do not answer, or drop events, and scans that are older than the known state.

use super::*;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixListener;

fn agent(id: &str) -> AgentId {
    AgentId::parse(id).unwrap()
}

fn seen(id: &str, condition: HostState) -> HostInfo {
    HostInfo { agent_id: agent(id), record: None, condition }
}

fn hosts() -> Hosts {
    Hosts::new(PathBuf::from("/nowhere"))
}

#[tokio::test(flavor = "current_thread")]
async fn a_host_is_queried_after_a_gap_and_left_when_its_events_end() {
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join(agent("a").socket())).unwrap();
    let host = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut question = String::new();
        BufReader::new(&mut stream).read_line(&mut question).await.unwrap();
        let event = |word: &str| json!({ "event_type": word, "agent_id": "a", "offset": 1, "payload": {} });
        let answer = json!({ "msg_type": "attach", "id": "1", "success": true });
        for line in [answer, event("text"), event(GAP), event(LAGGED)] {
            stream.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
        stream
    });
    let (sender, mut messages) = mpsc::channel(64);
    let (listener, mut received) = mpsc::channel(64);
    follow(folder.path(), &agent("a"), &sender, Some(&listener)).await.unwrap();
    drop(listener);
    let received: Vec<Event> = std::iter::from_fn(|| received.try_recv().ok()).collect();
    assert_eq!(received.iter().map(|event| &*event.event_type).collect::<Vec<_>>(), ["text", GAP]);
    drop(sender);
    let mut changes = 0;
    while let Some(Message::Changed(_)) = messages.recv().await {
        changes += 1;
    }
    // On attach, and after the gap.
    assert_eq!(changes, 2);
    drop(host.await.unwrap());
}

#[tokio::test(flavor = "current_thread")]
async fn only_a_refusal_is_permanent() {
    let mut hosts = hosts();
    hosts.record_end(&agent("no"), Err(AskError::Refused("full".into())), |hosts| &mut hosts.failed);
    hosts.record_end(&agent("slow"), Err(AskError::Silent(ANSWER_TIMEOUT)), |hosts| &mut hosts.unanswered);
    hosts.record_end(&agent("ended"), Ok(()), |hosts| &mut hosts.failed);
    assert_eq!(hosts.refused, [agent("no")].into());
    assert_eq!((hosts.unanswered.clone(), hosts.failed.len()), ([agent("slow")].into(), 0));
    assert!(hosts.needs_recheck());
    // It is retried only with the next check.
    hosts.follow(&seen("slow", HostState::Silent));
    assert!(hosts.awaited.is_empty());
    hosts.recheck(vec![agent("silent")]);
    assert!(!hosts.needs_recheck());
    let mut asked: Vec<_> = hosts.asked.keys().map(ToString::to_string).collect();
    asked.sort();
    assert_eq!(asked, ["silent", "slow"]);
    hosts.follow(&seen("slow", HostState::Silent));
    hosts.recheck(vec![agent("slow")]);
    assert_eq!((hosts.awaited.len(), hosts.asked.len()), (1, 2));
    assert!(!hosts.asked[&agent("slow")]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_scan_does_not_report_hosts_queried_since_it_started() {
    let mut hosts = hosts();
    hosts.query(agent("before"));
    hosts.query_all();
    hosts.query(agent("since"));
    let old = ["before", "since", "other"].map(|id| seen(id, HostState::Dead)).to_vec();
    let HostChange::All { seen, newer } = hosts.take(HostChange::All { seen: old, newer: HashSet::new() })
    else {
        panic!("another kind of news");
    };
    let ids: Vec<_> = seen.iter().map(|seen| seen.agent_id.as_str()).collect();
    assert_eq!((ids, newer), (vec!["other"], [agent("before"), agent("since")].into()));
}
