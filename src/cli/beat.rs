//! `murmur beat`: runs one beat now, in this process.

mod perform;
mod progress;

use super::args::Beat;
use super::heartbeat_name::workspace_or_heartbeat;
use super::requests::only_people;
use super::style::{local_time, plain_line};
use super::user_env::UserEnv;
use crate::beat::sources::{self, SettingRow};
use crate::beat::{self, Job, ResolvedPaths};
use crate::daemon::{approved, budgets, instance};
use anyhow::{Context, bail};
use derun::cli::json::print as print_json;
use derun::cli::stdout::{stdout, warn};
use murmur_agent::find;
use murmur_agent::invocation::Invocation;
use murmur_agent::rule_files::{self, Project};
use murmur_agent::start::Prepared;
use murmur_claude_files::trust::Start;
use murmur_core::config::backend::Command;
use murmur_core::config::cron::Crons;
use murmur_core::config::file::File;
use murmur_core::config::heartbeat::{self, Content, Heartbeat};
use murmur_core::config::settings::Settings;
use murmur_core::permit::policy::{Checker, Policy, Questions};
use murmur_core::usage_limit::spoken;
use murmur_store::journal::append;
use murmur_store::limits;
use perform::perform;
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use sys::error::{Failure, Hinted};
use sys::failure;
use sys::paths::{DataDir, User};
use sys::text::{Shown, shown_line};
use sys::{clock, shell, spelling};

/// How long the login shell may take to print its PATH.
const LOGIN: Duration = Duration::from_secs(5);

pub(super) fn run(args: &Beat, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let (dir, open) =
        if args.dry_run { (env.read_data_dir()?, None) } else { env.own_data_dir_and_warning()? };
    if !args.dry_run {
        append::check(&dir.journal())?;
    }
    let (workspace, named) = workspace_or_heartbeat(&args.path, &dir, env)?;
    let heartbeat = resolve(&dir, env, &workspace, args.name.as_deref().or(named.as_deref()))?;
    super::runtime()?.block_on(async {
        let user = env.user()?;
        let settings = Settings::read(&user.settings.settings()).map_err(|error| error.failure());
        let mut job = job(&heartbeat, user, &settings, env).await;
        // The job reports settings that are not readable.
        let settings = settings.unwrap_or_default();
        job.verbose = args.verbose;
        if args.dry_run {
            let (agent, start) = prepared(&job, &dir)?;
            let untrusted = start.trust_state.failure(&job.workspace, &job.backend);
            let untrusted = untrusted.map(|untrusted| untrusted.line());
            if args.json {
                return print(&agent.invocation, &heartbeat, &settings, untrusted);
            }
            if let Some(untrusted) = untrusted {
                writeln!(stdout(), "{untrusted}")?;
            }
            show(&agent.invocation, &heartbeat, &settings)
        } else {
            see_to_approval(&dir, &heartbeat)?;
            if !args.ignore_limits {
                refuse_on_hold(&dir, &job)?;
                refuse_over_budget(&dir, &heartbeat)?;
            }
            let warnings = warnings(&dir, &heartbeat, &job, &settings);
            // If every call is denied, that is the outcome; no agent starts, so other warnings don't matter.
            let is_denied = || {
                let rules = rule_files::check(&dir, &job.user.settings, &Project::of(&workspace));
                job.problem.is_some() || rules.is_err()
            };
            if (open.is_some() || !warnings.is_empty()) && is_denied() {
                let performed = perform(job, &heartbeat, &dir, args, env).await;
                env.warn_of(open.as_ref());
                return performed;
            }
            env.warn_of(open.as_ref());
            for warning in warnings {
                let _closed = warn(warning);
            }
            perform(job, &heartbeat, &dir, args, env).await
        }
    })
}

/// What a person should know before the beat runs.
fn warnings(dir: &DataDir, heartbeat: &Heartbeat, job: &Job, settings: &Settings) -> Vec<String> {
    let mut warnings = Vec::new();
    if heartbeat.unedited {
        let file = shown_line(&heartbeat.file.to_string_lossy());
        warnings.push(format!("{file} is not edited yet; the daemon will not start it until you edit it"));
    }
    if !heartbeat.is_enabled() {
        warnings.push("\"enabled\" is false, so the daemon will not start it".to_owned());
    }
    let notices = sources::notices(heartbeat, &settings.asking);
    warnings.extend(notices.iter().map(|notice| shown_line(notice)));
    let asks = [heartbeat.settings.asking, heartbeat.settings.tighter].map(|asking| asking.questions);
    warnings.extend(nobody_answers(dir, &job.policy, asks.contains(&Some(Questions::Broker))));
    warnings
}

