//! `murmur config`: where the configuration is, and whether it is valid.

use super::config_args::ConfigCommand;
use super::schema;
use super::user_env::UserEnv;
use derun::cli::json::print as print_json;
use derun::cli::stdout::stdout;
use murmur_agent::rule_files;
use murmur_core::config::heartbeat::Cache;
use murmur_core::config::settings::{Settings, WrongTables};
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;
use sys::clock;
use sys::error::Hinted;
use sys::text::{Shown, shown_line};

pub(super) fn run(command: &ConfigCommand, env: &UserEnv) -> anyhow::Result<ExitCode> {
    match command {
        ConfigCommand::Path { json } => path(*json, env),
        ConfigCommand::Check { json } => check(*json, env),
        ConfigCommand::Schema { file } => schema::run(*file),
    }
}

fn path(json: bool, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let settings = env.settings_dir()?;
    let files = [env.data_dir()?.config(), settings.settings(), settings.rules()];
    let mut out = stdout().lock();
    if json {
        let file = |path: &std::path::PathBuf| json!({ "path": path.display().to_string(), "exists": path.exists() });
        let files: Vec<_> = files.iter().map(file).collect();
        print_json(&mut out, "config-files/1", &json!({ "files": files }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for path in files {
        let missing = if path.exists() { "" } else { "  (does not exist)" };
        writeln!(out, "{}{missing}", shown_line(&path.display().to_string()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check(json: bool, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let (dir, settings) = (env.read_data_dir()?, env.settings_dir()?);
    let read = Settings::read(&settings.settings());
    // With settings that aren't readable, every call is denied, which the first of these says.
    let mut problems: Vec<String> = Vec::new();
    problems.extend(rule_files::problems(&dir, &settings).iter().map(Hinted::line));
    problems.extend(WrongTables::of(&read).iter().map(Hinted::line));
    let mut count = 0;
    match Cache::new(env.time_zone()).load(&dir.config(), clock::now()) {
        Ok(loaded) => {
            count = loaded.heartbeats.len();
            problems.extend(loaded.problems.iter().chain(&loaded.warnings).map(Hinted::line));
            problems.extend(loaded.heartbeat_problem_lines(read.as_ref().ok()));
            for heartbeat in &loaded.heartbeats {
                let unreported = read.as_ref().ok().and_then(|settings| heartbeat.unreported_cost(settings));
                let unreported = unreported.map(|unreported| unreported.line());
                let lines = heartbeat.timeouts_without_effect().into_iter().chain(unreported);
                problems.extend(lines.map(|line| format!("{}: {line}", heartbeat.id)));
            }
        }
        Err(error) => problems.extend(error.all().iter().map(Hinted::line)),
    }
    let is_valid = problems.is_empty();
    let mut out = Shown(stdout().lock());
    if json {
        print_json(&mut out, "config-check/1", &json!({ "heartbeats": count, "problems": problems }))?;
    } else if is_valid {
        writeln!(out, "no problems; {count} heartbeat{}", if count == 1 { "" } else { "s" })?;
    }
    if !json {
        problems.iter().try_for_each(|problem| writeln!(out, "problem: {problem}"))?;
    }
    Ok(if is_valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
