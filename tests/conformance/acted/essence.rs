//! The essence of a run: what was called, the results, how it ended, and what hooks were told.
//!
//! Input: the lines. Output: text for people, equal for two runs that a program must treat alike.

use std::path::Path;

use regex::Regex;
use serde_json::Value;

use super::stage::Ran;

/// Numbers that differ in every run: ports, times, and how much of a prompt is the conversation.
const MEASURED: &str = r"(127\.0\.0\.1:|duration_ms(?:: |>)|this conversation is only ~)\d+";

/// The same in hook inputs.
const NOT_WAITED_FOR: &str = r#""hook_event_name":"StopFailure""#;

/// The tools that exist only if somebody can be asked.
const ASKING: [&str; 3] = ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"];

/// A run without ids, times and other values that differ between runs.
#[derive(Debug)]
pub(super) struct Essence {
    /// The id of its session, for the next run.
    pub(super) session: Option<String>,
    parts: Vec<(&'static str, Vec<String>)>,
}

impl Essence {
    pub(super) fn of(ran: &Ran, home: &Path) -> Self {
        let (lines, code) = (&ran.lines, ran.code());
        let folder = home.to_string_lossy().into_owned();
        let session = lines.iter().find_map(|line| line["session_id"].as_str()).map(str::to_owned);
        let known = ids(lines, session.as_deref());
        let measured = Regex::new(MEASURED).ok();
        let plain = |text: String| {
            let mut text = text.replace(&folder, "").replace(&folder.replace(['/', '.'], "-"), "");
            for (id, name) in &known {
                text = text.replace(id, name);
            }
            measured.iter().fold(text, |text, measured| measured.replace_all(&text, "${1}…").into_owned())
        };
        let all = |pick: fn(&Value) -> Option<String>| -> Vec<String> {
            lines.iter().filter_map(pick).map(plain).collect()
        };
        let mut told: Vec<String> = ran.told.lines().map(hooked).map(plain).collect();
        // Hooks of concurrent calls run in any order.
        told.sort();
        let stderr = vec![plain(ran.stderr.clone())];
        let parts = vec![
            ("end", vec![format!("{code:?}")]),
            ("stderr", stderr),
            ("model", all(|line| said(line).filter(|_| !is_within(line)))),
            // A question may come before or after the model's next block.
            ("events", all(|line| happened(line).filter(|_| !is_within(line)))),
            // A subagent runs concurrently with the agent.
            ("subagent", all(|line| said(line).or_else(|| happened(line)).filter(|_| is_within(line)))),
            ("notices", all(noticed)),
            ("hooks", told),
        ];
        Self { session, parts }
    }

