//! `murmur usage`: shows what beats cost, from the journal.

use super::agents::columns;
use super::args::{ByArg, Usage as Args};
use super::heartbeat_name::ShortNames;
use super::style::{Style, plain_line};
use super::user_env::UserEnv;
use derun::cli::fitted::{cut_middle, dollars, pad};
use derun::cli::json::print as print_json;
use derun::cli::stdout::{stdout, warn};
use murmur_core::usage::scan::scan;
use murmur_core::usage::{Counter, Group, GroupBy, Sums, Tokens, total};
use murmur_store::journal::read::readers;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use sys::clock::rfc3339;
use sys::error::Hinted;
use sys::text::{Styled, shown_line};
use unicode_width::UnicodeWidthStr;

/// The width of a terminal that doesn't report one.
const WIDTH: usize = 80;

/// How wide names are before columns are dropped for them.
const NAME: usize = 18;

/// How wide they are before all columns but the cost are dropped.
const LEAST: usize = 8;

/// The columns in the order in which they are dropped, each if names would get less than this width. The cost remains.
const DROPPED: [(usize, usize); 6] = [(6, NAME), (5, NAME), (4, NAME), (3, NAME), (1, LEAST), (0, LEAST)];

/// What `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct UsageJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    groups: Vec<GroupJson>,
    total: SumsJson,
}

/// One group, with only the fields that it is grouped by.
#[derive(Debug, Default, Serialize)]
struct GroupJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    heartbeat: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(flatten)]
    sums: SumsJson,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct SumsJson {
    beats: u64,
    quiet: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "is_zero")]
    cost_unknown: u64,
    tokens: Tokens,
}

impl From<&Sums> for SumsJson {
    fn from(sums: &Sums) -> Self {
        let Sums { beats, quiet, cost, cost_unknown, tokens } = *sums;
        Self { beats, quiet, cost_usd: cost.map(murmur_core::usage::Money::usd), cost_unknown, tokens }
    }
}

pub(super) fn run(args: &Args, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let journal = env.read_data_dir()?.journal();
    let (by, zone) = (GroupBy::from(args.by), sys::clock::local_zone());
    let skipped = Mutex::new(Vec::new());
    let skip = |error| skipped.lock().unwrap_or_else(PoisonError::into_inner).push(error);
    let files = readers(&journal, None, args.since, &skip)?;
    let counters = scan(files, || Counter::new(by, args.since, &zone), |counter, line| counter.add(line))?;
    let groups = counters.into_iter().reduce(Counter::merged).map(Counter::groups).unwrap_or_default();
    let total = total(&groups);
    let mut out = Styled(stdout().lock());
    if args.json {
        let groups = groups.into_iter().map(|(group, sums)| group_json(group, &sums)).collect();
        let usage = UsageJson { since: args.since.map(rfc3339), groups, total: (&total).into() };
        print_json(&mut out, "usage/1", &usage)?;
    } else if groups.is_empty() {
        writeln!(out, "no beats to count; see: murmur status")?;
    } else {
        let width = io::stdout().is_terminal().then(|| columns().unwrap_or(WIDTH));
        table(&mut out, by, &groups, &total, width)?;
        if total.cost_unknown > 0 {
            let beats = if total.cost_unknown == 1 { "beat" } else { "beats" };
            writeln!(out, "{} {beats} reported no cost", total.cost_unknown)?;
        }
    }
    out.flush()?;
    let mut skipped = skipped.into_inner().unwrap_or_else(PoisonError::into_inner);
    skipped.sort_by(|one, next| one.path.cmp(&next.path));
    for error in skipped {
        let _closed = warn(error.line());
    }
    Ok(ExitCode::SUCCESS)
}