/// Rejects a beat whose account is on hold.
fn refuse_on_hold(dir: &DataDir, job: &Job) -> anyhow::Result<()> {
    // `murmur status` and the daemon report an unreadable file.
    let (limits, now) = (limits::read(dir).unwrap_or_default(), clock::now());
    let Some(hold) = limits.accounts.get(&job.account).and_then(|usage| usage.held(now)) else {
        return Ok(());
    };
    let (account, window, until) = (&job.account, spoken(&hold.window), local_time(hold.until));
    bail!(failure!(
        "{account} is on hold until {until}: its {window} limit is reached";
        "to try anyway, add --ignore-limits"
    ))
}

/// Rejects a beat whose budget is used up.
fn refuse_over_budget(dir: &DataDir, heartbeat: &Heartbeat) -> anyhow::Result<()> {
    let now = clock::now();
    let journal = dir.journal();
    // `murmur status` reports parts that are not readable.
    let (ledger, _unread) = budgets::ledger(&journal, std::iter::once(heartbeat), now)
        .with_context(|| format!("cannot read {}", journal.display()))?;
    match ledger.hold(heartbeat, now) {
        Some(used_up) => {
            let until = local_time(used_up.until);
            bail!(
                failure!("the heartbeat may not start until {until}: {used_up}"; "to try anyway, add --ignore-limits")
            )
        }
        None => Ok(()),
    }
}

/// Approves a named heartbeat that a person runs; rejects an unapproved one that an agent runs.
fn see_to_approval(dir: &DataDir, heartbeat: &Heartbeat) -> anyhow::Result<()> {
    let Some(name) = heartbeat.name.as_deref() else { return Ok(()) };
    let mut known = [heartbeat.clone()];
    approved::mark(dir, &mut known, clock::now());
    if known.iter().any(|known| known.approved) {
        return Ok(());
    }
    only_people("run a heartbeat that nobody has approved")?;
    approved::approve(dir, &heartbeat.workspace, &[name])
        .with_context(|| format!("cannot write {}", dir.approved().display()))
}

/// The warning that calls will be denied because no daemon can ask a person or a model. `asks` is whether the
/// configuration explicitly says that a person answers questions: that is the default, and few agents ask any.
pub(super) fn nobody_answers(dir: &DataDir, policy: &Policy, asks: bool) -> Option<String> {
    let asks = asks && policy.questions == Questions::Broker;
    let what = match policy.checker {
        Checker::Manual => "calls that need your approval",
        Checker::Llm => "calls that need a model's approval",
        Checker::Off | Checker::Deny if asks => "questions",
        Checker::Off | Checker::Deny => return None,
    };
    let is_stopped = instance::is_running(dir).is_ok_and(|runs| !runs);
    is_stopped.then(|| format!("the daemon is not running, so {what} are denied; run: murmur start"))
}

/// The agent that [`run`] would start.
pub(super) fn plan(args: &Beat, env: &UserEnv) -> anyhow::Result<(Job, Prepared, Start)> {
    let dir = env.read_data_dir()?;
    let (workspace, named) = workspace_or_heartbeat(&args.path, &dir, env)?;
    let heartbeat = resolve(&dir, env, &workspace, args.name.as_deref().or(named.as_deref()))?;
    let user = env.user()?;
    let settings = Settings::read(&user.settings.settings()).map_err(|error| error.failure());
    let job = super::runtime()?.block_on(job(&heartbeat, user, &settings, env));
    let (agent, start) = prepared(&job, &dir)?;
    Ok((job, agent, start))
}

/// A beat of `heartbeat` that starts now.
async fn job(heartbeat: &Heartbeat, user: User, settings: &Result<Settings, Failure>, env: &UserEnv) -> Job {
    let mut job = Job::new(heartbeat, beat::new_id(clock::now()), PathBuf::new(), user, settings);
    job.path = path(env, job.command.as_ref()).await.into();
    job
}

/// The agent of `job` if it started now, without gates.
fn prepared(job: &Job, dir: &DataDir) -> Result<(Prepared, Start), Failure> {
    let content = Content::of(&job.workspace, &job.file);
    beat::prepare(job, dir, clock::now(), &ResolvedPaths::of(job), &content, &[])
}

