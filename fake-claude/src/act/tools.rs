//! The tools: their names, required input and simulated results. None is ever executed.
//!
//! Pure. Input: a tool's name and input. Output: Claude Code's messages.

use serde_json::{Value, json};

use super::subagent::is_subagent;
use super::version::Version;
use super::{background, plan};

pub(crate) const QUESTION: &str = "AskUserQuestion";

const TOOLS: [&str; 22] = [
    "Task",
    "Bash",
    "CronCreate",
    "CronDelete",
    "CronList",
    "Edit",
    "EnterWorktree",
    "ExitWorktree",
    "ListAgents",
    "Monitor",
    "NotebookEdit",
    "Read",
    "ReportFindings",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "TaskStop",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Workflow",
    "Write",
];
/// Only in the older version.
const OLD_TOOLS: [&str; 3] = ["Glob", "Grep", "TodoWrite"];

/// Not available without a host: questions, and plans, which need approval.
const ASKING: [&str; 3] = [QUESTION, plan::ENTER, plan::EXIT];

/// The names of the tools.
pub(crate) fn names(asks: bool, version: &Version) -> Vec<&'static str> {
    let old = OLD_TOOLS.iter().filter(|_| !version.is_new());
    TOOLS.iter().chain(old).chain(ASKING.iter().filter(|_| asks)).copied().collect()
}

/// Returns the message about an invalid call: of an unknown tool, or without required input. Tools of MCP servers
/// always count as known.
pub(crate) fn refusal(name: &str, input: &Value, asks: bool, version: &Version) -> Option<String> {
    let known = name.starts_with("mcp__") || is_subagent(name) || names(asks, version).contains(&name);
    let wrong = match (known, invalid(name, input)) {
        (true, None) => return None,
        (true, Some(why)) => format!("InputValidationError: {why}"),
        (false, _) if ASKING.contains(&name) && version.is_new() => format!(
            "Error: No such tool available: {name}. {name} is disabled for this session, in subagents as well as here."
        ),
        (false, _) if ASKING.contains(&name) => format!(
            "Error: No such tool available: {name}. {name} exists but is not enabled in this context. Use one of the \
             available tools instead."
        ),
        (false, _) => format!("Error: No such tool available: {name}"),
    };
    Some(format!("<tool_use_error>{wrong}</tool_use_error>"))
}

/// Returns the error message for an invalid input.
pub(crate) fn invalid(name: &str, input: &Value) -> Option<String> {
    let needed: &[&str] = match name {
        "Bash" => &["command"],
        "Read" => &["file_path"],
        "Write" => &["file_path", "content"],
        "Edit" => &["file_path", "old_string", "new_string"],
        QUESTION => &["questions"],
        _ if is_subagent(name) => &["description", "prompt"],
        _ => &[],
    };
    let issue = "failed due to the following issue:";
    if name == "Bash" && input.get("run_in_background").is_some() && background::is_off() {
        return Some(format!("{name} {issue}\nAn unexpected parameter `run_in_background` was provided"));
    }
    let missing = needed.iter().find(|key| input.get(**key).is_none())?;
    Some(format!("{name} {issue}\nThe required parameter `{missing}` is missing"))
}

/// Whether its hooks run in parallel with those of the next call. A call that changes something waits for the one
/// before it.
pub(crate) fn is_parallel(name: &str, input: &Value) -> bool {
    match name {
        "Bash" => is_harmless(input),
        _ if is_subagent(name) => true,
        _ => matches!(name, "Read" | "Glob" | "Grep" | "WebFetch" | "WebSearch" | QUESTION),
    }
}

/// Returns why a call needs approval unless the mode skips approvals.
pub(crate) fn needs_approval(name: &str, input: &Value) -> Option<String> {
    match name {
        "Read" | "Glob" | "Grep" | "TodoWrite" | "ToolSearch" | plan::ENTER => None,
        _ if is_subagent(name) => None,
        "Bash" if is_harmless(input) => None,
        "Bash" => Some("This command requires approval".into()),
        _ => Some(format!("Claude requested permissions to use {name}, but you haven't granted it yet.")),
    }
}

