//! The name of the tmux session that this process runs in, queried directly from the tmux server's socket.
//! Running `tmux`, as spec 2's script does, would take longer than the rest of a pulse. The name isn't cached, since a
//! session can be renamed (tests/it/pulse/tmux.rs).
//!
//! Implements protocol version 8, used since tmux 2.1 (tmux-protocol.h): messages with a 16-byte header in native
//! byte order. A client identifies itself, sends one command and, since tmux 3.1, receives its output. Any other
//! answer yields nothing.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// The timeout for each read.
const IO_TIMEOUT: Duration = Duration::from_millis(100);

/// The limit on the total answer.
const MAX_ANSWER: usize = 16 << 10;

const VERSION: u32 = 8;
const HEADER: usize = 16;

const IDENTIFY_FLAGS: u32 = 100;
const IDENTIFY_TERM: u32 = 101;
const IDENTIFY_TTYNAME: u32 = 102;
const IDENTIFY_DONE: u32 = 106;
const IDENTIFY_CLIENTPID: u32 = 107;
const IDENTIFY_CWD: u32 = 108;
/// Marks the client as UTF-8 capable; otherwise the server replaces non-ASCII characters.
const UTF8: u32 = 0x10000;
const COMMAND: u32 = 200;
const EXIT: u32 = 203;
const WRITE_OPEN: u32 = 303;
const WRITE: u32 = 304;
const WRITE_READY: u32 = 305;

/// The name of the session for `TMUX` and `TMUX_PANE`. `None` outside of tmux or if the server doesn't answer.
#[must_use]
pub fn session_name() -> Option<String> {
    let server = std::env::var_os("TMUX")?;
    let pane = std::env::var("TMUX_PANE").ok()?;
    ask(&server, &pane).ok().flatten()
}

/// Queries the server in `tmux`, such as `/tmp/tmux-1000/default,4567,0`, for the session of `pane`, such as `%3`.
fn ask(tmux: &OsStr, pane: &str) -> io::Result<Option<String>> {
    // A malformed message crashes the server with all its sessions, so only send a valid pane id.
    let digits = pane.strip_prefix('%').unwrap_or_default();
    let is_pane = (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let socket = tmux.to_str().and_then(|text| text.rsplitn(3, ',').nth(2));
    let (Some(socket), true) = (socket, is_pane) else { return Ok(None) };
    let mut stream = UnixStream::connect(Path::new(socket))?;
    stream.set_read_timeout(Some(IO_TIMEOUT))?;
    stream.set_write_timeout(Some(IO_TIMEOUT))?;
    stream.write_all(&question(pane))?;
    let (mut received, mut output) = (Vec::new(), Vec::new());
    let mut part = [0; 4096];
    while received.len() + output.len() < MAX_ANSWER {
        while let Some((kind, data)) = message(&mut received) {
            match kind {
                WRITE_OPEN => {
                    let stream_number = data.get(..4).unwrap_or_default();
                    stream.write_all(&framed(WRITE_READY, &[stream_number, &[0; 4]].concat()))?;
                }
                WRITE => output.extend_from_slice(data.get(4..).unwrap_or_default()),
                EXIT => return Ok(named(&output)),
                _ => {}
            }
        }
        match stream.read(&mut part)? {
            0 => return Ok(None),
            read => received.extend_from_slice(&part[..read]),
        }
    }
    Ok(None)
}

/// The messages that identify us as a client without a terminal and send the command.
fn question(pane: &str) -> Vec<u8> {
    let words = ["display-message", "-p", "-t", pane, "#{session_name}"];
    let mut command = u32::try_from(words.len()).unwrap_or_default().to_ne_bytes().to_vec();
    for word in words {
        command.extend_from_slice(word.as_bytes());
        command.push(0);
    }
    [
        framed(IDENTIFY_FLAGS, &UTF8.to_ne_bytes()),
        framed(IDENTIFY_TERM, b"dumb\0"),
        framed(IDENTIFY_TTYNAME, b"\0"),
        framed(IDENTIFY_CWD, b"/\0"),
        framed(IDENTIFY_CLIENTPID, &std::process::id().to_ne_bytes()),
        framed(IDENTIFY_DONE, b""),
        framed(COMMAND, &command),
    ]
    .concat()
}

fn framed(kind: u32, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(HEADER + data.len()).unwrap_or_default();
    let mut message = kind.to_ne_bytes().to_vec();
    message.extend_from_slice(&length.to_ne_bytes());
    message.extend_from_slice(&[0; 2]);
    message.extend_from_slice(&VERSION.to_ne_bytes());
    message.extend_from_slice(&u32::MAX.to_ne_bytes());
    message.extend_from_slice(data);
    message
}

/// Removes the first complete message from `received`.
fn message(received: &mut Vec<u8>) -> Option<(u32, Vec<u8>)> {
    let kind = u32::from_ne_bytes(received.get(..4)?.try_into().ok()?);
    let length = usize::from(u16::from_ne_bytes(received.get(4..6)?.try_into().ok()?));
    let data = received.get(HEADER..length.max(HEADER))?.to_vec();
    received.drain(..length.max(HEADER));
    Some((kind, data))
}

fn named(output: &[u8]) -> Option<String> {
    let name = str::from_utf8(output).ok()?.trim_end_matches('\n');
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// Runs a query against a server that sends `answer` and then hangs up.
    fn asked(answer: Vec<u8>, pane: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a,b");
        let listener = UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut question = vec![0; question("%3").len()];
            client.read_exact(&mut question).unwrap();
            client.write_all(&answer).unwrap();
            client.shutdown(std::net::Shutdown::Write).unwrap();
            client.read_to_end(&mut Vec::new()).unwrap();
            question
        });
        let name = ask(format!("{},12,0", path.display()).as_ref(), pane).ok().flatten();
        let question = server.join().unwrap();
        assert!(question.ends_with(b"display-message\0-p\0-t\0%3\0#{session_name}\0"));
        name
    }

    #[test]
    fn the_servers_answer_is_the_session_name() {
        let open = framed(WRITE_OPEN, &[1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        let write = |text: &str| framed(WRITE, &[&[1, 0, 0, 0], text.as_bytes()].concat());
        let exit = framed(EXIT, &[0; 4]);
        let of = |parts: &[&[u8]]| asked(parts.concat(), "%3");
        assert_eq!(of(&[&open, &write("site 1"), &write("\n"), &exit]).as_deref(), Some("site 1"));
        // No name for a pane that is gone, a server that exits, or an unexpected message.
        assert_eq!(of(&[&open, &write("\n"), &exit]), None);
        assert_eq!(of(&[&open, &write("site")]), None);
        assert_eq!(of(&[&[0; 400]]), None);
        assert_eq!(of(&[&[255; 400]]), None);
        assert_eq!(of(&[&exit[..10]]), None);
    }

    #[test]
    fn only_valid_pane_ids_are_sent() {
        for pane in ["", "3", "%", "%x", "%3 ; kill-server", "%-1", "%+1"] {
            assert_eq!(ask("/nowhere/tmux,1,0".as_ref(), pane).unwrap(), None, "{pane:?}");
        }
        assert!(ask("/nowhere/tmux,1,0".as_ref(), "%3").is_err());
        assert!(ask("tmux".as_ref(), "%3").unwrap().is_none());
    }
}
