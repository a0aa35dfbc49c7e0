//! The process at the other end of a Unix socket, according to the kernel and not to the process itself.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use tokio::net::UnixStream;

/// The connected process, held by a pidfd so that a reused PID is noticed.
#[derive(Debug)]
pub struct Peer {
    pid: u32,
    #[cfg(target_os = "linux")]
    process: OwnedFd,
}

impl Peer {
    /// Returns the process that connected `stream`.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if it has ended or is in another PID namespace.
    #[cfg(target_os = "linux")]
    pub fn of(stream: &UnixStream) -> io::Result<Self> {
        let pid = peer_pid(stream)?;
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let process = match pidfd(stream) {
            // Before Linux 6.5, open it by PID, which may have been reused since the connection was made.
            Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => {
                super::process::hold(pid).ok_or_else(gone)?
            }
            held => held?,
        };
        let peer = Self { pid, process };
        if peer.is_there() { Ok(peer) } else { Err(gone()) }
    }

    /// Returns the process that connected `stream`.
    #[cfg(not(target_os = "linux"))]
    pub fn of(stream: &UnixStream) -> io::Result<Self> {
        Ok(Self { pid: peer_pid(stream)? })
    }

    /// Its PID.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it is still running, so that its PID is still valid. Always true except on Linux.
    #[must_use]
    pub fn is_there(&self) -> bool {
        #[cfg(target_os = "linux")]
        {
            use rustix::event::{PollFd, PollFlags, Timespec, poll};
            let mut ended = [PollFd::new(&self.process, PollFlags::IN)];
            loop {
                match poll(&mut ended, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
                    // A signal says nothing about the process.
                    Err(rustix::io::Errno::INTR) => {}
                    found => return found == Ok(0),
                }
            }
        }
        #[cfg(not(target_os = "linux"))]
        true
    }
}

/// The PID of the process that listens on the socket that `stream` is connected to (Linux).
#[must_use]
pub fn listener(stream: &std::os::unix::net::UnixStream) -> Option<u32> {
    #[cfg(target_os = "linux")]
    {
        let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
        u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _unknown = stream;
        None
    }
}

fn peer_pid(stream: &UnixStream) -> io::Result<u32> {
    let pid = stream.peer_cred()?.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0);
    pid.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// `SO_PEERPIDFD` (Linux 6.5, unix(7)).
#[cfg(target_os = "linux")]
fn pidfd(stream: &UnixStream) -> io::Result<OwnedFd> {
    use std::os::fd::{AsRawFd, FromRawFd};
    let mut descriptor: libc::c_int = -1;
    let mut length = libc::socklen_t::try_from(size_of::<libc::c_int>()).map_err(io::Error::other)?;
    // SAFETY: the pointers are to locals of the given lengths, and the socket is open.
    #[expect(unsafe_code, reason = "rustix lacks this option")]
    let done = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERPIDFD,
            (&raw mut descriptor).cast(),
            &raw mut length,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just created the descriptor for us, and nothing else owns it.
    #[expect(unsafe_code, reason = "a descriptor that the kernel made is owned from here on")]
    let owned = unsafe { OwnedFd::from_raw_fd(descriptor) };
    Ok(owned)
}

/// The controlling terminal of the process `pid`, such as `/dev/pts/3`. `None` if it has none or it is unknown
/// (only Linux reports it).
#[must_use]
pub fn terminal(pid: u32) -> Option<String> {
    #[cfg(target_os = "linux")]
    {
        // Field 7 of /proc/PID/stat: minor 31..20 and 7..0, major 15..8 (proc_pid_stat(5)).
        let device: u32 = super::identity::stat_fields(pid)?.get(4)?.parse().ok()?;
        let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xfff00);
        match major {
            0 => None,
            4 => Some(format!("/dev/tty{minor}")),
            136..=143 => Some(format!("/dev/pts/{}", (major - 136) << 8 | minor)),
            _ => Some(format!("{major}:{minor}")),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _unknown = pid;
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn the_peer_of_a_connection_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let listener = crate::socket::listen(folder.path(), "s").unwrap();
        let _client = UnixStream::connect(folder.path().join("s")).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let peer = Peer::of(&stream).unwrap();
        assert!(peer.pid() == std::process::id() && peer.is_there());
        assert!(pidfd(&stream).is_ok(), "SO_PEERPIDFD needs Linux 6.5");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_signal_during_the_check_is_not_an_end() {
        use std::sync::Arc;
        use std::sync::atomic::{AtomicBool, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let listener = crate::socket::listen(folder.path(), "s").unwrap();
        let _client = UnixStream::connect(folder.path().join("s")).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let peer = Peer::of(&stream).unwrap();
        let urgent = signal_hook::consts::SIGURG;
        signal_hook::flag::register(urgent, Arc::default()).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        // SAFETY: the call takes no arguments and cannot fail.
        #[expect(unsafe_code, reason = "the signals must reach this thread")]
        let us = unsafe { libc::pthread_self() } as usize;
        let ends = Arc::clone(&over);
        let signals = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                // SAFETY: that thread outlives this one.
                #[expect(unsafe_code, reason = "the signals must reach that thread")]
                let _sent = unsafe { libc::pthread_kill(us as libc::pthread_t, urgent) };
            }
        });
        let is_there = (0..20_000).all(|_| peer.is_there());
        over.store(true, Ordering::Relaxed);
        signals.join().unwrap();
        assert!(is_there);
    }
}
