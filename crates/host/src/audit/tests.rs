use super::*;
use murmur_agent::event::Json;
use murmur_outcome::refused::RefusedCalls;
use murmur_store::journal::decisions::WITHDRAWN;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// An agent `a` and the record of its decisions.
struct Watch {
    folder: tempfile::TempDir,
    audit: Audit,
}

fn path(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("decisions.jsonl")
}

fn write(path: &Path, agent: &str, id: &str, decision: &str, by: &Value) {
    write_because(path, agent, id, (decision, "why"), by);
}

fn write_because(path: &Path, agent: &str, id: &str, (decision, reason): (&str, &str), by: &Value) {
    let line = json!({ "ts": "x", "agent": agent, "tool": "Bash", "input": "{\"command\":\"ls\"}", "cwd": "/",
        "session": "s", "toolUseId": id, "decision": decision, "by": by, "reason": reason, "durationMs": 1 });
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    writeln!(file, "{line}").unwrap();
}

impl Watch {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let audit = Audit::begin(path(&folder), AgentId::parse("a").unwrap(), Coverage::Every);
        Self { folder, audit }
    }

    fn decide(&self, id: &str) {
        let by = json!({ "kind": "default", "which": "permissions-checker" });
        write(&path(&self.folder), "a", id, "allow", &by);
    }

    fn uses(&mut self, message: &str, id: &str) -> Option<String> {
        let input = serde_json::value::to_raw_value(&json!({ "command": format!("run {id}") })).unwrap();
        let (message, name) = (message.into(), "Bash".into());
        self.audit.see(&Event::ToolUse {
            message,
            parent: "".into(),
            id: id.into(),
            name,
            input: Json(&input),
        })
    }

    fn result(&mut self, id: &str, output: &str, is_error: bool) -> Option<String> {
        let (parent, output) = ("".into(), output.into());
        self.audit.see(&Event::ToolResult { parent, id: id.into(), output, is_error })
    }

    fn call(&mut self, id: &str, output: &str, is_error: bool) -> Option<String> {
        assert_eq!(self.uses(id, id), None);
        self.result(id, output, is_error)
    }
}

#[test]
fn a_call_that_ran_undecided_is_reported() {
    let mut watch = Watch::new();
    watch.decide("t1");
    assert_eq!(watch.call("t1", "hi", false), None);
    assert_eq!(watch.call("t2", "hi", false), Some("Bash(run t2)".to_owned()));
    // A call that failed ran as well.
    assert_eq!(
        watch.call("t3", "Exit code 1\nPreToolUse:Bash hook error", true),
        Some("Bash(run t3)".to_owned())
    );
    assert_eq!(watch.audit.refusals(), Refusals::default());
}

#[test]
fn a_call_whose_request_was_withdrawn_was_not_denied() {
    let mut watch = Watch::new();
    let nobody = json!({ "kind": "nobody" });
    let mut write = |id, reason| {
        write_because(&path(&watch.folder), "a", id, ("deny", reason), &nobody);
        watch.audit.denials()
    };
    assert_eq!(write("t1", WITHDRAWN), [""; 0]);
    assert_eq!(write("t2", "nobody answered within 1m"), ["Bash"]);
    assert_eq!(write("t3", WITHDRAWN), ["Bash"]);
    // It must not have run all the same.
    let said = "a call ran although it was denied: Bash(run t1)";
    assert_eq!(watch.call("t1", "hi", false), None);
    let end = Event::Text { message: "m".into(), parent: "".into(), text: "well".into(), is_chunk: false };
    assert_eq!(watch.audit.breach(&end).as_deref(), Some(said));
}

#[test]
fn decisions_of_other_agents_and_earlier_runs_do_not_count() {
    let watch = Watch::new();
    watch.decide("t1");
    let audit = Audit::begin(path(&watch.folder), AgentId::parse("a").unwrap(), Coverage::Every);
    let mut watch = Watch { audit, ..watch };
    write(&path(&watch.folder), "b", "t1", "allow", &json!({ "kind": "person" }));
    assert_eq!(watch.call("t1", "hi", false), Some("Bash(run t1)".to_owned()));
}

#[test]
fn calls_refused_by_claude_code_did_not_run() {
    let mut watch = Watch::new();
    let refused = "<tool_use_error>Error: No such tool available: Bash</tool_use_error>";
    assert_eq!(watch.call("t1", refused, true), None);
    assert_eq!(watch.call("t2", refused, false), Some("Bash(run t2)".to_owned()));
    // The result of a call of an earlier run, which this one resumes.
    assert_eq!(watch.result("t0", "hi", false), None);
}

