//! What the manager may do, an agent that directs others: run what its patterns say, and use murmur's own tools.

use super::call::Call;
use super::rules::{Line, Reading, Rules, Trust, Wildcard};

/// What it may run where no permissions.toml says otherwise.
pub const DEFAULT: [&str; 1] = ["murmur:*"];

/// The patterns that hold: those of the first file that has any, or [`DEFAULT`].
#[must_use]
pub fn patterns<'a>(files: &[&'a Rules]) -> Vec<&'a str> {
    let said = files.iter().find_map(|file| file.manager());
    said.map_or_else(|| DEFAULT.to_vec(), |patterns| patterns.iter().map(String::as_str).collect())
}

/// The patterns as Claude Code's own `permissions.allow` has them.
#[must_use]
pub fn allow_settings(patterns: &[&str]) -> Vec<String> {
    patterns.iter().map(|pattern| format!("Bash({pattern})")).collect()
}

/// Whether the manager may do it: a line of shell where each command matches a pattern, writes nothing, and runs nothing
/// that does not match as well; and every tool of the MCP server `murmur`.
#[must_use]
pub fn is_allowed(patterns: &[&str], call: &Call, reading: Reading<'_>) -> bool {
    let Some(raw) = call.command() else { return call.tool.starts_with("mcp__murmur__") };
    let words: Vec<Wildcard> = patterns.iter().filter_map(|pattern| Wildcard::parse(pattern)).collect();
    let words: Vec<&Wildcard> = words.iter().collect();
    !reading.doubted
        && Line::new(raw, (reading.commands)(raw), &call.place, reading.links)
            .all_match(&words, Trust::Nothing)
}
