//! Signals to this process, with their sender, and their forwarding to a command.

use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The forwarded signals (spec 4: "Interactive sessions must forward … termination signals").
pub const PASSED_ON: [i32; 9] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGWINCH,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// A received signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceivedSignal {
    /// Its number.
    pub signal: i32,
    /// Its sender.
    pub from: Sender,
}

/// The sender of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The kernel, which signals a terminal's whole foreground group.
    Kernel,
    /// This process.
    Us,
    /// Another process.
    Other,
}

/// Signals that are delivered to us instead of having their usual effect. Ignored signals stay ignored, so a
/// command started under `nohup` stays immune.
#[derive(Debug)]
pub struct Signals {
    reader: File,
    taken: Vec<i32>,
    /// The signal mask before [`Self::take`].
    mask: libc::sigset_t,
    ignored_children: bool,
}

impl Signals {
    /// Takes over [`PASSED_ON`] and SIGCHLD. They stay blocked until [`Self::unblock`], so that a child forked in
    /// between gets its own. Call this once per process.
    pub fn take() -> io::Result<Self> {
        let (reader, writer) = super::pipe::pair()?;
        // A handler must not block. A full pipe already contains thousands of unread signals.
        rustix::io::ioctl_fionbio(&writer, true)?;
        let ignored_children = is_ignored(libc::SIGCHLD);
        let passed_on = PASSED_ON.into_iter().filter(|signal| !is_ignored(*signal));
        let taken: Vec<i32> = passed_on.chain([libc::SIGCHLD]).collect();
        let mask = block(&taken);
        // Leaked, because a handler may run until the process ends.
        let writer: &'static OwnedFd = Box::leak(Box::new(writer));
        for signal in &taken {
            on(*signal, writer.as_fd())?;
        }
        Ok(Self { reader: reader.into(), taken, mask, ignored_children })
    }

    /// Unblocks these signals for this thread, even if they were blocked at the start: the command handles them.
    pub fn unblock(&self) {
        set_mask(&self.mask);
        let taken = set_of(&self.taken);
        // SAFETY: the set is initialized, and the old mask is not requested.
        #[expect(unsafe_code, reason = "signal sets are C's")]
        unsafe {
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const taken, std::ptr::null_mut());
        }
    }

    /// In a forked child, restores the state before [`Self::take`], so that blocked signals have their usual
    /// effect.
    pub fn put_back(&self) {
        for signal in &self.taken {
            default(*signal);
        }
        if self.ignored_children {
            ignore(libc::SIGCHLD);
        }
        let hidden = [
            (libc::SIGPIPE, super::inherited::ignored_broken_pipes()),
            (libc::SIGXFSZ, super::inherited::ignored_file_sizes()),
        ];
        for (signal, was_ignored) in hidden {
            dispose(signal, if was_ignored { libc::SIG_IGN } else { libc::SIG_DFL });
        }
        set_mask(&self.mask);
    }

    /// Restores the signals' previous effect, because there is no command left to forward them to.
    pub fn give_back(&self) {
        for signal in &self.taken {
            default(*signal);
        }
    }

    /// Waits for the next signal.
    pub fn next(&self) -> io::Result<ReceivedSignal> {
        let mut bytes = [0; 2];
        (&self.reader).read_exact(&mut bytes)?;
        let from = match bytes[1] {
            0 => Sender::Other,
            1 => Sender::Us,
            _ => Sender::Kernel,
        };
        Ok(ReceivedSignal { signal: i32::from(bytes[0]), from })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

/// Registers a handler that writes `signal`'s number and sender to `pipe`.
fn on(signal: i32, pipe: BorrowedFd<'static>) -> io::Result<()> {
    let pipe = pipe.as_raw_fd();
    let number = u8::try_from(signal).unwrap_or_default();
    let us = rustix::process::getpid().as_raw_nonzero().get();
    let tell = move |info: &libc::siginfo_t| {
        // Positive codes are from the kernel (sigaction(2)).
        let from = if info.si_code > 0 { 2 } else { u8::from(sender(info) == us) };
        let bytes = [number, from];
        // SAFETY: `write` is async-signal-safe, `bytes` outlives it, and the descriptor is never closed.
        #[expect(unsafe_code, reason = "only async-signal-safe calls are allowed here")]
        unsafe {
            libc::write(pipe, bytes.as_ptr().cast(), bytes.len());
        }
    };
    // SAFETY: the action makes one async-signal-safe system call and neither allocates nor locks. The registry
    // preserves errno.
    #[expect(unsafe_code, reason = "the caller must guarantee that the action is async-signal-safe")]
    unsafe {
        signal_hook_registry::register_sigaction(signal, tell)?;
    }
    Ok(())
}

/// The PID of the sender of a signal.
fn sender(info: &libc::siginfo_t) -> i32 {
    // SAFETY: this is only called for signals sent by processes, which set this field.
    #[expect(unsafe_code, reason = "the field is part of a C union")]
    unsafe {
        info.si_pid()
    }
}

/// Sends `signal` to our whole process group, as a terminal would. We receive it with [`Sender::Us`].
pub fn send_to_group(signal: i32) {
    // SAFETY: `kill` takes no pointer.
    #[expect(unsafe_code, reason = "rustix cannot send every signal")]
    unsafe {
        libc::kill(0, signal);
    }
}

/// Whether this process ignores `signal`.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null action changes nothing, and `now` has room for the result; all zeroes is a valid value.
    #[expect(unsafe_code, reason = "there is no safe call for this")]
    let now = unsafe {
        libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr());
        now.assume_init()
    };
    now.sa_sigaction == libc::SIG_IGN
}

