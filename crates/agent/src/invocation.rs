//! How an agent is started: arguments, added environment, working folder, prompt on stdin.

use murmur_core::permit::deny_list;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use sys::error::Hinted;

/// The variable with an agent's id, in the environment of the agent and everything it starts.
pub const AGENT_VARIABLE: &str = "MURMUR_AGENT_ID";

/// The variable with murmur's data folder, in the same environment.
pub const DIR_VARIABLE: &str = "MURMUR_DIR";

/// The variable in the environment of every host, which adopts its agent's orphans. Agents don't have it; their
/// processes are found by [`AGENT_VARIABLE`].
pub const HOST_VARIABLE: &str = "MURMUR_HOST";

/// Looks up a variable of the environment that agents inherit; `None` if it is empty.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Looks up a variable of this process, which its agents inherit.
#[must_use]
pub fn own_env(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The `NAME=value` entries that every process of `agent` has in its environment. The data folder is included because
/// users, or data folders, may have agents with the same id.
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

/// A program to start, without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The executable, absolute.
    pub program: PathBuf,
    /// Its arguments, without the program name.
    pub args: Vec<String>,
    /// Variables to set in addition to murmur's own environment.
    pub env: Vec<(&'static str, OsString)>,
    /// Variables to set besides these, for the program alone: hooks that the host runs don't have them.
    pub program_env: Vec<(String, OsString)>,
    /// The working folder.
    pub cwd: PathBuf,
    /// The input for its stdin.
    pub stdin: Vec<u8>,
}

/// What the arguments of a beat express.
#[derive(Debug, Clone, Copy)]
pub struct BeatOptions<'a> {
    /// Maximum number of agent loop iterations.
    pub max_turns: u32,
    /// How much the beat may cost, in US dollars.
    pub max_budget: Option<&'a str>,
    /// The workspace's deny patterns; `None` omits the deny list altogether (`permissions: "skip"`).
    pub deny: Option<&'a [String]>,
    /// The model, or `None` for the user's default.
    pub model: Option<&'a str>,
}

/// The arguments for a beat (spec 0, Claude CLI Invocation). stream-json requires `--verbose`.
#[must_use]
pub fn beat_args(options: BeatOptions<'_>) -> Vec<String> {
    let mut args: Vec<String> = [
        "--print",
        "--dangerously-skip-permissions",
        "--verbose",
        "--output-format",
        "stream-json",
        "--max-turns",
        &options.max_turns.to_string(),
    ]
    .map(str::to_owned)
    .to_vec();
    if let Some(dollars) = options.max_budget {
        args.extend(["--max-budget-usd".to_owned(), dollars.to_owned()]);
    }
    push_deny_list(&mut args, options.deny);
    if let Some(model) = options.model {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    args
}

/// The arguments for a hosted agent, which reads messages on stdin until it is closed. `extra` precedes `guarded`, so
/// that it can't override the hooks.
#[must_use]
pub fn live_args(
    deny: Option<&[String]>,
    model: Option<&str>,
    extra: &[String],
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
    push_deny_list(&mut args, deny);
    if let Some(model) = model {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    args.extend_from_slice(extra);
    args.extend_from_slice(guarded);
    args
}

/// Options with which Claude Code would bypass murmur's hook, or ask somebody else for approval.
const RESERVED: [&str; 6] = [
    "--settings",
    "--setting-sources",
    "--permission-prompt-tool",
    "--permission-mode",
    "--bare",
    "--safe-mode",
];

/// An option that users can't pass to an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} cannot be passed to the agent: it would bypass murmur's hook")]
pub struct ReservedOption(String);

impl Hinted for ReservedOption {
    fn hint(&self) -> Option<String> {
        Some(format!("remove {} from the agent's arguments", self.0))
    }
}

/// Checks that `extra`, arguments for a hosted agent, has no option that would bypass the hooks.
pub fn check_extra_args(extra: &[String]) -> Result<(), ReservedOption> {
    let is_reserved =
        |arg: &&String| RESERVED.contains(&arg.split_once('=').map_or(arg.as_str(), |(name, _)| name));
    extra.iter().find(is_reserved).map_or(Ok(()), |option| Err(ReservedOption(option.clone())))
}

fn push_deny_list(args: &mut Vec<String>, deny: Option<&[String]>) {
    if let Some(own) = deny {
        args.push("--disallowedTools".to_owned());
        args.extend(deny_list::build(own.iter().map(String::as_str)).into_iter().map(str::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skip_omits_the_deny_list_and_the_model_comes_last() {
        let options = BeatOptions { max_turns: 7, max_budget: Some("2.5"), deny: None, model: Some("opus") };
        assert_eq!(
            beat_args(options).join(" "),
            "--print --dangerously-skip-permissions --verbose --output-format stream-json --max-turns 7 --max-budget-usd 2.5 --model opus"
        );
    }

    #[test]
    fn options_that_would_bypass_the_hooks_are_refused() {
        let check = |arg: &str| check_extra_args(&["--verbose".to_owned(), arg.to_owned()]);
        for option in ["--settings", "--settings={}", "--bare", "--permission-mode=plan"] {
            assert_eq!(check(option), Err(ReservedOption(option.to_owned())));
        }
        assert_eq!(check("--add-dir"), Ok(()));
    }

    #[test]
    fn own_patterns_are_added_to_the_defaults() {
        let own = ["Bash(curl *)".to_owned()];
        let args = beat_args(BeatOptions { max_turns: 3, max_budget: None, deny: Some(&own), model: None });
        let at = args.iter().position(|arg| arg == "--disallowedTools").unwrap();
        assert_eq!(args[at + 1..at + 13], deny_list::DEFAULT);
        assert_eq!(args[at + 13..], own);
    }
}
