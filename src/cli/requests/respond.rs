//! Answers a single request.

use super::super::runtime;
use super::super::user_env::UserEnv;
use super::text::input;
use super::{answer, data_dir, only_people};
use crate::daemon::broker::{RequestKind, RequestRow};
use derun::cli::stdout::stdout;
use murmur_core::permit::question::EXAMPLE;
use murmur_core::permit::request::RequestId;
use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;
use sys::failure;
use sys::text::shown_line;

/// A person's answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum Answer {
    Allow,
    Deny,
}

/// The rule that an answer adds.
#[derive(Debug)]
pub(in crate::cli) enum NewRule {
    None,
    /// For exactly this call.
    OnlyThis,
    /// With these patterns.
    Chosen(Vec<String>),
}

impl Answer {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}

/// `murmur permission respond ID allow|deny`.
pub(in crate::cli) fn respond(
    id: &str,
    decision: Answer,
    reason: Option<&str>,
    rule: NewRule,
    env: &UserEnv,
) -> anyhow::Result<ExitCode> {
    only_people("answer")?;
    let id = RequestId::parse(id)?;
    let always = !matches!(rule, NewRule::None);
    let mut response =
        json!({ "id": id.as_str(), "decision": decision.word(), "reason": reason, "always": always });
    if let NewRule::Chosen(patterns) = rule {
        response["patterns"] = patterns.into();
    }
    let dir = data_dir(env)?;
    let row = runtime()?.block_on(answer(&dir, response))?;
    let word = match decision {
        Answer::Allow => "allowed",
        Answer::Deny => "denied",
    };
    let code = report(&row, word)?;
    if always {
        let file = dir.rules_of(&row.workspace);
        writeln!(stdout(), "the rule is in {}", shown_line(&file.display().to_string()))?;
    }
    Ok(code)
}

/// `murmur question respond ID JSON`.
pub(in crate::cli) fn respond_question(id: &str, answers: &str, env: &UserEnv) -> anyhow::Result<ExitCode> {
    only_people("answer")?;
    let id = RequestId::parse(id)?;
    let answers: Value = serde_json::from_str(answers).map_err(|_| {
        let failure = match answers.trim() {
            "" => failure!("no answer given"),
            _ => failure!("the answers are not JSON: {answers:?}"),
        };
        failure.hint(format!("run: murmur answer {id} ANSWER ..., or {EXAMPLE}"))
    })?;
    let response = json!({ "id": id.as_str(), "answers": answers });
    let row = runtime()?.block_on(answer(&data_dir(env)?, response))?;
    report(&row, "answered")
}

/// What follows an answer to `row`.
pub(super) fn goes_on(row: &RequestRow) -> &'static str {
    if row.state == "deferred" { "; its beat resumes soon" } else { "" }
}

/// Says what was answered, `word`.
pub(in crate::cli) fn report(row: &RequestRow, word: &str) -> anyhow::Result<ExitCode> {
    let goes_on = goes_on(row);
    let mut out = stdout().lock();
    writeln!(out, "{word} {} for {}{goes_on}", shown_line(&row.tool), shown_line(&row.agent))?;
    if row.kind == RequestKind::Permission {
        for line in input(row).lines() {
            writeln!(out, "    {line}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
