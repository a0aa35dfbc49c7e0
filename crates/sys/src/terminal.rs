//! Terminals: our own, and a pseudoterminal for a command.

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::{OptionalActions, OutputModes, QueueSelector, Termios, Winsize};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use tokio::io::unix::AsyncFd;

/// Whether `stream` is a terminal, according to the driver and not to the file type.
pub fn is_terminal(stream: impl AsFd) -> bool {
    rustix::termios::isatty(stream)
}

/// Whether stdout takes `length` bytes at once, without waiting for a terminal or a reader.
#[must_use]
pub fn stdout_takes(length: usize) -> bool {
    let stdout = rustix::stdio::stdout();
    let mut ready = [PollFd::new(&stdout, PollFlags::OUT)];
    // A pipe that is ready takes this much.
    length <= libc::PIPE_BUF
        && !is_terminal(stdout)
        && rustix::event::poll(&mut ready, Some(&Timespec::default())).is_ok_and(|ready| ready == 1)
}

/// Whether `one` and `other` are the same terminal.
pub fn is_same(one: impl AsFd, other: impl AsFd) -> bool {
    match (rustix::fs::fstat(one), rustix::fs::fstat(other)) {
        (Ok(one), Ok(other)) => (one.st_rdev, one.st_ino) == (other.st_rdev, other.st_ino),
        _ => false,
    }
}

/// Our terminal and its original settings.
#[derive(Debug, Clone)]
pub struct OuterTerminal {
    modes: Termios,
}

impl OuterTerminal {
    /// Reads the settings of our terminal, which is stdin.
    pub fn look() -> io::Result<Self> {
        Ok(Self { modes: rustix::termios::tcgetattr(rustix::stdio::stdin())? })
    }

    /// Switches to raw mode.
    pub fn make_raw(&self) -> io::Result<()> {
        let mut raw = self.modes.clone();
        raw.make_raw();
        Ok(rustix::termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &raw)?)
    }

    /// Switches to raw mode for input only: output still gets carriage returns.
    pub fn make_input_raw(&self) -> io::Result<()> {
        let mut raw = self.modes.clone();
        raw.make_raw();
        raw.output_modes = self.modes.output_modes;
        Ok(rustix::termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &raw)?)
    }

    /// Restores the original settings.
    pub fn restore(&self) {
        let _gone = rustix::termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &self.modes);
    }

    /// Restores the original settings, unless another program has changed them since [`Self::make_raw`].
    pub(crate) fn restore_if_raw(&self) {
        let mut raw = self.modes.clone();
        raw.make_raw();
        let is_raw = |now: Termios| (now.local_modes, now.input_modes) == (raw.local_modes, raw.input_modes);
        if rustix::termios::tcgetattr(rustix::stdio::stdin()).is_ok_and(is_raw) {
            self.restore();
        }
    }

    /// Whether we are the terminal's foreground job.
    #[must_use]
    pub fn is_foreground() -> bool {
        match rustix::termios::tcgetpgrp(rustix::stdio::stdin()) {
            Ok(group) => super::process::group() == Some(group),
            // Not our controlling terminal, so job control doesn't apply.
            Err(_) => true,
        }
    }
}

/// Whether `terminal` adds a carriage return before every line feed.
pub fn adds_returns(terminal: impl AsFd) -> bool {
    let both = OutputModes::OPOST | OutputModes::ONLCR;
    rustix::termios::tcgetattr(terminal).is_ok_and(|modes| modes.output_modes.contains(both))
}

/// The signals (SIGINT, SIGQUIT) that the terminal `theirs` will generate for `typed`, which has not been written
/// to it yet.
pub fn signals_of(typed: &[u8], theirs: impl AsFd) -> Vec<i32> {
    use rustix::termios::{LocalModes, SpecialCodeIndex};
    // Skip the query unless there is a control character.
    if !typed.iter().any(|byte| *byte < b' ' || *byte == 0x7f) {
        return Vec::new();
    }
    let Ok(modes) = rustix::termios::tcgetattr(theirs) else { return Vec::new() };
    if !modes.local_modes.contains(LocalModes::ISIG) {
        return Vec::new();
    }
    let key = |code: SpecialCodeIndex| modes.special_codes[code];
    let keys = [(key(SpecialCodeIndex::VINTR), libc::SIGINT), (key(SpecialCodeIndex::VQUIT), libc::SIGQUIT)];
    let made = |byte: &u8| keys.iter().find(|(key, _)| key == byte && *key != 0).map(|(_, signal)| *signal);
    typed.iter().filter_map(made).collect()
}

/// Whether this process has a controlling terminal, regardless of its standard streams.
#[must_use]
pub fn has_controlling() -> bool {
    rustix::fs::open("/dev/tty", OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).is_ok()
}

/// The rows and columns of our terminal.
pub fn size() -> io::Result<Winsize> {
    size_of(&rustix::stdio::stdout())
}

/// The rows and columns of the terminal that `stream` is.
pub fn size_of(stream: &impl AsFd) -> io::Result<Winsize> {
    Ok(rustix::termios::tcgetwinsize(stream)?)
}

/// Both ends of a pseudoterminal.
#[derive(Debug)]
pub struct Pseudo {
    /// Our end.
    pub ours: OwnedFd,
    /// The command's end.
    pub theirs: OwnedFd,
}

