//! `murmur rules list`: lists all rules in the order they are checked.

use super::super::args::PermissionRules;
use super::super::user_env::UserEnv;
use super::ProjectSelection;
use derun::cli::json::print as print_json;
use derun::cli::stdout::stdout;
use derun::cli::wrapped::{Wrapped, output_width};
use murmur_agent::rule_files::{self, RulesFile};
use murmur_core::permit::manager;
use murmur_core::permit::rules::Rules;
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use sys::text::shown_line;

pub(super) fn run(args: &PermissionRules, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let cwd = env.workspace(args.cwd.as_deref().unwrap_or(Path::new(".")))?;
    let heartbeat = super::heartbeat_at(&cwd, env)?;
    let folder = heartbeat.as_ref().map_or(&*cwd, |heartbeat| &heartbeat.workspace);
    let selection = ProjectSelection { project: args.project.as_deref(), cwd: args.cwd.as_deref(), folder };
    let project = selection.project(env)?;
    let denied =
        heartbeat.as_ref().map(|heartbeat| heartbeat.settings.permissions.denied()).unwrap_or_default();
    let files = rule_files::read(super::files(&project, env)?)?;
    let there: Vec<&Rules> = files.iter().filter_map(|file| file.rules.as_ref()).collect();
    let manager = manager::patterns(&there);
    let mut out = Wrapped::new(stdout().lock(), output_width().filter(|_| !args.json));
    if args.json {
        let rules: Vec<Value> = there.iter().flat_map(|file| objects(file)).collect();
        let files: Vec<Value> = files
            .iter()
            .map(|file| json!({ "path": file.path.display().to_string(), "exists": file.rules.is_some() }))
            .collect();
        print_json(
            &mut out,
            "rules/1",
            &json!({ "project": project.name, "files": files, "rules": rules, "manager": manager, "deny": denied }),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let by_name = project.by_name(&env.data_dir()?)?;
    for file in &files {
        list(&mut out, file)?;
        if let (true, Some(folder)) = (by_name.as_ref() == Some(&file.path), &project.folder) {
            let (name, own) = (shown_line(&project.name), env.data_dir()?.rules_of(folder));
            let own = shown_line(&own.display().to_string());
            writeln!(out, "note: that file applies to every project named {name}; move its rules to {own}")?;
        }
    }
    if !denied.is_empty() {
        let heartbeat = heartbeat.as_ref().map(|heartbeat| heartbeat.id.as_str()).unwrap_or_default();
        let denied = shown_line(&denied.join(", "));
        writeln!(out, "added to murmur's deny list for a beat of {}: {denied}", shown_line(heartbeat))?;
    }
    writeln!(out, "agents with --role manager may run: {}", shown_line(&manager.join(", ")))?;
    Ok(ExitCode::SUCCESS)
}

fn list(out: &mut impl Write, file: &RulesFile) -> io::Result<()> {
    let path = shown_line(&file.path.display().to_string());
    let Some(rules) = &file.rules else {
        return writeln!(out, "{path} does not exist, so it has no rules");
    };
    if rules.iter().len() == 0 {
        writeln!(out, "{path} has no rules")?;
    }
    let is_terminal = io::stdout().is_terminal();
    if is_terminal && rules.iter().len() > 0 {
        writeln!(out, "{path}")?;
    }
    for (index, rule) in rules.iter().enumerate() {
        let patterns: Vec<&str> = rule.patterns().collect();
        let what =
            if patterns.is_empty() { "every call".to_owned() } else { shown_line(&patterns.join(", ")) };
        let (number, action) = (index + 1, format!("{:<5}", rule.action().to_string()));
        let rule_text = format!("{number}. {action}  {}  {what}", shown_line(rule.tool()));
        // On a terminal, the path is above its rules; elsewhere, each line is complete.
        match is_terminal {
            true => writeln!(out, "  {rule_text}")?,
            false => writeln!(out, "{path}:{}  {rule_text}", rule.line())?,
        }
    }
    Ok(())
}

fn objects(file: &Rules) -> impl Iterator<Item = Value> {
    file.iter().enumerate().map(|(index, rule)| {
        json!({
            "file": file.file(),
            "line": rule.line(),
            "number": index + 1,
            "tool": rule.tool(),
            "action": rule.action(),
            "patterns": rule.patterns().collect::<Vec<_>>(),
        })
    })
}
