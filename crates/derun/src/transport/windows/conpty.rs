//! Runs the command in a pseudoconsole as large as our console, which passes keys and output through unchanged.

use super::super::record::{Channel, TransportMode};
use super::super::recorder::Recorder;
use super::relay::BLOCK;
use super::{CommandEnd, Finished, StreamError, pipe};
use std::fs::File;
use std::io::{self, Write};
use std::os::windows::io::{AsHandle, OwnedHandle};
use std::thread::Scope;
use std::time::{Duration, Instant};
use sys::control;
use sys::event::{self, Event};
use sys::pipe::{Read, Reader, pipe as new_pipe};
use sys::pseudo::{Process, Pseudo};
use sys::spawn::{CommandLine, NotStarted};
use sys::terminal::{self, Keys, OuterTerminal, Size};

/// How often to check the size of the window: the console reports changes of its buffer, but not always of its
/// window.
const LOOK: Duration = Duration::from_millis(250);

/// The pseudoconsole writes a few times per frame. When the command has ended and nothing has arrived for this long,
/// it is closed.
const STALL: Duration = Duration::from_millis(100);
/// How long to read from processes that the command left behind.
const DRAIN: Duration = Duration::from_secs(1);
/// How long a closed pseudoconsole may be silent before its output counts as complete.
const CLOSE: Duration = Duration::from_secs(2);

/// A pseudoconsole and our ends of it.
struct Console {
    pseudo: Pseudo,
    keys: File,
    output: Reader,
    size: Size,
}

impl Console {
    /// Opens one of `size`. With `inherits_cursor` it starts at the current cursor, which it queries by an escape
    /// sequence.
    fn open(size: Size, inherits_cursor: bool) -> io::Result<Self> {
        let (their_keys, keys) = io::pipe()?;
        let (output, their_output) = new_pipe(BLOCK)?;
        let pseudo = Pseudo::new(size, their_keys.as_handle(), their_output.as_handle(), inherits_cursor)?;
        Ok(Self { pseudo, keys: OwnedHandle::from(keys).into(), output, size })
    }
}

/// Runs `command`, with pipes if no pseudoconsole can be created. See [`super::run`].
pub(super) fn run(
    command: &CommandLine,
    recorder: &Recorder,
    started: impl FnOnce(),
) -> io::Result<Finished> {
    control::take()?;
    let opened = terminal::size()
        .and_then(|size| Ok((OuterTerminal::enter()?, Console::open(size, true)?)))
        .and_then(|opened| Ok((opened, File::from(io::stdout().as_handle().try_clone_to_owned()?))));
    let Ok(((outer, console), to)) = opened else {
        recorder.transport(TransportMode::Pipe);
        return pipe::run(command, recorder, started);
    };
    let finished = in_console(command, console, to, recorder, started, true);
    drop(outer);
    finished
}

/// Runs `command` in `console`, writes its output to `to`, and passes keys on if it `has_keys`.
fn in_console(
    command: &CommandLine,
    console: Console,
    mut to: File,
    recorder: &Recorder,
    started: impl FnOnce(),
    has_keys: bool,
) -> io::Result<Finished> {
    let Console { pseudo, keys, mut output, size } = console;
    let child = match pseudo.start(command) {
        Ok(child) => child,
        Err(NotStarted::Trouble(error)) => return Err(error),
        Err(error) => return Ok(Finished { ended: CommandEnd::NotStarted(error), trouble: None }),
    };
    if control::was_received() {
        child.end(control::ENDED_BY_CONTROL);
    }
    recorder.started(child.pid());
    started();
    let over = Event::new()?;
    std::thread::scope(|scope| {
        let _over = SetAtEnd(&over);
        if has_keys {
            let pass_keys = || pass_keys(keys, &pseudo, size, &over);
            std::thread::Builder::new().name("input".to_owned()).spawn_scoped(scope, pass_keys)?;
        }
        let mut trouble = None;
        let mut take = |bytes: &[u8]| {
            recorder.capture(Channel::Pty, bytes);
            if trouble.is_none() {
                trouble = to.write_all(bytes).err();
            }
            trouble.is_none()
        };
        until_end(&mut output, &child, &mut take)?;
        drain(&mut output, &mut take)?;
        close(scope, &pseudo, output, &mut take)?;
        let trouble = trouble.filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        let trouble = trouble.map(|source| StreamError { stream: "stdout", error: source });
        Ok(Finished { ended: CommandEnd::Exited(code(&child)?), trouble })
    })
}

