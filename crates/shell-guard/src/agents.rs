//! The programs of agents: their names, the packages that contain them, and what they only show.
//!
//! Started by a command, an agent runs outside murmur: nothing vets its calls.

/// An agent's program.
pub(crate) struct Agent {
    /// Its name, which is also what a rule has to name.
    pub(crate) program: &'static str,
    /// The packages of npm and nixpkgs that contain it.
    packages: &'static [&'static str],
    /// Arguments with which it only shows something, besides [`SHOWS`].
    alone: &'static [&'static str],
    /// Commands whose [`LISTS`] only show something.
    groups: &'static [&'static str],
    /// The only commands that run it, if another program has the same name; `None` if all do.
    commands: Option<&'static [&'static str]>,
}

/// Arguments with which every agent only shows something.
const SHOWS: [&str; 3] = ["--version", "--help", "-h"];

/// Subcommands that only show something.
const LISTS: [&str; 4] = ["list", "get", "ls", "status"];

/// goose's commands; `goose up` of another program migrates a database.
#[rustfmt::skip]
const GOOSE: [&str; 21] = [
    "acp", "configure", "gateway", "gw", "lm", "local-models", "mcp", "plugin", "project", "projects", "recipe",
    "review", "run", "s", "sched", "schedule", "serve", "session", "term", "update", "web",
];

/// An agent that runs with any command.
const fn agent(
    program: &'static str,
    packages: &'static [&'static str],
    alone: &'static [&'static str],
    groups: &'static [&'static str],
) -> Agent {
    Agent { program, packages, alone, groups, commands: None }
}

/// The agents that murmur can run.
static AGENTS: [Agent; 7] = [
    agent(
        "claude",
        &["@anthropic-ai/claude-code", "claude-code"],
        &["-v", "doctor"],
        &["mcp", "config", "plugin", "plugins"],
    ),
    agent("codex", &["@openai/codex"], &["-V", "doctor"], &["mcp", "login", "features"]),
    agent("opencode", &["opencode-ai"], &["-v", "models", "stats"], &["mcp", "auth", "agent", "session"]),
    agent(
        "gemini",
        &["@google/gemini-cli", "gemini-cli"],
        &["-v", "-l", "--list-extensions", "--list-sessions"],
        &["mcp", "extensions", "skills"],
    ),
    Agent {
        program: "goose",
        packages: &["@aaif/goose", "goose-cli"],
        alone: &["-V", "doctor", "info"],
        groups: &["session"],
        commands: Some(&GOOSE),
    },
    agent("claude-agent-acp", &["@agentclientprotocol/claude-agent-acp"], &[], &[]),
    agent("codex-acp", &["@agentclientprotocol/codex-acp"], &[], &[]),
];

/// The names of all programs.
pub(crate) fn programs() -> impl Iterator<Item = &'static str> {
    AGENTS.iter().map(|agent| agent.program)
}

/// The agent whose program is called `name`.
pub(crate) fn called(name: &str) -> Option<&'static Agent> {
    AGENTS.iter().find(|agent| agent.program == name)
}

/// The agent in the package that `text` names: `@openai/codex@latest`, `node_modules/@openai/codex/bin/codex.js`.
pub(crate) fn packaged(text: &str) -> Option<&'static Agent> {
    AGENTS.iter().find(|agent| agent.packages.iter().any(|package| has_word(text, package, "")))
}

/// Whether `text` names an agent's program, such as in the command line of a process.
pub(crate) fn is_mentioned(text: &str) -> bool {
    text.contains("claude") || programs().any(|program| has_word(text, program, "./"))
}

/// Whether `text` contains `word`, and not as a part of a longer one nor before a character of `except`.
fn has_word(text: &str, word: &str, except: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || "-_".contains(character);
    text.match_indices(word).any(|(at, _)| {
        let mut rest = text[at + word.len()..].chars();
        !text[..at].ends_with(is_part)
            && !rest.next().is_some_and(|next| is_part(next) || except.contains(next))
    })
}

impl Agent {
    /// Whether it may do more with these arguments than to show something.
    pub(crate) fn runs(&self, arguments: &[&str]) -> bool {
        let only_shows = match arguments {
            [shown] if SHOWS.contains(shown) || self.alone.contains(shown) => true,
            [_, "--help" | "-h"] => true,
            [group, list, ..] => self.groups.contains(group) && LISTS.contains(list),
            _ => false,
        };
        let is_other = |commands: &&[&str]| arguments.first().is_some_and(|first| !commands.contains(first));
        !only_shows && !self.commands.as_ref().is_some_and(is_other)
    }
}