/// The heartbeat to run. An unregistered workspace has the defaults; the next run doesn't matter here.
fn resolve(dir: &DataDir, env: &UserEnv, workspace: &Path, name: Option<&str>) -> anyhow::Result<Heartbeat> {
    let crons = Crons::new(env.time_zone());
    let file = File::read(&dir.config(), &crons)?;
    let registered = heartbeat::resolve_registered(&file, workspace, &crons);
    let is_registered = registered.is_some();
    let heartbeats = registered.unwrap_or_else(|| heartbeat::resolve_folder(workspace, &crons));
    // In a registered workspace, a missing file is the beat's outcome; another folder is a mistake.
    if !is_registered
        && heartbeats.iter().all(|heartbeat| heartbeat.file.try_exists().is_ok_and(|is_there| !is_there))
    {
        bail!(
            failure!("no HEARTBEAT.md in {}", workspace.display(); "run: murmur init {}", shell::path(workspace))
        );
    }
    if let Some(found) = heartbeats.iter().find(|heartbeat| heartbeat.name.as_deref() == name) {
        return Ok(found.clone());
    }
    let known: Vec<&str> = heartbeats.iter().filter_map(|heartbeat| heartbeat.name.as_deref()).collect();
    bail!(match name {
        Some(name) => unknown_name(name, &known, workspace),
        None => failure!("no HEARTBEAT.md in {}", workspace.display(); "{}", names(&known)),
    })
}

/// The error for an unknown heartbeat name, with the nearest one.
pub(super) fn unknown_name(name: &str, known: &[&str], workspace: &Path) -> Failure {
    let failure = failure!("no heartbeat {name:?} in {}", workspace.display());
    failure.hint(match spelling::nearest(name, known) {
        Some(meant) => format!("did you mean {}?", shell::option("--name", meant)),
        None if known.is_empty() => "leave --name out; no heartbeat there has a name".to_owned(),
        None => names(known),
    })
}

/// Lists the names of heartbeats.
fn names(known: &[&str]) -> String {
    format!("use --name with one of: {}", known.join(", "))
}

/// Our own PATH, or the login shell's if ours lacks the agent's program: cron and services start with a minimal PATH.
pub(super) async fn path(env: &UserEnv, command: Option<&Command>) -> OsString {
    let own = env.path();
    let program = command.map_or(find::CLAUDE, |command| &command.program);
    match find::find(program, &own) {
        Ok(_) => own,
        Err(_) => find::login_path(program, &env.shell(), &own, LOGIN).await,
    }
}

/// Prints the invocation and the source of each setting as JSON.
fn print(
    invocation: &Invocation,
    heartbeat: &Heartbeat,
    settings: &Settings,
    untrusted: Option<String>,
) -> anyhow::Result<ExitCode> {
    let row = |SettingRow { key, value, source }: SettingRow| json!({ "key": key, "value": value, "source": source.to_string() });
    let rows: Vec<_> = sources::rows(heartbeat, settings).into_iter().map(row).collect();
    let text = |text: &OsStr| text.to_string_lossy().into_owned();
    let own = invocation.env.iter().map(|(name, value)| ((*name).to_owned(), text(value)));
    let programs = invocation.program_env.iter().map(|(name, value)| (name.clone(), text(value)));
    let argv = std::iter::once(text(invocation.program.as_os_str())).chain(invocation.args.iter().cloned());
    let plan = json!({
        "cwd": invocation.cwd.to_string_lossy(),
        "argv": argv.collect::<Vec<_>>(),
        "settings": rows,
        "notices": sources::notices(heartbeat, &settings.asking),
        "untrusted": untrusted,
        "environment": own.chain(programs).collect::<BTreeMap<_, _>>(),
        "prompt": String::from_utf8_lossy(&invocation.stdin),
    });
    print_json(&mut stdout(), "beat-dry-run/1", &plan)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the invocation and the source of each setting.
fn show(invocation: &Invocation, heartbeat: &Heartbeat, settings: &Settings) -> anyhow::Result<ExitCode> {
    let mut out = Shown(stdout().lock());
    writeln!(out, "cwd: {}", invocation.cwd.display())?;
    writeln!(out, "argv:\n  {}", invocation.program.display())?;
    for arg in &invocation.args {
        writeln!(out, "  {arg}")?;
    }
    writeln!(out, "settings:")?;
    for SettingRow { key, value, source } in sources::rows(heartbeat, settings) {
        writeln!(out, "  {key}: {}  ({source})", plain_line(&value))?;
    }
    for notice in sources::notices(heartbeat, &settings.asking) {
        writeln!(out, "  notice: {}", shown_line(&notice))?;
    }
    writeln!(out, "environment:")?;
    for (name, value) in &invocation.env {
        writeln!(out, "  {name}={}", value.display())?;
    }
    for (name, value) in &invocation.program_env {
        writeln!(out, "  {name}={}", value.display())?;
    }
    writeln!(out, "prompt:\n{}", String::from_utf8_lossy(&invocation.stdin))?;
    Ok(ExitCode::SUCCESS)
}
