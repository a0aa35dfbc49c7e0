//! `murmur trust`: shows what a repository's Claude files would do, and records a person's trust. Writes nothing into
//! the workspace.

use super::heartbeat_name::{registered, workspace_or_heartbeat};
use super::requests::only_people;
use super::style::Style;
use super::trust_args::Trust;
use super::user_env::UserEnv;
use anyhow::bail;
use derun::cli::json::print as print_json;
use derun::cli::stdout::stdout;
use murmur_claude_files::trust::effects;
use murmur_claude_files::trust::{
    Change, Claude, ClaudeFile, FileKind, Store, TrustState, Trusted, WhyUntrusted, collect, compare,
};
use serde_json::json;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use sys::failure;
use sys::text::visible;
use sys::{clock, shell};

pub(super) fn run(args: &Trust, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let writes = args.yes || args.remove;
    if writes {
        only_people("trust a repository")?;
    }
    if args.remove {
        return remove(args, env);
    }
    let dir = if writes { env.own_data_dir()? } else { env.read_data_dir()? };
    let (workspace, _) = workspace_or_heartbeat(&args.path, &dir, env)?;
    let Some(name) = workspace.to_str() else {
        bail!(failure!("{} is not UTF-8", workspace.display(); "use another path"));
    };
    let claude = Claude::find(&env.home());
    let found = collect(&workspace, &claude)?;
    let store = Store::read(&dir)?;
    let before = store.get(&workspace).cloned();
    let changes = before.as_ref().map(|before| compare(before, &found)).unwrap_or_default();
    let trust = || Store::set(&dir, name, Some(Trusted::now(&found, clock::rfc3339(clock::now()))));
    if args.json {
        if args.yes {
            trust()?;
        }
        let state = TrustState::of(&Store::read(&dir), &workspace, Ok(&found));
        print_json(&mut stdout(), "trust/1", &object(name, &state, &changes, &found))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = stdout().lock();
    show(&mut out, &workspace, &changes, &found)?;
    if before.is_some() && changes.is_empty() && (!found.is_empty() || args.yes) {
        writeln!(out, "already trusted")?;
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes {
        if found.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        if !io::stdin().is_terminal() {
            let shown = shell::path(&workspace);
            bail!(
                failure!("not trusted: stdin is not a terminal"; "review the above, then run: murmur trust --yes {shown}")
            );
        }
        // Agents may see the review, but not answer.
        only_people("trust a repository")?;
        write!(out, "trust these files as they are now? [y/N] ")?;
        out.flush()?;
        let mut typed = String::new();
        io::stdin().lock().read_line(&mut typed)?;
        if !matches!(typed.trim().to_lowercase().as_str(), "y" | "yes") {
            writeln!(out, "not trusted; agents run without them")?;
            return Ok(ExitCode::FAILURE);
        }
    }
    env.own_data_dir()?;
    trust()?;
    writeln!(out, "trusted; agents run with these files until one of them, except instructions, changes")?;
    Ok(ExitCode::SUCCESS)
}

fn remove(args: &Trust, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.own_data_dir()?;
    let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    let mut path = real(&args.path)?;
    // A deleted folder can still be removed.
    if Store::read(&dir)?.get(&path).is_none() {
        match registered(&args.path, &dir, env) {
            Ok(found) => path = real(&found.workspace)?,
            Err(error) if path.exists() || args.path.components().count() > 1 => drop(error),
            Err(error) => return Err(error),
        }
    }
    let was = Store::set(&dir, &path.to_string_lossy(), None)?;
    let mut out = stdout().lock();
    if args.json {
        let path = path.display().to_string();
        print_json(&mut out, "trust-remove/1", &json!({ "workspace": path, "removed": was }))?;
    } else if was {
        writeln!(out, "no longer trusted: {}", visible(&path.display().to_string()))?;
    } else {
        writeln!(out, "{} was not trusted", visible(&path.display().to_string()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(out: &mut impl Write, workspace: &Path, changes: &[Change], found: &[ClaudeFile]) -> io::Result<()> {
    let (style, name) = (Style::of_stdout(), visible(&workspace.display().to_string()));
    if found.is_empty() {
        return writeln!(out, "{name} has no files for Claude Code");
    }
    writeln!(out, "what the files for Claude Code in {name} would do:")?;
    for change in changes {
        if let Change::Removed(file) = change {
            writeln!(out, "{}  removed since you trusted it", style.bold(visible(file)))?;
        }
    }
    for file in found {
        let word = changes.iter().map(Change::parts).find(|(_, name)| *name == file.name);
        let word =
            word.map(|(word, _)| format!("  {word} since you trusted these files")).unwrap_or_default();
        writeln!(out, "{}{word}", style.bold(visible(&file.name)))?;
        for effect in effects::of(file) {
            writeln!(out, "  {}", visible(&effect))?;
        }
    }
    writeln!(out, "Not shown: what those programs run in turn, and files loaded from subfolders.")
}

fn object(
    workspace: &str,
    state: &TrustState,
    changes: &[Change],
    found: &[ClaudeFile],
) -> serde_json::Value {
    let (word, problem) = match state {
        TrustState::Nothing => ("nothing", None),
        TrustState::Trusted => ("trusted", None),
        TrustState::Untrusted(WhyUntrusted::Never) => ("untrusted", None),
        TrustState::Untrusted(WhyUntrusted::Changed(_)) => ("changed", None),
        TrustState::Untrusted(WhyUntrusted::Unknown(failure)) => ("unknown", Some(failure.line())),
    };
    let changes: Vec<_> = changes
        .iter()
        .map(|change| {
            let (word, file) = change.parts();
            json!({ "file": file, "change": word })
        })
        .collect();
    let files: Vec<_> = found
        .iter()
        .map(|file| {
            let kind = match file.kind {
                FileKind::Configuration => "configuration",
                FileKind::Named => "named",
                FileKind::Instructions => "instructions",
            };
            json!({ "file": file.name, "kind": kind, "hash": file.hash, "effects": effects::of(file) })
        })
        .collect();
    json!({ "workspace": workspace, "state": word, "problem": problem, "changes": changes, "files": files })
}
