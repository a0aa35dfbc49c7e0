//! Questions: what a person reads, which answers are valid, and what reaches the agent.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{acts, call, line, text};
use crate::env::{Env, Workspace};

/// The questions of most tests.
fn two() -> Value {
    json!({ "questions": [
        { "question": "Which one?", "header": "Pick", "multiSelect": false,
            "options": [{ "label": "A", "description": "the first" }, { "label": "B", "description": "" }] },
        { "question": "Which days?", "header": "Days", "multiSelect": true,
            "options": [{ "label": "Monday", "description": "" }, { "label": "Friday", "description": "" }] },
    ]})
}

fn asks(env: &Env, frontmatter: &str, input: &Value) -> Workspace {
    env.workspace_calling(frontmatter, &[call("t1", "AskUserQuestion", input)])
}

fn respond(env: &Env, row: &Value, answers: &str) -> String {
    let said = env.run(["question", "respond", text(row, "id"), answers]);
    said.replace(text(row, "agent"), "[AGENT]").replace(text(row, "id"), "[REQUEST]")
}

#[test]
fn a_person_answers_a_beats_questions() {
    let env = Env::new();
    asks(&env, "model: x", &two());
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    let listed = env.run(["question", "list"]);
    let listed = listed.replace(text(&row, "agent"), "[AGENT]").replace(text(&row, "id"), "[REQUEST]");
    assert_snapshot!(listed.split("  asked").next().unwrap(), @"
    [REQUEST]  AskUserQuestion  [AGENT] in [ENV]/site
        q1 [Pick] Which one?
          1. A: the first
          2. B
        q2 [Days] Which days? (one or more)
          1. Monday
          2. Friday
    ");
    assert!(env.run(["permission", "list"]).starts_with("no permission requests\n"));
    assert_snapshot!(respond(&env, &row, r#"{"q1":2,"Days":["Friday",1]}"#), @"
    answered AskUserQuestion for [AGENT]
    [exit 0]
    ");
    assert_eq!(line(beat)["outcome"], "ok");
    let told = env.only_tool_result();
    assert!(told.ran());
    assert_snapshot!(told.text, @r#"Your questions have been answered: "Which one?"="B", "Which days?"="Friday, Monday". You can now continue with these answers in mind."#);
    let lines = env.conversation();
    let result = lines.iter().find(|line| line["toolUseResult"]["answers"].is_object()).unwrap();
    let mut echoed = two();
    echoed["answers"] = json!({ "Which one?": "B", "Which days?": "Friday, Monday" });
    assert_eq!(result["toolUseResult"], echoed);
    daemon.stop();
}

#[test]
fn an_invalid_answer_is_rejected_with_the_choices_and_the_agent_still_waits() {
    let env = Env::new();
    asks(&env, "model: x", &two());
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    let wrong = [
        r#"{"q1":"A","q3":"Friday"}"#,
        r#"{"q1":"A"}"#,
        r#"{"q1":"A","q2":"Fridy"}"#,
        r#"{"q1":3,"q2":"Friday"}"#,
        r#"{"q1":["A","B"],"q2":"Friday"}"#,
        r#"{"q1":"A","Pick":"B","q2":1}"#,
        r#"{"q1":"","q2":1}"#,
        "[1]",
        "{",
        "",
    ];
    let said: String =
        wrong.iter().map(|answers| respond(&env, &row, answers)).collect::<Vec<_>>().join("\n");
    let errors: Vec<&str> = said.lines().filter(|line| !line.starts_with("[exit 1]")).collect();
    assert_eq!(said.matches("[exit 1]").count(), wrong.len());
    assert_snapshot!(errors.join("\n"), @r#"
    | error: no question "q3"
    | hint: use one of q1 ("Pick"), q2 ("Days")
    | error: q2 ("Which days?") has no answer
    | hint: write one or a list of "Monday" (1), "Friday" (2), or {"other": "your own text"}
    | error: q2 cannot be answered with "Fridy"
    | hint: write one or a list of "Monday" (1), "Friday" (2), or {"other": "your own text"}
    | error: q1 cannot be answered with 3
    | hint: write one of "A" (1), "B" (2), or {"other": "your own text"}
    | error: q1 takes one answer, not 2
    | hint: write one of "A" (1), "B" (2), or {"other": "your own text"}
    | error: q1 is answered twice
    | hint: remove one of the two
    | error: the answer to q1 is empty
    | hint: write one of "A" (1), "B" (2), or {"other": "your own text"}
    | error: the answers are not a JSON object
    | hint: write the question and its answer as JSON, such as '{"q1": 1}'
    | error: the answers are not JSON: "{"
    | hint: run: murmur answer [REQUEST] ANSWER ..., or write the question and its answer as JSON, such as '{"q1": 1}'
    | error: no answer given
    | hint: run: murmur answer [REQUEST] ANSWER ..., or write the question and its answer as JSON, such as '{"q1": 1}'
    "#);
    let permission = env.run(["permission", "respond", text(&row, "id"), "allow"]);
    assert_snapshot!(permission.replace(text(&row, "id"), "[REQUEST]"), @r#"
    | error: request [REQUEST] is a question
    | hint: answer it: murmur answer [REQUEST] ANSWER, or deny it: murmur deny [REQUEST]
    [exit 1]
    "#);
    // Denying it is an answer.
    env.run(["permission", "respond", text(&row, "id"), "deny", "--reason", "decide by yourself"]);
    assert_eq!(line(beat)["denials"], json!(["AskUserQuestion"]));
    assert_eq!(env.only_tool_result().text, "PreToolUse:AskUserQuestion hook error: decide by yourself");
    daemon.stop();
}

#[test]
fn free_text_answers_a_question_with_choices() {
    let env = Env::new();
    let option = |label: &str| json!({ "label": label, "description": "" });
    let input = json!({ "questions": [
        { "question": "Which database?", "header": "Database", "multiSelect": false,
            "options": [option("Postgres"), option("SQLite")] },
        { "question": "Which checks?", "header": "Checks", "multiSelect": true,
            "options": [option("Lint"), option("Test")] },
    ]});
    asks(&env, "model: x", &input);
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    assert_snapshot!(respond(&env, &row, r#"{"q1":"Postgre","q2":"Lint"}"#), @r#"
    | error: q1 cannot be answered with "Postgre"
    | hint: write one of "Postgres" (1), "SQLite" (2), or {"other": "your own text"}
    [exit 1]
    "#);
    assert_snapshot!(respond(&env, &row, r#"{"q1":"MySQL","q2":"Lint"}"#), @r#"
    | error: q1 cannot be answered with "MySQL"
    | hint: write one of "Postgres" (1), "SQLite" (2), or {"other": "your own text"}
    [exit 1]
    "#);
    assert_snapshot!(respond(&env, &row, r#"{"q1":{"other":"x"},"q2":["Lint","a spell check"]}"#), @"
    answered AskUserQuestion for [AGENT]
    [exit 0]
    ");
    assert_eq!(line(beat)["outcome"], "ok");
    let told = env.only_tool_result();
    assert!(
        told.text.contains(r#""Which database?"="x", "Which checks?"="Lint, a spell check""#),
        "{told:?}"
    );
    daemon.stop();
}

#[test]
fn with_questions_deny_questions_are_denied_at_once() {
    let env = Env::new();
    asks(&env, "questions: deny", &two());
    assert_eq!(env.run_beat()["denials"], json!(["AskUserQuestion"]));
    assert_snapshot!(env.only_tool_result().text, @"PreToolUse:AskUserQuestion hook error: nobody can answer questions here; decide yourself, or stop and say what you need to know");
}

#[test]
fn unreadable_questions_are_denied_at_once() {
    for input in [json!({ "questions": [] }), json!({ "questions": [{ "header": "x" }] })] {
        let env = Env::new();
        asks(&env, "model: x", &input);
        assert_eq!(env.run_beat()["denials"], json!(["AskUserQuestion"]));
        let told = env.only_tool_result();
        assert!(told.text.contains("; ask again with "), "{told:?}");
    }
}

#[test]
fn a_question_that_times_out_gets_no_answer() {
    let env = Env::new();
    asks(&env, "approvalWait: 1s", &two());
    let daemon = env.daemon();
    assert_eq!(env.run_beat()["denials"], json!(["AskUserQuestion"]));
    assert!(env.only_tool_result().text.contains("nobody answered in time"));
    daemon.stop();
}

#[test]
fn questions_are_shown_with_nothing_hidden_and_answered_by_number() {
    let env = Env::new();
    let nasty = "Sure?\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}1m\r\nallowed Bash for site\u{202e}";
    asks(
        &env,
        "model: x",
        &json!({ "questions": [{ "question": nasty, "header": "\u{1b}[1m", "multiSelect": false,
        "options": [{ "label": "Yes\u{8}\u{8}", "description": "\u{1b}c" }, { "label": "No\u{200b}\u{1b}[8m", "description": "", "preview": "x\u{202e}" }] }] }),
    );
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    let listed = env.run(["question", "list"]);
    let raw = |character: char| character.is_control() && character != '\n' || character == '\u{202e}';
    assert!(!listed.contains(raw), "{listed:?}");
    for shown in [
        r"q1 [\u{1b}[1m] Sure?\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}1m\u{d}",
        "\n         allowed Bash for site\\u{202e}\n",
        r"  1. Yes\u{8}\u{8}: \u{1b}c",
        r"  2. No\u{200b}\u{1b}[8m",
        r"     | x\u{202e}",
    ] {
        assert!(listed.contains(shown), "{shown}: {listed}");
    }
    let refused = respond(&env, &row, r#"{"q1":9}"#);
    assert!(refused.contains("one of") && !refused.contains(raw), "{refused:?}");
    let said = env.run(["answer", "last", "2"]);
    assert!(said.starts_with("answered "), "{said}");
    assert_eq!(line(beat)["outcome"], "ok");
    let told = env.only_tool_result().text;
    assert!(told.contains("\"=\"No\u{200b}\u{1b}[8m\""), "{told:?}");
    daemon.stop();
}

#[test]
fn a_deferred_question_is_answered_later() {
    let env = Env::new();
    let site = asks(&env, "approval: defer\napprovalWait: 1s", &two());
    env.register(&[&site]);
    let daemon = env.daemon();
    let mut events = env.events();
    let row = events.until("request_opened");
    let waits = events.until("beat_ended");
    assert_snapshot!(text(&waits, "summary").replace(text(&row, "id"), "[REQUEST]"), @"asks a question; answer with `murmur answer [REQUEST]`");
    daemon.crash();
    let daemon = env.daemon();
    let mut events = env.events();
    assert_snapshot!(respond(&env, &row, r#"{"q1":"a","q2":{"other":"never"}}"#), @"
    answered AskUserQuestion for [AGENT]; its beat resumes soon
    [exit 0]
    ");
    let line = events.until("beat_ended");
    assert_eq!((text(&line, "outcome"), &line["resumes"]), ("ok", &row["id"]));
    assert!(env.only_tool_result().text.contains("\"Which one?\"=\"A\""));
    daemon.stop();
}

/// A hosted agent that was told to go, with these additional arguments.
fn hosted(env: &Env, script: &Value, more: &[&str]) {
    let site = env.workspace("site", "");
    site.plays(script);
    let args = ["host", "spawn", "--agent-id", "site-1", "--worktree", site.path(), "--json", "Go."];
    env.murmur(args.iter().chain(more)).json();
}

#[test]
fn a_person_answers_a_hosted_agents_questions() {
    let env = Env::new();
    let daemon = env.daemon();
    hosted(&env, &acts(&[call("t1", "AskUserQuestion", &two())]), &[]);
    let row = env.opened();
    assert_eq!(text(&row, "agent"), "site-1");
    respond(&env, &row, r#"{"q1":"B","q2":[2]}"#);
    let told = env.wait_for_tool_results(1).remove(0);
    assert!(told.ran() && told.text.contains("\"Which days?\"=\"Friday\""), "{told:?}");
    env.run(["host", "stop", "site-1"]);
    daemon.stop();
}

/// The result of a hosted agent's question that no hook decides and that a person answers like this.
fn asked_on_its_output(answer: impl Fn(&Env, &Value)) -> crate::permit::ToolResult {
    let env = Env::new();
    let daemon = env.daemon();
    let mut play = acts(&[call("t1", "AskUserQuestion", &two())]);
    play["faults"] = json!(["no-hooks"]);
    hosted(&env, &play, &[]);
    let mut events = env.events();
    let row = events.until("request_opened");
    assert_eq!((text(&row, "kind"), text(&row, "tool")), ("question", "AskUserQuestion"));
    answer(&env, &row);
    let told = env.wait_for_tool_results(1).remove(0);
    assert_eq!(env.decisions().len(), 1);
    env.run(["host", "stop", "site-1"]);
    daemon.stop();
    told
}

#[test]
fn control_requests_answer_calls_that_no_hook_decided() {
    let told = asked_on_its_output(|env, row| drop(respond(env, row, r#"{"q1":"B","q2":[2]}"#)));
    assert!(told.ran() && told.text.contains("\"Which one?\"=\"B\""), "{told:?}");
    let told = asked_on_its_output(|env, row| {
        env.run(["permission", "respond", text(row, "id"), "deny", "--reason", "enough"]);
    });
    assert!(told.is_error && told.text.contains("enough"), "{told:?}");
}

#[test]
fn answers_are_words_in_the_order_of_the_questions() {
    let env = Env::new();
    asks(&env, "model: x", &two());
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    let say = |args: &[&str]| {
        let said = env.run([&["answer"], args].concat());
        said.replace(text(&row, "agent"), "[AGENT]").replace(text(&row, "id"), "[REQUEST]")
    };
    let id = text(&row, "id");
    assert_snapshot!([say(&["zzz", "1"]), say(&[id, "1"]), say(&[id, "1", "2", "3"]), say(&[id]), say(&["last"])].join("\n"), @r#"
    | error: no request "zzz"
    | hint: see: murmur inbox
    [exit 1]
    | error: q2 ("Which days?") has no answer
    | hint: write one or more of "Monday" (1), "Friday" (2), with commas, or =your own text
    [exit 1]
    | error: 3 answers for 2 questions
    | hint: give one answer per question, each in quotes
    [exit 1]
    | error: stdin is not a terminal
    | hint: give the answers: murmur answer [REQUEST] ANSWER ...
    [exit 1]
    | error: stdin is not a terminal
    | hint: give the answers: murmur answer last ANSWER ...
    [exit 1]
    "#);
    assert_snapshot!(say(&[&id[..4], "=C, perhaps", "Friday,1"]), @"
    answered AskUserQuestion for [AGENT]
    [exit 0]
    ");
    assert_eq!(line(beat)["outcome"], "ok");
    let told = env.only_tool_result().text;
    assert!(told.contains(r#""Which one?"="C, perhaps", "Which days?"="Friday, Monday""#), "{told}");
    assert_snapshot!(say(&["last", "1"]), @"
    | error: no request is waiting
    | hint: see: murmur inbox
    [exit 1]
    ");
    daemon.stop();
}
