//! Starting a command as a shell would. Only the steps listed here happen between fork and exec.
//!
//! `std::process` resets the signal mask and SIGPIPE in the child, but the command must inherit our own original
//! state.

use super::inherited;
use super::signals::Signals;
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus};
use std::ffi::{CString, OsString};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

/// A command line in the form that `execvp` takes.
#[derive(Debug)]
pub struct CommandLine(Vec<CString>);

impl CommandLine {
    /// Creates a command line from a program and its arguments.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if there is no program or an argument contains a NUL.
    pub fn new(words: &[OsString]) -> io::Result<Self> {
        if words.is_empty() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let words = words.iter().map(|word| CString::new(word.clone().into_vec()));
        Ok(Self(words.collect::<Result<_, _>>()?))
    }

    /// Executes the command; returns only on failure.
    fn exec(&self) -> Errno {
        let mut pointers: Vec<*const libc::c_char> = self.0.iter().map(|word| word.as_ptr()).collect();
        pointers.push(std::ptr::null());
        // SAFETY: the array ends with a null pointer, and all other pointers are to C strings that outlive the
        // call.
        #[expect(unsafe_code, reason = "execvp takes pointers")]
        unsafe {
            libc::execvp(pointers[0], pointers.as_ptr());
        }
        Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
    }
}

/// The two sides of a fork.
enum Forked {
    Parent(Pid),
    Child,
}

/// Forks. Only allowed while this process has one thread; then the child may do anything a process may.
fn fork() -> io::Result<Forked> {
    // SAFETY: with one thread no lock can be held by another one and no memory can be half written, so the child
    // is as sound as the parent. Callers fork before they start threads.
    #[expect(unsafe_code, reason = "fork is sound with one thread only")]
    let forked = unsafe { libc::fork() };
    match forked {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Pid::from_raw(pid).map(Forked::Parent).ok_or_else(|| io::ErrorKind::Other.into()),
    }
}

/// Exits from a forked child without running the parent's destructors and exit handlers.
fn leave(code: i32) -> ! {
    // SAFETY: `_exit` ends the process without touching its memory.
    #[expect(unsafe_code, reason = "destructors and buffers belong to the parent")]
    unsafe {
        libc::_exit(code)
    }
}

/// The standard streams of a command; `None` means inherited.
#[derive(Debug, Default)]
pub struct Streams {
    /// Its stdin.
    pub stdin: Option<OwnedFd>,
    /// Its stdout.
    pub stdout: Option<OwnedFd>,
    /// Its stderr.
    pub stderr: Option<OwnedFd>,
}

impl Streams {
    fn set_up(&self) -> io::Result<()> {
        for (number, stream) in [(0, &self.stdin), (1, &self.stdout), (2, &self.stderr)] {
            match stream {
                Some(stream) => duplicate(stream.as_raw_fd(), number)?,
                None if inherited::was_closed(u8::try_from(number).unwrap_or_default()) => close(number),
                None => {}
            }
        }
        Ok(())
    }
}

fn duplicate(from: i32, to: i32) -> io::Result<()> {
    // SAFETY: both are descriptors of this process, and a standard stream has no owner that would close it.
    #[expect(unsafe_code, reason = "the standard streams have no owned descriptors")]
    let done = unsafe { libc::dup2(from, to) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn close(number: i32) {
    // SAFETY: called only in a forked child, which never uses the descriptor again and ends with exec or `_exit`,
    // so no owner closes it twice.
    #[expect(unsafe_code, reason = "the owner of the descriptor is in the parent")]
    unsafe {
        libc::close(number);
    }
}

/// Forks and executes `command`. The signals in `signals` are blocked meanwhile, and the child receives them as
/// usual. `before` runs in the child right before exec.
pub fn spawn(
    command: &CommandLine,
    streams: Streams,
    signals: &Signals,
    before: impl FnOnce() -> io::Result<()>,
) -> Result<Pid, NotStarted> {
    let (mut reader, writer) = super::pipe::pair()
        .map(|(reader, writer)| (std::fs::File::from(reader), std::fs::File::from(writer)))
        .map_err(NotStarted::Trouble)?;
    let pid = match fork().map_err(NotStarted::Trouble)? {
        Forked::Parent(pid) => pid,
        Forked::Child => {
            let ready = before().and_then(|()| streams.set_up());
            signals.put_back();
            let (kind, errno) = match ready {
                Ok(()) => (b'c', command.exec()),
                Err(error) => (b't', Errno::from_io_error(&error).unwrap_or(Errno::INVAL)),
            };
            let mut report = vec![kind];
            report.extend_from_slice(&errno.raw_os_error().to_le_bytes());
            let _nobody_there = (&writer).write_all(&report);
            leave(127)
        }
    };
    drop((writer, streams));
    let mut report = Vec::new();
    reader.read_to_end(&mut report).map_err(NotStarted::Trouble)?;
    let Some((kind, errno)) = report.split_first() else { return Ok(pid) };
    let _reaped = rustix::process::waitpid(Some(pid), WaitOptions::empty());
    let errno = errno.try_into().map(i32::from_le_bytes).unwrap_or_default();
    let error = io::Error::from_raw_os_error(errno);
    Err(if *kind == b'c' { NotStarted::Command(error) } else { NotStarted::Trouble(error) })
}

/// The reason why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// The command doesn't exist or is not executable.
    #[error(transparent)]
    Command(io::Error),
    /// The system failed to start a process.
    #[error("cannot start a process")]
    Trouble(#[source] io::Error),
}

/// A state change of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It exited with this code.
    Exited(i32),
    /// This signal killed it.
    Signaled(i32),
    /// This signal stopped it.
    Stopped(i32),
    /// It continued.
    Continued,
}

impl Change {
    fn of(status: WaitStatus) -> Option<Self> {
        status
            .exit_status()
            .map(Self::Exited)
            .or_else(|| status.terminating_signal().map(Self::Signaled))
            .or_else(|| status.stopping_signal().map(Self::Stopped))
            .or_else(|| status.continued().then_some(Self::Continued))
    }
}

/// Returns the next state change of `child`, or `None` if there is none. With `wait`, waits for one.
///
/// # Errors
/// May fail with `EINTR`.
pub fn change(child: Pid, wait: bool) -> io::Result<Option<Change>> {
    let mut options = WaitOptions::UNTRACED | WaitOptions::CONTINUED;
    if !wait {
        options |= WaitOptions::NOHANG;
    }
    Ok(rustix::process::waitpid(Some(child), options)?.and_then(|(_, status)| Change::of(status)))
}

/// Runs `work` in a forked process, which ends when `work` returns. Closes `ours` in the child and `work`'s
/// descriptors in the parent. Only allowed while this process has one thread.
pub fn apart(ours: &[BorrowedFd<'_>], work: impl FnOnce()) -> io::Result<Pid> {
    match fork()? {
        Forked::Parent(pid) => Ok(pid),
        Forked::Child => {
            for descriptor in ours {
                close(descriptor.as_raw_fd());
            }
            work();
            leave(0)
        }
    }
}
