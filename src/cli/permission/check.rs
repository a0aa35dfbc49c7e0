//! `murmur permission check`: what would become of a call, and who decides. It runs nothing and asks nobody.

use super::super::args::PermissionCheck;
use super::super::place::Place;
use super::super::style::plain_line;
use super::spelled;
use crate::config::interval::Interval;
use crate::config::settings::Settings;
use crate::hook::judge;
use crate::permit::call::{Call, Place as CallPlace};
use crate::permit::decision::{By, Decision, Verdict};
use crate::permit::pipeline::Step;
use crate::permit::policy::{Approval, Checker, Policy};
use anyhow::Context;
use serde_json::json;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

pub(super) fn run(args: &PermissionCheck, place: &Place) -> anyhow::Result<ExitCode> {
    let (tool, input) = if args.call == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).context("cannot read stdin")?;
        spelled::from_hook(&text)?
    } else {
        spelled::spelled(&args.call)?
    };
    let cwd = place.workspace(args.cwd.as_deref().unwrap_or(Path::new(".")))?;
    let settings = Settings::read(&place.settings_dir()?.settings());
    let heartbeat = super::heartbeat_at(&cwd, place)?.context("no workspace here; name one with --cwd")?;
    let asking = settings.as_ref().map(|settings| settings.asking).unwrap_or_default();
    let policy =
        Policy::resolve(args.role.into(), &asking, &heartbeat.asking, &heartbeat.tighter, heartbeat.guard);
    let files = judge::read(super::files(args.project.as_deref(), place)?);
    let call = Call {
        tool,
        input,
        place: CallPlace { cwd, workspace: heartbeat.workspace.to_path_buf(), home: place.home() },
    };
    let step = match &settings {
        Err(error) => judge::unreadable(error),
        Ok(_) => judge::step(&call, &policy, files.as_deref()),
    };
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", object(&step, &policy, &call))?;
    } else {
        say(&mut out, &step, &policy)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn object(step: &Step, policy: &Policy, call: &Call) -> serde_json::Value {
    let (verdict, reason, by) = match step {
        Step::Decided(Decision { verdict, reason, by }) => (json!(verdict), Some(reason), Some(by)),
        Step::Ask { doubt } => (json!("ask"), doubt.as_ref(), None),
        Step::Question => (json!("question"), None, None),
    };
    json!({
        "verdict": verdict,
        "reason": reason,
        "by": by,
        "tool": call.tool,
        "cwd": call.place.cwd.display().to_string(),
        "workspace": call.place.workspace.display().to_string(),
        "policy": policy,
    })
}

fn say(out: &mut impl Write, step: &Step, policy: &Policy) -> io::Result<()> {
    match step {
        Step::Decided(decision) => {
            let verdict = if decision.verdict == Verdict::Allow { "allow" } else { "deny" };
            writeln!(out, "{verdict}: {}", plain_line(&decision.reason))?;
            writeln!(out, "  by {}", by(&decision.by, policy))
        }
        Step::Ask { doubt } => {
            let whom = if policy.checker == Checker::Llm { "a model" } else { "a person" };
            let doubt =
                doubt.as_ref().map(|doubt| format!(", since {}", plain_line(doubt))).unwrap_or_default();
            writeln!(out, "ask: {whom} decides{doubt}")?;
            if policy.checker != Checker::Llm {
                writeln!(out, "  within {}", patience(policy))?;
            }
            writeln!(out, "  by permissions-checker = {:?}", word(&policy.checker))
        }
        Step::Question => {
            writeln!(out, "question: a person answers")?;
            writeln!(out, "  within {}", patience(policy))?;
            writeln!(out, "  by questions = {:?}", word(&policy.questions))
        }
    }
}

/// How long a person has, and what happens then.
fn patience(policy: &Policy) -> String {
    let span = |seconds| Interval::from_secs(seconds).map(|span| span.to_string()).unwrap_or_default();
    let wait = span(policy.approval_wait);
    match policy.approval {
        Approval::Wait => format!("{wait}, or it is denied"),
        Approval::Defer => {
            format!("{wait}, or it is put off, and denied after {}", span(policy.approval_expiry))
        }
    }
}

fn by(by: &By, policy: &Policy) -> String {
    match by {
        By::Guard(entry) => format!("the guard: {}", plain_line(entry)),
        By::Rule { file, number } => format!("rule {number} of {}", plain_line(file)),
        By::Default(setting) if setting == "permissions-checker" => {
            format!("permissions-checker = {:?}", word(&policy.checker))
        }
        By::Default(setting) if setting == "questions" => {
            format!("questions = {:?}", word(&policy.questions))
        }
        By::Default(setting) => format!("[{setting}] in permissions.toml"),
        By::Person => "a person".to_owned(),
        By::Model(model) => format!("the model {}", plain_line(model)),
        By::Nobody => "nobody".to_owned(),
        By::Failure => "what cannot be read: every call is denied until it can".to_owned(),
    }
}

/// An enumeration's word, as the files have it.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
