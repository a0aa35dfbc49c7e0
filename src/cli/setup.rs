//! `murmur setup hooks`: installs, removes, shows and checks murmur's hooks in Claude Code's settings.

use super::args::{Setup, SetupCommand};
use super::setup_args::{ScopeArg, SetupHooks};
use super::style::{plain_line, plain_text};
use super::user_env::UserEnv;
use anyhow::bail;
use derun::cli::json::print as print_json;
use derun::cli::stdout::{stdout, warn};
use murmur_agent::settings::HookProgram;
use murmur_claude_files::setup::change::SetupOutcome;
use murmur_claude_files::setup::file::{self, Backup, Changed, SettingsFile};
use murmur_claude_files::setup::flaw::flaws;
use murmur_claude_files::setup::plan::{self, Decision};
use murmur_claude_files::setup::wanted::Wanted;
use murmur_claude_files::setup::{Locations, check, diff};
use serde_json::json;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use sys::failure;
use sys::paths::DataDir;
use sys::text::shown_line;

pub(super) fn run(args: &Setup, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let SetupCommand::Hooks(args) = &args.command;
    let here = std::env::current_dir().map_err(|error| {
        failure!("cannot determine the current folder"; "change to an existing folder").because(&error)
    })?;
    let claude = env.claude_folder();
    let around = Locations { claude: claude.as_deref(), here: &here };
    let path = murmur_claude_files::setup::Scope::from(args.scope).file(&around)?;
    if args.check {
        return try_out(&path, args, &here, env);
    }
    let sets_up = !args.remove && !args.fix_flat;
    let wanted = if sets_up { Some(wanted()?) } else { None };
    let decide = |found: SettingsFile<'_>| match &wanted {
        Some(wanted) => plan::set_up(found, wanted, &path),
        None if args.fix_flat => plan::rewrite_flat(found, &path),
        None => plan::remove(found, &path),
    };
    if args.dry_run {
        return show(&file::preview(&path, decide)?, args.json);
    }
    let dir = env.own_data_dir()?;
    let changed = file::change(&path, &dir.settings_lock(), decide)?;
    let mut out = stdout().lock();
    report(&mut out, &changed, false)?;
    if changed.plan.backup == Backup::Write && changed.before.is_some() {
        writeln!(out, "saved the previous version as {}", shown(&file::backup_of(&changed.real)))?;
    }
    if let Some(why) = changed.left_behind {
        let backup = shown(&file::backup_of(&changed.real));
        writeln!(io::stderr(), "note: cannot remove {backup}, which is no longer needed: {why}")?;
    }
    if !args.remove {
        warn_of_flaws(&changed)?;
    }
    if sets_up && let Err(error) = pulses_dir(env) {
        warn(format_args!("{error:#}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn wanted() -> anyhow::Result<Wanted> {
    let hook = HookProgram::find().map_err(|error| {
        failure!("murmur-hook is not in the same folder as murmur"; "install it there").because(&error)
    })?;
    Ok(Wanted::of(&hook)?)
}

/// Reports what was done or, in a dry run, what would be done.
fn report(out: &mut impl Write, changed: &Changed<Decision>, is_dry: bool) -> io::Result<()> {
    let (decision, path) = (&changed.plan.decision, shown(&changed.real));
    let verb = |done: &'static str, planned: &'static str| if is_dry { planned } else { done };
    let (configured, updated) = (verb("configured", "would configure"), verb("updated", "would update"));
    let (removed, fixed) = (verb("removed", "would remove"), verb("fixed", "would fix"));
    match decision.outcome {
        SetupOutcome::Configured => writeln!(out, "{configured} murmur's hooks in {path}")?,
        SetupOutcome::Updated => writeln!(out, "{updated} murmur's hooks in {path}")?,
        SetupOutcome::AlreadyConfigured => writeln!(out, "already configured in {path}")?,
        SetupOutcome::NotConfigured => writeln!(out, "not configured in {path}")?,
        SetupOutcome::Untouched if decision.rewritten.is_empty() => {
            writeln!(out, "no entry in {path} is in the flat form")?;
        }
        SetupOutcome::Untouched => writeln!(out, "{fixed} {path}")?,
        SetupOutcome::Removed if changed.plan.next.is_none() => {
            writeln!(out, "{removed} {path}, which {} only murmur's hooks", verb("contained", "contains"))?;
        }
        SetupOutcome::Removed if decision.is_as_before => {
            writeln!(out, "{removed} murmur's hooks from {path}, restoring its previous content")?;
        }
        SetupOutcome::Removed => writeln!(out, "{removed} murmur's hooks from {path}")?,
    }
    for entry in &decision.rewritten {
        writeln!(out, "{} {} in the nested form", verb("rewrote", "would rewrite"), shown_line(entry))?;
    }
    Ok(())
}

/// The word for an outcome in JSON.
fn word(outcome: SetupOutcome) -> &'static str {
    match outcome {
        SetupOutcome::Configured => "configured",
        SetupOutcome::Updated => "updated",
        SetupOutcome::AlreadyConfigured | SetupOutcome::NotConfigured | SetupOutcome::Untouched => {
            "unchanged"
        }
        SetupOutcome::Removed => "removed",
    }
}

/// Warns about other settings that keep the hooks from running.
fn warn_of_flaws(changed: &Changed<Decision>) -> io::Result<()> {
    let text = changed.plan.next.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
    for flaw in flaws(&text) {
        warn(plain_line(&flaw.at(&changed.real)))?;
    }
    Ok(())
}

/// Shows the change without making it.
fn show(changed: &Changed<Decision>, json: bool) -> anyhow::Result<ExitCode> {
    let text = |bytes: &Option<Vec<u8>>| {
        bytes.as_deref().map(String::from_utf8_lossy).unwrap_or_default().into_owned()
    };
    let mut out = stdout().lock();
    let lines = diff::lines(&text(&changed.before), &text(&changed.plan.next));
    if json {
        let Decision { outcome, rewritten, .. } = &changed.plan.decision;
        let path = changed.real.to_string_lossy();
        let plan = json!({ "path": path, "outcome": word(*outcome), "rewritten": rewritten, "diff": lines });
        print_json(&mut out, "setup-hooks/1", &plan)?;
        warn_of_flaws(changed)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "dry run; nothing was changed")?;
    report(&mut out, changed, true)?;
    if !lines.is_empty() {
        let side = |bytes: &Option<Vec<u8>>| match bytes {
            Some(_) => shown(&changed.real),
            None => "/dev/null".to_owned(),
        };
        writeln!(out, "--- {}\n+++ {}", side(&changed.before), side(&changed.plan.next))?;
    }
    for line in lines {
        writeln!(out, "{}", plain_text(&line))?;
    }
    warn_of_flaws(changed)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the installed hook, and reports problems.
fn try_out(path: &Path, args: &SetupHooks, here: &Path, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let wanted = wanted()?;
    let again = match args.scope {
        ScopeArg::User => "murmur setup hooks",
        ScopeArg::Project => "murmur setup hooks --scope project",
        ScopeArg::Local => "murmur setup hooks --scope local",
    };
    let mut text = String::new();
    let found = file::preview(path, |found: SettingsFile<'_>| {
        text = String::from_utf8_lossy(found.file.unwrap_or_default()).into_owned();
        plan::set_up(found, &wanted, path)
    })?;
    let real = &found.real;
    let flaws = flaws(&text);
    for flaw in &flaws {
        warn(plain_line(&flaw.at(real)))?;
    }
    let commands: Vec<(&str, Option<String>)> =
        wanted.events().into_iter().map(|event| (event, Wanted::command(&text, path, event))).collect();
    let missing: Vec<&str> =
        commands.iter().filter(|(_, command)| command.is_none()).map(|(event, _)| *event).collect();
    if missing.len() == commands.len() {
        bail!(failure!("murmur's hooks are not configured in {}", shown(real); "run `{again}`"));
    }
    if !missing.is_empty() {
        let events = missing.join(", ");
        bail!(failure!("{} has no murmur hook for {events}", shown(real); "run `{again}`"));
    }
    let command =
        commands.into_iter().find(|(event, _)| *event == "PostToolUse").and_then(|(_, command)| command);
    let command = command.unwrap_or_default();
    // Settings in a folder may have come with its content, unreviewed.
    if !matches!(args.scope, ScopeArg::User) && !Wanted::is_written_by_setup(&command) {
        let command = check::shown(&command);
        bail!(
            failure!("{command} in {} was not written by murmur setup, so it was not run", shown(real); "review it, then run `{again}`")
        );
    }
    let dir = pulses_dir(env)?;
    let took = super::runtime()?.block_on(check::check(&command, &dir, here))?;
    if args.json {
        let object = json!({ "path": real.to_string_lossy(), "tookMs": took.as_millis() });
        print_json(&mut stdout(), "setup-hooks-check/1", &object)?;
    } else {
        writeln!(stdout(), "a pulse arrived: the hook in {} took {} ms", shown(real), took.as_millis())?;
    }
    if found.plan.decision.outcome != SetupOutcome::AlreadyConfigured {
        let path = shown(real);
        warn(format_args!("{path} has hooks of another murmur version; `{again}` updates them"))?;
    }
    if flaws.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    bail!(
        failure!("Claude Code may run none of the hooks in {}", shown(real); "fix the problems named in the warnings")
    );
}

/// The folder that sessions write pulses to, created if missing: they don't know `--data-dir`.
fn pulses_dir(env: &UserEnv) -> anyhow::Result<DataDir> {
    let (named, theirs) = (env.data_dir()?, UserEnv::new(None).data_dir()?);
    let real = |dir: &DataDir| dir.root().canonicalize().unwrap_or_else(|_| dir.root().to_owned());
    if real(&named) != real(&theirs) {
        bail!(
            failure!("sessions write their pulses to {}, not to {}", shown(theirs.root()), shown(named.root()); "leave --data-dir out, or set MURMUR_DIR where they start")
        );
    }
    Ok(env.own_data_dir()?)
}

fn shown(path: &Path) -> String {
    plain_text(&path.display().to_string()).replace('\n', "\\n")
}
