//! `murmur doctor`: prints one line per check, and a hint.

use super::args::Doctor;
use super::style::{Colors, Style};
use super::user_env::UserEnv;
use crate::doctor::{
    self, CREDENTIAL_VARIABLES, Environment, Finding, Level, SANDBOX_VARIABLES, ServiceFile,
};
use derun::cli::json::print as print_json;
use derun::cli::stdout::stdout;
use derun::cli::wrapped::output_width;
use murmur_agent::codex;
use murmur_agent::invocation::own_env;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use sys::paths::{DataDir, User};
use sys::text::shown_line;
use watch::text::wrap;

/// The columns in which findings and hints begin.
const FOUND: usize = 22;
const HINT: usize = 23;

/// Where logind records lingering users.
const LINGER_FOLDER: &str = "/var/lib/systemd/linger";

pub(super) fn run(args: &Doctor, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let findings = match (env.data_dir(), env.user()) {
        (Ok(dir), Ok(user)) => super::runtime()?.block_on(doctor::examine(&environment(env, dir, user))),
        (Err(error), _) | (_, Err(error)) => vec![Finding::without_data_folder(&error)],
    };
    let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
    let mut out = stdout().lock();
    if args.json {
        print_json(&mut out, "doctor/1", &json!({ "worst": worst, "findings": findings }))?;
    } else {
        let style = Style::of_stdout();
        let rows = |text: &str, indent| beside(&shown_line(text), indent, output_width());
        for finding in &findings {
            let (level, found) = (style.level(finding.level), rows(&finding.found, FOUND));
            writeln!(out, "{level} {:<17}{found}", finding.check.name())?;
            if let Some(hint) = &finding.hint {
                writeln!(out, "{:HINT$}{}", "", style.dim(rows(hint.as_str(), HINT)))?;
            }
        }
    }
    Ok(if worst == Level::Fail { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// `text` in rows that all begin at column `indent`, on a terminal of `width` columns.
fn beside(text: &str, indent: usize, width: Option<usize>) -> String {
    match width.and_then(|width| width.checked_sub(indent)) {
        Some(room) if room >= indent => wrap(text, room).join(&format!("\n{:indent$}", "")),
        _ => text.to_owned(),
    }
}

fn environment(env: &UserEnv, dir: DataDir, user: User) -> Environment {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    // Lingering only exists with systemd.
    let user_name = std::env::var_os("USER").filter(|name| cfg!(target_os = "linux") && !name.is_empty());
    let linger = user_name.map(|name| Path::new(LINGER_FOLDER).join(name));
    let service = super::service::file_of(env).ok();
    let sandbox = |name: &'static str| Some((name, std::env::var(name).ok()?));
    Environment {
        codex_elsewhere: codex::configured_environment(&env.home(), &own_env),
        dir,
        user,
        shell: env.shell(),
        path: env.path(),
        time_zone: env.time_zone(),
        has_credentials: CREDENTIAL_VARIABLES.iter().any(is_set),
        uid: rustix::process::getuid().as_raw(),
        sandbox: SANDBOX_VARIABLES.into_iter().filter_map(sandbox).collect(),
        keys: env.keys(),
        claude: env.claude_folder().unwrap_or_else(|| env.home().join(".claude")),
        captures: derun::cli::captures::root().ok(),
        service: service.map(|(file, text)| ServiceFile { file, text, linger }),
    }
}
