//! The settings that make Claude Code call the hook for every tool call: `--settings`, with an environment in it. The
//! user's own settings files are not touched.
//!
//! Hooks that decide block the call on any failure; hooks that write pulses (crates/store/pulses.md) never do.
//!
//! Measured on 2.1.329 (docs/reference/hook.md): without `--settings`, a project's settings could override the
//! environment of the process and disable these hooks with `disableAllHooks`. So `--settings` overrides both.

use crate::invocation::{AGENT_VARIABLE, DIR_VARIABLE};
use murmur_core::id::AgentId;
use murmur_core::permit::deny_list;
use murmur_core::permit::policy::Policy;
use murmur_core::permit::request::BeatOf;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use sys::error::Hinted;
use sys::paths::User;
use sys::shell;

/// The variable with the project whose rules apply.
pub const PROJECT_VARIABLE: &str = "MURMUR_PROJECT";
/// The variable with the path of the daemon's socket.
pub const SOCKET_VARIABLE: &str = "MURMUR_SOCKET";
/// The variable with the agent's workspace.
pub const WORKSPACE_VARIABLE: &str = "MURMUR_WORKSPACE";
/// The variable with the [`Policy`], as JSON.
pub const POLICY_VARIABLE: &str = "MURMUR_PERMISSIONS";
/// The variable with the folder of the user's settings.
pub const SETTINGS_VARIABLE: &str = "MURMUR_CONFIG_DIR";
/// The variable with the folder to search for settings files that the first one doesn't have.
pub const FURTHER_SETTINGS_VARIABLE: &str = "MURMUR_FURTHER_CONFIG_DIR";
/// The variable with the user's home folder.
pub const HOME_VARIABLE: &str = "MURMUR_HOME";
/// The variable with the beat's id.
pub const BEAT_VARIABLE: &str = "MURMUR_BEAT";
/// The variable with the heartbeat's name, if it has one.
pub const HEARTBEAT_VARIABLE: &str = "MURMUR_HEARTBEAT";

/// The variable with the programs of the user's gates, one absolute path per line, if there are any.
pub const GATES_VARIABLE: &str = "MURMUR_GATES";

/// The variable with the backend, in the hooks of backends other than Claude Code.
pub const BACKEND_VARIABLE: &str = "MURMUR_BACKEND";
/// The variable with the deny list, as a JSON list of patterns, for backends that don't have one.
pub const DENY_VARIABLE: &str = "MURMUR_DENY";

/// Variables with which a workspace's settings could interfere with the hook (tested on 2.1.329).
const INTERFERING: [&str; 4] = ["CLAUDE_CODE_SHELL_PREFIX", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD"];

/// Hook events that decide: any failure of their hooks blocks the call.
pub const DECIDING: [&str; 2] = ["PreToolUse", "PermissionRequest"];

/// Hook events that write an agent's pulse (spec 2), and whether they are about a tool. Claude Code has separate events
/// for failed calls and failed turns (measured on 2.1.197 and 2.1.329).
pub const PULSE_EVENTS: [(&str, bool); 7] = [
    ("SessionStart", false),
    ("UserPromptSubmit", false),
    ("PostToolUse", true),
    ("PostToolUseFailure", true),
    ("Stop", false),
    ("StopFailure", false),
    ("SessionEnd", false),
];

/// How long Claude Code waits for a pulse hook, in seconds. The hook itself takes less.
pub const PULSE_TIMEOUT: u32 = 5;

/// The value of [`DENY_VARIABLE`]: the built-in patterns and `own`, or neither for `None`, and the program's `unseen`
/// tools.
#[must_use]
pub fn denied(own: Option<&[String]>, unseen: &[&str]) -> String {
    let own = own.map(|own| deny_list::build(own.iter().map(String::as_str)));
    let patterns: Vec<&str> = own.into_iter().flatten().chain(unseen.iter().copied()).collect();
    json!(patterns).to_string()
}

/// The hook's executable and how to call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookProgram {
    program: PathBuf,
    /// The subcommand before the event's name, with a trailing space; may be empty.
    subcommand: &'static str,
}