fn group_json(group: Group, sums: &Sums) -> GroupJson {
    let sums = sums.into();
    match group {
        Group::Heartbeat(workspace, heartbeat) => {
            GroupJson { workspace: Some(workspace), heartbeat, sums, ..GroupJson::default() }
        }
        Group::Workspace(workspace) => GroupJson { workspace: Some(workspace), sums, ..GroupJson::default() },
        Group::Day(day) => GroupJson { day: day.map(|day| day.to_string()), sums, ..GroupJson::default() },
        Group::Model(model) => GroupJson { model, sums, ..GroupJson::default() },
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Prints a table, on a terminal of this width if it is given: then with short names, and without the last columns that
/// don't fit.
fn table(
    out: &mut impl Write,
    by: GroupBy,
    groups: &[(Group, Sums)],
    total: &Sums,
    width: Option<usize>,
) -> io::Result<()> {
    let head = match by {
        GroupBy::Heartbeat => "HEARTBEAT",
        GroupBy::Workspace => "WORKSPACE",
        GroupBy::Day => "DAY",
        GroupBy::Model => "MODEL",
    };
    let titles = ["BEATS", "QUIET", "COST", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE"];
    let mut rows = vec![(head.to_owned(), titles.map(str::to_owned))];
    let names = names(groups, width.is_some());
    rows.extend(names.into_iter().zip(groups).map(|(name, (_, sums))| (name, cells(sums))));
    if groups.len() > 1 {
        rows.push(("total".to_owned(), cells(total)));
    }
    let mut first = rows.iter().map(|(name, _)| name.width()).max().unwrap_or_default();
    let widths: [usize; 7] =
        std::array::from_fn(|column| rows.iter().map(|(_, cells)| cells[column].width()).max().unwrap_or(0));
    let mut shown: Vec<usize> = (0..widths.len()).collect();
    if let Some(most) = width {
        let room =
            |shown: &[usize]| most.saturating_sub(shown.iter().map(|column| widths[*column] + 2).sum());
        for (column, least) in DROPPED {
            if room(&shown) < first.min(least) {
                shown.retain(|kept| *kept != column);
            }
        }
        first = first.min(room(&shown));
    }
    let style = Style::of_stdout();
    for (place, (name, cells)) in rows.iter().enumerate() {
        let mut line = pad(&cut_middle(name, first), first);
        for column in &shown {
            line.push_str(&format!("  {:>width$}", cells[*column], width = widths[*column]));
        }
        let is_outer = place == 0 || (groups.len() > 1 && place + 1 == rows.len());
        writeln!(out, "{}", if is_outer { style.bold(line) } else { line })?;
    }
    Ok(())
}

/// The names of groups; if `is_short`, without the folders above a workspace, unless these tell it from others.
fn names(groups: &[(Group, Sums)], is_short: bool) -> Vec<String> {
    let workspaces = groups.iter().filter_map(|(group, _)| match group {
        Group::Heartbeat(workspace, _) | Group::Workspace(workspace) => Some(&**workspace),
        Group::Day(_) | Group::Model(_) => None,
    });
    let names = ShortNames::of(workspaces);
    let named = |(group, _): &(Group, Sums)| match group {
        Group::Heartbeat(workspace, name) if is_short => {
            shown_line(&names.of_heartbeat(workspace, name.as_deref()))
        }
        Group::Workspace(workspace) if is_short => shown_line(&names.of_heartbeat(workspace, None)),
        group => name(group),
    };
    groups.iter().map(named).collect()
}

fn name(group: &Group) -> String {
    match group {
        Group::Heartbeat(workspace, None) | Group::Workspace(workspace) => shown_line(workspace),
        Group::Heartbeat(workspace, Some(name)) => format!("{}::{}", shown_line(workspace), shown_line(name)),
        Group::Day(Some(day)) => day.to_string(),
        Group::Model(Some(model)) => plain_line(model),
        Group::Day(None) | Group::Model(None) => "unknown".to_owned(),
    }
}

fn cells(sums: &Sums) -> [String; 7] {
    let Tokens { input, output, cache_read, cache_write } = sums.tokens;
    let cost = match (sums.cost.map(|cost| dollars(cost.usd())), sums.cost_unknown) {
        (Some(cost), 0) => cost,
        (Some(cost), _) => cost + "+",
        (None, 0) => "-".to_owned(),
        (None, _) => "?".to_owned(),
    };
    let quiet = format!("{}%", sums.quiet * 100 / sums.beats.max(1));
    let [input, output, cache_read, cache_write] = [input, output, cache_read, cache_write].map(short);
    [sums.beats.to_string(), quiet, cost, input, output, cache_read, cache_write]
}

/// A count of at most four characters and a unit: `1234`, `56.7k`, `8.9M`.
fn short(count: u64) -> String {
    let (unit, letter) = match count {
        0..10_000 => return count.to_string(),
        10_000..1_000_000 => (1000, 'k'),
        1_000_000..1_000_000_000 => (1_000_000, 'M'),
        _ => (1_000_000_000, 'G'),
    };
    format!("{}.{}{letter}", count / unit, count % unit * 10 / unit)
}

impl From<ByArg> for GroupBy {
    fn from(by: ByArg) -> Self {
        match by {
            ByArg::Heartbeat => Self::Heartbeat,
            ByArg::Workspace => Self::Workspace,
            ByArg::Day => Self::Day,
            ByArg::Model => Self::Model,
        }
    }
}
