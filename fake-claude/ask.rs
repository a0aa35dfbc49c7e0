//! A tool's process that speaks with murmur on a socket of its: one line from stdin, one line to stdout.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// The first argument that asks for this; the second is the socket, and the third how many connections to make, and keep.
pub(crate) const WORD: &str = "--fake-claude-ask";

/// The first argument that has it listen where the second says, in a server's place.
pub(crate) const LISTEN: &str = "--fake-claude-listen";

/// Listens on the socket, and answers what stands on stdin to the first line of each connection, which it keeps.
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

/// How long connections are kept, unless this process is ended.
const LIFE: Duration = Duration::from_secs(60);

/// Asks what stands on stdin on the socket, and prints the answer. On each of several connections it asks, prints every answer,
/// and then keeps them.
pub(crate) fn ask(socket: &str, count: Option<&str>) -> ExitCode {
    let asked = || -> io::Result<()> {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line)?;
        let connect = || -> io::Result<BufReader<UnixStream>> {
            let mut stream = UnixStream::connect(socket)?;
            // Whoever is turned away may be so before it has asked.
            let _turned_away = stream.write_all(line.as_bytes());
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
