//! A terminal with a user: waits for output, then types.

use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::pty::OpenptFlags;
use rustix::termios::{OptionalActions, Termios, Winsize};

use crate::env::Run;

/// Longer than anything takes; what reaches it, hangs.
const DEADLINE: Duration = Duration::from_secs(50);

/// A terminal of 24 rows and 80 columns, with the process started there.
pub(crate) struct Terminal {
    ours: OwnedFd,
    theirs: OwnedFd,
    child: Option<Child>,
    shown: Vec<u8>,
    /// How much of it was already waited for.
    seen: usize,
    until: Instant,
}

/// Everything that was shown, and how the process ended.
#[derive(PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) shown: Vec<u8>,
    pub(crate) status: ExitStatus,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = &self.shown[self.shown.len().saturating_sub(4000)..];
        write!(f, "{} bytes, {:?}:\n{}", self.shown.len(), self.status, String::from_utf8_lossy(end))
    }
}

impl Session {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }

    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    pub(crate) fn signal(&self) -> Option<i32> {
        self.status.signal()
    }
}

impl Terminal {
    pub(crate) fn open() -> Self {
        let ours =
            rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        rustix::pty::grantpt(&ours).unwrap();
        rustix::pty::unlockpt(&ours).unwrap();
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let theirs = rustix::pty::ioctl_tiocgptpeer(&ours, flags).unwrap();
        let until = Instant::now() + DEADLINE;
        let terminal = Self { ours, theirs, child: None, shown: Vec::new(), seen: 0, until };
        terminal.resize(24, 80);
        terminal
    }

    /// Starts `words` like a login: as the leader of a session with this terminal.
    pub(crate) fn start(mut self, program: impl FnOnce(&[&str]) -> Run, words: &[&str]) -> Self {
        let theirs = || Stdio::from(self.theirs.try_clone().unwrap());
        // setsid(1) becomes what it starts.
        let run = program(&[&["--ctty"], words].concat());
        self.child = Some(run.stdin(theirs()).stdout(theirs()).stderr(theirs()).start());
        self
    }

    pub(crate) fn pid(&self) -> i64 {
        self.child.as_ref().unwrap().id().into()
    }

    /// All output that was waited for.
    pub(crate) fn so_far(&self) -> &[u8] {
        &self.shown[..self.seen]
    }

    pub(crate) fn modes(&self) -> Termios {
        rustix::termios::tcgetattr(&self.theirs).unwrap()
    }

    /// A path of the end of programs.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.theirs.as_raw_fd())
    }

    /// All of [`Self::modes`], for comparison.
    pub(crate) fn look(&self) -> String {
        format!("{:?}", self.modes())
    }

    pub(crate) fn set_modes(&self, modes: &Termios) {
        rustix::termios::tcsetattr(&self.theirs, OptionalActions::Now, modes).unwrap();
    }

    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&self.ours, size).unwrap();
    }

    pub(crate) fn send(&self, bytes: impl AsRef<[u8]>) {
        let mut rest = bytes.as_ref();
        while !rest.is_empty() {
            let sent = rustix::io::write(&self.ours, rest).unwrap();
            rest = &rest[sent..];
        }
    }

    /// Types a line at the shell's prompt, and waits for the next prompt.
    pub(crate) fn line(&mut self, line: &str) {
        self.send(format!("{line}\n"));
        self.wait_for(format!("{line}\r\n"));
        self.wait_for("$ ");
    }

    /// Waits until `bytes` are shown, after what was waited for before.
    pub(crate) fn wait_for(&mut self, bytes: impl AsRef<[u8]>) {
        let wanted = bytes.as_ref();
        loop {
            let new = &self.shown[self.seen..];
            if let Some(place) = new.windows(wanted.len()).position(|window| window == wanted) {
                self.seen += place + wanted.len();
                return;
            }
            let (wanted, new) = (String::from_utf8_lossy(wanted), String::from_utf8_lossy(new));
            let timeout = self.until.saturating_duration_since(Instant::now());
            assert!(!timeout.is_zero(), "{wanted:?} is never shown, but: {new:?}");
            match poll(&[PollFd::new(&self.ours, PollFlags::IN)], timeout)[0] {
                true => self.step(),
                false => panic!("timed out waiting for {wanted:?}; shown: {new:?}"),
            }
        }
    }

    /// Waits until each of `texts` is shown, in any order.
    pub(crate) fn wait_for_all(&mut self, texts: &[&str]) {
        let start = self.seen;
        let mut end = start;
        for text in texts {
            self.seen = start;
            self.wait_for(text);
            end = end.max(self.seen);
        }
        self.seen = end;
    }

    /// Reads once.
    fn step(&mut self) {
        let mut block = [0; 65536];
        let read = rustix::io::read(&self.ours, &mut block[..]).unwrap();
        self.shown.extend_from_slice(&block[..read]);
    }

    /// Waits until the process has ended, and reads its remaining output. Others may hold the terminal.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let pid = Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        let mut is_over = false;
        loop {
            let timeout =
                if is_over { Duration::ZERO } else { self.until.saturating_duration_since(Instant::now()) };
            let watched = [PollFd::new(&self.ours, PollFlags::IN), PollFd::new(&process, PollFlags::IN)];
            // Everything written before the end has arrived once this is readable.
            let come = poll(&watched, timeout);
            match (come[0], is_over) {
                (true, _) => self.step(),
                (false, true) => break,
                (false, false) => {
                    assert!(
                        come[1],
                        "what was started does not end, but: {:?}",
                        String::from_utf8_lossy(&self.shown)
                    );
                    is_over = true;
                }
            }
        }
        self.child.as_mut().unwrap().wait().unwrap()
    }

    pub(crate) fn finish(mut self) -> Session {
        let status = self.ended();
        Session { status, shown: std::mem::take(&mut self.shown) }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ended_already = child.kill();
            let _reaped_already = child.wait();
        }
    }
}

/// Which of these are readable.
fn poll(watched: &[PollFd<'_>], timeout: Duration) -> Vec<bool> {
    let mut watched = watched.to_vec();
    let timeout = Timespec::try_from(timeout).unwrap();
    while let Err(error) = rustix::event::poll(&mut watched, Some(&timeout)) {
        assert_eq!(error, Errno::INTR);
    }
    watched.iter().map(|one| !one.revents().is_empty()).collect()
}