fn is_harmless(input: &Value) -> bool {
    let command = input["command"].as_str().unwrap_or_default();
    let first = command.split_whitespace().next().unwrap_or_default();
    let plain = !command.contains(['&', ';', '|', '>', '<', '`', '$', '\n', '(']);
    plain && matches!(first, "echo" | "true" | "false" | "pwd" | "ls" | "cat" | "wc" | "date" | "whoami")
}

/// Whether a `--disallowedTools` rule matches a command: `Bash(x *)` and `Bash(x:*)` match by prefix.
pub(crate) fn is_disallowed(rule: &str, name: &str, input: &Value) -> bool {
    let command = input["command"].as_str().filter(|_| name == "Bash");
    let pattern = rule.strip_prefix("Bash(").and_then(|rest| rest.strip_suffix(')'));
    let (Some(command), Some(pattern)) = (command, pattern) else { return false };
    match pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *")) {
        Some(begin) => {
            command == begin || command.strip_prefix(begin).is_some_and(|rest| rest.starts_with(' '))
        }
        None => match pattern.strip_suffix('*') {
            Some(begin) => command.starts_with(begin),
            None => command == pattern,
        },
    }
}

/// The simulated failure of a command: only `exit N` and `false` fail.
pub(crate) fn failure(name: &str, input: &Value) -> Option<String> {
    let command = input["command"].as_str().filter(|_| name == "Bash")?;
    let code = match command.strip_prefix("exit ") {
        Some(code) => code.trim().parse::<u8>().ok().filter(|code| *code != 0)?,
        None if command == "false" => 1,
        None => return None,
    };
    Some(format!("Exit code {code}"))
}

/// The simulated result of a tool: the text for the model, and `tool_use_result`.
pub(crate) fn yielded(name: &str, input: &Value, version: &Version) -> (String, Value) {
    let text = |key: &str| input[key].as_str().unwrap_or_default();
    match name {
        "Bash" => {
            // Show the output of `echo`, so that a changed command is visible.
            let said = text("command").strip_prefix("echo ").filter(|_| is_harmless(input));
            let said = said.unwrap_or_default().trim_matches(['\'', '"']);
            let told = if said.is_empty() { "(Bash completed with no output)" } else { said };
            let result = json!({"stdout": said, "stderr": "", "interrupted": false, "isImage": false,
                "noOutputExpected": said.is_empty()});
            (told.to_owned(), result)
        }
        "Read" => {
            let file = json!({"filePath": text("file_path"), "content": "", "numLines": 1, "startLine": 1,
                "totalLines": 1});
            ("1\t".into(), json!({"type": "text", "file": file}))
        }
        "Write" => {
            let told = format!("File created successfully at: {}", text("file_path"));
            (told, json!({"type": "create", "filePath": text("file_path"), "content": text("content")}))
        }
        QUESTION => (answered(input, version), input.clone()),
        _ => (format!("{name} is done"), json!({})),
    }
}

/// The message for the model about the answers, which are in the input next to the questions.
fn answered(input: &Value, version: &Version) -> String {
    let questions = input["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (mut said, mut chosen) = (Vec::new(), true);
    for question in questions {
        let text = question["question"].as_str().unwrap_or_default();
        let labels: Vec<&str> = question["options"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|option| option["label"].as_str())
            .collect();
        let answer = match &input["answers"][text] {
            Value::String(answer) => answer.clone(),
            Value::Array(answers) => answers.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
            _ => continue,
        };
        chosen &= answer.split(", ").all(|label| labels.contains(&label));
        said.push(format!("\"{text}\"=\"{answer}\""));
    }
    let said = said.join(", ");
    match (said.is_empty(), chosen || !version.is_new()) {
        (true, _) => "The user did not answer the questions.".into(),
        (_, true) => format!(
            "Your questions have been answered: {said}. You can now continue with these answers in mind."
        ),
        (_, false) => format!(
            "The user answered: {said}. Read the answers carefully — they may request clarification, changes, or that \
             you not proceed — and follow what they actually say."
        ),
    }
}
