//! What a manager, an agent that directs others, may do: run commands that match its patterns, and use murmur's own
//! tools.

use super::rules::{Reading, Rules, ShellLine, Wildcard, WriteScope};
use shell_guard::call::Call;

/// The patterns if no permissions.toml sets any.
pub const DEFAULT: [&str; 1] = ["murmur:*"];

/// Returns the patterns of the first file that has any, or else [`DEFAULT`].
#[must_use]
pub fn patterns<'a>(files: &[&'a Rules]) -> Vec<&'a str> {
    let own = files.iter().find_map(|file| file.manager());
    own.map_or_else(|| DEFAULT.to_vec(), |patterns| patterns.iter().map(String::as_str).collect())
}

/// The patterns in the form of Claude Code's `permissions.allow`.
#[must_use]
pub fn allow_settings(patterns: &[&str]) -> Vec<String> {
    patterns.iter().map(|pattern| format!("Bash({pattern})")).collect()
}

/// Whether the manager may make the call: any tool of the MCP server `murmur`, or a shell command in which every
/// command, including those that it runs in turn, matches a pattern and writes no file.
#[must_use]
pub fn is_allowed(patterns: &[&str], call: &Call, reading: Reading<'_>) -> bool {
    let Some(raw) = call.command() else { return call.tool.starts_with("mcp__murmur__") };
    let words: Vec<Wildcard> = patterns.iter().filter_map(|pattern| Wildcard::parse(pattern)).collect();
    let words: Vec<&Wildcard> = words.iter().collect();
    !reading.doubted
        && ShellLine::new(raw, (reading.commands)(raw), &call.place, reading.links)
            .all_match(&words, WriteScope::Nothing)
}
