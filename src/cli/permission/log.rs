//! `murmur rules log`: shows past decisions on agents' calls.

use super::super::args::RulesLog;
use super::super::heartbeat_name::workspace_or_heartbeat;
use super::super::reported::call;
use super::super::style::{Style, plain_line};
use super::super::user_env::UserEnv;
use anyhow::Context;
use derun::cli::json;
use derun::cli::stdout::{stdout, warn};
use derun::cli::wrapped::{Wrapped, output_width};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use murmur_agent::rule_files::Project;
use murmur_core::permit::decision::{DecidedBy, DecisionKind};
use murmur_store::journal::decisions::read::{Decided, Filter, FoundDecision, newest};
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use sys::error::Hinted;
use sys::text::{Styled, shown_line};

pub(super) fn run(args: &RulesLog, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let path = env.read_data_dir()?.decisions();
    let name = args.name.as_deref().map(|name| project(name, env)).transpose()?;
    let filter = Filter { name, since: args.since };
    let (found, skipped) =
        newest(&path, &filter, args.count).with_context(|| format!("cannot read {}", path.display()))?;
    let mut out = Styled(Wrapped::list(stdout().lock(), output_width().filter(|_| !args.json)));
    if found.is_empty() && !args.json {
        writeln!(out, "no decisions to show")?;
    }
    let (style, zone) = (Style::of_stdout(), sys::clock::local_zone());
    for FoundDecision { decided, line } in &found {
        if args.json {
            writeln!(out, "{}", json::escaped(&with_input(line)?.to_string()))?;
        } else {
            print(&mut out, decided, style, &zone)?;
        }
    }
    out.flush()?;
    for error in skipped {
        let _closed = warn(error.line());
    }
    Ok(ExitCode::SUCCESS)
}

/// The name in decisions for what `typed` names: a folder stands for its project. A word that names no heartbeat may
/// still be in decisions.
fn project(typed: &str, env: &UserEnv) -> anyhow::Result<String> {
    let is_word = !typed.contains('/') && !typed.contains("::") && ![".", ".."].contains(&typed);
    match workspace_or_heartbeat(Path::new(typed), &env.read_data_dir()?, env) {
        Ok((workspace, heartbeat)) => Ok(heartbeat.unwrap_or_else(|| Project::of(&workspace).name)),
        Err(_) if is_word => Ok(typed.to_owned()),
        Err(error) => Err(error),
    }
}

/// The line for programs: its input as JSON, unless that was cut.
fn with_input(line: &[u8]) -> anyhow::Result<Value> {
    let mut object: Value = serde_json::from_slice(line)?;
    for key in ["input", "answers"] {
        if let Some(value) = object.get_mut(key)
            && let Some(inner) = value.as_str().and_then(|text| serde_json::from_str(text).ok())
        {
            *value = inner;
        }
    }
    Ok(object)
}

fn print(out: &mut impl Write, decided: &Decided, style: Style, zone: &TimeZone) -> io::Result<()> {
    let Decided { ts, agent, tool, input, decision, by: decided_by, reason, answered_by, breach, .. } =
        decided;
    let when = ts.parse::<Timestamp>().map_or_else(
        |_| plain_line(ts),
        |at| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    );
    let decision = match decision {
        _ if *breach => style.paint("31", "breach  "),
        DecisionKind::Allow => style.paint("32", "allowed "),
        DecisionKind::Deny => style.paint("31", "denied  "),
        DecisionKind::Defer => style.paint("33", "deferred"),
    };
    let (agent, call, reason) = (shown_line(agent), call(tool, input), plain_line(reason));
    let by = by(decided_by);
    // Many reasons say who decided.
    let names_decider = reason.starts_with(by.trim_start_matches("by "));
    let why = if names_decider { reason } else { format!("{by}: {reason}") };
    let channel = answered_by.as_ref().and_then(|answerer| answerer.channel.as_deref());
    let through = channel.map(|name| format!(", through {}", shown_line(name))).unwrap_or_default();
    let line = format!("{}  {decision}  {agent}  {call}  {why}", style.dim(when));
    writeln!(out, "{}{through}", line.trim_end().trim_end_matches(':'))
}

/// Who decided, in short.
fn by(by: &DecidedBy) -> String {
    match by {
        DecidedBy::Guard(entry) => format!("by the guard ({})", shown_line(entry)),
        DecidedBy::Rule { file, number } => format!("by rule {number} of {}", shown_line(file)),
        DecidedBy::Person => "by a person".to_owned(),
        DecidedBy::Model(model) => format!("by the model {}", plain_line(model)),
        DecidedBy::Default(setting) => format!("by the setting {}", plain_line(setting)),
        DecidedBy::Nobody => "nobody answered".to_owned(),
        DecidedBy::Backend => "by the agent's own rules".to_owned(),
        DecidedBy::Failure => "after a failure".to_owned(),
    }
}
