//! Programs that speak the Agent Client Protocol: what they can do. murmur sees the calls that they ask about.

use super::{Capability, Command, Description};

pub(super) const DESCRIPTION: Description =
    Description { name: "acp", capabilities: &[Capability::Interrupt, Capability::Resume] };

/// Programs that are known to report no cost.
const WITHOUT_COST: [&str; 2] = ["gemini", "codex-acp"];

/// Programs that are known to report only some of their tokens.
const WITHOUT_TOKENS: [&str; 2] = ["opencode", "goose"];

/// Programs that are known not to say what the model's API answered.
const WITHOUT_ERRORS: [&str; 3] = ["opencode", "goose", "codex-acp"];

/// Programs that ask about every call as murmur starts them, as far as was measured (fixtures/agents.md).
const ASKING: [&str; 2] = ["opencode", "claude-agent-acp"];

/// Programs that ignore the settings in a repository that their user doesn't trust, likewise.
const TRUSTED: [&str; 4] = ["opencode", "claude-agent-acp", "gemini", "goose"];

/// Whether the program with this name has `capability`, or may have it, if only a run can tell.
pub(super) fn has(name: &str, capability: Capability) -> bool {
    match capability {
        Capability::Asks => ASKING.contains(&name),
        Capability::Trust => TRUSTED.contains(&name),
        Capability::Cost => !WITHOUT_COST.contains(&name),
        Capability::Tokens => !WITHOUT_TOKENS.contains(&name),
        Capability::Errors => !WITHOUT_ERRORS.contains(&name),
        _ => DESCRIPTION.capabilities.contains(&capability),
    }
}

/// Whether `name` can be the name of such a program: letters, digits, `-` and `_`, beginning with a letter or digit.
pub(super) fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    name.bytes().all(is_plain) && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
}

/// Programs that need no configuration: their names, and how they are started.
pub(super) const BUILT_IN: [(&str, &str, &[&str]); 5] = [
    ("opencode", "opencode", &["acp"]),
    ("gemini", "gemini", &["--acp"]),
    ("goose", "goose", &["acp"]),
    ("claude-agent-acp", "claude-agent-acp", &[]),
    ("codex-acp", "codex-acp", &[]),
];

/// The names of the built-in programs.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, ..)| *name)
}

/// The built-in program with this name.
pub(super) fn built_in(name: &str) -> Option<Command> {
    let (_, program, args) = BUILT_IN.iter().find(|(known, ..)| *known == name)?;
    Some(Command::named(program, args))
}
