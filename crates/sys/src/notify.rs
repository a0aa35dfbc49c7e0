//! Service notifications to systemd (sd_notify(3)): datagrams to the socket in `NOTIFY_SOCKET`.
//!
//! The crate sd-notify sends from a blocking socket: a service manager that stops reading would stop the daemon's event
//! loop with it.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The variables with which the service manager configures notifications.
const VARIABLES: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// Removes the notification variables from `command`'s environment. Otherwise an agent's tools could notify the
/// service manager in the daemon's name.
pub fn keep_from(command: &mut Command) {
    for name in VARIABLES {
        command.env_remove(name);
    }
}

/// The service manager that started this process and wants notifications.
#[derive(Debug)]
pub struct Manager {
    socket: UnixDatagram,
    watchdog: Option<Duration>,
}

impl Manager {
    /// Connects to the service manager from `NOTIFY_SOCKET`. `WATCHDOG_USEC` applies if `WATCHDOG_PID` is this
    /// process.
    pub fn find() -> io::Result<Option<Self>> {
        let [address, span, pid] = VARIABLES.map(std::env::var_os);
        let Some(address) = address.filter(|address| !address.is_empty()) else { return Ok(None) };
        let text = |value: Option<std::ffi::OsString>| value.and_then(|value| value.into_string().ok());
        Self::connect(&address, text(span).as_deref(), text(pid).as_deref()).map(Some)
    }

    fn connect(address: &OsStr, span: Option<&str>, pid: Option<&str>) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        match address.as_bytes() {
            #[cfg(target_os = "linux")]
            [b'@', name @ ..] => {
                use std::os::linux::net::SocketAddrExt;
                socket.connect_addr(&std::os::unix::net::SocketAddr::from_abstract_name(name)?)?;
            }
            _ => socket.connect(Path::new(address))?,
        }
        // Never block on a manager that doesn't read.
        socket.set_nonblocking(true)?;
        let is_ours = pid.is_none_or(|pid| pid.parse() == Ok(std::process::id()));
        let span = span.filter(|_| is_ours).and_then(|span| span.parse().ok()).filter(|span| *span > 0);
        Ok(Self { socket, watchdog: span.map(Duration::from_micros) })
    }

    /// Reports that the service is ready.
    pub fn ready(&self) -> io::Result<()> {
        self.send("READY=1")
    }

    /// Reports that the service is stopping.
    pub fn stopping(&self) -> io::Result<()> {
        self.send("STOPPING=1")
    }

    /// Reports that the service is alive.
    pub fn alive(&self) -> io::Result<()> {
        self.send("WATCHDOG=1")
    }

    /// The interval for [`Self::alive`]: half the watchdog timeout. `None` if there is no watchdog.
    #[must_use]
    pub fn alive_every(&self) -> Option<Duration> {
        self.watchdog.map(|span| span / 2)
    }

    fn send(&self, what: &str) -> io::Result<()> {
        self.socket.send(what.as_bytes()).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_notifications_and_reads_the_watchdog_timeout() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let ours = std::process::id().to_string();
        let manager = Manager::connect(path.as_os_str(), Some("3000000"), Some(&ours)).unwrap();
        assert_eq!(manager.alive_every(), Some(Duration::from_millis(1500)));
        let mut buffer = [0; 64];
        type Tell = fn(&Manager) -> io::Result<()>;
        let tells: [(Tell, &str); 3] =
            [(Manager::ready, "READY=1"), (Manager::alive, "WATCHDOG=1"), (Manager::stopping, "STOPPING=1")];
        for (tell, expected) in tells {
            tell(&manager).unwrap();
            let read = socket.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..read], expected.as_bytes());
        }
        // Another process's watchdog, or an invalid value, is ignored.
        for (span, pid) in
            [(Some("3000000"), Some("1")), (Some("x"), None), (Some("0"), None), (None, Some(&*ours))]
        {
            let manager = Manager::connect(path.as_os_str(), span, pid).unwrap();
            assert_eq!(manager.alive_every(), None, "{span:?} {pid:?}");
        }
        // A process that another test has just forked may still have it open. macOS can't shut it down.
        let _macos = socket.shutdown(std::net::Shutdown::Both);
        drop(socket);
        assert!(manager.ready().is_err());
        assert!(Manager::connect(OsStr::new("/nowhere/notify"), None, None).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn abstract_sockets_work_as_well() {
        use std::os::linux::net::SocketAddrExt;
        let name = format!("murmur-test-{}", std::process::id());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        Manager::connect(OsStr::new(&format!("@{name}")), None, None).unwrap().ready().unwrap();
        let mut buffer = [0; 64];
        let read = socket.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..read], b"READY=1");
    }
}
