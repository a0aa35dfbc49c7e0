//! Signals that reach this process, told apart by who sent them, and passed on to a command as they were.

use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The signals that are passed on (issue of spec 4, "Interactive sessions must forward … termination signals").
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

/// A signal that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Came {
    /// Its number.
    pub signal: i32,
    /// Who sent it.
    pub from: Sender,
}

/// Who sent a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The kernel, as a terminal does to its whole foreground group.
    Kernel,
    /// This process.
    Us,
    /// Another process.
    Other,
}

/// Signals that come to us instead of doing what they do. Those that were ignored stay ignored, so that a command
/// started under `nohup` is as immune as it would be without us.
#[derive(Debug)]
pub struct Signals {
    came: File,
    taken: Vec<i32>,
    /// The signals that were blocked when we began.
    mask: libc::sigset_t,
    ignored_children: bool,
}

impl Signals {
    /// Takes [`PASSED_ON`] and SIGCHLD. Until [`Self::let_come`] they are held back by the kernel, so that a child
    /// that is forked meanwhile gets its own. Once in a process's life.
    ///
    /// # Errors
    /// What the system says.
    pub fn take() -> io::Result<Self> {
        let (came, tell) = super::pipe::pair()?;
        // A handler must not block: when the pipe is full there are thousands that nobody has looked at.
        rustix::io::ioctl_fionbio(&tell, true)?;
        let ignored_children = is_ignored(libc::SIGCHLD);
        let passed_on = PASSED_ON.into_iter().filter(|signal| !is_ignored(*signal));
        let taken: Vec<i32> = passed_on.chain([libc::SIGCHLD]).collect();
        let mask = block(&taken);
        // Leaked: a handler may run until the process ends.
        let tell: &'static OwnedFd = Box::leak(Box::new(tell));
        for signal in &taken {
            on(*signal, tell.as_fd())?;
        }
        Ok(Self { came: came.into(), taken, mask, ignored_children })
    }

    /// Lets them come to this thread, also those that were blocked: whether they reach the command is its business.
    pub fn let_come(&self) {
        set_mask(&self.mask);
        let taken = set_of(&self.taken);
        // SAFETY: the set is initialised, and what was blocked before is not asked for.
        #[expect(unsafe_code, reason = "signal sets are C's")]
        unsafe {
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const taken, std::ptr::null_mut());
        }
    }

    /// In a forked child: puts everything back to what it was before [`Self::take`], so that signals that were
    /// held back do what they do by default.
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

    /// Lets the signals do again what they did before, since there is nobody left to pass them on to.
    pub fn give_back(&self) {
        for signal in &self.taken {
            default(*signal);
        }
    }

    /// Waits for the next signal.
    ///
    /// # Errors
    /// What the system says.
    pub fn next(&self) -> io::Result<Came> {
        let mut told = [0; 2];
        (&self.came).read_exact(&mut told)?;
        let from = match told[1] {
            0 => Sender::Other,
            1 => Sender::Us,
            _ => Sender::Kernel,
        };
        Ok(Came { signal: i32::from(told[0]), from })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.came.as_fd()
    }
}

/// Has `signal` told to `pipe`: its number, and whether the kernel sent it.
fn on(signal: i32, pipe: BorrowedFd<'static>) -> io::Result<()> {
    let pipe = pipe.as_raw_fd();
    let number = u8::try_from(signal).unwrap_or_default();
    let us = rustix::process::getpid().as_raw_nonzero().get();
    let tell = move |info: &libc::siginfo_t| {
        // Positive codes are the kernel's own (sigaction(2)).
        let from = if info.si_code > 0 { 2 } else { u8::from(sender(info) == us) };
        let told = [number, from];
        // SAFETY: `write` is async-signal-safe, `told` outlives it, and the descriptor is never closed.
        #[expect(unsafe_code, reason = "only what is async-signal-safe may be called here")]
        unsafe {
            libc::write(pipe, told.as_ptr().cast(), told.len());
        }
    };
    // SAFETY: the action makes one system call that is async-signal-safe; it neither allocates nor locks. The
    // registry keeps errno as it was.
    #[expect(unsafe_code, reason = "who registers an action says that it is async-signal-safe")]
    unsafe {
        signal_hook_registry::register_sigaction(signal, tell)?;
    }
    Ok(())
}

/// The PID of the process that sent a signal.
fn sender(info: &libc::siginfo_t) -> i32 {
    // SAFETY: of signals that a process sends, which alone are asked about, this field is set.
    #[expect(unsafe_code, reason = "the field is part of a C union")]
    unsafe {
        info.si_pid()
    }
}

