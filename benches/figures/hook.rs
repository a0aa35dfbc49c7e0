//! One call of the hook, over a program that does nothing: start, read stdin, decide or write a pulse, answer, exit.
//!
//! The hook is statically linked, as in the packages; the baseline is a static program in C. If bash and jq are
//! installed, also spec 2's own script, which writes a pulse as well (`peers/heartbeat-hook`, verbatim), and a hook
//! that does far less than decide.

use super::measure::{interleave, milliseconds, repeat};
use super::programs;
use super::table::{Row, Table, Target, Unit};
use anyhow::{Context, bail, ensure};
use serde_json::json;
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROUNDS: usize = 400;

/// Prints its child's peak memory in KiB. Small itself, since a child begins with its parent's memory.
const MEASURE: &str = r#"#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words) {
    struct rusage usage;
    int status;
    pid_t child = fork();
    if (child == 0) { execv(words[1], words + 1); _exit(127); }
    if (wait4(child, &status, 0, &usage) != child || status != 0) return 1;
    printf("\n%ld\n", usage.ru_maxrss);
    return 0;
}
"#;

/// The call to decide: a line with a pipe, a list and a quoted word, as agents write them.
const COMMAND: &str = "cd src && grep -rn \"sudo\" . | head -20 && cargo test --quiet";

pub(crate) fn run(table: &mut Table) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let hook = programs::hook();
    let floor = compiled(folder.path(), "nothing", "int main(void) { return 0; }\n")?;
    let measure = compiled(folder.path(), "measure", MEASURE)?;
    std::fs::write(at("hook.sh"), PEER)?;
    std::fs::write(at("heartbeat-hook"), SCRIPT)?;
    let call = json!({
        "session_id": SESSION, "transcript_path": at("transcript.jsonl"),
        "cwd": folder.path(), "permission_mode": "bypassPermissions", "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": { "command": COMMAND, "description": "Look and test" },
        "tool_use_id": "toolu_01",
    });
    let mut made = call.clone();
    made["hook_event_name"] = "PostToolUse".into();
    made["tool_response"] = json!({ "stdout": "ok\n".repeat(200), "stderr": "", "interrupted": false });
    made["duration_ms"] = 12.into();
    let (call, made) = (call.to_string(), made.to_string());
    // As murmur creates it for an agent.
    std::fs::DirBuilder::new().mode(0o700).create(at("data"))?;
    // A repository with a branch, as agents usually have.
    std::fs::create_dir(at(".git"))?;
    std::fs::write(at(".git/HEAD"), "ref: refs/heads/main\n")?;
    let command = |program: &Path, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", folder.path());
        command.env("MURMUR_DIR", at("data")).env("MURMUR_AGENT_ID", "site-1").env("MURMUR_PROJECT", "site");
        command.env("MURMUR_PERMISSIONS", POLICY).env("CLAUDE_CODE_SESSION_ID", SESSION);
        command.env("PANOPTICON_AGENT_ID", "site-1").current_dir(folder.path());
        command
    };
    let deciding = || command(&hook, &["PreToolUse"]);
    let pulse = || command(&hook, &["PostToolUse"]);
    let nothing = || command(&floor, &[]);
    ensure!(answer(deciding(), &call)?.contains("\"allow\""), "the hook does not allow {COMMAND:?}");
    ensure!(answer(pulse(), &made)?.is_empty(), "the hook says something");
    ensure!(at("data/heartbeats/site-1.json").exists(), "the hook writes no pulse");
    let bash = Path::new("/bin/bash");
    let has_peer = Path::new("/usr/bin/jq").exists() && bash.exists();
    let least = at("hook.sh").display().to_string();
    let peer = || if has_peer { command(bash, &[&least]) } else { nothing() };
    let heartbeat = at("heartbeat-hook").display().to_string();
    let script = || if has_peer { command(bash, &[&heartbeat]) } else { nothing() };
    let [idle, post, pre, shell, spec] = interleave(
        ROUNDS,
        [
            &mut || time(nothing(), &call),
            &mut || time(pulse(), &made),
            &mut || time(deciding(), &call),
            &mut || time(peer(), &call),
            &mut || time(script(), &made),
        ],
    )?;
    let row = |what: &str, ours, most| {
        Row::time(format!("hook: {what}"), ours).over(idle).target(Target::Times(most))
    };
    table.add(row("a pulse, over a static program that does nothing", post, 1.75));
    table.add(row("decide a command (guard, rules and record), over the same", pre, 2.0));
    if has_peer {
        table.add(Row::time("spec 2's hook of bash and jq, which writes a pulse", spec).over(idle));
        table.add(Row::time("bash and jq, which only read the call", shell).over(idle));
    }
    let memory = repeat([()], |()| {
        Ok(vec![
            memory(&measure, &nothing(), &call)? as f64,
            memory(&measure, &pulse(), &made)? as f64,
            memory(&measure, &deciding(), &call)? as f64,
        ])
    })?;
    for (what, number) in [("a pulse", 1), ("a decision", 2)] {
        table.add(
            Row::new(format!("hook: peak memory of {what}"), Unit::Bytes, memory[0][number])
                .over(memory[0][0])
                .target(Target::AtMost(f64::from(5 << 19))),
        );
    }
    Ok(())
}

const POLICY: &str = r#"{"guard":true,"checker":"off","approval":"wait","approvalWait":120,"approvalExpiry":86400,"questions":"broker"}"#;

const SESSION: &str = "00000000-0000-4000-8000-000000000001";

/// The script in spec 2 that writes a pulse. It starts jq, git and others, and does without missing ones.
const SCRIPT: &str = include_str!("peers/heartbeat-hook");

/// The minimum for a shell hook.
const PEER: &str = r#"call=$(cat)
tool=$(jq -r .tool_name <<< "$call")
command=$(jq -r .tool_input.command <<< "$call")
case "$tool:$command" in Bash:*mkfs*) exit 2 ;; esac
echo '{}'
"#;

/// A static C program.
fn compiled(folder: &Path, name: &str, source: &str) -> anyhow::Result<PathBuf> {
    let (file, program) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&file, source)?;
    let built = Command::new("cc").args(["-O2", "-static", "-o"]).arg(&program).arg(&file).status();
    match built {
        Ok(status) if status.success() => Ok(program),
        _ => bail!("there is no C compiler to build the baseline with"),
    }
}

fn answer(mut command: Command, call: &str) -> anyhow::Result<String> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does nothing doesn't read either.
        let _unread = stdin.write_all(call.as_bytes());
    }
    let mut said = String::new();
    child.stdout.take().context("no stdout")?.read_to_string(&mut said)?;
    ensure!(child.wait()?.success(), "{command:?} failed: {said}");
    Ok(said)
}

fn time(command: Command, call: &str) -> anyhow::Result<f64> {
    milliseconds(|| answer(command, call))
}

/// The peak memory of `wanted`, in bytes.
fn memory(measure: &Path, wanted: &Command, call: &str) -> anyhow::Result<u64> {
    let mut measuring = Command::new(measure);
    measuring.arg(wanted.get_program()).args(wanted.get_args()).env_clear();
    measuring.envs(wanted.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ok(answer(measuring, call)?.lines().last().context("no answer")?.parse::<u64>()? << 10)
}
