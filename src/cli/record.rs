//! `murmur record`: runs a command unchanged and saves the run as a fixture.

use super::args::{Beat, Record};
use super::user_env::UserEnv;
use anyhow::Context;
use fake_claude::replay::{
    RecordError, RecordPlan, Recorded, Stdin, Streams, ask_version, record, record_through,
};
use murmur_agent::find;
use murmur_claude_files::trust::WrittenFile;
use murmur_core::config::backend::Backend;
use murmur_host::converse::{self, BeatAgent, converse};
use std::ffi::OsString;
use std::io::{self, Stdout, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use sys::failure;
use tokio::sync::mpsc;

/// How long an agent may take to end after its turn, before it is terminated, and then before it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// How many chunks of output may wait to be read by murmur's side of a conversation; then the agent waits.
const CHUNKS: usize = 64;

pub(super) fn run(args: &Record, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let recorded = match &args.beat {
        Some(workspace) => record_beat(args, workspace, env)?,
        None => record(&plan_command(args, env)?),
    };
    // The command's output passes through unchanged, so print only how it ended.
    let end = match recorded {
        Ok(recorded) => recorded.end,
        Err(RecordError::Refused { end, source }) => {
            super::complain(
                &anyhow::Error::new(source).context(format!("cannot save the recording {}", args.name)),
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
        into: folder(args, &Backend::Claude),
        version: ask_version(&file),
        program: file.into(),
        argv: argv.to_vec(),
        cwd: std::env::current_dir().context("cannot determine the current folder")?,
        env: Vec::new(),
        only_env: false,
        stdin: Stdin::Inherit,
        grace: None,
    })
}

/// The folder to save in: the given one, else that of the backend's fixtures.
fn folder(args: &Record, backend: &Backend) -> PathBuf {
    let own = match backend {
        Backend::Claude => "fixtures/claude",
        Backend::Codex => "fixtures/codex",
        Backend::Acp(_) => "fixtures/acp",
    };
    args.into.clone().unwrap_or_else(|| own.into())
}

/// Records a beat's agent, started exactly as `murmur beat` does. An agent that is told what to do in a conversation
/// has it with murmur.
fn record_beat(
    args: &Record,
    workspace: &Path,
    env: &UserEnv,
) -> anyhow::Result<Result<Recorded, RecordError>> {
    let name = args.heartbeat.clone();
    let beat = Beat {
        path: workspace.to_path_buf(),
        name,
        verbose: false,
        json: false,
        dry_run: true,
        ignore_limits: false,
    };
    let (job, prepared, start) = super::beat::plan(&beat, env)?;
    let _kept: Option<WrittenFile> = start.file.map(|file| file.write()).transpose()?;
    let talks = converse::is_needed(&prepared, &job.backend);
    let invocation = &prepared.invocation;
    let own = invocation.env.iter().map(|(name, value)| (name.into(), value.clone()));
    let further = invocation.program_env.iter().map(|(name, value)| (name.into(), value.clone()));
    let plan = RecordPlan {
        name: args.name.clone(),
        into: folder(args, &job.backend),
        version: ask_version(&invocation.program),
        program: invocation.program.clone().into(),
        argv: invocation.args.iter().map(OsString::from).collect(),
        cwd: invocation.cwd.clone(),
        env: own.chain(further).collect(),
        only_env: false,
        stdin: if talks { Stdin::Inherit } else { Stdin::Bytes(invocation.stdin.clone()) },
        grace: talks.then_some(GRACE),
    };
    if !talks {
        return Ok(record(&plan));
    }
    let decisions = env.read_data_dir()?.decisions();
    let agent = BeatAgent { agent: job.agent, backend: &job.backend, prepared: &prepared, decisions };
    let (from, to) = io::pipe().context("cannot make a pipe")?;
    let (output_sender, output) = mpsc::channel(CHUNKS);
    let runtime = super::runtime()?;
    let mut tee = Tee { stdout: io::stdout(), output_sender };
    Ok(thread::scope(|scope| {
        scope.spawn(move || runtime.block_on(converse(agent, output, to)));
        let streams = Streams { stdin: from.as_fd(), stdout: &mut tee, stderr: &mut io::stderr() };
        let recorded = record_through(&plan, streams);
        // Both end the conversation, whichever side it waits for.
        drop((tee, from));
        recorded
    }))
}

/// Passes an agent's output through, and to murmur's side of the conversation.
struct Tee {
    stdout: Stdout,
    output_sender: mpsc::Sender<Vec<u8>>,
}

impl Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stdout.write_all(bytes)?;
        // After its turn nobody listens.
        let _over = self.output_sender.blocking_send(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}
