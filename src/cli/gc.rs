//! `murmur gc`: removes what is no longer needed, as the daemon does by itself.

use super::gc_args::Gc as Args;
use super::user_env::UserEnv;
use crate::daemon::gc::{self, Removed, Scope};
use anyhow::{Context, bail};
use derun::cli::captures;
use derun::cli::json::print as print_json;
use derun::cli::stdout::stdout;
use murmur_core::config::settings::Settings;
use std::io::{self, Write};
use std::process::ExitCode;
use sys::clock;
use sys::error::Hinted;
use sys::text::Shown;

pub(super) fn run(args: &Args, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.read_data_dir()?;
    // Without its settings, captures stay, and everything else is removed as usual.
    let limits = match Settings::read(&env.user()?.settings.settings()) {
        Err(error) => Err(error.failure()),
        Ok(settings) => settings.wrong.captures.map_or(Ok(settings.captures), |wrong| Err(wrong.failure())),
    };
    let root = captures::root().ok();
    let captures = root.as_deref().zip(limits.as_ref().ok().copied());
    let collected = gc::collect(&Scope { dir: &dir, captures, is_dry_run: args.dry_run }, clock::now());
    let mut out = Shown(stdout().lock());
    if args.json {
        print_json(
            &mut out,
            "gc/1",
            &serde_json::json!({ "dryRun": args.dry_run, "removed": collected.removed }),
        )?;
    } else {
        print(&mut out, args.dry_run, &collected.removed)?;
    }
    out.flush()?;
    if let Err(problem) = limits {
        bail!(problem.after("no capture is removed: "));
    }
    collected.error.map_or(Ok(ExitCode::SUCCESS), Err).context("garbage collection failed")
}

fn print(out: &mut impl Write, is_dry_run: bool, removed: &[Removed]) -> io::Result<()> {
    for Removed { path, what, bytes, why } in removed {
        writeln!(out, "{}  {what} ({why}): {}", size(*bytes), path.display())?;
    }
    if removed.is_empty() {
        return writeln!(out, "nothing to remove");
    }
    let (verb, count) = (if is_dry_run { "would remove" } else { "removed" }, removed.len());
    let total = removed.iter().map(|removed| removed.bytes).sum();
    let entries = if count == 1 { "entry" } else { "entries" };
    let freed = if is_dry_run { "" } else { " freed" };
    writeln!(out, "{verb} {count} {entries}, {}{freed}", size(total).trim_start())
}

/// In KiB, aligned.
fn size(bytes: u64) -> String {
    format!("{:>8} KiB", bytes.div_ceil(1024))
}
