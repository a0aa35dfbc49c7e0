//! What Claude Code is told for one run so that every call of a tool comes to the hook: `--settings`, and the
//! environment in it. The user's own settings files are not touched.
//!
//! The hooks that decide block the call whatever goes wrong with them; those that write pulses (docs/pulses.md) never do.
//!
//! Measured on 2.1.329 (docs/permissions.md): the environment in a project's settings beats that of the process, and
//! its `disableAllHooks` switches off these hooks, unless `--settings` says otherwise; so it does.

use super::invocation::{AGENT_VARIABLE, DIR_VARIABLE};
use crate::error::Hinted;
use crate::permit::policy::Policy;
use crate::sys::paths::User;
use crate::sys::shell;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The variable that holds the project whose rules hold.
pub const PROJECT_VARIABLE: &str = "MURMUR_PROJECT";
/// The variable that holds the path of the daemon's socket.
pub const SOCKET_VARIABLE: &str = "MURMUR_SOCKET";
/// The variable that holds the agent's workspace.
pub const WORKSPACE_VARIABLE: &str = "MURMUR_WORKSPACE";
/// The variable that holds the [`Policy`], as JSON.
pub const POLICY_VARIABLE: &str = "MURMUR_PERMISSIONS";
/// The variable that holds the folder of the user's settings.
pub const SETTINGS_VARIABLE: &str = "MURMUR_CONFIG_DIR";
/// The variable that holds the folder where a file of those is looked for that is not there.
pub const FURTHER_SETTINGS_VARIABLE: &str = "MURMUR_FURTHER_CONFIG_DIR";
/// The variable that holds the user's home folder.
pub const HOME_VARIABLE: &str = "MURMUR_HOME";
/// The variable that holds the beat's id.
pub const BEAT_VARIABLE: &str = "MURMUR_BEAT";
/// The variable that holds the name of the beat's heartbeat, where it has one.
pub const HEARTBEAT_VARIABLE: &str = "MURMUR_HEARTBEAT";

/// Variables by which a workspace's settings could get between Claude Code and the hook (tried on 2.1.329).
const BETWEEN: [&str; 4] = ["CLAUDE_CODE_SHELL_PREFIX", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD"];

/// The events that decide: whatever goes wrong in their hooks blocks the call.
pub const DECIDING: [&str; 2] = ["PreToolUse", "PermissionRequest"];

/// The events at which an agent's pulse is written (spec 2; of a failed call and a failed turn Claude Code tells by events
/// of their own, measured on 2.1.197 and 2.1.329), and whether they are about a tool.
pub const PULSE_EVENTS: [(&str, bool); 7] = [
    ("SessionStart", false),
    ("UserPromptSubmit", false),
    ("PostToolUse", true),
    ("PostToolUseFailure", true),
    ("Stop", false),
    ("StopFailure", false),
    ("SessionEnd", false),
];

/// How long Claude Code waits for a pulse, in seconds. The hook itself takes less.
pub const PULSE_TIMEOUT: u32 = 5;

/// The hook's executable, and how it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookProgram {
    program: PathBuf,
    /// The words before the event's name.
    words: &'static str,
}

impl HookProgram {
    /// `murmur-hook` beside the running executable, else that executable itself, which knows the same as `hook`.
    ///
    /// # Errors
    /// What the system says of the executable, or that neither is there.
    pub fn find() -> io::Result<Self> {
        let own = std::env::current_exe()?;
        let lean = own.with_file_name("murmur-hook");
        if lean.is_file() {
            return Ok(Self { program: lean, words: "" });
        }
        // An executable that was replaced while it runs is called so.
        let text = own.to_string_lossy();
        let own = text.strip_suffix(" (deleted)").map_or(own.clone(), PathBuf::from);
        if own.is_file() {
            return Ok(Self { program: own, words: "hook " });
        }
        Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("neither {} nor {} is there", lean.display(), own.display()),
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
        Self { program, words: "" }
    }

