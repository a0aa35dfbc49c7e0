//! A tool process that talks to murmur on a socket: it sends one line from stdin and prints one line to stdout.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// The first argument that selects this role. The second is the socket, the third the number of connections to
/// make and keep open.
pub(crate) const WORD: &str = "--fake-claude-ask";

/// The first argument that makes it listen on the socket in the second, in place of a server.
pub(crate) const LISTEN: &str = "--fake-claude-listen";

/// Listens on the socket, answers the first line of each connection with stdin, and keeps the connections open.
pub(crate) fn listen(socket: &str) -> ExitCode {
    let listened = || -> io::Result<()> {
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        let mut kept = Vec::new();
        for stream in UnixListener::bind(socket)?.incoming() {
            let mut stream = stream?;
            BufReader::new(&stream).read_line(&mut String::new())?;
            stream.write_all(answer.as_bytes())?;
            kept.push(stream);
        }
        Ok(())
    };
    if listened().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How long connections stay open unless the process is killed.
const LIFE: Duration = Duration::from_secs(60);

/// Sends stdin to the socket and prints the answer. With `count`, does so on several connections and keeps them
/// open.
pub(crate) fn ask(socket: &str, count: Option<&str>) -> ExitCode {
    let asked = || -> io::Result<()> {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line)?;
        let connect = || -> io::Result<BufReader<UnixStream>> {
            let mut stream = UnixStream::connect(socket)?;
            // The server may refuse the connection before the write.
            let _rejected = stream.write_all(line.as_bytes());
            Ok(BufReader::new(stream))
        };
        let count = count.map_or(Ok(1), str::parse).map_err(io::Error::other)?;
        let mut connections = (0..count).map(|_| connect()).collect::<io::Result<Vec<_>>>()?;
        for connection in &mut connections {
            let mut answer = String::new();
            connection.read_line(&mut answer)?;
            io::stdout().write_all(answer.as_bytes())?;
        }
        io::stdout().flush()?;
        if count > 1 {
            let start = Instant::now();
            while let Some(left) = LIFE.checked_sub(start.elapsed()) {
                thread::park_timeout(left);
            }
        }
        Ok(())
    };
    if asked().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
