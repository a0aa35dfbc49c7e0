//! `murmur record`: runs a command unchanged and saves the run as a fixture.

use super::args::{Beat, Record};
use super::user_env::UserEnv;
use crate::trust::WrittenFile;
use anyhow::Context;
use fake_claude::replay::{RecordError, RecordPlan, Stdin, ask_version, record};
use murmur_agent::find;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use sys::failure;

pub(super) fn run(args: &Record, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let (plan, _kept) = match &args.beat {
        Some(workspace) => plan_beat(args, workspace, env)?,
        None => (plan_command(args, env)?, None),
    };
    // The command's output passes through unchanged, so print only how it ended.
    let end = match record(&plan) {
        Ok(recorded) => recorded.end,
        Err(RecordError::Refused { end, source }) => {
            super::complain(
                &anyhow::Error::new(source).context(format!("did not save the recording {}", args.name)),
            );
            return Ok(ExitCode::from(u8::try_from(end.shell_code().max(1)).unwrap_or(1)));
        }
        Err(error) => return Err(error.into()),
    };
    Ok(ExitCode::from(u8::try_from(end.shell_code()).unwrap_or(1)))
}

fn plan_command(args: &Record, env: &UserEnv) -> anyhow::Result<RecordPlan> {
    let (program, argv) =
        args.command.split_first().ok_or_else(|| failure!("no command"; "put it after --"))?;
    // A path is used unchanged; a name is looked up.
    let file = if program.as_encoded_bytes().contains(&b'/') {
        PathBuf::from(program)
    } else {
        find::find(&program.to_string_lossy(), &env.path())?
    };
    Ok(RecordPlan {
        name: args.name.clone(),
        into: args.into.clone(),
        version: ask_version(&file),
        program: file.into(),
        argv: argv.to_vec(),
        cwd: std::env::current_dir().context("cannot determine the current directory")?,
        env: Vec::new(),
        only_env: false,
        stdin: Stdin::Inherit,
    })
}

/// The invocation of a beat, exactly as `murmur beat` runs it.
fn plan_beat(
    args: &Record,
    workspace: &std::path::Path,
    env: &UserEnv,
) -> anyhow::Result<(RecordPlan, Option<WrittenFile>)> {
    let name = args.heartbeat.clone();
    let beat = Beat {
        path: workspace.to_path_buf(),
        name,
        verbose: false,
        json: false,
        dry_run: true,
        ignore_limits: false,
    };
    let (invocation, start) = super::beat::plan(&beat, env)?;
    let kept = start.file.map(|file| file.write()).transpose()?;
    let plan = RecordPlan {
        name: args.name.clone(),
        into: args.into.clone(),
        version: ask_version(&invocation.program),
        program: invocation.program.into(),
        argv: invocation.args.into_iter().map(OsString::from).collect(),
        cwd: invocation.cwd,
        env: invocation
            .env
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .chain(invocation.program_env.into_iter().map(|(name, value)| (name.into(), value)))
            .collect(),
        only_env: false,
        stdin: Stdin::Bytes(invocation.stdin),
    };
    Ok((plan, kept))
}
