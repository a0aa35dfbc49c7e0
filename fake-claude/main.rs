//! `fake-claude` stands where `claude` stands on PATH and plays a recorded run.
//!
//! In come its arguments, its stdin and instructions (environment, `.fake-claude.json`); out go the bytes and
//! the end that the real one once had, or a fault. `docs/fixtures.md` lists the instructions. It starts
//! without tokio and clap, because its own start is part of what is measured with it.

mod act;
mod argv;
mod ask;
mod burst;
mod child;
mod echo;
mod ending;
mod faults;
mod instructions;
mod live;
mod log;
mod options;
mod player;
mod prompt;
mod script;
mod suggest;
mod turns;

use std::io::{self, Write};
use std::process::ExitCode;

use murmur::replay::{Asking, AskingWriter, End, Fixture, play};

use argv::Asked;
use echo::Echo;
use instructions::{Instructions, Wrong};
use script::Script;

/// What `--version` prints without a fixture.
const VERSION: &str = "2.1.329 (Claude Code)";

fn main() -> ExitCode {
    let argv: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into()).collect();
    if let Some(role) = argv.first().and_then(|word| child::role(word)) {
        return child::stay(role);
    }
    if let [word, socket, count @ ..] = &*argv
        && word == ask::WORD
    {
        return ask::ask(socket, count.first().map(String::as_str));
    }
    if let [word, socket] = &*argv
        && word == ask::LISTEN
    {
        return ask::listen(socket);
    }
    match run(&argv) {
        Ok(code) => code,
        Err(Wrong(said)) => {
            complain(&format!("fake-claude: {said}"));
            ExitCode::from(70)
        }
    }
}

fn run(argv: &[String]) -> Result<ExitCode, Wrong> {
    if argv.first().is_some_and(|word| word == "--help-faults") {
        print(faults::HELP);
        return Ok(ExitCode::SUCCESS);
    }
    if argv.first().is_some_and(|word| word == "--help" || word == "-h") {
        print(instructions::HELP);
        return Ok(ExitCode::SUCCESS);
    }
    let instructions = Instructions::read()?;
    let asked = argv::parse(argv);
    if let Ok(Asked { version: true, .. }) = asked {
        print(&format!("{}\n", version(&instructions)?));
        return Ok(ExitCode::SUCCESS);
    }
    ending::catch_signals(&instructions.faults)
        .map_err(|error| Wrong(format!("cannot catch signals: {error}")))?;
    let asked = asked.and_then(|asked| asked.check_root(&instructions.faults).map(|()| asked));
    // What is wrong with the arguments is said before stdin is looked at; a live agent reads it as it goes.
    let whole = asked.as_ref().is_ok_and(|asked| !asked.is_live());
    let stdin = if whole { prompt::read() } else { Vec::new() };
    let children = child::leave(&instructions.faults)?;
    log::append(&instructions, argv, &stdin, &children)?;
    let asked = match asked.and_then(|asked| asked.check(&stdin).map(|()| asked)) {
        Ok(asked) => asked,
        Err(said) => {
            complain(&said);
            return Ok(ExitCode::FAILURE);
        }
    };
    if instructions.say_nothing() {
        return Err(Wrong(
            "nothing to play: set FAKE_CLAUDE_SCRIPT or FAKE_CLAUDE_FIXTURE (see fake-claude --help)".into(),
        ));
    }
    if let Some(script) = &instructions.script {
        let script = Script::read(script)?;
        let mut blank = echo::blank(VERSION);
        faults::before(&instructions.faults, &mut blank);
        let prompt = (!asked.is_live()).then_some(&stdin[..]);
        let end = act::run(&instructions, &asked, &script, &version(&instructions)?, prompt)?;
        faults::after(&instructions.faults);
        return Ok(ending::end(end));
    }
    let fixture = fixture(&instructions, VERSION)?;
    let end = if asked.is_live() {
        live::run(&instructions, &fixture, asked.replay)?
    } else {
        beat(&instructions, fixture, &stdin)?
    };
    Ok(ending::end(end))
}

/// The version that it says it is.
fn version(instructions: &Instructions) -> Result<String, Wrong> {
    match &instructions.version {
        Some(version) => Ok(format!("{version} (Claude Code)")),
        None => Ok(fixture(instructions, VERSION)?.run.version),
    }
}

/// Whom a recorded run asks about its calls.
fn asking() -> Asking {
    let args: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into()).collect();
    Asking::of(&args)
}

/// Plays what is to be played, once, and says how to end.
fn beat(instructions: &Instructions, mut fixture: Fixture, stdin: &[u8]) -> Result<End, Wrong> {
    if instructions.echo {
        let asked = String::from_utf8_lossy(stdin);
        let stderr = std::mem::take(&mut fixture.stderr);
        fixture = Fixture { stderr, ..Echo::default().turn(&fixture.run.version, asked.trim_end(), None) };
    }
    faults::before(&instructions.faults, &mut fixture);
    let end = if instructions.burst.is_some() {
        live::beat(instructions, &fixture)?
    } else {
        let mut stdout = AskingWriter(asking(), io::stdout());
        let end = play(&fixture, &instructions.pace, &mut stdout, &mut io::stderr());
        end.map_err(|error| Wrong(error.to_string()))?
    };
    faults::after(&instructions.faults);
    Ok(instructions.end(end))
}

/// The fixture to play; literal text of the instructions takes its place.
fn fixture(instructions: &Instructions, version: &str) -> Result<Fixture, Wrong> {
    let mut fixture = match &instructions.fixture {
        Some(folder) => Fixture::load(folder).map_err(|error| Wrong(error.to_string()))?,
        None => echo::blank(version),
    };
    if let Some(text) = &instructions.stdout {
        fixture.stdout = text.clone().into_bytes();
        fixture.times = vec![0; murmur::replay::lines(&fixture.stdout).count()];
    }
    if let Some(text) = &instructions.stderr {
        fixture.stderr = text.clone().into_bytes();
    }
    Ok(fixture)
}

fn print(text: &str) {
    // Without a reader there is nobody to tell.
    drop(io::stdout().write_all(text.as_bytes()));
}

fn complain(text: &str) {
    drop(writeln!(io::stderr(), "{text}"));
}
