//! `murmur init`: creates a HEARTBEAT.md and registers the workspace in config.json. Overwrites nothing.

use super::args::Init;
use super::lacks;
use super::user_env::UserEnv;
use super::workspaces::{self, Registered};
use crate::daemon::approved;
use anyhow::{Context, bail};
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use derun::cli::stdout::stdout;
use derun::cli::wrapped::{Wrapped, output_width};
use murmur_claude_files::trust::Workspaces;
use murmur_core::config::backend::{Backend, Backends, Capability};
use murmur_core::config::cron::Crons;
use murmur_core::config::edit::NewWorkspace;
use murmur_core::config::file::File;
use murmur_core::config::heartbeat::{self, CurrentSchedule};
use murmur_core::config::interval::Interval;
use murmur_core::config::settings::Settings;
use murmur_core::config::template::{DEFAULT, TEMPLATES, is_schedule, is_unedited, split, without_turns};
use murmur_core::config::timing::Schedule as Timing;
use std::ffi::OsStr;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use sys::error::Failure;
use sys::failure;
use sys::paths::DataDir;
use sys::spelling::nearest;
use sys::text::Shown;
use sys::{atomic, shell};

/// Template names for help and completions; the path of a file is accepted too.
#[derive(Debug, Clone)]
pub(super) struct Templates;

impl TypedValueParser for Templates {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(TEMPLATES.iter().map(|(name, _)| PossibleValue::new(name))))
    }
}

/// System folders below `/`: those of the Filesystem Hierarchy Standard 3.0, and macOS's.
const SYSTEM: [&str; 23] = [
    "Applications",
    "Library",
    "System",
    "Volumes",
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "media",
    "mnt",
    "nix",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "sys",
    "usr",
    "var",
];

/// The default interval.
const INTERVAL: &str = "30m";

pub(super) fn run(args: &Init, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.agents_data_dir()?;
    let (workspace, is_new) = folder(&args.path, env)?;
    if !args.force {
        refuse_broad(&workspace, env)?;
    }
    let schedule = schedule(args, env)?;
    // Check before writing anything: an unreadable configuration cannot be extended.
    refuse_other(&schedule, &dir, &workspace, args.name.as_deref(), env)?;
    let backend = backend(args.agent.as_ref(), &dir, &workspace, env)?;
    let template = template(args.template.as_deref().unwrap_or(DEFAULT), &backend)?;
    let file = match &args.name {
        Some(name) => workspace.join("heartbeats").join(checked(name)?).join("HEARTBEAT.md"),
        None => workspace.join("HEARTBEAT.md"),
    };
    if let Some(name) = args.template.as_ref().filter(|_| file.symlink_metadata().is_ok()) {
        return Err(not_applied(name, &file).into());
    }
    let mut out = Wrapped::new(Shown(stdout().lock()), output_width());
    if is_new {
        std::fs::create_dir(&workspace).with_context(|| format!("cannot create {}", workspace.display()))?;
        writeln!(out, "created {}", workspace.display())?;
    }
    // A named heartbeat has its own schedule; a workspace's schedule is in config.json.
    let text = if args.name.is_some() { scheduled(&template, &schedule, args) } else { template };
    if create(&file, &text)? {
        let edit = if is_unedited(&text) { "; edit it, or the daemon will not run it" } else { "" };
        writeln!(out, "wrote {}{edit}", file.display())?;
        // The user approves it by creating it: agents can't run this command.
        if let Some(name) = &args.name {
            approved::approve(&dir, &workspace, &[name])
                .with_context(|| format!("cannot write {}", dir.approved().display()))?;
        }
    } else if let Some(name) = &args.template {
        return Err(not_applied(name, &file).into());
    } else {
        writeln!(out, "{} already exists; not changed", file.display())?;
    }
    // A named heartbeat's schedule does not apply to its workspace.
    let entry = match &args.name {
        Some(_) => NewWorkspace { interval: None, cron: None, tz: None, ..schedule.workspace(&workspace) },
        None => NewWorkspace { agent: args.agent.as_ref(), ..schedule.workspace(&workspace) },
    };
    match workspaces::register(&dir, &entry)? {
        Registered::New => writeln!(out, "registered {}", workspace.display())?,
        Registered::Already if args.name.is_some() => {
            writeln!(out, "{} is already registered", workspace.display())?
        }
        Registered::Already => {
            let set = format!("murmur set {}", shell::path(&workspace));
            writeln!(
                out,
                "{} is already registered; to change its schedule, run: {set}",
                workspace.display()
            )?;
        }
    }
    if let Some(untrusted) = Workspaces::of(&dir, &env.home()).untrusted(&workspace, &backend) {
        writeln!(out, "{}", untrusted.line())?;
    }
    drop(out);
    args.agent.as_ref().map_or(Ok(()), lacks::say)?;
    Ok(ExitCode::SUCCESS)
}