#[test]
fn a_call_that_was_interrupted_while_its_hook_asked_a_person_did_not_run() {
    let mut watch = Watch::new();
    watch.audit.asks("t1");
    assert_eq!(watch.call("t1", REJECTED, true), None);
    assert_eq!(watch.call("t1", REJECTED, true), Some("Bash(run t1)".to_owned()));
    watch.audit.asks("t2");
    assert_eq!(watch.call("t2", "hi", false), Some("Bash(run t2)".to_owned()));
}

#[test]
fn a_decision_is_known_after_the_result_but_covers_no_second_call() {
    let mut watch = Watch::new();
    watch.decide("t1");
    assert_eq!(watch.call("t1", "hi", false), None);
    assert!(watch.audit.is_decided("t1") && !watch.audit.is_decided("t2"));
    assert_eq!(watch.call("t1", "hi", false), Some("Bash(run t1)".to_owned()));
}

#[test]
fn failed_hooks_and_refused_calls_are_reported_at_the_end() {
    let mut watch = Watch::new();
    let failed = "PreToolUse:Bash hook error: ['/x/murmur-hook' PreToolUse || exit 2]: not found";
    assert_eq!(watch.call("t1", failed, true), None);
    for id in ["t2", "t3"] {
        write(&path(&watch.folder), "a", id, "deny", &json!({ "kind": "guard", "which": "x" }));
        assert_eq!(watch.call(id, "PreToolUse:Bash hook error: refused", true), None);
    }
    let refusals = watch.audit.refusals();
    assert_eq!(refusals.by_guard, Some(RefusedCalls { first: "Bash(ls)".to_owned(), count: 2 }));
    assert_eq!(refusals.failure, Some(format!("Bash(run t1): {failed}")));
    let mut watch = Watch::new();
    write(&path(&watch.folder), "a", "t1", "deny", &json!({ "kind": "failure" }));
    assert_eq!(watch.audit.refusals().failure.as_deref(), Some("Bash(ls): why"));
}

#[test]
fn a_rotated_record_is_followed() {
    let mut watch = Watch::new();
    watch.decide("t1");
    assert_eq!(watch.call("t1", "hi", false), None);
    watch.decide("t2");
    std::fs::rename(path(&watch.folder), watch.folder.path().join("old")).unwrap();
    watch.decide("t3");
    assert_eq!(watch.call("t2", "hi", false), None);
    assert_eq!(watch.call("t3", "hi", false), None);
    std::fs::remove_file(path(&watch.folder)).unwrap();
    assert_eq!(watch.call("t4", "hi", false), Some("Bash(run t4)".to_owned()));
    // A symlink is not read.
    std::os::unix::fs::symlink("old", path(&watch.folder)).unwrap();
    assert_eq!(watch.call("t5", "hi", false), Some("Bash(run t5)".to_owned()));
}

#[test]
fn decisions_in_parts_that_came_and_went_count() {
    let mut watch = Watch::new();
    let path = path(&watch.folder);
    watch.decide("t1");
    assert_eq!(watch.call("t1", "hi", false), None);
    // Rotated twice and compressed before the next call's result.
    for id in ["t2", "t3", "t4"] {
        let full = |path: &Path| OpenOptions::new().append(true).create(true).open(path);
        rotate::append(&path, b"{}\n", 1, full, |_| Ok(())).unwrap();
        watch.decide(id);
        rotate::compress(&path).unwrap();
    }
    for id in ["t2", "t3", "t4"] {
        assert_eq!(watch.call(id, "hi", false), None, "{id}");
    }
    assert_eq!(watch.call("t5", "hi", false), Some("Bash(run t5)".to_owned()));
    assert_eq!(watch.call("t2", "again", false), Some("Bash(run t2)".to_owned()));
}

#[test]
fn an_oversized_line_hides_no_call() {
    let mut watch = Watch::new();
    watch.decide("t1");
    assert_eq!(watch.uses("m1", "t1"), None);
    assert_eq!(watch.uses("m1", "t2"), None);
    assert_eq!(watch.audit.see(&Event::Oversized { bytes: 1 << 25 }), None);
    assert_eq!(watch.uses("m2", "t3"), Some("Bash(run t2)".to_owned()));
    assert_eq!(watch.result("t4", "hi", false).as_deref(), Some("a call that could not be read"));
    // Without a lost line, a message that the model started again has calls that never ran.
    let mut watch = Watch::new();
    assert_eq!((watch.uses("m1", "t1"), watch.uses("m2", "t2")), (None, None));
}

