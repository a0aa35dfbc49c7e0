//! `fake-model SCRIPT.json [--port N] [--requests DIR] [--until-stdin-closes]`: a server that plays a script in the
//! Messages API, the Responses API, the Chat Completions API and the Gemini API.
//!
//! It listens only on 127.0.0.1, so that a real agent runs without credentials and without a network. It prints
//! `listening PORT` when it is ready. `fake-claude/README.md` documents the script.

mod chat;
mod gemini;
mod http;
mod reply;
mod responses;
mod script;
mod server;

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use script::Script;
use server::Server;

const USAGE: &str = "usage: fake-model SCRIPT.json [--port N] [--requests DIR] [--until-stdin-closes]";

struct Arguments {
    script: PathBuf,
    port: u16,
    requests: Option<PathBuf>,
    until_stdin_closes: bool,
}

fn main() -> ExitCode {
    let Some(arguments) = parse(std::env::args().skip(1)) else {
        return fail(2, USAGE);
    };
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(1, &format!("fake-model: {error}")),
    }
}

fn fail(code: u8, said: &str) -> ExitCode {
    // stderr may be closed.
    drop(writeln!(io::stderr(), "{said}"));
    ExitCode::from(code)
}

fn parse(mut words: impl Iterator<Item = String>) -> Option<Arguments> {
    let (mut script, mut port, mut requests, mut until_stdin_closes) = (None, 0, None, false);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--port" => port = words.next()?.parse().ok()?,
            "--requests" => requests = Some(words.next()?.into()),
            "--until-stdin-closes" => until_stdin_closes = true,
            _ if word.starts_with('-') || script.is_some() => return None,
            _ => script = Some(word.into()),
        }
    }
    Some(Arguments { script: script?, port, requests, until_stdin_closes })
}

fn run(arguments: Arguments) -> io::Result<()> {
    let named = |path: &std::path::Path, error: &dyn std::fmt::Display| {
        io::Error::other(format!("{}: {error}", path.display()))
    };
    let text = std::fs::read(&arguments.script).map_err(|error| named(&arguments.script, &error))?;
    let script = Script::parse(&text).map_err(|error| named(&arguments.script, &error))?;
    if let Some(folder) = &arguments.requests {
        std::fs::create_dir_all(folder).map_err(|error| named(folder, &error))?;
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port))?;
    let port = listener.local_addr()?.port();
    let server = Arc::new(Server::new(script, arguments.requests));
    writeln!(io::stdout(), "listening {port}")?;
    let serve = move || server.serve(&listener);
    if arguments.until_stdin_closes {
        // The process ends with main, and its threads with it.
        std::thread::spawn(serve);
        io::copy(&mut io::stdin(), &mut io::sink())?;
        return Ok(());
    }
    serve()
}