/// Ends the other thread, also if this one fails or panics.
struct SetAtEnd<'a>(&'a Event);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Passes keys and size changes on until it is `over`.
fn pass_keys(mut to: File, pseudo: &Pseudo, mut size: Size, over: &Event) {
    let mut keys = Keys::default();
    let stdin = io::stdin();
    loop {
        match event::wait(&[over.as_handle(), stdin.as_handle()], Some(LOOK)) {
            Ok(Some(0)) | Err(_) => return,
            Ok(Some(_)) => match keys.read() {
                Ok(bytes) if bytes.is_empty() || to.write_all(&bytes).is_ok() => {}
                // Our console or the command's is gone.
                _ => return,
            },
            Ok(None) => {}
        }
        if let Ok(now) = terminal::size()
            && now != size
        {
            pseudo.resize(now);
            size = now;
        }
    }
}

/// Passes output on until the command has ended, our console is closed, or output can no longer be shown.
fn until_end(output: &mut Reader, child: &Process, take: &mut impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let closing = control::closing().map(AsHandle::as_handle);
    let ends: Vec<_> = [Some(child.as_handle()), closing].into_iter().flatten().collect();
    loop {
        match output.read(&ends, None)? {
            Read::Bytes(bytes) if take(bytes) => {}
            _ => return Ok(()),
        }
    }
}

/// Passes on the remaining output of the pseudoconsole.
fn drain(output: &mut Reader, take: &mut impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let until = Instant::now() + DRAIN;
    while Instant::now() < until {
        match output.read(&[], Some(STALL))? {
            Read::Bytes(bytes) => {
                take(bytes);
            }
            _ => return Ok(()),
        }
    }
    Ok(())
}

/// Closes the pseudoconsole, and passes on its final output.
fn close<'scope>(
    scope: &'scope Scope<'scope, '_>,
    pseudo: &'scope Pseudo,
    mut output: Reader,
    take: &mut impl FnMut(&[u8]) -> bool,
) -> io::Result<()> {
    // Older systems close it only once all output has been read.
    std::thread::Builder::new().name("close".to_owned()).spawn_scoped(scope, || pseudo.close())?;
    while let Read::Bytes(bytes) = output.read(&[], Some(CLOSE))? {
        take(bytes);
    }
    Ok(())
}

/// The exit code; a command that outlives its console is killed.
fn code(child: &Process) -> io::Result<i32> {
    if event::wait(&[child.as_handle()], Some(CLOSE))?.is_none() {
        child.end(control::ENDED_BY_CONTROL);
        event::wait(&[child.as_handle()], Some(CLOSE))?;
    }
    child.code()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    #[test]
    fn a_command_in_a_pseudoconsole_is_shown_and_captured_with_its_exit_code() {
        let words = ["cmd.exe", "/c", "echo hello& exit 7"].map(OsString::from);
        let command = CommandLine::new(&words).unwrap();
        let console = Console::open(Size { columns: 80, rows: 25 }, false).unwrap();
        let shown = tempfile::tempfile().unwrap();
        let mut started = false;
        let finished = in_console(
            &command,
            console,
            shown.try_clone().unwrap(),
            &Recorder::none(),
            || started = true,
            false,
        )
        .unwrap();
        assert!(matches!(finished.ended, CommandEnd::Exited(7)), "{finished:?}");
        assert!(started && finished.trouble.is_none());
        let mut bytes = vec![0; shown.metadata().unwrap().len() as usize];
        sys::file::read_exact_at(&shown, &mut bytes, 0).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("hello"), "{text:?}");
    }

    #[test]
    fn a_file_that_is_not_a_program_is_not_started() {
        let command = CommandLine::new(&["no-such-program".into()]).unwrap();
        let console = Console::open(Size { columns: 80, rows: 25 }, false).unwrap();
        let to = tempfile::tempfile().unwrap();
        let finished = in_console(&command, console, to, &Recorder::none(), || {}, false).unwrap();
        assert!(matches!(finished.ended, CommandEnd::NotStarted(NotStarted::Command(_))), "{finished:?}");
    }
}
