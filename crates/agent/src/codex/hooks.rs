//! The hooks of a Codex agent, as `-c` options: the user's files stay as they are, and their own hooks run as well.
//!
//! Codex runs a hook only if it is trusted, and the call if its hook fails, times out, or ends with code 2 and says
//! nothing (measured on 0.169.0). So the hash of each hook is passed along, and Codex is asked whether it accepts it;
//! and the command of a hook that decides ends in a denial unless the hook succeeded. Hooks that did not run at all are
//! noticed by the host, which ends the agent.

use super::line::CodexMessage;
use crate::settings::{BACKEND_VARIABLE, HookProgram, PULSE_TIMEOUT};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use sys::error::Failure;
use sys::{failure, shell};

/// Hook events that write an agent's pulse, with Codex's other name for them. It has no event for failed calls and
/// turns.
const PULSES: [(&str, &str); 5] = [
    ("SessionStart", "session_start"),
    ("UserPromptSubmit", "user_prompt_submit"),
    ("PostToolUse", "post_tool_use"),
    ("Stop", "stop"),
    ("SessionEnd", "session_end"),
];

/// The source of hooks that `-c` sets, in the keys of their state.
pub(super) const SOURCE: &str = "/<session-flags>/config.toml";

/// The values of `-c` that install `hook`. Codex waits `timeout` seconds for its decision.
pub(super) fn settings(hook: &HookProgram, timeout: u32) -> Result<Vec<String>, Failure> {
    let denies = r#"&& exit; echo "the hook ended with code $?" >&2; exit 2"#;
    let mut hooks = vec![("PreToolUse", "pre_tool_use", command(hook, "PreToolUse", denies)?, timeout)];
    for (event, name) in PULSES {
        // Codex warns about a longer time.
        let most = if event == "SessionEnd" { 3 } else { PULSE_TIMEOUT };
        hooks.push((event, name, command(hook, event, "")?, PULSE_TIMEOUT.min(most)));
    }
    let (mut values, mut states) = (Vec::new(), Vec::new());
    for (event, name, command, timeout) in hooks {
        let quoted = toml(&command);
        values.push(format!(
            "hooks.{event}=[{{hooks=[{{type=\"command\",command={quoted},timeout={timeout}}}]}}]"
        ));
        let hash = trusted_hash(name, &command, timeout);
        states.push(format!("\"{SOURCE}:{name}:0:0\"={{trusted_hash=\"{hash}\",enabled=true}}"));
    }
    values.push(format!("hooks.state={{{}}}", states.join(",")));
    Ok(values)
}

/// Whether, according to the response to `hooks/list`, Codex will run the hook that decides.
pub(super) fn will_run(line: &CodexMessage<'_>) -> bool {
    #[derive(Deserialize)]
    struct Listed {
        data: Vec<Folder>,
    }
    #[derive(Deserialize)]
    struct Folder {
        hooks: Vec<Hook>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Hook {
        #[serde(default)]
        key: String,
        #[serde(default)]
        enabled: bool,
        #[serde(default)]
        trust_status: String,
    }
    let listed = line.result.and_then(|result| serde_json::from_str::<Listed>(result.get()).ok());
    let key = format!("{SOURCE}:pre_tool_use:0:0");
    let runs = |hook: &Hook| hook.key == key && hook.enabled && hook.trust_status == "trusted";
    listed.is_some_and(|listed| listed.data.iter().flat_map(|folder| &folder.hooks).any(runs))
}

/// The command for `event`, for any shell; `then` follows the hook's command.
fn command(hook: &HookProgram, event: &str, then: &str) -> Result<String, Failure> {
    let (program, words) = hook.argv(event);
    let program = program.to_str().ok_or_else(
        || failure!("{} is not UTF-8, which Codex's settings require", program.display(); "use another path"),
    )?;
    let script = format!("{BACKEND_VARIABLE}=codex \"$0\" \"$@\" {then}");
    let mut command = format!("exec /bin/sh -c {}", shell::single_quoted(script.trim_end()));
    for word in std::iter::once(program).chain(words) {
        command.push(' ');
        command.push_str(&shell::single_quoted(word));
    }
    Ok(command)
}

/// The hash by which Codex recognizes a hook that the user trusts.
fn trusted_hash(event: &str, command: &str, timeout: u32) -> String {
    let command = serde_json::Value::from(command);
    let identity = format!(
        "{{\"event_name\":\"{event}\",\"hooks\":[{{\"async\":false,\"command\":{command},\"timeout\":{timeout},\"type\":\"command\"}}]}}"
    );
    Sha256::digest(identity.as_bytes()).iter().fold("sha256:".to_owned(), |mut hash, byte| {
        let _never_fails = write!(hash, "{byte:02x}");
        hash
    })
}

/// A TOML string. A JSON string is one, except for this character.
fn toml(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_one_that_codex_computes() {
        // From `hooks/list` of Codex 0.169.0.
        let command =
            "timeout -s KILL 20 /opt/hook PreToolUse; r=$?; [ $r = 0 ] && exit 0; echo \"x: $r\" >&2; exit 2";
        assert_eq!(trusted_hash("pre_tool_use", command, 30), HASH);
    }

    const HASH: &str = "sha256:4a74256c269cd0e9f755a5e9f79f23ee962fcde30073be4d22fb659285bedab4";

    #[test]
    fn a_hook_that_fails_denies_and_a_pulse_never_does() {
        let hook = HookProgram::at("/opt/it's/murmur-hook".into());
        let values = settings(&hook, 150).unwrap();
        assert_eq!(
            values[0],
            r#"hooks.PreToolUse=[{hooks=[{type="command",command="exec /bin/sh -c 'MURMUR_BACKEND=codex \"$0\" \"$@\" && exit; echo \"the hook ended with code $?\" >&2; exit 2' '/opt/it'\\''s/murmur-hook' 'PreToolUse'",timeout=150}]}]"#
        );
        assert_eq!(
            values[4],
            r#"hooks.Stop=[{hooks=[{type="command",command="exec /bin/sh -c 'MURMUR_BACKEND=codex \"$0\" \"$@\"' '/opt/it'\\''s/murmur-hook' 'Stop'",timeout=5}]}]"#
        );
        let state = values.last().unwrap();
        assert!(state.starts_with(
            "hooks.state={\"/<session-flags>/config.toml:pre_tool_use:0:0\"={trusted_hash=\"sha256:"
        ));
        // Each is TOML, as Codex reads it.
        for value in &values {
            value.parse::<toml::Table>().unwrap();
        }
    }

    #[test]
    fn every_pulse_event_of_codex_is_one_of_murmurs() {
        use crate::settings::PULSE_EVENTS;
        assert!(PULSES.iter().all(|(event, _)| PULSE_EVENTS.iter().any(|(known, _)| known == event)));
    }
}
