//! `murmur set`: changes keys of a workspace's entry in config.json, and no other byte.

use super::args::Set;
use super::heartbeat_name::registered;
use super::lacks;
use super::user_env::UserEnv;
use crate::beat::sources::{self, SettingRow};
use anyhow::bail;
use derun::cli::stdout::{stdout, warn};
use derun::cli::wrapped::{Wrapped, output_width};
use murmur_core::config::cron::Crons;
use murmur_core::config::edit::layout::quoted;
use murmur_core::config::edit::{self, KeyChange};
use murmur_core::config::file::File;
use murmur_core::config::heartbeat::{self, Heartbeat};
use murmur_core::config::interval::Interval;
use murmur_core::config::limit::Source;
use murmur_core::config::settings::Settings;
use murmur_core::config::timing::Schedule;
use std::io::Write;
use std::process::ExitCode;
use sys::error::Hinted;
use sys::failure;
use sys::shell;
use sys::text::{Shown, shown_line};

pub(super) fn run(args: &Set, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.own_data_dir()?;
    let crons = Crons::new(env.time_zone());
    let Heartbeat { workspace, name, file, .. } = registered(&args.path, &dir, env)?;
    if let Some(name) = &name {
        let (file, edit) = (shell::path(&file), shell::argument(name));
        bail!(
            failure!("cannot change {}: its settings are in {file}", shell::word(&**name); "run: murmur edit {edit}")
        );
    }
    let changes = changes(args, &crons)?;
    if changes.is_empty() {
        bail!(failure!("nothing to change"; "give an option such as --every 1h; see: murmur set --help"));
    }
    let config = dir.config();
    edit::apply(&config, &dir.config_lock(), |source| edit::set_keys(source, &workspace, &changes))?;
    let mut out = Wrapped::new(Shown(stdout().lock()), output_width());
    writeln!(out, "changed {} of {} in {}", keys(&changes), workspace.display(), config.display())?;
    args.agent.as_ref().map_or(Ok(()), lacks::say)?;
    let file = File::read(&config, &crons)?;
    let read = Settings::read(&env.settings_dir()?.settings());
    let by_default = Settings::default();
    let settings = read.as_ref().unwrap_or(&by_default);
    let resolved = heartbeat::resolve_registered(&file, &workspace, &crons).unwrap_or_default();
    for heartbeat in resolved.iter().filter(|heartbeat| heartbeat.name.is_none()) {
        let id = shown_line(heartbeat.id.as_str());
        for SettingRow { key, value, source } in sources::rows(heartbeat, settings) {
            if source == Source::Heartbeat && sets(&changes, key) {
                warn(format_args!("{id}: {key} is {value}, which its HEARTBEAT.md sets"))?;
            }
        }
        if let Some(problem) = heartbeat.problem(read.as_ref().ok()) {
            warn(problem.line())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The changes that the options ask for, with valid values.
fn changes(args: &Set, crons: &Crons) -> anyhow::Result<Vec<KeyChange>> {
    let every: Option<Interval> = args.every.as_deref().map(str::parse).transpose()?;
    let timeout: Option<Interval> = args.timeout.as_deref().map(str::parse).transpose()?;
    Schedule::from_keys(every, args.cron.as_deref(), args.tz.as_deref(), crons)?;
    let mut changes = Vec::new();
    if let Some(every) = every {
        changes.push(KeyChange::Replace("cron", "interval", quoted(&every.to_string())));
        changes.push(KeyChange::Remove("tz"));
    }
    if let Some(cron) = &args.cron {
        changes.push(KeyChange::Replace("interval", "cron", quoted(cron)));
    }
    changes.extend(args.tz.as_ref().map(|tz| KeyChange::Set("tz", quoted(tz))));
    changes.extend(args.max_turns.map(|turns| KeyChange::Set("maxTurns", turns.to_string())));
    changes.extend(timeout.map(|timeout| KeyChange::Set("timeout", quoted(&timeout.to_string()))));
    changes.extend(args.model.as_ref().map(|model| KeyChange::Set("model", quoted(model))));
    changes.extend(args.agent.as_ref().map(|agent| KeyChange::Set("agent", quoted(&agent.to_string()))));
    let checker = args.permissions_checker.as_deref();
    changes.extend(checker.map(|who| KeyChange::Set("permissionsChecker", quoted(who))));
    changes.extend(args.enabled.map(|enabled| KeyChange::Set("enabled", enabled.to_string())));
    Ok(changes)
}

/// The keys that get a value.
fn set_keys(changes: &[KeyChange]) -> impl Iterator<Item = &'static str> {
    changes.iter().filter_map(|change| match change {
        KeyChange::Set(key, _) | KeyChange::Replace(_, key, _) => Some(*key),
        KeyChange::Remove(_) => None,
    })
}

fn keys(changes: &[KeyChange]) -> String {
    set_keys(changes).collect::<Vec<_>>().join(", ")
}

/// Whether the changes set what a row of `beat --dry-run` shows.
fn sets(changes: &[KeyChange], row: &str) -> bool {
    let mut keys = set_keys(changes);
    keys.any(|key| key == row || row == "schedule" && ["interval", "cron", "tz"].contains(&key))
}