impl HookProgram {
    /// Returns `murmur-hook` beside the running executable, or else that executable itself, whose `hook` command does
    /// the same.
    pub fn find() -> io::Result<Self> {
        let own = std::env::current_exe()?;
        let hook = own.with_file_name("murmur-hook");
        if hook.is_file() {
            return Ok(Self { program: hook, subcommand: "" });
        }
        // Linux appends this to the path of an executable that was replaced while running.
        let text = own.to_string_lossy();
        let own = text.strip_suffix(" (deleted)").map_or(own.clone(), PathBuf::from);
        if own.is_file() {
            return Ok(Self { program: own, subcommand: "hook " });
        }
        Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("found neither {} nor {}", hook.display(), own.display()),
        ))
    }

    /// Its executable.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The `murmur-hook` at `program`.
    #[must_use]
    pub fn at(program: PathBuf) -> Self {
        Self { program, subcommand: "" }
    }

    /// The program and its arguments for `event`, to run without a shell.
    #[must_use]
    pub fn argv<'a>(&'a self, event: &'a str) -> (&'a Path, Vec<&'a str>) {
        (&self.program, self.subcommand.split_whitespace().chain([event]).collect())
    }

    /// The command for `event`, for `sh -c`.
    fn command(&self, event: &str) -> Result<String, NotUtf8> {
        Ok(format!("{} {}{event}", shell::single_quoted(text(&self.program)?), self.subcommand))
    }

    /// The command for an event that decides, for `sh -c`; it exits with 2, which denies the call, on any failure.
    pub fn deciding(&self, event: &str) -> Result<String, NotUtf8> {
        Ok(format!("{} || exit 2", self.command(event)?))
    }

    /// The settings entry for `event`, one of [`PULSE_EVENTS`]. Claude Code runs identical commands once, however many
    /// settings files have them, so murmur's own settings and the user's use the same one.
    pub fn pulse_group(&self, event: &str, is_about_tool: bool) -> Result<Value, NotUtf8> {
        let hook = json!({ "type": "command", "command": self.command(event)?, "timeout": PULSE_TIMEOUT });
        Ok(if is_about_tool {
            json!({ "matcher": "*", "hooks": [hook] })
        } else {
            json!({ "hooks": [hook] })
        })
    }
}

/// A path that Claude Code's settings can't contain.
#[derive(Debug, thiserror::Error)]
#[error("{} is not UTF-8, which Claude Code's settings require", .0.display())]
pub struct NotUtf8(PathBuf);

impl Hinted for NotUtf8 {
    fn hint(&self) -> Option<String> {
        Some("use another path".to_owned())
    }
}

fn text(path: &Path) -> Result<&str, NotUtf8> {
    path.to_str().ok_or_else(|| NotUtf8(path.to_path_buf()))
}

/// An agent whose calls are checked by the hook.
#[derive(Debug, Clone, Copy)]
pub struct GuardedAgent<'a> {
    /// Its id.
    pub agent: &'a AgentId,
    /// murmur's data folder.
    pub dir: &'a Path,
    /// The name of the daemon's socket in the data folder.
    pub socket_name: &'a str,
    /// The project whose rules apply.
    pub project: &'a str,
    /// Its workspace.
    pub workspace: &'a Path,
    /// The user that it runs for.
    pub user: &'a User,
    /// The policy for calls that neither guard nor rules decide.
    pub policy: &'a Policy,
    /// The beat that it runs, if any.
    pub beat: Option<&'a BeatOf>,
    /// Patterns that Claude Code itself should allow.
    pub allow: &'a [String],
    /// The programs of the user's gates, which run before or after it, without a guard.
    pub gates: &'a [PathBuf],
}