/// Sends `signal` to all that share our process group, as a terminal would. To us it comes from [`Sender::Us`].
pub fn send_to_group(signal: i32) {
    // SAFETY: `kill` takes no pointer.
    #[expect(unsafe_code, reason = "rustix has no name for every signal")]
    unsafe {
        libc::kill(0, signal);
    }
}

/// Whether this process ignores `signal`.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null action changes nothing, and `now` has room for the answer, which zeroes initialise as well.
    #[expect(unsafe_code, reason = "there is no safe way to ask for a disposition")]
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

/// Has a file that outgrows its limit (`ulimit -f`) be an error of the write, as a full disk is, and not the end of this
/// process. By a handler that does nothing: unlike an ignored signal it is not inherited by the programs we start.
pub fn survive_file_size_limit() {
    extern "C" fn nothing(_signal: i32) {}
    if is_ignored(libc::SIGXFSZ) {
        return;
    }
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the action is initialised, and its handler does nothing.
    #[expect(unsafe_code, reason = "there is no safe way to set a handler")]
    unsafe {
        (*action.as_mut_ptr()).sa_sigaction = nothing as extern "C" fn(i32) as usize;
        (*action.as_mut_ptr()).sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGXFSZ, action.as_ptr(), std::ptr::null_mut());
    }
}

/// Has `signal` do what it does by default.
pub fn default(signal: i32) {
    dispose(signal, libc::SIG_DFL);
}

fn dispose(signal: i32, disposition: libc::sighandler_t) {
    // SAFETY: SIG_IGN and SIG_DFL name no code of ours.
    #[expect(unsafe_code, reason = "there is no safe way to set a disposition")]
    unsafe {
        libc::signal(signal, disposition);
    }
}

/// Has `signal` interrupt what waits, and nothing else.
pub fn interrupt_on(signal: i32) {
    extern "C" fn nothing(_signal: i32) {}
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the action is initialised (no flags: system calls are not restarted), and its handler does nothing.
    #[expect(unsafe_code, reason = "there is no safe way to have a call interrupted")]
    unsafe {
        (*action.as_mut_ptr()).sa_sigaction = nothing as extern "C" fn(i32) as usize;
        libc::sigaction(signal, action.as_ptr(), std::ptr::null_mut());
    }
}

/// Has `signals` wait until they are waited for, on this thread.
pub fn hold_back(signals: &[i32]) {
    block(signals);
}

/// Waits until one of `signals` comes, all of which are held back and none ignored. One that came before counts.
pub fn wait_for(signals: &[i32]) {
    let wanted = set_of(signals);
    let mut came = 0;
    // SAFETY: the set is initialised, and `came` has room for the answer.
    #[expect(unsafe_code, reason = "signal sets are C's")]
    unsafe {
        libc::sigwait(&raw const wanted, &raw mut came);
    }
}

pub(super) fn set_of(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is valid for writes; `sigemptyset` initialises it.
    #[expect(unsafe_code, reason = "signal sets are C's")]
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

/// Blocks `signals` for this thread, and returns what was blocked before.
pub(super) fn block(signals: &[i32]) -> libc::sigset_t {
    let wanted = set_of(signals);
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `wanted` is initialised and `before` valid for writes; `pthread_sigmask` initialises it.
    #[expect(unsafe_code, reason = "signal sets are C's")]
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const wanted, before.as_mut_ptr());
        before.assume_init()
    }
}

pub(super) fn set_mask(mask: &libc::sigset_t) {
    // SAFETY: `mask` is a set that `pthread_sigmask` gave us.
    #[expect(unsafe_code, reason = "signal sets are C's")]
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut());
    }
}

/// Stops this process by `signal`, one of those that stop; `whole_group` stops all that share our process group, as
/// a terminal does. Returns when it goes on, or at once if the system lets nobody stop here.
pub fn stop_ourselves(signal: i32, whole_group: bool) {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: asks for the disposition, sets the default one, signals, and puts back what it was: no pointer but
    // to `before`, which is valid.
    #[expect(unsafe_code, reason = "there is no safe way to put a disposition back")]
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

/// Ends this process by `signal`, without a core file of ours. Returns if the signal does not end processes.
pub fn die_by(signal: i32) {
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _a_core_then = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    default(signal);
    let only = set_of(&[signal]);
    // SAFETY: the set is initialised; `raise` runs no code of ours, since the default stands.
    #[expect(unsafe_code, reason = "signal sets are C's")]
    unsafe {
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const only, std::ptr::null_mut());
        libc::raise(signal);
    }
}

/// The name of `signal`, as `SIGINT`.
#[must_use]
pub fn name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal).map_or_else(|| format!("SIG{signal}"), str::to_owned)
}
