//! `murmur capture run`, `derun run`: runs a command transparently and captures every byte of its output.

use super::args::Run;
use super::captures;
use super::complaint::{self, complain};
use crate::id::SessionId;
use crate::log::Log;
use crate::record::TransportMode;
use crate::recorder::Recorder;
use crate::retention;
use crate::store::{DEFAULT_RETENTION, NewSession, Store, StoreError};
use crate::transport::{self, CommandEnd, Finished};
use crate::writer::End;
use anyhow::Context;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;
use sys::error::{Failure, without_number};
use sys::failure;
#[cfg(unix)]
use sys::signals;
use sys::spawn::{CommandLine, NotStarted};
use sys::text::Shown;
use sys::{clock, exit};

/// How long a sweep may delay the exit after the command has ended; the next run continues a long one.
const SWEEP: Duration = Duration::from_millis(25);

/// Runs the command and exits as it does. Prints nothing meanwhile.
pub fn run(args: &Run) -> anyhow::Result<ExitCode> {
    let id = match args.session_id.as_deref().map(SessionId::parse).transpose() {
        Ok(id) => id,
        Err(error) => return Ok(usage(&error.into())),
    };
    let command = CommandLine::new(&args.command).context("cannot run that command")?;
    let mode = transport::mode();
    let retention = args.retention.unwrap_or(DEFAULT_RETENTION);
    let new = NewSession {
        id,
        command: args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        working_directory: std::env::current_dir().unwrap_or_default().display().to_string(),
        retention,
        transport: mode,
        tty_attached: mode != TransportMode::Pipe,
        max_bytes: None,
        group: None,
    };
    // An unusable store doesn't keep the command from running.
    let (recorder, store, uncaptured) =
        match captures::store().map_err(Into::into).and_then(|store| record(store, new)) {
            Ok((recorder, store)) => (recorder, Some(Arc::new(store)), None),
            Err(error) => match error.downcast_ref() {
                Some(StoreError::Exists(_)) => return Ok(usage(&error)),
                _ => (Recorder::none(), None, Some(error)),
            },
        };
    let mut sweeping = None;
    let finished = transport::run(mode, &command, &recorder, || {
        sweeping = store.as_ref().and_then(|store| sweep(Arc::clone(store)));
    });
    let end = match &finished {
        Ok(Finished { ended: CommandEnd::Exited(code), .. }) => End::Exited(*code),
        #[cfg(unix)]
        Ok(Finished { ended: CommandEnd::Signaled(signal), .. }) => End::Signaled(signals::name(*signal)),
        Ok(Finished { ended: CommandEnd::NotStarted(error), .. }) => {
            End::Failed(Failure::of(error).to_string())
        }
        Err(error) => End::Failed(error.to_string()),
    };
    let written = recorder.finish(&end);
    if let Some(store) = &store {
        retention::expect(store, retention, clock::now());
    }
    if let Some(sweeping) = sweeping {
        let _goes_on_next_time = sweeping.recv_timeout(SWEEP);
    }
    if let Some(error) = uncaptured {
        warn(&format!("nothing was captured: {}", complaint::describe(&error, complaint::hint).line()));
    }
    if let Err(error) = written {
        warn(&Failure::of(&error).to_string());
    }
    end_like(finished, args)
}

fn record(store: Store, new: NewSession) -> anyhow::Result<(Recorder, Store)> {
    let writer = store.create(new, clock::now())?;
    Ok((Recorder::new(writer, Log::open(store.root())), store))
}

/// Sweeps old sessions while the command runs, if a sweep is due.
fn sweep(store: Arc<Store>) -> Option<Receiver<()>> {
    let sweep_lock = retention::lock_sweep(&store, clock::now())?;
    let (sender, receiver) = sync_channel(1);
    let sweep = move || {
        // Sent once, early or at the end; the receiver may be gone.
        let notify = || {
            let _gone = sender.try_send(());
        };
        retention::sweep_all(&store, &sweep_lock, notify);
        notify();
    };
    std::thread::Builder::new().name("sweep".to_owned()).spawn(sweep).ok().map(|_| receiver)
}

/// Exits as the command did.
fn end_like(finished: io::Result<Finished>, args: &Run) -> anyhow::Result<ExitCode> {
    let program = args.command[0].to_string_lossy();
    let Finished { ended, trouble } = finished.with_context(|| format!("cannot run '{program}'"))?;
    if let Some(trouble) = trouble {
        // Without us, the command would have seen the write error and probably failed, or would not have died of
        // a pipe that only we added.
        let is_ours = matches!(ended, CommandEnd::Exited(0)) || ended.is_broken_pipe();
        if is_ours && trouble.stream == "stdout" {
            return Err(trouble.into());
        }
        warn(&trouble.to_string());
    }
    Ok(match ended {
        CommandEnd::Exited(code) => exit::code(code),
        #[cfg(unix)]
        CommandEnd::Signaled(signal) => {
            signals::die_by(signal);
            ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))
        }
        CommandEnd::NotStarted(NotStarted::Command(error)) => {
            let is_missing = error.kind() == ErrorKind::NotFound;
            complaint::show(&not_run(&program, &error));
            // Like env(1).
            ExitCode::from(if is_missing { 127 } else { 126 })
        }
        CommandEnd::NotStarted(NotStarted::Trouble(error)) => {
            return Err(not_run(&program, &error).into());
        }
    })
}

fn not_run(program: &str, error: &io::Error) -> Failure {
    failure!("cannot run '{program}': {}", without_number(error))
}

fn usage(error: &anyhow::Error) -> ExitCode {
    complain(error);
    ExitCode::from(2)
}

fn warn(what: &str) {
    let _closed = writeln!(Shown(io::stderr()), "warning: {what}");
}
