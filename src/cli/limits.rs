//! `murmur limits`: shows what agents reported of their accounts' usage limits.

use super::args::Limits as Args;
use super::style::{Style, local_time, plain_line};
use super::user_env::UserEnv;
use derun::cli::json::print as print_json;
use derun::cli::span::span;
use derun::cli::stdout::stdout;
use derun::cli::wrapped::{Wrapped, output_width};
use jiff::Timestamp;
use murmur_core::usage_limit::{Account, Usage, Window, spoken};
use murmur_store::limits;
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;
use sys::clock::{self, rfc3339};
use sys::text::{Styled, shown_line};

/// An account, as `--json` prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AccountJson<'a> {
    account: &'a Account,
    /// Until when no heartbeat that uses it starts, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    hold_until: Option<String>,
    /// The limit that was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    hold_window: Option<&'a str>,
    windows: Vec<WindowJson<'a>>,
}

/// One of an account's limits, as `--json` prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WindowJson<'a> {
    window: &'a str,
    status: &'a str,
    /// The used part, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    utilization: Option<f64>,
    /// RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    resets_at: Option<String>,
    /// RFC 3339.
    reported_at: String,
}

pub(super) fn run(args: &Args, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let (limits, now) = (limits::read(&env.read_data_dir()?)?, clock::now());
    let mut out = Styled(Wrapped::new(stdout().lock(), output_width().filter(|_| !args.json)));
    if args.json {
        let accounts: Vec<AccountJson<'_>> =
            limits.accounts.iter().map(|(account, usage)| account_json(account, usage, now)).collect();
        print_json(&mut out, "limits/1", &serde_json::json!({ "accounts": accounts }))?;
    } else if limits.accounts.is_empty() {
        writeln!(out, "no agent has reported a usage limit")?;
    } else {
        let style = Style::of_stdout();
        for (place, (account, usage)) in limits.accounts.iter().enumerate() {
            if place > 0 {
                writeln!(out)?;
            }
            print(&mut out, style, account, usage, now)?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn account_json<'a>(account: &'a Account, usage: &'a Usage, now: Timestamp) -> AccountJson<'a> {
    let window = |(window, known): (&'a String, &'a Window)| WindowJson {
        window,
        status: &known.status,
        utilization: known.utilization,
        resets_at: known.resets_at.map(rfc3339),
        reported_at: rfc3339(known.reported_at),
    };
    let hold = usage.held(now);
    AccountJson {
        account,
        hold_until: hold.map(|hold| rfc3339(hold.until)),
        hold_window: hold.map(|hold| &*hold.window),
        windows: usage.windows.iter().map(window).collect(),
    }
}

fn print(
    out: &mut impl Write,
    style: Style,
    account: &Account,
    usage: &Usage,
    now: Timestamp,
) -> io::Result<()> {
    writeln!(out, "{}", style.bold(shown_line(account.as_str())))?;
    if let Some(hold) = usage.held(now) {
        let (end, window) = (span(hold.until.duration_since(now)), plain_line(&spoken(&hold.window)));
        writeln!(out, "  on hold for {end} ({}): the {window} limit is reached", local_time(hold.until))?;
    }
    for (window, known) in &usage.windows {
        let window = plain_line(&spoken(window));
        let is_over = known.resets_at.is_some_and(|at| at <= now);
        let used = match known.utilization {
            _ if is_over => "has reset".to_owned(),
            _ if known.status == limits::REJECTED => "reached".to_owned(),
            Some(part) => format!("{:.0}% used", 100.0 * part),
            None => "not reached".to_owned(),
        };
        let resets = known.resets_at.filter(|_| !is_over).map_or_else(String::new, |at| {
            format!("resets in {} ({})", span(at.duration_since(now)), local_time(at))
        });
        let line = format!("  {window:<12}  {used:<11}  {resets}");
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
