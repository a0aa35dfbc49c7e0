//! Instructions for fake-claude: from the environment, overridden by `.fake-claude.json` in the current folder.
//!
//! The names correspond: `FAKE_CLAUDE_PACE` is `pace` in the file.

use std::path::{Path, PathBuf};

use fake_claude::replay::{End, Pace};
use serde::Deserialize;
use serde_json::Value;
use sys::error::Failure;
use sys::failure;

use crate::burst::Burst;
use crate::faults::{Fault, Faults};

const FILE: &str = ".fake-claude.json";

/// The default time scale: ten retries take less than two seconds.
const SCALE: f64 = 0.01;

/// The output of `--help`.
pub(crate) const HELP: &str = "\
fake-claude replaces claude in tests: it needs no account, no network and no model.

Choose what to replay, using one of:
  FAKE_CLAUDE_SCRIPT=FILE    the model's messages and calls: [[{\"type\":\"text\",\"text\":\"HEARTBEAT_OK\"}]]
  FAKE_CLAUDE_FIXTURE=DIR    a run recorded with murmur record
  FAKE_CLAUDE_STDOUT=TEXT    this text; FAKE_CLAUDE_STDERR=TEXT likewise
  FAKE_CLAUDE_LIVE=echo      turns that repeat their prompt
Options:
  FAKE_CLAUDE_FAULT=A,B      faults to inject; see fake-claude --help-faults
  FAKE_CLAUDE_EXIT=N         the exit code
  FAKE_CLAUDE_PACE=WORD      instant, recorded or gate:FIFO
  FAKE_CLAUDE_SCALE=0.01     scale of delays before retries and for tasks
  FAKE_CLAUDE_BURST=N:BYTES  N extra lines of BYTES bytes before each result
  FAKE_CLAUDE_VERSION=2.1.197
                             the version to report
  FAKE_CLAUDE_LOG=FILE       log file, one line per run: arguments, folder, environment, stdin
