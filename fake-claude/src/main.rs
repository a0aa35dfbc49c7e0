//! `fake-claude`, a replacement for `claude` on PATH that plays a recorded run; under the name `codex` or that of an
//! ACP agent, a replacement for that.
//!
//! Input: its arguments, stdin and instructions (environment, `.fake-claude.json`). Output: the recorded bytes and
//! exit status, or a fault. `fake-claude/README.md` lists the instructions. Does without tokio and clap,
//! because measurements with it include its startup time.

mod acp;
mod act;
mod argv;
mod ask;
mod burst;
mod child;
mod codex;
mod echo;
mod ending;
mod faults;
mod instructions;
mod live;
mod log;
mod options;
mod player;
mod prompt;
mod rpc;
mod script;
mod suggest;
mod turns;

use std::io::{self, Write};
use std::process::ExitCode;

use fake_claude::replay::{Asking, AskingWriter, End, Fixture, play};
use sys::error::Failure;

use argv::Asked;
use echo::Echo;
use instructions::Instructions;
use script::Script;

/// The output of `--version` without a fixture.
const VERSION: &str = "2.1.329 (Claude Code)";

fn main() -> ExitCode {
    let argv: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into()).collect();
    if let Some(role) = argv.first().and_then(|word| child::role(word)) {
        return child::run(role);
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
    let ran = match name().as_str() {
        "codex" | "fake-codex" => codex::run(&argv),
        "opencode" | "gemini" | "goose" | "claude-agent-acp" | "codex-acp" | "fake-acp" => acp::run(&argv),
        _ => run(&argv),
    };
    match ran {
        Ok(code) => code,
        // The instructions cannot be followed.
        Err(failure) => {
            print_error(&format!("fake-claude: {failure}"));
            ExitCode::from(70)
        }
    }
}

/// The name that it was started by.
fn name() -> String {
    let program = std::env::args_os().next().map(std::path::PathBuf::from).unwrap_or_default();
    program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Prints the help if the arguments ask for it.
fn helped(argv: &[String]) -> bool {
    let help = match argv.first().map(String::as_str) {
        Some("--help-faults") => faults::HELP,
        Some("--help" | "-h") => instructions::HELP,
        _ => return false,
    };
    print(help);
    true
}

fn run(argv: &[String]) -> Result<ExitCode, Failure> {
    if helped(argv) {
        return Ok(ExitCode::SUCCESS);
    }
    let instructions = Instructions::read()?;
    let asked = argv::parse(argv);
    if let Ok(Asked { version: true, .. }) = asked {
        print(&format!("{}\n", version(&instructions)?));
        return Ok(ExitCode::SUCCESS);
    }
    ending::catch_signals(&instructions.faults)
        .map_err(|error| Failure::new("cannot catch signals").because(&error))?;
    let asked = asked.and_then(|asked| asked.check_root(&instructions.faults).map(|()| asked));
    // Argument errors come before stdin is read. A live agent reads stdin as it goes.
    let whole = asked.as_ref().is_ok_and(|asked| !asked.is_live());
    let stdin = if whole { prompt::read() } else { Vec::new() };
    let children = child::start_all(&instructions.faults)?;
    log::append(&instructions, argv, &stdin, &children)?;
    let asked = match asked.and_then(|asked| asked.check(&stdin).map(|()| asked)) {
        Ok(asked) => asked,
        Err(refusal) => {
            print_error(&refusal.to_string());
            return Ok(ExitCode::FAILURE);
        }
    };
    if instructions.say_nothing() {
        return Err(nothing());
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

fn nothing() -> Failure {
    Failure::from("nothing to play: set FAKE_CLAUDE_SCRIPT or FAKE_CLAUDE_FIXTURE (see fake-claude --help)")
}

/// Returns the version to report.
fn version(instructions: &Instructions) -> Result<String, Failure> {
    match &instructions.version {
        Some(version) => Ok(format!("{version} (Claude Code)")),
        None => Ok(fixture(instructions, VERSION)?.run.version),
    }
}

/// Determines the hook that a recorded run asks about its calls.
fn asking() -> Asking {
    let args: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into()).collect();
    Asking::of(&args)
}

/// Plays one run and returns how to end.
fn beat(instructions: &Instructions, mut fixture: Fixture, stdin: &[u8]) -> Result<End, Failure> {
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
        end.map_err(|error| Failure::of(&error))?
    };
    faults::after(&instructions.faults);
    Ok(instructions.end(end))
}

/// Loads the fixture to play, with literal text from the instructions.
fn fixture(instructions: &Instructions, version: &str) -> Result<Fixture, Failure> {
    let mut fixture = match &instructions.fixture {
        Some(folder) => Fixture::load(folder).map_err(|error| Failure::of(&error))?,
        None => echo::blank(version),
    };
    if let Some(text) = &instructions.stdout {
        fixture.stdout = text.clone().into_bytes();
        fixture.times = vec![0; fake_claude::replay::lines(&fixture.stdout).count()];
    }
    if let Some(text) = &instructions.stderr {
        fixture.stderr = text.clone().into_bytes();
    }
    Ok(fixture)
}

fn print(text: &str) {
    // The reader may be gone.
    drop(io::stdout().write_all(text.as_bytes()));
}

fn print_error(text: &str) {
    drop(writeln!(io::stderr(), "{text}"));
}