/// posix_openpt doesn't accept it on other systems.
#[cfg(target_os = "linux")]
const CLOSED_ON_EXEC: OpenptFlags = OpenptFlags::CLOEXEC;
#[cfg(not(target_os = "linux"))]
const CLOSED_ON_EXEC: OpenptFlags = OpenptFlags::empty();

impl Pseudo {
    /// Opens a pseudoterminal with the settings of `outer`.
    pub fn open(outer: &OuterTerminal) -> io::Result<Self> {
        let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | CLOSED_ON_EXEC)?;
        #[cfg(not(target_os = "linux"))]
        rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
        rustix::pty::grantpt(&ours)?;
        rustix::pty::unlockpt(&ours)?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        // Prefer the descriptor: in a container a path may refer to another terminal.
        #[cfg(target_os = "linux")]
        let theirs = rustix::pty::ioctl_tiocgptpeer(
            &ours,
            OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC,
        );
        #[cfg(not(target_os = "linux"))]
        let theirs: rustix::io::Result<OwnedFd> = Err(Errno::NOSYS);
        let theirs = match theirs {
            Ok(theirs) => theirs,
            Err(_) => rustix::fs::open(rustix::pty::ptsname(&ours, Vec::new())?, flags, Mode::empty())?,
        };
        rustix::termios::tcsetattr(&theirs, OptionalActions::Now, &outer.modes)?;
        let pseudo = Self { ours, theirs };
        pseudo.resize();
        Ok(pseudo)
    }

    /// Copies the size of our terminal. If it changed, the foreground job gets SIGWINCH.
    pub fn resize(&self) {
        resize(&self.ours);
    }
}

/// Copies the size of our terminal to the pseudoterminal `ours`.
pub fn resize(ours: impl AsFd) {
    if let Ok(size) = size() {
        let _gone = rustix::termios::tcsetwinsize(ours, size);
    }
}

/// Starts a new session with the controlling terminal `terminal`.
pub fn lead_session_on(terminal: impl AsFd) -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(rustix::process::ioctl_tiocsctty(terminal)?)
}

/// Makes our process group the foreground job of `terminal`, which belongs to our session.
pub fn take_foreground(terminal: impl AsFd) {
    super::signals::ignore(libc::SIGTTOU);
    let _gone = rustix::termios::tcsetpgrp(terminal, rustix::process::getpgrp());
}

/// What is typed on our terminal, which stays blocking: other programs share it.
#[derive(Debug)]
pub struct Input(AsyncFd<OwnedFd>);

impl Input {
    /// Reads from stdin. Call it in a runtime.
    pub fn of_stdin() -> io::Result<Self> {
        let stdin = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 0)?;
        Ok(Self(super::descriptor::readable(stdin)?))
    }

    /// As [`Self::read`], but nothing if we are no longer the foreground job: the bytes are for another one, and
    /// reading them would stop us.
    pub async fn read_in_foreground(&self) -> io::Result<Vec<u8>> {
        loop {
            let mut ready = self.0.readable().await?;
            if has_input(ready.get_inner()) {
                break;
            }
            ready.clear_ready();
        }
        if OuterTerminal::is_foreground() { self.read().await } else { Ok(Vec::new()) }
    }

    /// Waits for bytes; none once the terminal is gone. Cancel safe.
    pub async fn read(&self) -> io::Result<Vec<u8>> {
        loop {
            let mut ready = self.0.readable().await?;
            // Look before reading, which could block.
            if !has_input(ready.get_inner()) {
                ready.clear_ready();
                continue;
            }
            let mut bytes = [0; 1024];
            match rustix::io::read(ready.get_inner(), &mut bytes) {
                Ok(count) => return Ok(bytes[..count].to_vec()),
                Err(Errno::INTR | Errno::AGAIN) => {}
                // It was hung up.
                Err(Errno::IO) => return Ok(Vec::new()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Drops what was typed on our terminal and not read yet.
pub fn discard_input() {
    let _gone = rustix::termios::tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
}

/// Whether reading from `terminal` would return at once.
fn has_input(terminal: impl AsFd) -> bool {
    let mut watched = [PollFd::from_borrowed_fd(terminal.as_fd(), PollFlags::IN)];
    let _timeout = rustix::event::poll(&mut watched, Some(&Timespec::default()));
    !watched[0].revents().is_empty()
}

/// Whether the other end of `terminal` is closed.
pub fn is_hung_up(terminal: impl AsFd) -> bool {
    let mut watched = [PollFd::from_borrowed_fd(terminal.as_fd(), PollFlags::empty())];
    let _timeout = rustix::event::poll(&mut watched, Some(&Timespec::default()));
    watched[0].revents().contains(PollFlags::HUP)
}

/// Makes this process the leader of a new process group in the foreground of `terminal`.
pub fn lead_foreground_group(terminal: impl AsFd) -> io::Result<()> {
    rustix::process::setpgid(None, None)?;
    // A background process that does this is stopped by SIGTTOU unless it ignores that. Restored afterward.
    let was_ignored = super::signals::is_ignored(libc::SIGTTOU);
    super::signals::ignore(libc::SIGTTOU);
    let done = rustix::termios::tcsetpgrp(terminal, rustix::process::getpgrp());
    if !was_ignored {
        super::signals::default(libc::SIGTTOU);
    }
    Ok(done?)
}