    pub(super) fn minus(&self, fake: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for ((what, real), (_, fake)) in self.parts.iter().zip(&fake.parts) {
            // Claude Code doesn't wait for these: they may be cut off before they print anything.
            let is_cut_off = |said: &&String| said.contains(NOT_WAITED_FOR);
            let is_one = real.iter().any(|said| is_cut_off(&said));
            let fake: Vec<&String> = fake.iter().filter(|said| is_one || !is_cut_off(said)).collect();
            if !real.iter().eq(fake.iter().copied()) {
                found.push(format!("{what}: the real one has {real:#?}, fake-claude {fake:#?}"));
            }
        }
        found
    }
}

/// The names of the session and its tasks, and their placeholders.
fn ids(lines: &[Value], session: Option<&str>) -> Vec<(String, String)> {
    let mut known: Vec<(String, String)> = Vec::new();
    known.extend(
        session.filter(|id| uuid::Uuid::try_parse(id).is_ok()).map(|id| (id.to_owned(), "ID".to_owned())),
    );
    for (key, name) in [("run_id", "RUN"), ("task_id", "TASK")] {
        let own: Vec<&str> = lines.iter().filter_map(|line| line[key].as_str()).collect();
        for id in own {
            if !known.iter().any(|(other, _)| other == id) {
                let count = known.iter().filter(|(_, other)| other.starts_with(name)).count();
                known.push((id.to_owned(), format!("{name}{}", count + 1)));
            }
        }
    }
    known
}

/// Whether it is a subagent's line.
fn is_within(line: &Value) -> bool {
    line["parent_tool_use_id"].is_string()
}

fn blocks(line: &Value) -> impl Iterator<Item = &Value> {
    line["message"]["content"].as_array().into_iter().flatten()
}

fn said(line: &Value) -> Option<String> {
    (line["type"] == "assistant").then(|| {
        let block = |block: &Value| match (block["text"].as_str(), block["thinking"].as_str()) {
            (Some(text), _) => format!("says {text}"),
            (_, Some(thought)) => format!("thinks {thought}"),
            _ => format!("calls {} {} {}", block["id"], block["name"], block["input"]),
        };
        let mut said: String = blocks(line).map(block).collect();
        if !line["error"].is_null() {
            let keys = ["error", "is_api_error_message", "api_error_status", "api_error_type"];
            said += &format!(" failed {:?}", keys.map(|key| line[key].to_string()));
        }
        if is_within(line) {
            said += &format!(" within {} {}", line["parent_tool_use_id"], line["subagent_type"]);
        }
        said
    })
}

fn happened(line: &Value) -> Option<String> {
    match line["type"].as_str()? {
        "user" => Some(blocks(line).map(outcome).collect()),
        "control_request" => {
            let asked = &line["request"];
            let (name, reason) = (&asked["tool_name"], &asked["decision_reason"]);
            let whole = format!("{} {} {reason}", asked["tool_use_id"], asked["input"]);
            Some(format!("{} {name} {whole} {}", asked["subtype"], asked["requires_user_interaction"]))
        }
        "result" => Some(ended(line)),
        "command_lifecycle" => Some(format!("command {}", line["state"])),
        "attachment" => Some(format!("attachment {}", line["attachment"]["type"])),
        "system" => (line["subtype"] == "init").then(|| {
            // Other tools differ from version to version.
            let tools = line["tools"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let tools: Vec<&str> = tools.filter(|tool| ASKING.contains(tool)).collect();
            format!("init {} {} {tools:?}", line["permissionMode"], line["apiKeySource"])
        }),
        "assistant" => None,
        other => Some(other.to_owned()),
    }
}

fn outcome(block: &Value) -> String {
    match block["text"].as_str() {
        Some(text) => format!("told {text}"),
        None => format!("result {} {} {}", block["tool_use_id"], block["is_error"] == true, block["content"]),
    }
}

fn ended(line: &Value) -> String {
    let ids = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().map(|denial| denial["tool_use_id"].to_string()).collect()
    };
    // For a call that is deferred again, the turns in the session's file count.
    let again = line["stop_reason"] == "tool_deferred" && line["terminal_reason"].is_null();
    let turns = if again { &Value::Null } else { &line["num_turns"] };
    format!(
        "ended {} error {} turns {turns} stop {} result {} denied {:?} deferred {} errors {} because {} {} of {}",
        line["subtype"],
        line["is_error"],
        line["stop_reason"],
        line["result"],
        ids(&line["permission_denials"]),
        line["deferred_tool_use"],
        line["errors"],
        line["api_error_status"],
        line["api_error_type"],
        line["origin"]["kind"],
    )
}

fn noticed(line: &Value) -> Option<String> {
    match line["subtype"].as_str().filter(|_| line["type"] == "system")? {
        "permission_denied" => {
            Some(format!("denied {} {} {}", line["tool_use_id"], line["decision_reason"], line["message"]))
        }
        "status" => Some(format!("status {} {}", line["status"], line["permissionMode"])),
        // Delays are random.
        "api_retry" => Some(format!(
            "retry {} of {} after {} {}",
            line["attempt"], line["max_retries"], line["error_status"], line["error"]
        )),
        "thinking_tokens" => Some(format!("thought {}", line["estimated_tokens"])),
        "task_started" | "task_updated" | "task_notification" => {
            let keys = ["subtype", "task_id", "tool_use_id", "description", "task_type", "status", "summary"];
            Some(format!("{:?} {}", keys.map(|key| line[key].to_string()), line["patch"]["status"]))
        }
        "background_tasks_changed" => {
            let ids: Vec<&Value> =
                line["tasks"].as_array().into_iter().flatten().map(|task| &task["task_id"]).collect();
            Some(format!("in the background {ids:?}"))
        }
        "informational" => Some(format!("{} {}", line["content"], line["hook_no_verdict"])),
        "hook_response" => {
            Some(format!("{} exited {} {}", line["hook_name"], line["exit_code"], line["outcome"]))
        }
        _ => None,
    }
}

/// A line of `told`: what a hook read, without ids and times.
fn hooked(line: &str) -> String {
    let Ok(Value::Object(mut told)) = serde_json::from_str::<Value>(line) else { return line.to_owned() };
    for (name, value) in &mut told {
        let is_own = matches!(
            name.as_str(),
            "session_id"
                | "transcript_path"
                | "cwd"
                | "prompt_id"
                | "duration_ms"
                | "permission_suggestions"
                | "context_tokens"
                | "estimated_cache_write_usd"
                | "seconds_since_last_response"
        );
        if is_own {
            *value = if value.is_null() { Value::Null } else { "…".into() };
        }
        // A busy machine may not compute the diff of a command's edits in time.
        if let Some(response) = value.as_object_mut().filter(|_| name == "tool_response") {
            response.retain(|name, value| name != "bashEditDiff" || value["unavailable"] != true);
        }
    }
    Value::Object(told).to_string()
}
