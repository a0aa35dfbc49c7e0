//! Programs that command murmur, its processes, or what runs without it: `murmur stop`, `kill $PPID`, `claude -p`,
//! `crontab x`.

use super::invocation::Invocation;
use crate::permit::call::Own;
use crate::permit::shell::field::CLOSE;
use crate::permit::shell::{Field, git};

/// What a command would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// It commands murmur, or ends what watches over agents.
    Murmur,
    /// It has something run without murmur, or by and by; and the name that a rule is to have in it.
    Later(&'static str),
}

/// What `invocation` orders, if it does.
pub(super) fn given(invocation: &Invocation<'_>, own: &Own) -> Option<Order> {
    match invocation.name().as_str() {
        "murmur" | "mm" | "murmur-host" => (!is_harmless(invocation, own)).then_some(Order::Murmur),
        "kill" | "pkill" | "killall" | "skill" | "tgkill" => kills(invocation, own).then_some(Order::Murmur),
        "systemctl" | "launchctl" | "service" | "rc-service" => unit(invocation),
        "claude" => (!only_shows(invocation)).then_some(Order::Later("claude")),
        "npx" | "bunx" | "pnpx" | "pnpm" | "yarn" | "bun" | "npm" => {
            let runs =
                !invocation.says(&["install", "i", "add", "ci", "view", "info", "update", "outdated", "ls"]);
            let is_claude =
                invocation.arguments().iter().any(|word| word.marked().contains("@anthropic-ai/claude-code"));
            let is_global = invocation.has('g', "global");
            ((runs || is_global) && is_claude).then_some(Order::Later("claude"))
        }
        "crontab" => (!lists(invocation, &["-l"])).then_some(Order::Later("crontab")),
        "at" | "batch" => (!lists(invocation, &["-l", "-c", "-d", "-r", "-V"])).then_some(Order::Later("at")),
        "direnv" => invocation.says(&["allow", "permit", "grant"]).then_some(Order::Later("direnv")),
        "git" => configures(invocation).then_some(Order::Later("git config")),
        _ => None,
    }
}

fn lists(invocation: &Invocation<'_>, options: &[&str]) -> bool {
    invocation.says(options)
}

/// murmur's read-only commands, and those that a manager uses to direct other agents.
fn is_harmless(invocation: &Invocation<'_>, own: &Own) -> bool {
    if invocation.says(&["--help", "-h", "--version", "-V"]) {
        return true;
    }
    let words: Vec<&str> =
        invocation.operands("", &["data-dir", "color"]).iter().map(|word| word.marked()).collect();
    let is_host = invocation.name() == "murmur-host";
    let words = if is_host { [&["host"], words.as_slice()].concat() } else { words };
    match words.as_slice() {
        []
        | [
            "status" | "log" | "sessions" | "show" | "doctor" | "schema" | "completions" | "man" | "help"
            | "agents" | "agent" | "attach" | "run" | "mcp",
            ..,
        ] => !invocation.says(&["--fix"]),
        ["record", ..] => true,
        ["beat", ..] => invocation.says(&["--dry-run"]),
        ["permission", "list" | "check" | "rules", ..] | ["question", "list", ..] => true,
        ["workspaces"]
        | ["workspaces", "list", ..]
        | ["service", "status", ..]
        | ["permission" | "question"] => true,
        ["trust"] | ["host"] | ["host", "list" | "status" | "attach" | "discover", ..] => true,
        ["host", "send" | "stop", ..] => own.is_manager && !invocation.says(&["--all", "--data-dir"]),
        ["host", "spawn", ..] => own.is_manager && spawns_plainly(invocation),
        _ => false,
    }
}

/// `murmur host spawn` that names no program, no settings, and no folder but one below the manager's own: another agent
/// is to do no more than the manager's user would have it do.
fn spawns_plainly(invocation: &Invocation<'_>) -> bool {
    const OPTIONS: [&str; 6] = ["--agent-id", "--project", "--role", "--issue", "--model", "--worktree"];
    let mut words = invocation.arguments().iter().map(Field::marked);
    while let Some(word) = words.next() {
        // What stands after it goes to Claude Code as it is.
        if word == "--" {
            return false;
        }
        if !word.starts_with("--") {
            if word.starts_with('-') && word != "-" {
                return false;
            }
            continue;
        }
        let (name, attached) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        if ["--attach", "--json"].contains(&word) {
            continue;
        }
        let is_taken = OPTIONS.contains(&name);
        let Some(value) = attached.or_else(|| words.next()).filter(|_| is_taken) else { return false };
        let is_below = !value.starts_with(['/', '~', '-']) && !value.split('/').any(|part| part == "..");
        let is_known = Field::from(value).literal().is_some();
        let is_fine = match name {
            "--worktree" => is_below && is_known,
            // It would be a manager, whose patterns are others.
            "--role" => value != "manager",
            _ => true,
        };
        if !is_fine {
            return false;
        }
    }
    true
}