/// The backend that the workspace's heartbeats will have. Fails if `typed` is another one than config.json already has.
pub(super) fn backend(
    typed: Option<&Backend>,
    dir: &DataDir,
    workspace: &Path,
    env: &UserEnv,
) -> anyhow::Result<Backend> {
    // `murmur doctor` reports broken settings.
    let settings = Settings::read(&env.settings_dir()?.settings()).unwrap_or_default();
    let file = File::read(&dir.config(), &Crons::new(env.time_zone()))?;
    let entry = heartbeat::entry(&file, workspace);
    let own = entry.as_ref().and_then(|entry| entry.as_ref().ok()?.agents.as_ref()).map(Backends::first);
    match typed {
        Some(typed) if entry.is_some() && own != Some(typed) => bail!(failure!(
            "--agent {typed} was not applied: {} is already registered", workspace.display();
            "run: murmur set {} --agent {typed}", shell::path(workspace)
        )),
        Some(typed) => {
            settings.command(typed)?;
            Ok(typed.clone())
        }
        None => Ok(own.or(settings.agent.as_ref()).cloned().unwrap_or_default()),
    }
}

/// The schedule from the arguments, validated.
fn schedule(args: &Init, env: &UserEnv) -> anyhow::Result<Schedule> {
    checked_schedule(args.interval.as_deref(), args.cron.as_deref(), args.tz.as_deref(), env)
}

/// The given schedule, or every 30 minutes by default.
pub(super) fn checked_schedule(
    interval: Option<&str>,
    cron: Option<&str>,
    tz: Option<&str>,
    env: &UserEnv,
) -> anyhow::Result<Schedule> {
    let is_typed = interval.is_some();
    let interval: Option<Interval> = match (interval, cron) {
        (Some(interval), _) => Some(interval.parse()?),
        (None, None) => Some(INTERVAL.parse()?),
        (None, Some(_)) => None,
    };
    let timing = Timing::from_keys(interval, cron, tz, &Crons::new(env.time_zone()))?;
    let typed = match (interval.filter(|_| is_typed), cron) {
        (Some(interval), _) => Some(format!("--interval {interval}")),
        (None, Some(cron)) => {
            let tz = tz.map(|tz| format!(" --tz {tz}")).unwrap_or_default();
            Some(format!("--cron '{cron}'{tz}"))
        }
        (None, None) => None,
    };
    let typed = typed.zip(timing).map(|(words, timing)| Typed { words, timing });
    Ok(Schedule { interval, cron: cron.map(str::to_owned), tz: tz.map(str::to_owned), typed })
}

/// A validated schedule.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) interval: Option<Interval>,
    pub(super) cron: Option<String>,
    pub(super) tz: Option<String>,
    /// The schedule as typed, if any.
    typed: Option<Typed>,
}

/// A schedule that the user typed.
#[derive(Debug)]
struct Typed {
    words: String,
    timing: Timing,
}

/// Fails if the typed schedule differs from that of an existing heartbeat, which this command doesn't change.
pub(super) fn refuse_other(
    schedule: &Schedule,
    dir: &DataDir,
    workspace: &Path,
    name: Option<&str>,
    env: &UserEnv,
) -> anyhow::Result<()> {
    let crons = Crons::new(env.time_zone());
    let file = File::read(&dir.config(), &crons)?;
    let Some(Typed { words, timing }) = &schedule.typed else { return Ok(()) };
    let standing = heartbeat::current_schedule(&file, &dir.config(), workspace, name, &crons);
    let Some(CurrentSchedule { schedule, file: said_in }) =
        standing.filter(|there| there.schedule.as_ref() != Some(timing))
    else {
        return Ok(());
    };
    let what = match name {
        Some(name) => format!("heartbeat {name:?} of {} already exists", workspace.display()),
        None => format!("{} is already registered", workspace.display()),
    };
    let standing = match &schedule {
        Some(schedule) => format!("with the schedule {schedule}"),
        None => "without a schedule".to_owned(),
    };
    let hint = if said_in == dir.config() {
        format!("run: murmur set {} {}", shell::path(workspace), words.replacen("--interval", "--every", 1))
    } else {
        let verb = if schedule.is_some() { "change it in" } else { "write one into" };
        format!("{verb} {}", said_in.display())
    };
    bail!(failure!("{words} was not applied: {what}, {standing}"; "{hint}"))
}

