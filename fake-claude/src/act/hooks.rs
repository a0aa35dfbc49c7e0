//! Runs the hooks of an event in parallel while reading stdin.
//!
//! Input: commands and their input. Output: how each ran. Each is `sh -c` in a process group of its own, which is
//! killed at the timeout or if the turn is interrupted.

use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sys::error::Failure;
use sys::process::{Signal, signal_group};

use super::decision::{HookExit, Ran};
use super::settings::Hook;
use crate::live::inbox::{Halt, Inbox};

/// The process groups to kill when this process ends.
static GROUPS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Kills all running hooks because this process ends. No more are started.
pub(crate) fn end_all() {
    let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    for group in groups.drain(..) {
        signal_group(group, Signal::TERM);
        signal_group(group, Signal::KILL);
    }
    std::mem::forget(groups);
}

/// One run of a hook.
pub(crate) struct Job {
    pub(crate) hook: Hook,
    /// Its stdin, a JSON object.
    pub(crate) input: String,
    pub(crate) env: Vec<(String, String)>,
}

/// The results of the hooks, or that they were interrupted.
pub(crate) enum Outcome {
    Ran(Vec<(Hook, Ran)>),
    Interrupted,
}

/// Runs all of `jobs`. With `bound`, they are killed when this process ends.
pub(crate) fn run(jobs: Vec<Job>, bound: bool, inbox: &mut Inbox) -> Result<Outcome, Halt> {
    let mut running =
        jobs.into_iter().map(|job| Running::start(job, bound)).collect::<Result<Vec<_>, _>>()?;
    while running.iter().any(Running::is_open) {
        wait(&mut running, inbox)?;
        if inbox.is_interrupted() {
            running.iter_mut().for_each(Running::kill);
            return Ok(Outcome::Interrupted);
        }
    }
    let ran = running.into_iter().map(Running::finish).collect::<Result<Vec<_>, _>>()?;
    Ok(Outcome::Ran(ran))
}

struct Running {
    hook: Hook,
    child: Child,
    until: Instant,
    texts: [Vec<u8>; 2],
    open: [bool; 2],
    timed_out: bool,
}

impl Running {
    fn start(job: Job, bound: bool) -> Result<Self, Failure> {
        let wrong = |error: std::io::Error| Failure::new("cannot run a hook").because(&error);
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(&job.hook.command).envs(job.env).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Locked before the start, so that a signal at this moment kills the hook as well.
        let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut child = command.spawn().map_err(wrong)?;
        if bound {
            groups.push(child.id());
        }
        drop(groups);
        if let Some(mut stdin) = child.stdin.take() {
            // A hook that doesn't read its input only blocks this thread.
            std::thread::spawn(move || drop(stdin.write_all(job.input.as_bytes())));
        }
        let until = Instant::now() + job.hook.timeout;
        let (texts, open) = (Default::default(), [true; 2]);
        Ok(Self { hook: job.hook, child, until, texts, open, timed_out: false })
    }

    fn is_open(&self) -> bool {
        self.open.contains(&true)
    }

    fn pipe(&self, which: usize) -> Option<PollFd<'_>> {
        let pipe = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        match which {
            _ if !self.open[which] => None,
            0 => self.child.stdout.as_ref().map(|stdout| pipe(std::os::fd::AsFd::as_fd(stdout))),
            _ => self.child.stderr.as_ref().map(|stderr| pipe(std::os::fd::AsFd::as_fd(stderr))),
        }
    }

    fn read(&mut self, which: usize) {
        let mut buffer = [0; 64 * 1024];
        let read = match (which, &self.child.stdout, &self.child.stderr) {
            (0, Some(stdout), _) => rustix::io::read(stdout, &mut buffer[..]),
            (1, _, Some(stderr)) => rustix::io::read(stderr, &mut buffer[..]),
            _ => Ok(0),
        };
        match read {
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Ok(read) if read > 0 => self.texts[which].extend_from_slice(&buffer[..read]),
            _ => self.open[which] = false,
        }
    }

    fn kill(&mut self) {
        signal_group(self.child.id(), Signal::TERM);
        signal_group(self.child.id(), Signal::KILL);
        drop(self.child.wait());
        self.forget();
        self.open = [false; 2];
    }

    fn forget(&self) {
        GROUPS.lock().unwrap_or_else(PoisonError::into_inner).retain(|group| *group != self.child.id());
    }

    fn finish(mut self) -> Result<(Hook, Ran), Failure> {
        let status =
            self.child.wait().map_err(|error| Failure::new("cannot wait for a hook").because(&error))?;
        self.forget();
        let how = match status.code() {
            _ if self.timed_out => HookExit::TimedOut,
            Some(code) => HookExit::Exited(code),
            None => HookExit::Killed,
        };
        debug_assert!(status.code().is_some() || status.signal().is_some(), "it has ended");
        let [stdout, stderr] = self.texts.map(|text| String::from_utf8_lossy(&text).into_owned());
        Ok((self.hook, Ran { stdout, stderr, how }))
    }
}

/// Waits until a hook prints something or times out, or until there is input on stdin.
fn wait(running: &mut [Running], inbox: &mut Inbox) -> Result<(), Halt> {
    let now = Instant::now();
    for one in running.iter_mut().filter(|one| one.is_open() && one.until <= now) {
        one.timed_out = true;
        one.kill();
    }
    let open = running.iter().filter(|one| one.is_open());
    let Some(timeout) = open.map(|one| one.until.saturating_duration_since(now)).min() else {
        return Ok(());
    };
    let (has_input, ready) = {
        let pipes = running.iter().enumerate().flat_map(|(number, one)| {
            [0, 1].into_iter().filter_map(move |which| Some(((number, which), one.pipe(which)?)))
        });
        let (which, mut fds): (Vec<(usize, usize)>, Vec<PollFd<'_>>) = pipes.unzip();
        fds.extend(inbox.stdin());
        let timeout = Timespec::try_from(timeout.max(Duration::from_millis(1))).ok();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Failure::new("cannot wait for a hook").because(&error).into()),
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let has_input = fds.get(which.len()).is_some_and(is_ready);
        let ready: Vec<(usize, usize)> =
            which.iter().zip(&fds).filter(|(_, fd)| is_ready(fd)).map(|(which, _)| *which).collect();
        (has_input, ready)
    };
    for (number, which) in ready {
        running[number].read(which);
    }
    if has_input {
        inbox.pump()?;
    }
    Ok(())
}
