//! `murmur service status`: the installed file, and the manager's state of the service.

use super::file;
use super::manager::{self, IS_LAUNCHD, ManagerAnswer};
use derun::cli::json::print as print_json;
use derun::cli::stdout::stdout;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use sys::text::Shown;

pub(super) fn run(path: &Path, text: &str, json: bool) -> anyhow::Result<ExitCode> {
    let mut out = Shown(stdout());
    let found = file::read(path)?;
    let is_current = found.as_deref().map(|found| found == text.as_bytes());
    let (active, enabled) = match (is_current, IS_LAUNCHD) {
        (None, _) => (ManagerAnswer::default(), None),
        (Some(_), true) => (manager::ask_launchd(), None),
        (Some(_), false) => (manager::ask("is-active"), Some(manager::ask("is-enabled"))),
    };
    let problem = active.problem.or_else(|| enabled.as_ref()?.problem.clone());
    let word = |word: String| if word.is_empty() { "unknown".to_owned() } else { word };
    let enabled = enabled.map(|answer| word(answer.word));
    let active = is_current.map(|_| word(active.word));
    let runs = active.as_deref().is_some_and(|active| active == "active" || active == "loaded");
    if json {
        let object = json!({
            "file": path.display().to_string(),
            "installed": is_current.is_some(),
            "current": is_current,
            "state": active,
            "enabled": enabled,
            "problem": problem,
        });
        print_json(&mut out, "service/1", &object)?;
    } else {
        match is_current {
            None => writeln!(out, "the service is not installed; run: murmur service install")?,
            Some(true) => writeln!(out, "{}", path.display())?,
            Some(false) => match file::of_others(path) {
                Some(link) => writeln!(out, "{}", link.line())?,
                None => writeln!(
                    out,
                    "{} is outdated or was edited; `murmur service install` replaces it and keeps a backup",
                    path.display()
                )?,
            },
        }
        let states: Vec<&str> = active.iter().chain(&enabled).map(String::as_str).collect();
        if !states.is_empty() {
            writeln!(out, "{}", states.join(", "))?;
        }
        if let Some(problem) = problem {
            writeln!(out, "problem: {problem}")?;
        }
    }
    Ok(if runs { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
