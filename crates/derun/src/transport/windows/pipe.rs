//! Runs the command in our place, with pipes for stdout and stderr; stdin and console are the same as without us, and
//! Ctrl-C reaches the command as it reaches us.

use super::super::record::Channel;
use super::super::recorder::Recorder;
use super::relay::{self, BLOCK, RelayEnd};
use super::{CommandEnd, Finished, StreamError};
use std::fs::File;
use std::io;
use std::os::windows::io::{AsHandle, BorrowedHandle};
use std::process::{Child, Command, Stdio};
use sys::control;
use sys::pipe::{Reader, pipe};
use sys::spawn::{CommandLine, NotStarted};

/// A stream to pass on.
struct Stream {
    from: Reader,
    to: File,
    channel: Channel,
    name: &'static str,
}

/// A pipe for a stream of the command; if we lack the stream, so does the command.
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
        Err(error) => return Ok(Finished { ended: CommandEnd::NotStarted(error), trouble: None }),
    };
    // An event during the start may not have reached the command.
    let received_early = control::was_received();
    if received_early {
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
            RelayEnd::Trouble(source) => Some(StreamError { stream, error: source }),
            RelayEnd::End | RelayEnd::ReaderGone => None,
        });
        let code = if received_early { control::ENDED_BY_CONTROL } else { code };
        Ok(Finished { ended: CommandEnd::Exited(code), trouble })
    })
}

/// Starts the command. The pipe ends for it are always closed here.
fn start(command: &CommandLine, stdout: Stdio, stderr: Stdio) -> Result<Child, NotStarted> {
    let mut child = Command::new(command.file()?);
    child.args(command.arguments()).stdin(Stdio::inherit()).stdout(stdout).stderr(stderr);
    child.spawn().map_err(NotStarted::Command)
}

#[cfg(test)]
mod tests {
    use super::super::super::log::Log;
    use super::super::super::record::TransportMode;
    use super::super::super::store::{NewSession, Store};
    use super::super::super::writer::End;
    use super::*;
    use std::time::Duration;
    use sys::clock;

    #[test]
    fn both_streams_are_separate_and_the_exit_code_is_the_commands() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(root.path()).unwrap();
        let words = ["cmd", "/c", "echo out& echo err>&2& exit 3"].map(std::ffi::OsString::from);
        let new = NewSession {
            id: None,
            command: Vec::new(),
            working_directory: String::new(),
            retention: Duration::from_secs(60),
            transport: TransportMode::Pipe,
            tty_attached: false,
            max_bytes: None,
            group: None,
        };
        let writer = store.create(new, clock::now()).unwrap();
        let id = writer.id().to_string();
        let recorder = Recorder::new(writer, Log::open(root.path()));
        let mut started = false;
        let finished = run(&CommandLine::new(&words).unwrap(), &recorder, || started = true).unwrap();
        assert!(matches!(finished.ended, CommandEnd::Exited(3)) && started, "{finished:?}");
        recorder.finish(&End::Exited(3)).unwrap();
        let page = store.session(&id).unwrap().read(0, 1000, clock::now()).unwrap();
        let of = |channel| {
            let chunks = page.chunks().filter(|(stretch, _)| stretch.channel == channel);
            chunks.flat_map(|(_, bytes)| bytes.to_vec()).collect::<Vec<u8>>()
        };
        assert_eq!(of(Channel::Stdout), b"out\r\n");
        assert_eq!(of(Channel::Stderr), b"err\r\n");
        assert!(page.eof);
    }

    #[test]
    fn a_file_that_is_not_a_program_is_not_started() {
        let command = CommandLine::new(&["no-such-program".into()]).unwrap();
        let finished = run(&command, &Recorder::none(), || {}).unwrap();
        assert!(matches!(finished.ended, CommandEnd::NotStarted(NotStarted::Command(_))), "{finished:?}");
    }
}