/// `kill $PPID`, `pkill murmur`: an agent's own process, murmur's, or a host's.
fn kills(invocation: &Invocation<'_>, own: &Own) -> bool {
    let asks = invocation.says(&["-0", "-l", "-L"]);
    let is_watched = |word: &Field| {
        let text = word.to_string();
        let plain = text.trim_start_matches(['-', '+']);
        let is_process = plain.parse().is_ok_and(|pid: u32| own.processes.contains(&pid));
        let is_named = ["murmur", "claude", "PPID"].iter().any(|name| text.contains(name));
        is_process || is_named
    };
    !asks && invocation.arguments().iter().any(is_watched)
}

/// `systemctl --user stop murmur`, `systemctl --user enable x`, `launchctl load x`
fn unit(invocation: &Invocation<'_>) -> Option<Order> {
    const SHOWS: [&str; 9] =
        ["status", "show", "cat", "is-active", "is-enabled", "is-failed", "list", "print", "list-units"];
    let is_murmur = invocation.arguments().iter().any(|word| word.marked().contains("murmur"));
    if is_murmur && !invocation.says(&SHOWS) {
        return Some(Order::Murmur);
    }
    let adds: &[&str] = match invocation.name().as_str() {
        "systemctl" => &["link", "edit", "set-property", "set-environment", "import-environment"],
        "launchctl" => &["load", "bootstrap", "submit", "enable", "setenv", "config"],
        _ => &[],
    };
    let enables = invocation.says(&["--user"]) && invocation.says(&["enable", "reenable", "preset"]);
    (invocation.says(adds) || enables).then_some(Order::Later("systemctl"))
}

/// What `claude` may be asked without starting an agent.
fn only_shows(invocation: &Invocation<'_>) -> bool {
    let words: Vec<&str> = invocation.arguments().iter().map(Field::marked).collect();
    matches!(
        words.as_slice(),
        ["--version" | "-v" | "--help" | "-h" | "doctor"]
            | ["mcp" | "config" | "plugin" | "plugins", "list" | "get" | "ls", ..]
            | [_, "--help" | "-h"]
    )
}

/// `git config core.hooksPath x`: settings by which git runs programs.
fn configures(invocation: &Invocation<'_>) -> bool {
    let given = invocation.arguments().windows(2).any(|pair| {
        let (key, value) = pair[1].marked().split_once('=').unwrap_or_default();
        pair[0].marked() == "-c" && !git::runs(key, value) && git::decides(key, value)
    });
    if given || invocation.arguments().iter().any(|word| word.marked().starts_with("--exec-path=")) {
        return true;
    }
    let operands =
        invocation.operands("Cfc", &["git-dir", "work-tree", "file", "blob", "type", "default", "value"]);
    let words: Vec<&str> = operands.iter().map(|word| word.marked()).collect();
    match words.as_slice() {
        ["config", rest @ ..] => sets(invocation, rest),
        ["remote", "add" | "set-url", ..] => words.iter().any(|word| word.starts_with("ext::")),
        _ => false,
    }
}

/// `git config key value`, `git config set key value`; what is only read or taken away passes.
fn sets(invocation: &Invocation<'_>, words: &[&str]) -> bool {
    const READS: [&str; 11] = [
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--unset",
        "--unset-all",
        "--list",
        "-l",
        "--remove-section",
        "--get-color",
        "--get-colorbool",
    ];
    if invocation.says(&READS) {
        return false;
    }
    if invocation.says(&["--edit", "-e"]) {
        return true;
    }
    let rest = match words {
        ["get" | "list" | "unset" | "remove-section", ..] => return false,
        ["edit", ..] => return true,
        ["rename-section", _, to] => return git::is_section(to.split('.').next().unwrap_or(to)),
        [_, to] if invocation.says(&["--rename-section"]) => {
            return git::is_section(to.split('.').next().unwrap_or(to));
        }
        ["set", rest @ ..] => rest,
        rest => rest,
    };
    // A key alone is read.
    let [key, value, ..] = rest else { return false };
    let is_known = Field::from(*key).is_known();
    let section = key.split('.').next().unwrap_or(key);
    git::decides(key, value) || !is_known && git::is_section(section) && key.ends_with(CLOSE)
}