A .fake-claude.json in the current folder sets the same options: {\"script\": \"tests/passes.json\"}
Paths are relative to the current folder. See also fake-claude/README.md and fake-claude/testing.md
";

/// The instructions.
#[derive(Debug)]
pub(crate) struct Instructions {
    pub(crate) fixture: Option<PathBuf>,
    pub(crate) log: Option<PathBuf>,
    pub(crate) pace: Pace,
    pub(crate) faults: Faults,
    pub(crate) stdout: Option<String>,
    pub(crate) stderr: Option<String>,
    pub(crate) exit: Option<i32>,
    /// Generate turns that repeat the message.
    pub(crate) echo: bool,
    pub(crate) burst: Option<Burst>,
    /// Play this script, or the file of this name, instead of a recording.
    pub(crate) script: Option<Value>,
    pub(crate) version: Option<String>,
    /// What Codex reports of the limits of a login: `primary` and `secondary`. Without it, nobody is logged in.
    pub(crate) limits: Option<Value>,
    /// The cost of each message from the model, in US dollars.
    pub(crate) cost: f64,
    /// The duration of one second of Claude Code's waiting time, in seconds.
    pub(crate) scale: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    fixture: Option<PathBuf>,
    log: Option<PathBuf>,
    pace: Option<String>,
    faults: Option<Vec<String>>,
    stdout: Option<String>,
    stderr: Option<String>,
    exit: Option<i32>,
    live: Option<String>,
    burst: Option<Count>,
    script: Option<Value>,
    version: Option<String>,
    limits: Option<Value>,
    scale: Option<f64>,
    #[serde(rename = "costUsd", default)]
    cost: f64,
}

/// A number of lines, optionally with a size.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a burst is a number of lines, or \"N:BYTES\"")]
enum Count {
    Lines(u64),
    Text(String),
}

impl Instructions {
    pub(crate) fn read() -> Result<Self, Failure> {
        let (file, env) = (from_file()?, from_environment()?);
        let pace = file.pace.or(env.pace).map(|word| parse_pace(&word)).transpose()?;
        let words = file.faults.or(env.faults).unwrap_or_default();
        let faults = words.iter().map(|word| Fault::parse(word)).collect::<Result<_, _>>()?;
        let burst = file.burst.or(env.burst).map(|count| match count {
            Count::Lines(lines) => Burst::parse(&lines.to_string()),
            Count::Text(text) => Burst::parse(&text),
        });
        let scale = file.scale.or(env.scale).unwrap_or(SCALE);
        if !scale.is_finite() || scale < 0.0 {
            return Err(failure!("invalid scale: {scale} (must be at least 0)"));
        }
        let instructions = Self {
            fixture: file.fixture.or(env.fixture),
            log: file.log.or(env.log),
            pace: pace.unwrap_or(Pace::Instant),
            faults: Faults(faults),
            stdout: file.stdout.or(env.stdout),
            stderr: file.stderr.or(env.stderr),
            exit: file.exit.or(env.exit),
            echo: file.live.or(env.live).map(|word| parse_live(&word)).transpose()?.is_some(),
            burst: burst.transpose()?,
            script: file.script.or(env.script),
            version: file.version.or(env.version),
            limits: file.limits,
            cost: file.cost,
            scale,
        };
        Ok(instructions)
    }

    /// Whether nothing says what to play.
    pub(crate) fn say_nothing(&self) -> bool {
        let text = self.stdout.is_none() && self.stderr.is_none();
        let made = self.echo || self.burst.is_some() || self.script.is_some();
        self.fixture.is_none() && text && !made && self.exit.is_none() && self.faults.0.is_empty()
    }

    /// Returns how the run ends: as instructed, else as a fault says, else as recorded.
    pub(crate) fn end(&self, recorded: End) -> End {
        self.exit.map(End::Code).or_else(|| self.faults.end()).unwrap_or(recorded)
    }
}

fn from_file() -> Result<Form, Failure> {
    match std::fs::read(FILE) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| Failure::new(FILE).because(&error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Form::default()),
        Err(error) => Err(Failure::new(FILE).because(&error)),
    }
}

fn from_environment() -> Result<Form, Failure> {
    let value =
        |name: &str| std::env::var_os(format!("FAKE_CLAUDE_{name}")).filter(|value| !value.is_empty());
    let text = |name: &str| value(name).map(|value| value.to_string_lossy().into_owned());
    let number =
        |word: String| word.parse().map_err(|_| failure!("FAKE_CLAUDE_EXIT: not an exit code: {word}"));
    let scale = |word: String| word.parse().map_err(|_| failure!("FAKE_CLAUDE_SCALE: not a number: {word}"));
    Ok(Form {
        fixture: value("FIXTURE").map(PathBuf::from),
        log: value("LOG").map(PathBuf::from),
        pace: text("PACE"),
        faults: text("FAULT").map(|list| list.split(',').map(|word| word.trim().to_owned()).collect()),
        stdout: text("STDOUT"),
        stderr: text("STDERR"),
        exit: text("EXIT").map(number).transpose()?,
        live: text("LIVE"),
        burst: text("BURST").map(Count::Text),
        script: text("SCRIPT").map(Value::String),
        version: text("VERSION"),
        limits: None,
        cost: 0.0,
        scale: text("SCALE").map(scale).transpose()?,
    })
}

fn parse_live(word: &str) -> Result<(), Failure> {
    let known = word == "echo";
    known.then_some(()).ok_or_else(|| failure!("unknown live mode: {word} (echo)"))
}

fn parse_pace(word: &str) -> Result<Pace, Failure> {
    match (word, word.strip_prefix("gate:")) {
        ("instant", _) => Ok(Pace::Instant),
        ("recorded", _) => Ok(Pace::Recorded),
        (_, Some(path)) => Ok(Pace::Gate(Path::new(path).into())),
        _ => Err(failure!("unknown pace: {word} (instant, recorded, gate:FIFO)")),
    }
}
