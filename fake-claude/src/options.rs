//! The options of Claude Code 2.1.329, including the unlisted ones.

/// The arguments of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    One,
    Maybe,
    Many,
}

/// An option: its names, the name and kind of its value, and whether `--help` lists it.
pub(crate) struct Opt {
    pub(crate) names: &'static [&'static str],
    pub(crate) value: &'static str,
    pub(crate) takes: Takes,
    pub(crate) listed: bool,
}

const fn option(names: &'static [&'static str], value: &'static str, takes: Takes) -> Opt {
    Opt { names, value, takes, listed: true }
}

const fn hidden(names: &'static [&'static str], value: &'static str, takes: Takes) -> Opt {
    Opt { names, value, takes, listed: false }
}

use Takes::{Many, Maybe, Nothing, One};

pub(crate) const ALL: &[Opt] = &[
    option(&["--add-dir"], "directories...", Many),
    option(&["--agent"], "agent", One),
    option(&["--agents"], "json-or-file", One),
    option(&["--allow-dangerously-skip-permissions"], "", Nothing),
    option(&["--allowedTools", "--allowed-tools"], "tools...", Many),
    option(&["--append-system-prompt"], "prompt", One),
    option(&["--autocompact"], "auto|tokens", One),
    option(&["--ax-screen-reader"], "", Nothing),
    option(&["--bg", "--background"], "", Nothing),
    option(&["--bare"], "", Nothing),
    option(&["--betas"], "betas...", Many),
    option(&["--brief"], "", Nothing),
    option(&["--chrome"], "", Nothing),
    option(&["--cloud"], "description|session_id|url", Maybe),
    option(&["-c", "--continue"], "", Nothing),
    option(&["--dangerously-skip-permissions"], "", Nothing),
    option(&["-d", "--debug"], "filter", Maybe),
    option(&["--debug-file"], "path", One),
    option(&["--desktop"], "", Nothing),
    option(&["--disable-slash-commands"], "", Nothing),
    option(&["--disallowedTools", "--disallowed-tools"], "tools...", Many),
    option(&["--effort"], "level", One),
    option(&["--environment"], "environment_id", One),
    option(&["--exclude-dynamic-system-prompt-sections"], "", Nothing),
    option(&["--fallback-model"], "model", One),
    option(&["--file"], "specs...", Many),
    option(&["--fork-session"], "", Nothing),
    option(&["--forward-subagent-text"], "", Nothing),
    option(&["--from-pr"], "value", Maybe),
    option(&["-h", "--help"], "", Nothing),
    option(&["--ide"], "", Nothing),
    option(&["--include-hook-events"], "", Nothing),
    option(&["--include-partial-messages"], "", Nothing),
    option(&["--input-format"], "format", One),
    option(&["--json-schema"], "schema", One),
    option(&["--max-budget-usd"], "amount", One),
    option(&["--mcp-config"], "configs...", Many),
    option(&["--model"], "model", One),
    option(&["-n", "--name"], "name", One),
    option(&["--no-chrome"], "", Nothing),
    option(&["--no-session-persistence"], "", Nothing),
    option(&["--output-format"], "format", One),
    option(&["--permission-mode"], "mode", One),
    option(&["--permission-prompts"], "target", One),
    option(&["--plugin-dir"], "path", One),
    option(&["--plugin-url"], "url", One),
    option(&["-p", "--print"], "", Nothing),
    option(&["--prompt-suggestions"], "value", Maybe),
    option(&["--remote-control"], "name", Maybe),
    option(&["--remote-control-session-name-prefix"], "prefix", One),
    option(&["--replay-user-messages"], "", Nothing),
    option(&["--restricted"], "", Nothing),
    option(&["-r", "--resume"], "value", Maybe),
    option(&["--safe-mode"], "", Nothing),
    option(&["--session-id"], "uuid", One),
    option(&["--setting-sources"], "sources", One),
    option(&["--settings"], "file-or-json", One),
    option(&["--strict-mcp-config"], "", Nothing),
    option(&["--system-prompt"], "prompt", One),
    option(&["--system-prompt-snapshot"], "on|off", One),
    option(&["--teleport"], "session", Maybe),
    option(&["--tmux"], "", Nothing),
    option(&["--tools"], "tools...", Many),
    option(&["--verbose"], "", Nothing),
    option(&["-v", "--version"], "", Nothing),
    option(&["-w", "--worktree"], "name", Maybe),
    hidden(&["--append-system-prompt-file"], "file", One),
    hidden(&["--max-thinking-tokens"], "tokens", One),
    hidden(&["--max-turns"], "turns", One),
    hidden(&["--permission-prompt-tool"], "tool", One),
    hidden(&["--resume-session-at"], "message id", One),
    hidden(&["--sdk-url"], "url", One),
    hidden(&["--system-prompt-file"], "file", One),
    hidden(&["--thinking"], "mode", One),
];

/// Finds an option by its name.
pub(crate) fn find(name: &str) -> Option<&'static Opt> {
    ALL.iter().find(|option| option.names.contains(&name))
}