impl GuardedAgent<'_> {
    /// The variables to set in its environment.
    pub fn environment(&self) -> Result<Vec<(&'static str, OsString)>, NotUtf8> {
        Ok(self.variables()?.into_iter().map(|(name, value)| (name, value.into())).collect())
    }

    fn variables(&self) -> Result<Vec<(&'static str, String)>, NotUtf8> {
        let policy = serde_json::to_string(self.policy).unwrap_or_default();
        let mut variables = vec![
            (AGENT_VARIABLE, self.agent.to_string()),
            (DIR_VARIABLE, text(self.dir)?.to_owned()),
            (PROJECT_VARIABLE, self.project.to_owned()),
            (SOCKET_VARIABLE, text(&self.dir.join(self.socket_name))?.to_owned()),
            (WORKSPACE_VARIABLE, text(self.workspace)?.to_owned()),
            (SETTINGS_VARIABLE, text(self.user.settings.root())?.to_owned()),
            (
                FURTHER_SETTINGS_VARIABLE,
                text(self.user.settings.further().unwrap_or(Path::new("")))?.to_owned(),
            ),
            (HOME_VARIABLE, text(&self.user.home)?.to_owned()),
            (POLICY_VARIABLE, policy),
        ];
        // A workspace's settings could set these to run code before or in the hook, so pin them to murmur's own values.
        for name in INTERFERING {
            variables.push((name, std::env::var(name).unwrap_or_default()));
        }
        // Empty rather than unset, so that no other settings file can set them.
        let heartbeat = self.beat.and_then(|beat| beat.heartbeat.clone());
        variables.push((BEAT_VARIABLE, self.beat.map(|beat| beat.beat.to_string()).unwrap_or_default()));
        variables.push((HEARTBEAT_VARIABLE, heartbeat.unwrap_or_default()));
        if !self.gates.is_empty() {
            let gates: Result<Vec<&str>, NotUtf8> = self.gates.iter().map(|gate| text(gate)).collect();
            variables.push((GATES_VARIABLE, gates?.join("\n")));
        }
        Ok(variables)
    }

    /// The arguments for Claude Code. Without `--permission-prompt-tool stdio`, it cannot ask people questions.
    pub fn args(&self, hook: &HookProgram) -> Result<Vec<String>, NotUtf8> {
        let settings = self.settings(hook)?.to_string();
        Ok(["--permission-prompt-tool", "stdio", "--settings", &settings].map(str::to_owned).to_vec())
    }

    fn settings(&self, hook: &HookProgram) -> Result<Value, NotUtf8> {
        let mut hooks = Map::new();
        for event in DECIDING {
            let entry = json!({
                "type": "command",
                "command": hook.deciding(event)?,
                "timeout": self.policy.timeout(),
                "onFailure": "block",
            });
            hooks.insert(event.to_owned(), json!([{ "matcher": "*", "hooks": [entry] }]));
        }
        for (event, is_about_tool) in PULSE_EVENTS {
            hooks.insert(event.to_owned(), json!([hook.pulse_group(event, is_about_tool)?]));
        }
        let env: Map<String, Value> =
            self.variables()?.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        let mut settings = json!({ "disableAllHooks": false, "env": env, "hooks": hooks });
        // Skills can run commands before any hook is asked. With the guard off the user accepts that; rules and people
        // still decide calls through the hook.
        if self.policy.guard {
            settings["disableSkillShellExecution"] = true.into();
        }
        if !self.allow.is_empty() {
            settings["permissions"] = json!({ "allow": self.allow });
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_core::permit::policy::{Approval, Checker, Questions};
    use sys::paths::SettingsDir;

    const POLICY: Policy = Policy {
        guard: true,
        manager: false,
        plan_mode: true,
        checker: Checker::Manual,
        approval: Approval::Wait,
        approval_wait: Some(120),
        approval_expiry: Some(86_400),
        questions: Questions::Broker,
    };

    #[test]
    fn any_failure_of_the_hook_blocks_the_call() {
        let user =
            User { home: "/home/u".into(), settings: SettingsDir::at("/home/u/.config/murmur".into(), None) };
        let guarded = GuardedAgent {
            agent: &AgentId::parse("site-1").unwrap(),
            dir: Path::new("/home/u/.murmur"),
            socket_name: "murmur.sock",
            project: "site",
            workspace: Path::new("/w"),
            user: &user,
            policy: &POLICY,
            beat: None,
            allow: &[],
            gates: &[],
        };
        let hook = HookProgram { program: "/opt/it's/murmur-hook".into(), subcommand: "" };
        let settings = guarded.settings(&hook).unwrap();
        assert_eq!(
            settings["hooks"]["PreToolUse"][0],
            json!({ "matcher": "*", "hooks": [{
                "type": "command",
                "command": "'/opt/it'\\''s/murmur-hook' PreToolUse || exit 2",
                "timeout": 150,
                "onFailure": "block",
            }]})
        );
        // A failing pulse hook must not fail the agent: exit code 2 would send it back to work.
        assert_eq!(
            settings["hooks"]["PostToolUse"][0],
            json!({ "matcher": "*", "hooks": [{
                "type": "command",
                "command": "'/opt/it'\\''s/murmur-hook' PostToolUse",
                "timeout": 5,
            }]})
        );
        assert!(settings["hooks"]["Stop"][0].get("matcher").is_none());
        assert_eq!(settings["disableAllHooks"], false);
        assert_eq!(settings["env"]["MURMUR_SOCKET"], "/home/u/.murmur/murmur.sock");
        assert_eq!(settings["env"]["MURMUR_BEAT"], "");
        assert!(POLICY.deadline() < POLICY.timeout());
    }
}
