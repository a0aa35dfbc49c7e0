//! How Claude Code is started for one beat: argv, the environment murmur adds, the folder, the prompt on stdin.

use crate::error::Hinted;
use crate::permit::deny;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The variable that holds an agent's id, in its environment and in that of everything it starts.
pub const AGENT_VARIABLE: &str = "MURMUR_AGENT_ID";

/// The variable that holds murmur's data folder there.
pub const DIR_VARIABLE: &str = "MURMUR_DIR";

/// The variable that every host has, to which its agent's orphans are handed. Not in the environment of agents, whose
/// processes are told by [`AGENT_VARIABLE`].
pub const HOST_VARIABLE: &str = "MURMUR_HOST";

/// What the environment of every process of `agent` has in it, as `NAME=value`: two users of one machine, or two data
/// folders, may have agents of one name.
#[must_use]
pub fn marks(agent: &str, data_dir: Option<&Path>) -> Vec<OsString> {
    let mark = |name: &str, value: &OsStr| {
        let mut mark = OsString::from(format!("{name}="));
        mark.push(value);
        mark
    };
    let agent = mark(AGENT_VARIABLE, OsStr::new(agent));
    let dir = data_dir.map(|dir| mark(DIR_VARIABLE, dir.as_os_str()));
    std::iter::once(agent).chain(dir).collect()
}

/// A program to start, in full. Nothing is left to a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The executable, absolute.
    pub program: PathBuf,
    /// Its arguments, without the program's own name.
    pub args: Vec<String>,
    /// What is set in its environment, on top of murmur's own.
    pub env: Vec<(&'static str, OsString)>,
    /// The folder it runs in.
    pub cwd: PathBuf,
    /// What it reads on stdin.
    pub stdin: Vec<u8>,
}

/// What a beat may do and for how long, as far as argv says it.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    /// The most agent loop iterations.
    pub max_turns: u32,
    /// The deny patterns of the workspace; `None` leaves the deny list out altogether (`permissions: "skip"`).
    pub deny: Option<&'a [String]>,
    /// The model, where it is not the user's default.
    pub model: Option<&'a str>,
}

/// The arguments of a beat (spec 0, Claude CLI Invocation). `--verbose` is there because stream-json requires it.
#[must_use]
pub fn beat_args(limits: Limits<'_>) -> Vec<String> {
    let mut args: Vec<String> = [
        "--print",
        "--dangerously-skip-permissions",
        "--verbose",
        "--output-format",
        "stream-json",
        "--max-turns",
        &limits.max_turns.to_string(),
    ]
    .map(str::to_owned)
    .to_vec();
    deny_list(&mut args, limits.deny);
    if let Some(model) = limits.model {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    args
}

/// The arguments of a live agent, which reads messages on stdin until that is closed. `more` comes before `guarded`, so
/// that none of them can take the hooks away.
#[must_use]
pub fn live_args(
    deny: Option<&[String]>,
    model: Option<&str>,
    more: &[String],
    guarded: &[String],
) -> Vec<String> {
    let mut args: Vec<String> = [
        "--print",
        "--dangerously-skip-permissions",
        "--verbose",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
    ]
    .map(str::to_owned)
    .to_vec();
    deny_list(&mut args, deny);
    if let Some(model) = model {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    args.extend_from_slice(more);
    args.extend_from_slice(guarded);
    args
}

/// Options by which Claude Code would not come to murmur's hook, or ask others than murmur.
const TAKEN: [&str; 6] = [
    "--settings",
    "--setting-sources",
    "--permission-prompt-tool",
    "--permission-mode",
    "--bare",
    "--safe-mode",
];

/// An argument that murmur does not hand on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is murmur's own to say: without it no call would come to murmur's hook")]
pub struct Taken(String);

impl Hinted for Taken {
    fn hint(&self) -> Option<String> {
        Some("leave it out".to_owned())
    }
}

/// That none of `more`, arguments for a live agent, takes the hooks away.
///
/// # Errors
/// The first that does.
pub fn check_more(more: &[String]) -> Result<(), Taken> {
    let option = |arg: &&String| TAKEN.contains(&arg.split_once('=').map_or(arg.as_str(), |(name, _)| name));
    more.iter().find(option).map_or(Ok(()), |taken| Err(Taken(taken.clone())))
}

fn deny_list(args: &mut Vec<String>, deny: Option<&[String]>) {
    if let Some(own) = deny {
        args.push("--disallowedTools".to_owned());
        args.extend(deny::union(own.iter().map(String::as_str)).into_iter().map(str::to_owned));
    }
}

/// The line by which a live agent is told `text`.
#[must_use]
pub fn user_message(text: &str) -> Vec<u8> {
    let message = serde_json::json!({ "type": "user", "message": { "role": "user", "content": text } });
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skip_leaves_the_deny_list_out_and_the_model_comes_last() {
        let limits = Limits { max_turns: 7, deny: None, model: Some("opus") };
        assert_eq!(
            beat_args(limits).join(" "),
            "--print --dangerously-skip-permissions --verbose --output-format stream-json --max-turns 7 --model opus"
        );
    }

    #[test]
    fn what_would_take_the_hooks_away_is_not_handed_on() {
        let more = |arg: &str| check_more(&["--verbose".to_owned(), arg.to_owned()]);
        for taken in ["--settings", "--settings={}", "--bare", "--permission-mode=plan"] {
            assert_eq!(more(taken), Err(Taken(taken.to_owned())));
        }
        assert_eq!(more("--add-dir"), Ok(()));
    }

    #[test]
    fn own_patterns_are_added_to_the_defaults() {
        let own = ["Bash(curl *)".to_owned()];
        let args = beat_args(Limits { max_turns: 3, deny: Some(&own), model: None });
        let at = args.iter().position(|arg| arg == "--disallowedTools").unwrap();
        assert_eq!(args[at + 1..at + 13], deny::DEFAULT);
        assert_eq!(args[at + 13..], own);
    }
}
