//! `fake-claude` stands where `claude` stands on PATH and plays a recorded run.
//!
//! In come its arguments, its stdin and instructions (environment, `.fake-claude.json`); out go the bytes and
//! the end that the real one once had, or a fault. `docs/fixtures.md` lists the instructions. It starts
//! without tokio and clap, because its own start is part of what is measured with it.

mod argv;
mod child;
mod ending;
mod faults;
mod instructions;
mod log;
mod options;
mod prompt;
mod suggest;

use std::io::{self, Write};
use std::process::ExitCode;

use murmur::replay::{End, FORMAT, Fixture, Run, play};

use argv::Asked;
use instructions::{Instructions, Wrong};

/// What `--version` prints without a fixture.
const VERSION: &str = "2.1.329 (Claude Code)";

fn main() -> ExitCode {
    let argv: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into()).collect();
    if let Some(role) = argv.first().and_then(|word| child::role(word)) {
        return child::stay(role);
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
    let instructions = Instructions::read()?;
    let asked = argv::parse(argv);
    if let Ok(Asked { version: true, .. }) = asked {
        print(&format!("{}\n", fixture(&instructions, VERSION)?.run.version));
        return Ok(ExitCode::SUCCESS);
    }
    ending::catch_signals(&instructions.faults)
        .map_err(|error| Wrong(format!("cannot catch signals: {error}")))?;
    let asked = asked.and_then(|asked| asked.check_root(&instructions.faults).map(|()| asked));
    // What is wrong with the arguments is said before stdin is looked at.
    let stdin = if asked.is_ok() { prompt::read() } else { Vec::new() };
    let children = child::leave(&instructions.faults)?;
    log::append(&instructions, argv, &stdin, &children)?;
    if let Err(said) = asked.and_then(|asked| asked.check(&stdin)) {
        complain(&said);
        return Ok(ExitCode::FAILURE);
    }
    if instructions.say_nothing() {
        return Err(Wrong("nothing to play: set FAKE_CLAUDE_FIXTURE".into()));
    }
    let mut fixture = fixture(&instructions, VERSION)?;
    faults::before(&instructions.faults, &mut fixture);
    let end = play(&fixture, &instructions.pace, &mut io::stdout(), &mut io::stderr());
    let end = end.map_err(|error| Wrong(error.to_string()))?;
    faults::after(&instructions.faults);
    Ok(ending::end(instructions.end(end)))
}

/// The fixture to play; literal text of the instructions takes its place.
fn fixture(instructions: &Instructions, version: &str) -> Result<Fixture, Wrong> {
    let mut fixture = match &instructions.fixture {
        Some(folder) => Fixture::load(folder).map_err(|error| Wrong(error.to_string()))?,
        None => Fixture {
            run: Run {
                format: FORMAT,
                program: "claude".into(),
                version: version.into(),
                argv: Vec::new(),
                cwd: "/workspace".into(),
                env: std::collections::BTreeMap::new(),
                end: End::Code(0),
                duration_ms: 0,
            },
            stdin: Vec::new(),
            stdout: Vec::new(),
            stderr: Vec::new(),
            times: Vec::new(),
        },
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
