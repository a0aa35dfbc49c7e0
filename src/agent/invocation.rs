//! How Claude Code is started for one beat: argv, the environment murmur adds, the folder, the prompt on stdin.

use crate::permit::deny;
use std::ffi::OsString;
use std::path::PathBuf;

/// The variable that holds an agent's id, in its environment and in that of everything it starts.
pub const AGENT_VARIABLE: &str = "MURMUR_AGENT_ID";

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
    if let Some(own) = limits.deny {
        args.push("--disallowedTools".to_owned());
        args.extend(deny::union(own.iter().map(String::as_str)).into_iter().map(str::to_owned));
    }
    if let Some(model) = limits.model {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    args
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
    fn own_patterns_are_added_to_the_defaults() {
        let own = ["Bash(curl *)".to_owned()];
        let args = beat_args(Limits { max_turns: 3, deny: Some(&own), model: None });
        let at = args.iter().position(|arg| arg == "--disallowedTools").unwrap();
        assert_eq!(args[at + 1..at + 13], deny::DEFAULT);
        assert_eq!(args[at + 13..], own);
    }
}
