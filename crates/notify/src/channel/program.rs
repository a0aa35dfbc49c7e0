//! Programs that take a message: the user's own, and the desktop's. No shell is involved.

use super::{LIMIT, SendError, Sent};
use crate::message::Message;
use serde_json::json;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use sys::error::Failure;
use sys::process::{Signal, signal_group};
use sys::{failure, shell};

/// What a program gets.
pub(super) struct Input {
    pub(super) stdin: Vec<u8>,
    pub(super) env: Vec<(&'static str, String)>,
}

/// Runs the user's program with the events as JSON on stdin, and the texts in its environment.
pub(super) fn command(argv: &[String], message: &Message) -> Result<Sent, SendError> {
    let events =
        json!({ "version": 1, "title": message.title, "body": message.body, "events": message.events });
    let first = message.events.first();
    let env = vec![
        ("MURMUR_NOTIFY_KIND", message.kind().as_str().to_owned()),
        ("MURMUR_NOTIFY_TITLE", message.title.clone()),
        // A variable that is too long would keep the program from starting.
        ("MURMUR_NOTIFY_BODY", message.cut(32 << 10).0.replace('\0', "")),
        ("MURMUR_NOTIFY_HEARTBEAT", first.and_then(|event| event.heartbeat.clone()).unwrap_or_default()),
    ];
    run(argv, &Input { stdin: format!("{events}\n").into_bytes(), env })
}

/// Shows the message on the desktop.
pub(super) fn desktop(message: &Message) -> Result<Sent, SendError> {
    let (title, body) = (message.title.clone(), message.cut(1000).0.into_owned());
    let argv = if cfg!(target_os = "macos") {
        let script =
            "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
        vec!["osascript".to_owned(), "-e".to_owned(), script.to_owned(), title, body]
    } else {
        // Bodies are markup.
        let body = body.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        vec!["notify-send".to_owned(), "--app-name=murmur".to_owned(), "--".to_owned(), title, body]
    };
    run(&argv, &Input { stdin: Vec::new(), env: Vec::new() })
}

/// Runs `argv` for at most [`LIMIT`], and leaves none of its process group behind.
pub(super) fn run(argv: &[String], input: &Input) -> Result<Sent, SendError> {
    let Some((program, args)) = argv.split_first() else { return Ok(Sent::default()) };
    let mut command = Command::new(program);
    command.args(args).envs(input.env.iter().map(|(name, value)| (name, value.replace('\0', ""))));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let named = shell::word(program);
    let child = command.spawn().map_err(|error| failure!("cannot start {named}").because(&error))?;
    Ok(finish(child, &named, &input.stdin, LIMIT)?)
}

fn finish(mut child: Child, named: &str, stdin: &[u8], limit: Duration) -> Result<Sent, Failure> {
    let (group, pipe) = (child.id(), child.stdin.take());
    let (sender, ended) = mpsc::channel();
    let waiter = std::thread::spawn(move || {
        let _gone = sender.send(child.wait());
    });
    let stdin = stdin.to_vec();
    // A program may end without reading everything; one that neither reads nor ends is killed. Nobody waits for the
    // writer: a process that left the group may keep the pipe open.
    std::thread::spawn(move || pipe.map(|mut pipe| pipe.write_all(&stdin)));
    let status = ended.recv_timeout(limit);
    signal_group(group, Signal::KILL);
    let _finished = waiter.join();
    match status {
        Ok(Ok(status)) if status.success() => Ok(Sent::default()),
        Ok(Ok(status)) => Err(failure!("{named} failed ({status})")),
        Ok(Err(error)) => Err(failure!("cannot wait for {named}").because(&error)),
        Err(_) => Err(failure!("{named} did not end within {limit:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn a_program_that_neither_reads_nor_ends_is_killed_with_its_children() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & sleep 1000"]).process_group(0);
        let (mut output, printed) = std::io::pipe().unwrap();
        let child = command.stdin(Stdio::piped()).stdout(printed).spawn().unwrap();
        drop(command);
        let error = finish(child, "sh", &vec![b'x'; 1 << 20], Duration::from_millis(200)).unwrap_err();
        assert_eq!(error.line(), "sh did not end within 200ms");
        // The output ends when no process has it anymore.
        assert_eq!(output.read_to_end(&mut Vec::new()).unwrap(), 0);
    }
}
