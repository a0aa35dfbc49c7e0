//! Records the real CLI's input to the hooks of every event: `cargo test --test conformance -- record hooks`.
//!
//! Input: the cases of `fixtures/hooks/cases.json`, in the form of acted ones. Output: for each version of the CLI and
//! each case a file, `fixtures/hooks/<version>/<case>.jsonl`, with one payload per line, scrubbed like a recording.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fake_claude::replay::scrub::{Identity, scrub};
use fake_claude::replay::{End, FORMAT, Fixture, Run, ask_version};
use regex::Regex;
use serde_json::{Map, Value, json};

use crate::acted::File;
use crate::acted::stage::{Agent, Stage};
use crate::real;

pub(crate) const NAME: &str = "hooks";

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/hooks");
const MURMUR: &str = env!("CARGO_BIN_EXE_murmur");
/// The events that write pulses, and the one before a call.
const EVENTS: [&str; 8] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "SessionEnd",
];
/// What is too large for a repository, and its placeholder.
const LARGE: [(&str, usize); 2] = [("[2MB]", 2_000_000), ("[200KB]", 200_000)];

/// Values that differ between recordings and don't occur in recordings of the stream.
const VOLATILE: [(&str, &str); 9] = [
    (r"-tmp--tmp[0-9A-Za-z]{6}-workspace", "-workspace"),
    (r"\b1[678]\d{11}\b", "1767225600000"),
    (r"/plans/[a-z-]+\.md", "/plans/a-new-plan.md"),
    (r"\bwf_[0-9a-f]{8}-[0-9a-f]{3}\b", "wf_00000001-001"),
    (r#"("durationSeconds":)[0-9.]+"#, "${1}1"),
    (r#"("seconds_since_last_response":)\d+"#, "${1}1"),
    (r"<duration_ms>\d+<", "<duration_ms>1<"),
    (r"environment \d+ bytes", "environment 990 bytes"),
    (r"workspace-[0-9a-f]{2}( +\[)[0-9a-f]{6}\]", "workspace-77${1}000001]"),
];

/// Records all cases, or those with these names, of every available version.
pub(crate) fn record(names: &[String], say: fn(&str)) -> Result<()> {
    let cases = File::read(&Path::new(FOLDER).join("cases.json"))?;
    for claude in real::every() {
        let version = ask_version(&claude);
        let folder = Path::new(FOLDER).join(version.split(' ').next().unwrap_or_default());
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        for case in cases.cases() {
            let (name, case) = case?;
            if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
                continue;
            }
            let told = told(&claude, case).with_context(|| name.to_owned())?;
            let path = folder.join(format!("{name}.jsonl"));
            std::fs::write(&path, &told).with_context(|| format!("writing {}", path.display()))?;
            say(&format!("recorded {}: {} payloads", path.display(), told.lines().count()));
        }
    }
    Ok(())
}

/// The input of one case's hooks, one payload per line.
fn told(claude: &Path, mut case: crate::acted::Case) -> Result<String> {
    let large = |text: String| {
        LARGE.iter().fold(text, |text, (name, length)| text.replace(name, &"0123456789".repeat(length / 10)))
    };
    let mut model = large(case.model.to_string());
    model = model.replace("[MURMUR]", MURMUR);
    let stage = Stage::set(Agent::Real(claude), &serde_json::from_str(&model)?)?;
    for run in [Some(&mut case.first), case.second.as_mut()].into_iter().flatten() {
        run.settings = Some(settings(run.settings.take()));
        for word in &mut run.argv {
            *word = word.replace("[MURMUR]", MURMUR);
        }
    }
    let first = stage.perform(&case.first, None)?;
    let mut told = first.told;
    if let Some(second) = &case.second {
        let session = first.lines.iter().find_map(|line| line["session_id"].as_str());
        told.push_str(&stage.perform(second, session)?.told);
    }
    for (name, length) in LARGE {
        told = told.replace(&"0123456789".repeat(length / 10), name);
    }
    let root = stage.root.path();
    let resolved = root.canonicalize()?;
    let both = |name: &str| vec![root.join(name), resolved.join(name)];
    clean(told, both("workspace"), both("home"))
}

/// Settings with a hook for every event that stores its input, and the case's own settings.
fn settings(own: Option<Value>) -> Value {
    let hook = json!([{ "hooks": [{ "type": "command", "command": "cat >> /workspace/told" }] }]);
    let mut settings = own.unwrap_or_else(|| json!({}));
    let mut hooks: Map<String, Value> =
        EVENTS.iter().map(|event| ((*event).to_owned(), hook.clone())).collect();
    if let Some(own) = settings["hooks"].as_object() {
        hooks.extend(own.clone());
    }
    settings["hooks"] = hooks.into();
    settings
}

/// Removes what differs between recordings.
fn clean(told: String, cwd: Vec<PathBuf>, home: Vec<PathBuf>) -> Result<String> {
    let raw = Fixture {
        run: Run {
            format: FORMAT,
            program: "claude".into(),
            version: String::new(),
            argv: Vec::new(),
            cwd: String::new(),
            env: BTreeMap::new(),
            end: End::Code(0),
            duration_ms: 0,
        },
        stdin: Vec::new(),
        stdout: told.into_bytes(),
        stderr: Vec::new(),
        times: Vec::new(),
    };
    let scrubbed = scrub(&raw, &Identity { cwd, home, user: None, env: Vec::new() })?;
    let text = String::from_utf8(scrubbed.stdout)?;
    let mut text = text;
    for (pattern, stands_for_it) in VOLATILE {
        text = Regex::new(pattern)?.replace_all(&text, stands_for_it).into_owned();
    }
    let task = Regex::new(r#"(?:"(?:backgroundTaskId|taskId|task_id|id)":"|<task-id>)([a-z0-9]{8,9})\b"#)?;
    let mut tasks: Vec<String> = Vec::new();
    for found in task.captures_iter(&text) {
        if !tasks.contains(&found[1].to_owned()) {
            tasks.push(found[1].to_owned());
        }
    }
    for (at, id) in tasks.iter().enumerate() {
        text = text.replace(id.as_str(), &format!("b{:08}", at + 1));
    }
    Ok(text)
}
