//! What fake-claude is to do: from the environment, overridden by `.fake-claude.json` in the current folder.
//!
//! The names are the same in both: `FAKE_CLAUDE_PACE` is the file's `pace`.

use std::path::{Path, PathBuf};

use murmur::replay::{End, Pace};
use serde::Deserialize;
use serde_json::Value;

use crate::burst::Burst;
use crate::faults::{Fault, Faults};

const FILE: &str = ".fake-claude.json";

/// The scale where nothing is said: ten retries take less than two seconds.
const SCALE: f64 = 0.01;

/// What `--help` prints.
pub(crate) const HELP: &str = "\
fake-claude stands where claude would, and plays what it is told: no account, no network, no model.

what it plays, one of:
  FAKE_CLAUDE_SCRIPT=FILE    what the model says and calls, acted: [[{\"type\":\"text\",\"text\":\"HEARTBEAT_OK\"}]]
  FAKE_CLAUDE_FIXTURE=DIR    a run that murmur record has recorded
  FAKE_CLAUDE_STDOUT=TEXT    this text; FAKE_CLAUDE_STDERR=TEXT likewise
  FAKE_CLAUDE_LIVE=echo      turns that say what they were told
beside it:
  FAKE_CLAUDE_FAULT=A,B      what goes wrong; see: fake-claude --help-faults
  FAKE_CLAUDE_EXIT=N         the exit code
  FAKE_CLAUDE_PACE=WORD      instant, recorded or gate:FIFO
  FAKE_CLAUDE_SCALE=0.01     what a second lasts that the real one waits, before it retries or for a task
  FAKE_CLAUDE_BURST=N:BYTES  N more lines before each result, each with so many bytes
  FAKE_CLAUDE_VERSION=2.1.197
                             the version that it says it is
  FAKE_CLAUDE_LOG=FILE       gets a line a run: arguments, folder, environment, stdin
.fake-claude.json in the folder it runs in says the same for that folder: {\"script\": \"tests/passes.json\"}
Paths count from the folder it runs in. All of it: docs/fixtures.md and docs/testing.md
";

/// Instructions that cannot be followed; said on stderr, exit code 70.
#[derive(Debug)]
pub(crate) struct Wrong(pub(crate) String);

/// What is to be done.
#[derive(Debug)]
pub(crate) struct Instructions {
    pub(crate) fixture: Option<PathBuf>,
    pub(crate) log: Option<PathBuf>,
    pub(crate) pace: Pace,
    pub(crate) faults: Faults,
    pub(crate) stdout: Option<String>,
    pub(crate) stderr: Option<String>,
    pub(crate) exit: Option<i32>,
    /// Turns are made up.
    pub(crate) echo: bool,
    pub(crate) burst: Option<Burst>,
    /// Acted, in place of all that is played: a script, or the name of a file with one.
    pub(crate) script: Option<Value>,
    pub(crate) version: Option<String>,
    /// What a second lasts that the real one waits.
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
    scale: Option<f64>,
}

/// A number, or one with a size.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a burst is a number of lines, or \"N:BYTES\"")]
enum Count {
    Lines(u64),
    Text(String),
}

impl Instructions {
    pub(crate) fn read() -> Result<Self, Wrong> {
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
            return Err(Wrong(format!("not a scale: {scale} (0 or more)")));
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
            scale,
        };
        Ok(instructions)
    }

    /// Whether anything says what to play.
    pub(crate) fn say_nothing(&self) -> bool {
        let text = self.stdout.is_none() && self.stderr.is_none();
        let made = self.echo || self.burst.is_some() || self.script.is_some();
        self.fixture.is_none() && text && !made && self.exit.is_none() && self.faults.0.is_empty()
    }

    /// How the run ends: as told, else as a fault says, else as recorded.
    pub(crate) fn end(&self, recorded: End) -> End {
        self.exit.map(End::Code).or_else(|| self.faults.end()).unwrap_or(recorded)
    }
}

fn from_file() -> Result<Form, Wrong> {
    match std::fs::read(FILE) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| Wrong(format!("{FILE}: {error}"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Form::default()),
        Err(error) => Err(Wrong(format!("{FILE}: {error}"))),
    }
}

fn from_environment() -> Result<Form, Wrong> {
    let value =
        |name: &str| std::env::var_os(format!("FAKE_CLAUDE_{name}")).filter(|value| !value.is_empty());
    let text = |name: &str| value(name).map(|value| value.to_string_lossy().into_owned());
    let number =
        |word: String| word.parse().map_err(|_| Wrong(format!("FAKE_CLAUDE_EXIT: not a code: {word}")));
    let scale =
        |word: String| word.parse().map_err(|_| Wrong(format!("FAKE_CLAUDE_SCALE: not a number: {word}")));
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
        scale: text("SCALE").map(scale).transpose()?,
    })
}

fn parse_live(word: &str) -> Result<(), Wrong> {
    let known = word == "echo";
    known.then_some(()).ok_or_else(|| Wrong(format!("unknown way to be live: {word} (echo)")))
}

fn parse_pace(word: &str) -> Result<Pace, Wrong> {
    match (word, word.strip_prefix("gate:")) {
        ("instant", _) => Ok(Pace::Instant),
        ("recorded", _) => Ok(Pace::Recorded),
        (_, Some(path)) => Ok(Pace::Gate(Path::new(path).into())),
        _ => Err(Wrong(format!("unknown pace: {word} (instant, recorded, gate:FIFO)"))),
    }
}