/// Ignores `signal`.
pub fn ignore(signal: i32) {
    dispose(signal, libc::SIG_IGN);
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail with an error, like a full disk, instead of killing
/// this process. Uses an empty handler: unlike an ignored signal, it is not inherited by programs that we start.
pub fn survive_file_size_limit() {
    extern "C" fn nothing(_signal: i32) {}
    if is_ignored(libc::SIGXFSZ) {
        return;
    }
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the action is initialized, and its handler does nothing.
    #[expect(unsafe_code, reason = "there is no safe call for this")]
    unsafe {
        (*action.as_mut_ptr()).sa_sigaction = nothing as extern "C" fn(i32) as usize;
        (*action.as_mut_ptr()).sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGXFSZ, action.as_ptr(), std::ptr::null_mut());
    }
}

/// Restores the default disposition of `signal`.
pub fn default(signal: i32) {
    dispose(signal, libc::SIG_DFL);
}

fn dispose(signal: i32, disposition: libc::sighandler_t) {
    // SAFETY: SIG_IGN and SIG_DFL run no code of ours.
    #[expect(unsafe_code, reason = "there is no safe call for this")]
    unsafe {
        libc::signal(signal, disposition);
    }
}

/// Makes `signal` interrupt blocking system calls and do nothing else.
pub fn interrupt_on(signal: i32) {
    extern "C" fn nothing(_signal: i32) {}
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the action is initialized (without SA_RESTART), and its handler does nothing.
    #[expect(unsafe_code, reason = "there is no safe call for this")]
    unsafe {
        (*action.as_mut_ptr()).sa_sigaction = nothing as extern "C" fn(i32) as usize;
        libc::sigaction(signal, action.as_ptr(), std::ptr::null_mut());
    }
}

/// Blocks `signals` on this thread, so that [`wait_for`] can receive them.
pub fn hold_back(signals: &[i32]) {
    block(signals);
}

/// Waits for one of `signals`, which must be blocked and not ignored. A signal that is already pending counts.
pub fn wait_for(signals: &[i32]) {
    let wanted = set_of(signals);
    let mut received = 0;
    // SAFETY: the set is initialized, and `received` has room for the result.
    #[expect(unsafe_code, reason = "signal sets are C's")]
    unsafe {
        libc::sigwait(&raw const wanted, &raw mut received);
    }
}

pub(super) fn set_of(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is valid for writes; `sigemptyset` initializes it.
    #[expect(unsafe_code, reason = "signal sets are C's")]
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

/// Blocks `signals` for this thread and returns the previous mask.
pub(super) fn block(signals: &[i32]) -> libc::sigset_t {
    let wanted = set_of(signals);
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `wanted` is initialized and `before` is valid for writes.
    #[expect(unsafe_code, reason = "signal sets are C's")]
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const wanted, before.as_mut_ptr());
        before.assume_init()
    }
}

pub(super) fn set_mask(mask: &libc::sigset_t) {
    // SAFETY: `mask` was returned by `pthread_sigmask`.
    #[expect(unsafe_code, reason = "signal sets are C's")]
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut());
    }
}

/// Stops this process with `signal`, a stop signal. With `whole_group` it stops the whole process group, as a
/// terminal does. Returns when the process is continued, or at once if it cannot be stopped.
pub fn stop_ourselves(signal: i32, whole_group: bool) {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: saves the disposition, sets the default, raises the signal and restores the disposition. The only
    // pointer is to `before`, which is valid.
    #[expect(unsafe_code, reason = "there is no safe call for this")]
    unsafe {
        libc::sigaction(signal, std::ptr::null(), before.as_mut_ptr());
        if signal != libc::SIGSTOP {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::kill(if whole_group && signal != libc::SIGSTOP { 0 } else { libc::getpid() }, signal);
        if signal != libc::SIGSTOP {
            libc::sigaction(signal, before.as_ptr(), std::ptr::null_mut());
        }
    }
}

/// Ends this process with `signal`, without a core dump. Returns if the signal doesn't end processes.
pub fn die_by(signal: i32) {
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _a_core_then = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    default(signal);
    let only = set_of(&[signal]);
    // SAFETY: the set is initialized. `raise` runs no code of ours, since the default disposition is set.
    #[expect(unsafe_code, reason = "signal sets are C's")]
    unsafe {
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const only, std::ptr::null_mut());
        libc::raise(signal);
    }
}

/// The name of `signal`, such as `SIGINT`.
#[must_use]
pub fn name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal).map_or_else(|| format!("SIG{signal}"), str::to_owned)
}
