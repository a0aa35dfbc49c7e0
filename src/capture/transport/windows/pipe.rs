//! The command in our own place, with a pipe for stdout and one for stderr; stdin and console are the ones it would
//! have had without us, and Ctrl-C reaches it as it reaches us.

use super::super::record::Channel;
use super::super::recorder::Recorder;
use super::relay::{self, BLOCK, Over};
use super::{Ended, Finished, Trouble};
use crate::sys::control;
use crate::sys::pipe::{Reader, pipe};
use crate::sys::spawn::{CommandLine, NotStarted};
use std::fs::File;
use std::io;
use std::os::windows::io::{AsHandle, BorrowedHandle};
use std::process::{Child, Command, Stdio};

/// A stream that is ours to pass on.
struct Stream {
    from: Reader,
    to: File,
    channel: Channel,
    name: &'static str,
}

/// A pipe for a stream of the command; where we have no such stream, it gets none either.
fn stream(
    to: BorrowedHandle<'_>,
    channel: Channel,
    name: &'static str,
) -> io::Result<(Option<Stream>, Stdio)> {
    let Ok(to) = to.try_clone_to_owned() else { return Ok((None, Stdio::inherit())) };
    let (from, theirs) = pipe(BLOCK)?;
    Ok((Some(Stream { from, to: to.into(), channel, name }), theirs.into()))
}

/// Runs `command`. See [`super::run`].
pub(super) fn run(
    command: &CommandLine,
    recorder: &Recorder,
    started: impl FnOnce(),
) -> io::Result<Finished> {
    control::take()?;
    let (stdout, their_stdout) = stream(io::stdout().as_handle(), Channel::Stdout, "stdout")?;
    let (stderr, their_stderr) = stream(io::stderr().as_handle(), Channel::Stderr, "stderr")?;
    let mut child = match start(command, their_stdout, their_stderr) {
        Ok(child) => child,
        Err(NotStarted::Trouble(error)) => return Err(error),
        Err(error) => return Ok(Finished { ended: Ended::NotStarted(error), trouble: None }),
    };
    // Told of while it was being started, and so maybe not to it.
    let is_told = control::came();
    if is_told {
        child.kill()?;
    }
    recorder.started(child.id());
    started();
    let ended = child.as_handle().try_clone_to_owned()?;
    std::thread::scope(|scope| {
        let ended = ended.as_handle();
        let mut relays = Vec::new();
        for Stream { from, to, channel, name } in [stdout, stderr].into_iter().flatten() {
            let relay = move || (name, relay::pass_on(from, to, ended, channel, recorder));
            relays.push(std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, relay)?);
        }
        let code = child.wait()?.code().unwrap_or_default();
        let over = relays.into_iter().filter_map(|relay| relay.join().ok());
        let over: Vec<_> = over.collect();
        let trouble = over.into_iter().find_map(|(stream, over)| match over {
            Over::Trouble(source) => Some(Trouble { stream, source }),
            Over::End | Over::ReaderGone => None,
        });
        let code = if is_told { control::ENDED_BY_CONTROL } else { code };
        Ok(Finished { ended: Ended::Exited(code), trouble })
    })
}

/// Starts it. The ends of the pipes that are its own are closed here in any case.
fn start(command: &CommandLine, stdout: Stdio, stderr: Stdio) -> Result<Child, NotStarted> {
    let mut child = Command::new(command.file()?);
    child.args(command.arguments()).stdin(Stdio::inherit()).stdout(stdout).stderr(stderr);
    child.spawn().map_err(NotStarted::Command)
}
