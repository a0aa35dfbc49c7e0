//! `murmur rules log`: shows past decisions on agents' calls.

use super::super::args::RulesLog;
use super::super::reported::call;
use super::super::style::{Style, plain_line};
use super::super::user_env::UserEnv;
use anyhow::Context;
use derun::cli::stdout::{stdout, warn};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use murmur_core::permit::decision::{DecidedBy, DecisionKind};
use murmur_store::journal::decisions::read::{Decided, Filter, FoundDecision, newest};
use std::io::{self, Write};
use std::process::ExitCode;
use sys::error::Hinted;
use sys::text::Shown;

pub(super) fn run(args: &RulesLog, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let path = env.read_data_dir()?.decisions();
    let filter = Filter { name: args.name.clone(), since: args.since };
    let (found, skipped) =
        newest(&path, &filter, args.count).with_context(|| format!("cannot read {}", path.display()))?;
    let mut out = Shown(stdout().lock());
    if found.is_empty() && !args.json {
        writeln!(out, "no decisions to show")?;
    }
    let (style, zone) = (Style::of_stdout(), sys::clock::local_zone());
    for FoundDecision { decided, line } in &found {
        if args.json {
            out.write_all(line)?;
            writeln!(out)?;
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

fn print(out: &mut impl Write, decided: &Decided, style: Style, zone: &TimeZone) -> io::Result<()> {
    let Decided { ts, agent, tool, input, decision, by: decided_by, reason, breach, .. } = decided;
    let when = ts.parse::<Timestamp>().map_or_else(
        |_| plain_line(ts),
        |at| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    );
    let decision = match decision {
        _ if *breach => style.paint("31", "breach"),
        DecisionKind::Allow => style.paint("32", "allow "),
        DecisionKind::Deny => style.paint("31", "deny  "),
        DecisionKind::Defer => style.paint("33", "defer "),
    };
    let (agent, call, reason) = (plain_line(agent), call(tool, input), plain_line(reason));
    let by = by(decided_by);
    // The reason of a rule's decision names the rule.
    let why = if reason.starts_with(&by) { reason } else { format!("{by}: {reason}") };
    let line = format!("{}  {decision}  {agent}  {call}  {why}", style.dim(when));
    writeln!(out, "{}", line.trim_end().trim_end_matches(':'))
}

/// Who decided, in short.
fn by(by: &DecidedBy) -> String {
    match by {
        DecidedBy::Guard(entry) => format!("guard ({})", plain_line(entry)),
        DecidedBy::Rule { file, number } => format!("rule {number} of {}", plain_line(file)),
        DecidedBy::Person => "person".to_owned(),
        DecidedBy::Model(model) => format!("model {}", plain_line(model)),
        DecidedBy::Default(setting) => plain_line(setting),
        DecidedBy::Nobody => "nobody".to_owned(),
        DecidedBy::Backend => "backend".to_owned(),
        DecidedBy::Failure => "failure".to_owned(),
    }
}
