//! A minimal `PreToolUse` hook for Claude Code. It blocks calls that the guard refuses or doubts.
//!
//! It reads the hook's JSON from stdin. Exit code 2 blocks the call and shows stderr to the model. Failures exit with 2
//! too.

use serde_json::Value;
use shell_guard::call::{Call, CallPlace, ProtectedPaths};
use shell_guard::guard::{Finding, inspect_call};
use std::io::{self, Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let reason = match decide() {
        Ok(Finding::Clear) => return ExitCode::SUCCESS,
        Ok(Finding::Refused { why, .. } | Finding::Controlled { why, .. } | Finding::Doubt { why }) => why,
        Err(error) => format!("the call could not be checked: {error}"),
    };
    let _unread = writeln!(io::stderr(), "{reason}");
    ExitCode::from(2)
}

fn decide() -> io::Result<Finding> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let event: Value = serde_json::from_str(&text)?;
    let cwd = event["cwd"].as_str().ok_or_else(|| io::Error::other("cwd is missing"))?;
    let home = std::env::home_dir().ok_or_else(|| io::Error::other("cannot determine the home folder"))?;
    Ok(inspect_call(&Call {
        tool: event["tool_name"].as_str().unwrap_or_default().to_owned(),
        input: event["tool_input"].clone(),
        place: CallPlace { cwd: cwd.into(), workspace: cwd.into(), home, own: ProtectedPaths::default() },
    }))
}