/// Rejects a folder that contains all of the user's files, that is, the home folder and those above it, and system
/// folders.
pub(super) fn refuse_broad(workspace: &Path, env: &UserEnv) -> anyhow::Result<()> {
    let home = env.home();
    let home = home.canonicalize().unwrap_or(home);
    let is_it = |folder: &&Path| {
        // The same folder may have several paths, for example because of bind mounts.
        let identity = |folder: &Path| folder.metadata().ok().map(|found| (found.dev(), found.ino()));
        *folder == workspace || identity(folder).is_some_and(|found| identity(workspace) == Some(found))
    };
    let is_system =
        |top: &str| workspace.parent() == Some(Path::new("/")) && workspace.file_name() == Some(top.as_ref());
    let what = match home.ancestors().position(|folder| is_it(&folder)) {
        Some(0) => "is your home folder",
        None if SYSTEM.iter().any(|top| is_system(top)) => "is a system folder",
        None if workspace.parent().is_some() => return Ok(()),
        _ => "contains your home folder",
    };
    bail!(failure!(
        "{} {what}, and an agent would work on all of it", workspace.display();
        "name the folder of a project, or pass --force"
    ))
}

/// The folder of a workspace, and whether to create it: only its last component may be missing.
fn folder(path: &Path, env: &UserEnv) -> anyhow::Result<(PathBuf, bool)> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        _ => return Ok((env.workspace(path)?, false)),
    }
    let absolute = std::path::absolute(path)?;
    let parent = absolute.parent().and_then(|parent| parent.canonicalize().ok());
    match parent.zip(absolute.file_name()) {
        Some((parent, name)) => Ok((parent.join(name), true)),
        None => {
            let shown = path.display();
            bail!(
                failure!("cannot create workspace {shown}: its parent folder does not exist"; "run: mkdir -p {}", shell::path(path))
            )
        }
    }
}

impl Schedule {
    /// A config.json entry with this schedule.
    pub(super) fn workspace<'a>(&'a self, path: &'a Path) -> NewWorkspace<'a> {
        let (cron, tz) = (self.cron.as_deref(), self.tz.as_deref());
        NewWorkspace { path, name: None, interval: self.interval, cron, tz, agent: None }
    }
}

/// The template called `name`. A built-in one has no keys that `backend` lacks.
fn template(name: &str, backend: &Backend) -> anyhow::Result<String> {
    if let Some((_, text)) = TEMPLATES.iter().find(|(known, _)| *known == name) {
        let has_turns = backend.has(Capability::MaxTurns);
        return Ok(if has_turns { (*text).to_owned() } else { without_turns(text) });
    }
    let known: Vec<&str> = TEMPLATES.iter().map(|(known, _)| *known).collect();
    std::fs::read_to_string(name).map_err(|error| {
        let what = match error.kind() {
            ErrorKind::NotFound => failure!("no template {name:?}, and no file of this name"),
            _ => failure!("cannot read template {name:?}").because(&error),
        };
        let there_are = format!("emplates are {}, or the path of a file", known.join(", "));
        anyhow::Error::new(match nearest(name, &known) {
            Some(nearest) => what.hint(format!("did you mean {nearest:?}? T{there_are}")),
            None => what.hint(format!("t{there_are}")),
        })
    })
}

/// The error if `file` exists and would not get the requested template.
fn not_applied(template: &str, file: &Path) -> Failure {
    failure!(
        "template {template:?} was not applied: {} already exists", file.display();
        "move that file away first, or leave --template out"
    )
}

fn checked(name: &str) -> anyhow::Result<&str> {
    let plain = |character: char| !character.is_control() && character != '/';
    if name.is_empty() || name.starts_with('.') || name.len() > 100 || !name.chars().all(plain) {
        bail!(failure!("{name:?} cannot name a heartbeat"; "use up to 100 letters, digits, - and _"));
    }
    Ok(name)
}

/// Adds the schedule to a template's frontmatter. A typed schedule replaces the template's own.
fn scheduled(template: &str, schedule: &Schedule, args: &Init) -> String {
    let (settings, text) = split(template);
    if args.interval.is_none() && args.cron.is_none() && settings.lines().any(is_schedule) {
        return template.to_owned();
    }
    let mut lines = vec!["---".to_owned()];
    lines.extend(schedule.interval.map(|interval| format!("interval: {interval}")));
    lines.extend(schedule.cron.as_ref().map(|cron| format!("cron: '{cron}'")));
    lines.extend(schedule.tz.as_ref().map(|tz| format!("tz: {tz}")));
    lines.extend(settings.lines().filter(|line| !is_schedule(line)).map(str::to_owned));
    lines.push(format!("---\n{text}"));
    lines.join("\n")
}

/// Creates `file` with `text`; returns `false` if it exists. It appears atomically: the daemon may be waiting for it.
fn create(file: &Path, text: &str) -> anyhow::Result<bool> {
    let cannot = || format!("cannot write {}", file.display());
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).with_context(cannot)?;
    }
    match atomic::create(file, text.as_bytes()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error).with_context(cannot),
    }
}
