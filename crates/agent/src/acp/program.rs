//! What murmur sets up so that a program asks before it calls tools, and what is known about it otherwise.
//!
//! A program is known by its name in `acp:NAME`, however it is started. Others are started as they are.

use serde_json::{Map, Value, json};
use std::ffi::OsString;

/// What murmur knows about a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Program {
    /// Variables that make it ask, and run its calls on this machine.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// Its tools that make calls without asking or showing them as calls. murmur denies them.
    pub(super) unseen: &'static [&'static str],
    /// The permission mode in which it asks.
    pub(super) mode: Option<&'static str>,
    /// How it is told which model to use.
    pub(super) model: ModelBy,
    /// Whether it ends a turn like any other if the model could not be reached, but then reports no tokens.
    pub(super) is_counted: bool,
    /// Whether it repeats a conversation only after it has loaded it.
    pub(super) repeats_late: bool,
    /// Whether it takes a message that begins with a slash for a command, which may name an agent of its own.
    has_commands: bool,
    /// Whether it takes the settings of Claude Code with a new conversation.
    is_claude: bool,
    /// The beginnings of the versions that murmur was tested with, oldest first (fixtures/agents.md).
    tested: &'static [&'static str],
}

/// How a program is told which model to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelBy {
    /// In the conversation.
    Dialog,
    /// With an option on its command line.
    Option(&'static str),
    /// In a variable.
    Variable(&'static str),
}

/// Any other program.
const OTHER: Program = Program {
    env: &[],
    unseen: &[],
    mode: None,
    model: ModelBy::Dialog,
    is_counted: false,
    repeats_late: false,
    has_commands: false,
    is_claude: false,
    tested: &[],
};

/// Known programs, by name.
const KNOWN: [(&str, Program); 5] = [
    (
        "opencode",
        Program {
            env: &[("OPENCODE_DISABLE_PROJECT_CONFIG", "1"), ("OPENCODE_DISABLE_AUTOUPDATE", "1")],
            mode: Some(OPENCODE_AGENT),
            has_commands: true,
            tested: &["1.18."],
            ..OTHER
        },
    ),
    ("claude-agent-acp", Program { mode: Some("default"), is_claude: true, tested: &["0.101."], ..OTHER }),
    (
        "codex-acp",
        Program {
            // Otherwise its calls run in another environment, where the guard can't look at files.
            env: &[("CODEX_EXEC_SERVER_URL", "")],
            mode: Some("workspace-write"),
            is_counted: true,
            tested: &["2.6."],
            ..OTHER
        },
    ),
    (
        "goose",
        Program {
            env: &[("GOOSE_MODE", "approve")],
            unseen: &[
                "delegate",
                "execute_typescript",
                "mcp__orchestrator__start_agent",
                "mcp__orchestrator__send_message",
            ],
            mode: Some("approve"),
            model: ModelBy::Variable("GOOSE_MODEL"),
            tested: &["1.34.", "1.52."],
            is_counted: true,
            ..OTHER
        },
    ),
    (
        "gemini",
        Program {
            mode: Some("default"),
            model: ModelBy::Option("--model"),
            repeats_late: true,
            tested: &["0.61."],
            ..OTHER
        },
    ),
];

/// The program called `name`, if it is known, and the beginnings of the versions that murmur was tested with.
pub(crate) fn tested(name: &str) -> Option<(&'static str, &'static [&'static str])> {
    KNOWN.iter().find(|(known, _)| *known == name).map(|(name, program)| (*name, program.tested))
}

/// codex-acp's name, which Codex's own settings can have run its calls elsewhere.
pub(super) const CODEX: &str = "codex-acp";

/// goose's name, which has plugins.
pub(super) const GOOSE: &str = "goose";

/// opencode's name, which has settings that depend on the user's.
pub(super) const OPENCODE: &str = "opencode";

/// The variable with opencode's settings.
pub(super) const OPENCODE_SETTINGS: &str = "OPENCODE_CONFIG_CONTENT";

/// opencode's agent that murmur uses.
pub(super) const OPENCODE_AGENT: &str = "build";

/// The tools that opencode has permissions for, besides MCP servers'.
const OPENCODE_TOOLS: [&str; 16] = [
    "read",
    "edit",
    "glob",
    "grep",
    "list",
    "bash",
    "external_directory",
    "todowrite",
    "webfetch",
    "websearch",
    "codesearch",
    "lsp",
    "skill",
    "doom_loop",
    "write",
    "patch",
];

impl Program {
    /// What is known about the program called `name`.
    pub(super) fn named(name: &str) -> Self {
        KNOWN.iter().find(|(known, _)| *known == name).map_or(OTHER, |(_, program)| *program)
    }

    /// The message with this `text`, so that the model gets it.
    pub(super) fn message(&self, text: String) -> String {
        let begins = text.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '\u{feff}');
        if self.has_commands && begins.starts_with('/') { format!("Message: {text}") } else { text }
    }

    /// What to add to the request for a conversation, maybe without the repository's Claude files.
    pub(super) fn session_meta(&self, hides_claude_files: bool) -> Option<Value> {
        let mut options = json!({ "settings": { "permissions": { "ask": ["*"] } } });
        if hides_claude_files {
            options["settingSources"] = json!(["user"]);
            options["strictMcpConfig"] = true.into();
        }
        self.is_claude.then(|| json!({ "claudeCode": { "options": options } }))
    }
}

/// The variables for opencode: its agent `build` asks about every call. Subagents are turned off, because their calls
/// are neither asked about nor shown, and so are questions, because nobody could answer them. It reads the files in
/// `instructions`, although it reads no settings of the repository. `settings` are the user's own in
/// [`OPENCODE_SETTINGS`].
pub(super) fn opencode(mut settings: Value, instructions: Vec<String>) -> Vec<(&'static str, OsString)> {
    let mut permissions: Map<String, Value> = Map::new();
    // The last pattern that matches counts, and those that the user also has keep their place before the user's others.
    // So each is here a second time, in a spelling that only murmur has.
    permissions.extend(["*", "***"].map(|tool| (tool.to_owned(), "ask".into())));
    permissions.extend(OPENCODE_TOOLS.map(|tool| (tool.to_owned(), "ask".into())));
    permissions.extend(["task", "tas?", "question", "questio?"].map(|tool| (tool.to_owned(), "deny".into())));
    let permissions = Value::Object(permissions);
    let mut env = vec![("OPENCODE_PERMISSION", permissions.to_string().into())];
    // Without this, a call that is denied ends the turn.
    set(&mut settings, &["experimental", "continue_loop_on_deny"], true.into());
    // The user's default agent, and their own settings for `build`, would override these permissions. What `mode` says
    // about it counts before what `agent` says.
    set(&mut settings, &["default_agent"], OPENCODE_AGENT.into());
    for agents in ["agent", "mode"] {
        for (key, value) in
            [("permission", permissions.clone()), ("disable", false.into()), ("hidden", false.into())]
        {
            set(&mut settings, &[agents, OPENCODE_AGENT, key], value);
        }
    }
    let own = settings["instructions"].as_array().into_iter().flatten().cloned();
    let instructions: Vec<Value> = own.chain(instructions.into_iter().map(Value::from)).collect();
    if !instructions.is_empty() {
        settings["instructions"] = instructions.into();
    }
    env.push((OPENCODE_SETTINGS, settings.to_string().into()));
    env
}

/// Sets the value at `path`, whose other parts are made objects.
fn set(value: &mut Value, path: &[&str], new: Value) {
    let Some((first, rest)) = path.split_first() else {
        *value = new;
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    set(&mut value[*first], rest, new);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_program_is_known() {
        for (name, program) in KNOWN {
            assert!(!program.tested.is_empty(), "{name}");
            let backend = murmur_core::config::backend::Backend::Acp(name.into());
            assert!(backend.built_in().is_some(), "{name}");
        }
        assert_eq!(Program::named("other"), OTHER);
    }

    #[test]
    fn a_message_is_no_command() {
        let message = |name: &str, text: &str| Program::named(name).message(text.to_owned());
        assert_eq!(message("opencode", " /review it"), "Message:  /review it");
        assert_eq!(message("opencode", "Read /etc/hosts"), "Read /etc/hosts");
        assert_eq!(message("goose", "/review it"), "/review it");
    }

    #[test]
    fn opencodes_own_settings_are_kept() {
        let own = r#"{"model":"a/b","default_agent":"mine","instructions":["x"],"experimental":{"x":1},"agent":{"build":{"permission":{"bash":"allow"}}}}"#;
        let env = opencode(serde_json::from_str(own).unwrap(), vec!["/site/AGENTS.md".to_owned()]);
        let settings = env.iter().find(|(name, _)| *name == OPENCODE_SETTINGS).unwrap();
        let settings: Value = serde_json::from_str(settings.1.to_str().unwrap()).unwrap();
        assert_eq!(settings["model"], "a/b");
        assert_eq!(settings["instructions"], json!(["x", "/site/AGENTS.md"]));
        assert_eq!(settings["experimental"], json!({ "x": 1, "continue_loop_on_deny": true }));
        assert_eq!(settings["default_agent"], "build");
        for agents in ["agent", "mode"] {
            let build = &settings[agents]["build"];
            assert_eq!((&build["disable"], &build["hidden"]), (&json!(false), &json!(false)));
            let permission = ["*", "***", "bash", "task", "tas?"].map(|tool| &build["permission"][tool]);
            assert_eq!(permission, ["ask", "ask", "ask", "deny", "deny"]);
        }
        assert_eq!(opencode(json!({}), Vec::new()).len(), 2);
    }
}