#[test]
fn a_breach_is_reported_once() {
    let mut watch = Watch::new();
    watch.decide("t1");
    assert_eq!(watch.uses("m1", "t1"), None);
    let line = json!({ "ts": "x", "agent": "a", "tool": "Write", "input": "{\"file_path\":\"link/x\"}", "cwd": "/",
        "session": "s", "toolUseId": "t1", "decision": "deny", "by": { "kind": "guard", "which": "system-file" },
        "reason": "writing to it is refused", "breach": true, "durationMs": 1 });
    let mut file = OpenOptions::new().append(true).open(path(&watch.folder)).unwrap();
    writeln!(file, "{line}").unwrap();
    assert_eq!(watch.result("t1", "done", false), None);
    let event =
        Event::ToolResult { parent: "".into(), id: "t1".into(), output: "done".into(), is_error: false };
    let told = watch.audit.breach(&event);
    let said = "a call wrote where it is not allowed, because a link changed after the decision: \
                Write(link/x): writing to it is refused";
    assert_eq!(told.as_deref(), Some(said));
    assert_eq!(watch.audit.breach(&event), None);
    assert_eq!(watch.audit.refusals(), Refusals::default(), "nothing was refused in time");
}

#[test]
fn a_denied_call_that_ran_is_reported_and_a_decision_covers_one_call() {
    let mut watch = Watch::new();
    write(&path(&watch.folder), "a", "t1", "deny", &json!({ "kind": "person" }));
    assert_eq!(watch.call("t1", "PreToolUse:Bash hook error: no", true), None);
    let end = Event::Text { message: "m".into(), parent: "".into(), text: "well".into(), is_chunk: false };
    assert_eq!(watch.audit.breach(&end), None);
    // The same call, asked again and allowed.
    for decision in ["deny", "allow"] {
        write(&path(&watch.folder), "a", "t2", decision, &json!({ "kind": "person" }));
    }
    assert_eq!(watch.call("t2", "hi", false), None);
    assert_eq!(watch.audit.breach(&end), None);
    write(&path(&watch.folder), "a", "t3", "deny", &json!({ "kind": "person" }));
    assert_eq!(watch.call("t3", "hi", false), None);
    let said = "a call ran although it was denied: Bash(run t3)";
    assert_eq!(watch.audit.breach(&end).as_deref(), Some(said));
    watch.decide("t4");
    assert_eq!(watch.call("t4", "hi", false), None);
    assert_eq!(watch.call("t4", "hi", false), Some("Bash(run t4)".to_owned()));
}

#[test]
fn a_call_that_is_reported_only_when_it_is_decided_needs_its_decision_then() {
    let watch = Watch::new();
    let audit = Audit::begin(path(&watch.folder), AgentId::parse("a").unwrap(), Coverage::Started);
    let mut watch = Watch { audit, ..watch };
    watch.decide("t1");
    assert!(watch.audit.is_allowed("t1") && !watch.audit.is_allowed("t2"));
    assert_eq!(watch.call("t1", "", false), None);
    assert!(!watch.audit.is_allowed("t1"), "a decision is valid for one call only");
    assert_eq!(watch.uses("t2", "t2").as_deref(), Some("Bash(run t2)"));
}

#[test]
fn a_hook_that_blocked_a_call_undecided_has_failed() {
    let mut watch = Watch::new();
    let blocked = |watch: &mut Watch, id: &'static str| {
        watch.audit.see(&Event::Blocked { id: id.into(), reason: format!("no {id}").into() })
    };
    watch.decide("t1");
    assert_eq!(blocked(&mut watch, "t1"), None);
    assert_eq!(watch.audit.refusals(), Refusals::default());
    assert_eq!(blocked(&mut watch, "t2"), None);
    assert_eq!(watch.audit.refusals().failure.as_deref(), Some("no t2"));
}

#[test]
fn a_call_whose_hook_failed_was_denied_and_is_reported() {
    let mut watch = Watch::new();
    let mut asked = PermissionRequest { tool: "Bash".to_owned(), ..PermissionRequest::default() };
    (asked.input, asked.tool_use_id) = (json!({ "command": "ls" }), "t1".to_owned());
    watch.audit.hook_failed(&asked, "it gave no answer");
    assert_eq!(watch.call("t1", "rejected", true), None);
    let refusals = watch.audit.refusals();
    assert_eq!(refusals.failure.as_deref(), Some("Bash(ls): it gave no answer"));
    assert!(refusals.undecided.calls.is_empty());
}
