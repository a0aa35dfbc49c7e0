use super::*;

fn call(id: &str, parent: &str) -> Call {
    let at = Some(Timestamp::UNIX_EPOCH);
    let (id, parent) = (id.to_owned(), parent.to_owned());
    Call { subject: format!("{id}!"), id, parent, tool: "Bash".to_owned(), at, ..Call::default() }
}

/// What is complete, in short.
fn next(transcript: &mut Transcript) -> Vec<String> {
    std::iter::from_fn(|| transcript.complete()).map(short).collect()
}

fn short(item: Item) -> String {
    let ended = |call: &Call| match &call.result {
        Some(CallResult { output, is_error, duration_ms }) => format!(" {output} {is_error} {duration_ms:?}"),
        None => String::new(),
    };
    match item {
        Item::Text { parent, text } => format!("{parent}{text}"),
        Item::Call(call) => format!("call {}{}", call.subject, ended(&call)),
        Item::Result(call) => format!("result {}{}", call.subject, ended(&call)),
        Item::Message { text } => format!("> {text}"),
        Item::Note { tag, text } => format!("[{tag}] {text}"),
    }
}

#[test]
fn a_call_comes_with_its_result_and_before_what_follows() {
    let mut transcript = Transcript::default();
    transcript.text("", "Let me look.", false);
    transcript.call(call("a", ""));
    transcript.call(call("b", ""));
    assert_eq!(next(&mut transcript), ["Let me look."]);
    transcript.note("limit", "nearly reached".to_owned());
    transcript.result("b", "no", true, Some(Timestamp::from_millisecond(1500).unwrap()));
    assert!(next(&mut transcript).is_empty());
    transcript.result("a", "yes", false, None);
    assert_eq!(
        next(&mut transcript),
        ["call a! yes false None", "call b! no true Some(1500)", "[limit] nearly reached"]
    );
    transcript.result("c", "a result of nothing", false, None);
    assert_eq!(transcript.finish().count(), 0);
}

#[test]
fn a_result_of_an_earlier_runs_call_is_shown_once() {
    let mut transcript = Transcript::resumed();
    transcript.result("old", "pushed", false, None);
    transcript.result("old", "pushed", false, None);
    transcript.call(call("a", ""));
    transcript.result("a", "yes", false, None);
    transcript.result("a", "again", false, None);
    let shown: Vec<String> = transcript.finish().map(short).collect();
    assert_eq!(shown, ["call  pushed false None", "call a! yes false None"]);
}

#[test]
fn a_blocked_call_is_shown_whether_it_was_announced_or_not() {
    let mut transcript = Transcript::default();
    transcript.call(call("a", ""));
    transcript.blocked("a", "not allowed", None);
    transcript.blocked("b", "not allowed", None);
    let items: Vec<Item> = transcript.finish().collect();
    let Item::Call(unknown) = &items[1] else { panic!("{items:?}") };
    assert_eq!((&*unknown.id, &*unknown.tool), ("b", ""));
    let shown: Vec<String> = items.into_iter().map(short).collect();
    assert_eq!(shown, ["call a! not allowed true None", "call  not allowed true None"]);
}

#[test]
fn the_call_of_a_subagent_comes_before_what_it_does() {
    let mut transcript = Transcript::default();
    transcript.call(call("task", ""));
    transcript.call(call("inner", "task"));
    assert_eq!(next(&mut transcript), ["call task!"]);
    transcript.result("inner", "x", false, None);
    transcript.text("task", ": done", false);
    transcript.result("task", "all", false, None);
    assert_eq!(
        next(&mut transcript),
        ["call inner! x false None", "task: done", "result task! all false None"]
    );
}

#[test]
fn a_call_without_a_result_delays_a_limited_number_of_items() {
    let mut transcript = Transcript::default();
    transcript.call(call("a", ""));
    for _ in 0..HELD {
        transcript.note("note", String::new());
    }
    assert_eq!(next(&mut transcript).len(), 1 + HELD);
    transcript.call(call("b", ""));
    assert!(next(&mut transcript).is_empty());
    assert_eq!(transcript.finish().map(short).collect::<Vec<_>>(), ["call b!"]);
}

#[test]
fn all_items_can_be_taken_while_a_call_is_pending() {
    let mut transcript = Transcript::default();
    transcript.call(call("a", ""));
    transcript.note("waiting", "for you".to_owned());
    assert_eq!(
        transcript.take_all().into_iter().map(short).collect::<Vec<_>>(),
        ["call a!", "[waiting] for you"]
    );
    transcript.result("a", "done", false, None);
    assert_eq!(next(&mut transcript), ["result a! done false None"]);
}

#[test]
fn chunks_of_text_are_joined_and_a_call_that_is_announced_again_is_completed() {
    let mut transcript = Transcript::default();
    transcript.text("", "one ", true);
    transcript.text("", "text", true);
    transcript.call(call("a", ""));
    transcript.call(Call { subject: "ls -l".to_owned(), ..call("a", "") });
    transcript.result("a", "", false, None);
    assert_eq!(next(&mut transcript), ["one text", "call ls -l  false None"]);
    transcript.text("", "the end", true);
    assert_eq!(transcript.finish().map(short).collect::<Vec<_>>(), ["the end"]);
}

#[test]
fn a_huge_output_is_cut_at_a_character() {
    let mut transcript = Transcript::default();
    transcript.call(call("a", ""));
    transcript.result("a", &"ä".repeat(OUTPUT), false, None);
    let Some(Item::Call(Call { result: Some(result), .. })) = transcript.complete() else { panic!() };
    assert!(result.output.len() <= OUTPUT && result.output.len() > OUTPUT - 2);
}