    /// The program and the words by which it is called for `event`, where no shell is between.
    #[must_use]
    pub fn called_for<'a>(&'a self, event: &'a str) -> (&'a Path, Vec<&'a str>) {
        (&self.program, self.words.split_whitespace().chain([event]).collect())
    }

    /// The command for `event`, for `sh -c`.
    fn command(&self, event: &str) -> Result<String, NotText> {
        Ok(format!("{} {}{event}", shell::single_quoted(text(&self.program)?), self.words))
    }

    /// The command for an event that decides, for `sh -c`: every failure of the hook is a refusal.
    ///
    /// # Errors
    /// [`NotText`].
    pub fn deciding(&self, event: &str) -> Result<String, NotText> {
        Ok(format!("{} || exit 2", self.command(event)?))
    }

    /// What stands in settings under `event`, one of [`PULSE_EVENTS`], so that pulses are written. Claude Code runs one
    /// command once, however many settings files name it: so murmur's own settings and the user's say the same.
    ///
    /// # Errors
    /// [`NotText`].
    pub fn pulse_group(&self, event: &str, is_about_tool: bool) -> Result<Value, NotText> {
        let hook = json!({ "type": "command", "command": self.command(event)?, "timeout": PULSE_TIMEOUT });
        Ok(if is_about_tool {
            json!({ "matcher": "*", "hooks": [hook] })
        } else {
            json!({ "hooks": [hook] })
        })
    }
}

/// A path that is not UTF-8 cannot stand in settings.
#[derive(Debug, thiserror::Error)]
#[error("{} is not UTF-8, and Claude Code's settings are", .0.display())]
pub struct NotText(PathBuf);

impl Hinted for NotText {
    fn hint(&self) -> Option<String> {
        Some("use another path".to_owned())
    }
}

fn text(path: &Path) -> Result<&str, NotText> {
    path.to_str().ok_or_else(|| NotText(path.to_path_buf()))
}

/// An agent that is watched over.
#[derive(Debug, Clone, Copy)]
pub struct Guarded<'a> {
    /// Its id.
    pub agent: &'a str,
    /// murmur's data folder.
    pub dir: &'a Path,
    /// The name of the daemon's socket in it.
    pub socket_name: &'a str,
    /// The project whose rules hold.
    pub project: &'a str,
    /// Its workspace.
    pub workspace: &'a Path,
    /// Whose it is.
    pub user: &'a User,
    /// What holds where neither guard nor rules decide.
    pub policy: &'a Policy,
    /// The beat's id and the name of its heartbeat, where it is one.
    pub beat: Option<(&'a str, Option<&'a str>)>,
    /// What Claude Code itself is to allow, as patterns of its own.
    pub allow: &'a [String],
}

impl Guarded<'_> {
    /// What is set in its environment.
    ///
    /// # Errors
    /// [`NotText`].
    pub fn environment(&self) -> Result<Vec<(&'static str, OsString)>, NotText> {
        Ok(self.variables()?.into_iter().map(|(name, value)| (name, value.into())).collect())
    }

    fn variables(&self) -> Result<Vec<(&'static str, String)>, NotText> {
        let policy = serde_json::to_string(self.policy).unwrap_or_default();
        let mut variables = vec![
            (AGENT_VARIABLE, self.agent.to_owned()),
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
        // What would be run before the hook, or in it, is as murmur has it: a workspace's settings could set it.
        for name in BETWEEN {
            variables.push((name, std::env::var(name).unwrap_or_default()));
        }
        // Empty rather than unset, so that no other settings file can set them.
        let (beat, heartbeat) = self.beat.unwrap_or_default();
        variables.push((BEAT_VARIABLE, beat.to_owned()));
        variables.push((HEARTBEAT_VARIABLE, heartbeat.unwrap_or_default().to_owned()));
        Ok(variables)
    }

    /// The arguments that go with it. Questions to people exist only with the first two.
    ///
    /// # Errors
    /// [`NotText`].
    pub fn args(&self, hook: &HookProgram) -> Result<Vec<String>, NotText> {
        let settings = self.settings(hook)?.to_string();
        Ok(["--permission-prompt-tool", "stdio", "--settings", &settings].map(str::to_owned).to_vec())
    }

    fn settings(&self, hook: &HookProgram) -> Result<Value, NotText> {
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
        // A skill can have commands that are run before any hook is asked. Without the guard that is the user's matter; what
        // rules and people decide still comes to the hook.
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
    use crate::permit::policy::{Approval, Checker, Questions};
    use crate::sys::paths::SettingsDir;

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
    fn settings_have_every_failure_of_the_hook_block_the_call() {
        let user =
            User { home: "/home/u".into(), settings: SettingsDir::at("/home/u/.config/murmur".into(), None) };
        let guarded = Guarded {
            agent: "site-1",
            dir: Path::new("/home/u/.murmur"),
            socket_name: "murmur.sock",
            project: "site",
            workspace: Path::new("/w"),
            user: &user,
            policy: &POLICY,
            beat: None,
            allow: &[],
        };
        let hook = HookProgram { program: "/opt/it's/murmur-hook".into(), words: "" };
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
        // No failure of a pulse is one of the agent: an exit code 2 here would send it back to work.
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
