//! What matters of a run: what was called, what came of it, how it ended, and what hooks were told.
//!
//! In come the lines; out go words for a person, the same for two runs that a program has to treat the same.

use std::path::Path;

use serde_json::Value;

/// A run without ids, times and what else differs from one to the next.
#[derive(Debug)]
pub(super) struct Essence {
    /// The id of its session, for the next run.
    pub(super) session: Option<String>,
    parts: Vec<(&'static str, Vec<String>)>,
}

impl Essence {
    pub(super) fn of(lines: &[Value], stderr: &str, code: Option<i32>, told: &str, home: &Path) -> Self {
        let folder = home.to_string_lossy().into_owned();
        let plain = |text: String| text.replace(&folder, "").replace(&folder.replace(['/', '.'], "-"), "");
        let all = |pick: fn(&Value) -> Option<String>| -> Vec<String> {
            lines.iter().filter_map(pick).map(plain).collect()
        };
        let session = lines.iter().find_map(|line| line["session_id"].as_str()).map(str::to_owned);
        let mut told: Vec<String> = told.lines().map(hooked).collect();
        // Calls that are made side by side have their hooks run in any order.
        told.sort();
        let unnamed = |text: &str| match &session {
            Some(id) if uuid::Uuid::try_parse(id).is_ok() => text.replace(id.as_str(), "ID"),
            _ => text.to_owned(),
        };
        let stderr = vec![unnamed(&plain(stderr.to_owned()))];
        let parts = vec![
            ("end", vec![format!("{code:?}")]),
            ("stderr", stderr),
            ("model", all(said)),
            // A question may come before or after the model's next block.
            ("events", all(happened)),
            ("notices", all(noticed)),
            ("hooks", told),
        ];
        Self { session, parts }
    }

    pub(super) fn minus(&self, fake: &Self) -> Vec<String> {
        let both = self.parts.iter().zip(&fake.parts).filter(|(real, fake)| real.1 != fake.1);
        both.map(|((what, real), (_, fake))| {
            format!("{what}: the real one has {real:#?}, fake-claude {fake:#?}")
        })
        .collect()
    }
}

fn blocks(line: &Value) -> impl Iterator<Item = &Value> {
    line["message"]["content"].as_array().into_iter().flatten()
}

fn said(line: &Value) -> Option<String> {
    (line["type"] == "assistant").then(|| {
        let block = |block: &Value| match block["text"].as_str() {
            Some(text) => format!("says {text}"),
            None => format!("calls {} {} {}", block["id"], block["name"], block["input"]),
        };
        blocks(line).map(block).collect()
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
        "system" => (line["subtype"] == "init").then(|| "init".into()),
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
    // A call that is put off again counts what the session's file holds as turns.
    let again = line["stop_reason"] == "tool_deferred" && line["terminal_reason"].is_null();
    let turns = if again { &Value::Null } else { &line["num_turns"] };
    format!(
        "ended {} error {} turns {turns} stop {} result {} denied {:?} deferred {} errors {}",
        line["subtype"],
        line["is_error"],
        line["stop_reason"],
        line["result"],
        ids(&line["permission_denials"]),
        line["deferred_tool_use"],
        line["errors"],
    )
}

fn noticed(line: &Value) -> Option<String> {
    match line["subtype"].as_str().filter(|_| line["type"] == "system")? {
        "permission_denied" => {
            Some(format!("denied {} {} {}", line["tool_use_id"], line["decision_reason"], line["message"]))
        }
        "informational" => Some(format!("{} {}", line["content"], line["hook_no_verdict"])),
        "hook_response" => {
            Some(format!("{} exited {} {}", line["hook_name"], line["exit_code"], line["outcome"]))
        }
        _ => None,
    }
}

/// A line of `told`: what a hook read. Ids and times are there, and that is enough.
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
    }
    Value::Object(told).to_string()
}
