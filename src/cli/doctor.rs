//! `murmur doctor`: one line a check, and what to do.

use super::args::Doctor;
use super::place::Place;
use super::style::{Style, plain_line};
use crate::doctor::{self, Environment, Level};
use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;

/// Variables that hold credentials of Claude Code's.
const CREDENTIALS: [&str; 3] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

pub(super) fn run(args: &Doctor, place: &Place) -> anyhow::Result<ExitCode> {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let environment = Environment {
        dir: place.data_dir()?,
        user: place.user()?,
        shell: place.shell(),
        path: place.path(),
        time_zone: place.time_zone(),
        has_credentials: CREDENTIALS.iter().any(is_set),
        claude: place.claude_folder().unwrap_or_else(|| place.home().join(".claude")),
    };
    let findings = super::runtime()?.block_on(doctor::examine(&environment));
    let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", json!({ "worst": worst, "findings": findings }))?;
    } else {
        let style = Style::of_stdout();
        for finding in &findings {
            let found = plain_line(&finding.found);
            writeln!(out, "{} {:<17}{found}", style.level(finding.level), finding.check)?;
            if let Some(hint) = &finding.hint {
                writeln!(out, "{:23}{}", "", style.dim(plain_line(hint)))?;
            }
        }
    }
    Ok(if worst == Level::Fail { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
