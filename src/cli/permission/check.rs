//! `murmur rules check`: shows the decision on a call, or who would make it. Runs nothing and asks nobody.

use super::super::args::PermissionCheck;
use super::super::style::plain_line;
use super::super::user_env::UserEnv;
use super::{ProjectSelection, call_syntax, denied};
use crate::daemon::broker::model;
use anyhow::Context;
use derun::cli::json::print as print_json;
use derun::cli::stdout::{note, stdout};
use murmur_agent::rule_files;
use murmur_core::config::interval::Interval;
use murmur_core::config::permissions::Permissions;
use murmur_core::config::settings::Settings;
use murmur_core::permit::decision::{DecidedBy, Decision, DecisionKind};
use murmur_core::permit::pipeline::NextStep;
use murmur_core::permit::policy::{Approval, Checker, DEFER_AFTER, Policy, Role};
use murmur_hook::{evaluate, own};
use serde_json::json;
use shell_guard::call::{Call, CallPlace, ProtectedPaths};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use sys::error::Hinted;
use sys::failure;
use sys::text::shown_line;

pub(super) fn run(args: &PermissionCheck, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let (tool, input) = if args.call == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).context("cannot read stdin")?;
        call_syntax::from_hook(&text)?
    } else {
        call_syntax::parse(&args.call)?
    };
    let cwd = env.workspace(args.cwd.as_deref().unwrap_or(Path::new(".")))?;
    let settings = Settings::read(&env.settings_dir()?.settings());
    let heartbeat = super::heartbeat_at(&cwd, env)?
        .ok_or_else(|| failure!("no workspace here"; "name one with --cwd"))?;
    let asking = settings.as_ref().map(|settings| settings.asking).unwrap_or_default();
    let role = Role::from(args.role);
    let is_beat = role == Role::Beat;
    // The guard and the built-in deny list always apply to a hosted agent, and its folder is its workspace.
    let guard = heartbeat.settings.guard || !is_beat;
    let permissions = if is_beat { heartbeat.settings.permissions.clone() } else { Permissions::default() };
    let workspace = if is_beat { heartbeat.workspace.to_path_buf() } else { cwd.clone() };
    let backend = match &settings {
        Ok(settings) => heartbeat.backend(settings).clone(),
        Err(_) => heartbeat.settings.backend.as_ref().map(|chosen| chosen.value.clone()).unwrap_or_default(),
    };
    let mut policy =
        Policy::resolve(role, &asking, &heartbeat.settings.asking, &heartbeat.settings.tighter, guard);
    if is_beat {
        policy = policy.on(&backend);
    }
    let selection =
        ProjectSelection { project: args.project.as_deref(), cwd: args.cwd.as_deref(), folder: &workspace };
    let project = selection.project(env)?;
    let files = rule_files::read(super::files(&project, env)?);
    let mut call = Call {
        tool,
        input,
        place: CallPlace { cwd, workspace, home: env.home(), own: ProtectedPaths::default() },
    };
    call.place.own = own::find(&env.data_dir()?, &env.user()?, &policy, &backend, call.command());
    let step = match &settings {
        Err(error) => evaluate::unreadable(error),
        Ok(_) => evaluate::step(&call, &policy, files.as_deref()),
    };
    let step = denied::over(step, &call, &permissions);
    let mut out = stdout().lock();
    if args.json {
        let heartbeat = is_beat.then(|| heartbeat.id.as_str());
        print_json(&mut out, "decision/1", &object(&step, &policy, &call, &project.name, heartbeat))?;
    } else {
        say(&mut out, &step, &policy)?;
        if matches!(step, NextStep::Ask { .. }) && policy.checker == Checker::Llm {
            let reached = model::configured_model(&env.settings_dir()?.settings(), &env.keys());
            // The daemon's environment may contain the key.
            if let Some(error) = reached.err().filter(|error| !error.depends_on_environment()) {
                let why = error.line();
                writeln!(out, "the call is denied, since the model cannot be asked: {}", plain_line(&why))?;
            }
        }
        let whom = match role {
            Role::Beat => format!("a beat of {}", heartbeat.id),
            Role::Hosted => format!("a hosted agent in {}", call.place.workspace.display()),
            Role::Manager => format!("a manager in {}", call.place.workspace.display()),
        };
        writeln!(out, "  for {}, project {}", shown_line(&whom), shown_line(&project.name))?;
    }
    let problem = heartbeat.problem(settings.as_ref().ok());
    if let Some(problem) = problem.filter(|_| is_beat && heartbeat.file.exists()) {
        note(format_args!("beats cannot run there; ignoring this error: {}", problem.line()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn object(
    step: &NextStep,
    policy: &Policy,
    call: &Call,
    project: &str,
    heartbeat: Option<&str>,
) -> serde_json::Value {
    let (decision, reason, by) = match step {
        NextStep::Decided(Decision { kind, reason, by }) => (json!(kind), Some(reason), Some(by)),
        NextStep::Ask { doubt } => (json!("ask"), doubt.as_ref(), None),
        NextStep::Question => (json!("question"), None, None),
    };
    json!({
        "decision": decision,
        "reason": reason,
        "by": by,
        "tool": call.tool,
        "cwd": call.place.cwd.display().to_string(),
        "workspace": call.place.workspace.display().to_string(),
        "project": project,
        "heartbeat": heartbeat,
        "policy": policy,
    })
}

fn say(out: &mut impl Write, step: &NextStep, policy: &Policy) -> io::Result<()> {
    match step {
        NextStep::Decided(decision) => {
            let word = if decision.kind == DecisionKind::Allow { "allow" } else { "deny" };
            writeln!(out, "{word}: {}", plain_line(&decision.reason))?;
            writeln!(out, "  by {}", by(&decision.by, policy))
        }
        NextStep::Ask { doubt } => {
            let whom = if policy.checker == Checker::Llm { "a model" } else { "a person" };
            let doubt =
                doubt.as_ref().map(|doubt| format!(", since {}", shown_line(doubt))).unwrap_or_default();
            writeln!(out, "ask: {whom} decides{doubt}")?;
            if policy.checker != Checker::Llm {
                writeln!(out, "  {}", time_to_answer(policy))?;
            }
            writeln!(out, "  by permissions-checker = {:?}", word(&policy.checker))
        }
        NextStep::Question => {
            writeln!(out, "question: a person answers")?;
            writeln!(out, "  {}", time_to_answer(policy))?;
            writeln!(out, "  by questions = {:?}", word(&policy.questions))
        }
    }
}

/// How long a person has to answer, and what happens afterward.
fn time_to_answer(policy: &Policy) -> String {
    let span = |seconds| Interval::from_secs(seconds).map(|span| span.to_string()).unwrap_or_default();
    let denied = policy.approval_expiry.map(|expiry| format!(", and denied after {}", span(expiry)));
    let denied = denied.unwrap_or_default();
    match (policy.approval, policy.approval_wait) {
        (Approval::Wait, Some(wait)) => {
            format!("the call waits {} for an answer, then is denied", span(wait))
        }
        (Approval::Wait, None) => "the call waits until they answer".to_owned(),
        (Approval::Defer, Some(wait)) => {
            format!("the call waits {} for an answer, then is deferred{denied}", span(wait))
        }
        (Approval::Defer, None) => {
            format!("the call waits {} for an answer, then is deferred{denied}", span(DEFER_AFTER))
        }
    }
}

fn by(by: &DecidedBy, policy: &Policy) -> String {
    match by {
        DecidedBy::Guard(entry) => format!("the guard: {}", shown_line(entry)),
        DecidedBy::Rule { file, number } => format!("rule {number} of {}", shown_line(file)),
        DecidedBy::Default(setting) if setting == "permissions-checker" => {
            format!("permissions-checker = {:?}", word(&policy.checker))
        }
        DecidedBy::Default(setting) if setting == "questions" => {
            format!("questions = {:?}", word(&policy.questions))
        }
        DecidedBy::Default(setting) if setting == "plan-mode" => {
            "plan mode, which only hosted agents have".to_owned()
        }
        DecidedBy::Default(setting) if setting == murmur_core::permit::deny_list::SETTING => {
            "permissions: murmur's deny list".to_owned()
        }
        DecidedBy::Default(setting) => format!("[{setting}] in permissions.toml"),
        DecidedBy::Person => "a person".to_owned(),
        DecidedBy::Model(model) => format!("the model {}", plain_line(model)),
        DecidedBy::Nobody => "nobody".to_owned(),
        DecidedBy::Backend => "the backend".to_owned(),
        DecidedBy::Failure => {
            "an unreadable configuration: every call is denied until it is fixed".to_owned()
        }
    }
}

/// The name of an enumeration's value, as written in files.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
