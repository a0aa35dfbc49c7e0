//! The system log (syslog(3)), for errors that must reach the user when nothing else can.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// The system log's socket.
pub const SOCKET: &str = "/dev/log";

/// Facility `daemon`, level `err`.
const PRIORITY: u32 = 3 * 8 + 3;

/// Sends `text`, a single line, as an error to the system log at `socket` without blocking.
pub fn report(socket: &Path, text: &str) -> io::Result<()> {
    let log = UnixDatagram::unbound()?;
    log.set_nonblocking(true)?;
    log.connect(socket)?;
    log.send(format!("<{PRIORITY}>murmur[{}]: {text}", std::process::id()).as_bytes()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_sent_and_a_missing_log_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("log");
        assert!(report(&socket, "nobody").is_err());
        let log = UnixDatagram::bind(&socket).unwrap();
        report(&socket, "the data folder /data was deleted").unwrap();
        let mut line = [0; 200];
        let length = log.recv(&mut line).unwrap();
        let expected = format!("<27>murmur[{}]: the data folder /data was deleted", std::process::id());
        assert_eq!(String::from_utf8_lossy(&line[..length]), expected);
    }
}
