//! Commands that control murmur, kill its processes, or start something that runs outside murmur: `murmur stop`,
//! `kill $PPID`, `claude -p`, `crontab x`.

use super::invocation::Invocation;
use super::kill;
use crate::agents::{self, Agent};
use crate::call::ProtectedPaths;
use crate::shell::field::CLOSE;
use crate::shell::{Field, git};

/// What such a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ControlCommand {
    /// Controls murmur, or kills a process that supervises agents.
    Murmur,
    /// Runs something later or outside murmur. A rule can allow it by this name.
    Later(&'static str),
}

/// Returns what `invocation` controls, if anything.
pub(super) fn find(invocation: &Invocation<'_>, own: &ProtectedPaths) -> Option<ControlCommand> {
    let name = invocation.name();
    if let Some(agent) = agents::called(&name) {
        let words: Vec<&str> = invocation.arguments().iter().map(Field::marked).collect();
        return agent.runs(&words).then_some(ControlCommand::Later(agent.program));
    }
    match name.as_str() {
        "murmur" | "mm" | "murmur-host" => (!is_harmless(invocation, own)).then_some(ControlCommand::Murmur),
        "systemctl" | "launchctl" | "service" | "rc-service" | "pm2" | "supervisorctl" | "sv" | "s6-svc"
        | "initctl" | "dinitctl" | "brew" | "busctl" | "dbus-send" | "gdbus" => unit(invocation),
        "systemd-run" => {
            let options = ["--on-calendar", "--on-boot", "--on-startup", "--timer-property"];
            let is_timed = |word: &Field| options.iter().any(|option| word.marked().starts_with(option));
            invocation.arguments().iter().any(is_timed).then_some(ControlCommand::Later("systemd-run"))
        }
        "rc-update" => invocation.has_any(&["add"]).then_some(ControlCommand::Later("rc-update")),
        "update-rc.d" => {
            invocation.has_any(&["enable", "defaults"]).then_some(ControlCommand::Later("update-rc.d"))
        }
        "chkconfig" => invocation.has_any(&["on", "--add"]).then_some(ControlCommand::Later("chkconfig")),
        "chsh" => (!invocation.has_any(&["-l", "--list-shells"])).then_some(ControlCommand::Later("chsh")),
        "fcrontab" => (!lists(invocation, &["-l"])).then_some(ControlCommand::Later("crontab")),
        "pip" | "pip3" => (invocation.has_any(&["config"]) && invocation.has_any(&["set", "edit"]))
            .then_some(ControlCommand::Later("pip config")),
        "aws" => sets(invocation).then_some(ControlCommand::Later("aws configure")),
        "npx" | "bunx" | "pnpx" | "pnpm" | "yarn" | "bun" | "npm" => {
            let runs = !invocation
                .has_any(&["install", "i", "add", "ci", "view", "info", "update", "outdated", "ls"]);
            let agent = || invocation.arguments().iter().find_map(|word| agents::packaged(word.marked()));
            let is_global = invocation.has('g', "global");
            let ends = invocation.arguments().first().is_some_and(|word| word.marked().starts_with("fkill"))
                && invocation.arguments().iter().any(|word| kill::names_protected(word.marked()));
            if ends {
                return Some(ControlCommand::Murmur);
            }
            if sets(invocation) {
                return Some(ControlCommand::Later("npm config"));
            }
            let starts = |agent: &Agent| ControlCommand::Later(agent.program);
            agent().filter(|_| runs || is_global).map(starts)
        }
        "crontab" => (!lists(invocation, &["-l"])).then_some(ControlCommand::Later("crontab")),
        "at" | "batch" => {
            (!lists(invocation, &["-l", "-c", "-d", "-r", "-V"])).then_some(ControlCommand::Later("at"))
        }
        "direnv" => {
            invocation.has_any(&["allow", "permit", "grant"]).then_some(ControlCommand::Later("direnv"))
        }
        "git" => (configures(invocation) || has_template(invocation))
            .then_some(ControlCommand::Later("git config")),
        _ => kill::kills_protected(invocation, own).then_some(ControlCommand::Murmur),
    }
}

fn lists(invocation: &Invocation<'_>, options: &[&str]) -> bool {
    invocation.has_any(options)
}

/// murmur's read-only commands, and those that a manager uses to direct other agents.
fn is_harmless(invocation: &Invocation<'_>, own: &ProtectedPaths) -> bool {
    let before_command: Vec<&str> =
        invocation.arguments().iter().map(Field::marked).take_while(|word| *word != "--").collect();
    let words: Vec<&str> =
        invocation.operands("", &["data-dir", "color", "scope"]).iter().map(|word| word.marked()).collect();
    // An answer may begin with a hyphen.
    let is_answer = matches!(words.as_slice(), ["answer", _, ..]);
    if !is_answer && before_command.iter().any(|word| ["--help", "-h", "--version"].contains(word)) {
        return true;
    }
    let is_host = invocation.name() == "murmur-host";
    let words = if is_host { [&["host"], words.as_slice()].concat() } else { words };
    match words.as_slice() {
        []
        | [
            "status" | "log" | "sessions" | "show" | "doctor" | "schema" | "completions" | "man" | "help"
            | "agents" | "attach" | "capture" | "mcp" | "limits" | "usage" | "list" | "inbox",
            ..,
        ] => !invocation.has_any(&["--fix"]),
        ["config"] | ["config", "path" | "check" | "schema", ..] => true,
        ["agent"] | ["agent", "list" | "show" | "attach" | "task", ..] => true,
        ["rules"] | ["rules", "list" | "check" | "log", ..] => true,
        // `murmur run NAME` starts a beat, and `murmur run -- command` only the command, which is checked itself.
        ["run", ..] if before_command.len() < invocation.arguments().len() => captures(&before_command),
        ["beat" | "gc" | "run", ..] => before_command.contains(&"--dry-run"),
        ["setup", "hooks"] => before_command.iter().any(|word| ["--check", "--dry-run"].contains(word)),
        ["service", "install"] => before_command.contains(&"--print"),
        ["notify", "log", ..] => true,
        ["permission", "list" | "check" | "rules", ..] | ["question", "list", ..] => true,
        ["workspaces"]
        | ["workspaces", "list", ..]
        | ["service", "status", ..]
        | ["permission" | "question"] => true,
        // Without these, it only shows the files to an agent.
        ["trust"] => !invocation.has_any(&["--yes", "--remove"]),
        ["host"] | ["host", "list" | "status" | "attach", ..] => true,
        ["host", "send" | "stop" | "interrupt" | "discover", ..]
        | ["agent", "send" | "stop" | "interrupt", ..] => {
            own.is_manager && !invocation.has_any(&["--all", "--data-dir"])
        }
        ["host", "spawn", ..] | ["agent", "start", ..] => own.is_manager && spawns_plainly(invocation),
        _ => false,
    }
}

/// Whether the words of `murmur run` before `--` are only options for the capture.
fn captures(words: &[&str]) -> bool {
    let mut words = words.iter().skip_while(|word| **word != "run").skip(1);
    while let Some(word) = words.next() {
        let (name, attached) = word.split_once('=').map_or((*word, false), |(name, _)| (name, true));
        if !["--session-id", "--retention"].contains(&name) || (!attached && words.next().is_none()) {
            return false;
        }
    }
    true
}

/// Whether `murmur agent start` sets no program, no settings, and no folder outside the manager's own: the new agent
/// must not have more rights than the manager.
fn spawns_plainly(invocation: &Invocation<'_>) -> bool {
    const OPTIONS: [&str; 6] = ["--agent-id", "--project", "--role", "--issue", "--model", "--worktree"];
    let mut words = invocation.arguments().iter().map(Field::marked);
    while let Some(word) = words.next() {
        // Arguments after `--` go to the agent's program unchanged.
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
            // A manager may do more than other roles.
            "--role" => value != "manager",
            _ => true,
        };
        if !is_fine {
            return false;
        }
    }
    true
}

/// `systemctl --user stop murmur`, `systemctl --user enable x`, `launchctl load x`
fn unit(invocation: &Invocation<'_>) -> Option<ControlCommand> {
    const SHOWS: [&str; 14] = [
        "status",
        "show",
        "cat",
        "is-active",
        "is-enabled",
        "is-failed",
        "list",
        "print",
        "list-units",
        "info",
        "logs",
        "log",
        "introspect",
        "describe",
    ];
    // `user@` is the user's session, which murmur runs in.
    let is_own_path = |word: &Field| {
        let text = word.to_string();
        let start = text.split(['*', '?', '[']).next().unwrap_or_default();
        let is_pattern = start.len() < text.len() && "murmur.service".starts_with(start);
        text.contains("murmur") || is_pattern && text.contains('*') || text.starts_with("user@")
    };
    if invocation.arguments().iter().any(is_own_path) && !invocation.has_any(&SHOWS) {
        return Some(ControlCommand::Murmur);
    }
    let adds: &[&str] = match invocation.name().as_str() {
        "systemctl" => &[
            "link",
            "edit",
            "set-property",
            "set-environment",
            "import-environment",
            "enable",
            "reenable",
            "preset",
            "add-wants",
            "add-requires",
        ],
        "launchctl" => &["load", "bootstrap", "submit", "enable", "setenv", "config"],
        _ => &[],
    };
    invocation.has_any(adds).then_some(ControlCommand::Later("systemctl"))
}

/// Settings that make a tool run a program: `npm config set script-shell x`
fn sets(invocation: &Invocation<'_>) -> bool {
    const KEYS: [&str; 8] = [
        "script-shell",
        "shell",
        "init-module",
        "node-options",
        "onload-script",
        "scriptShell",
        "credential_process",
        "git",
    ];
    let is_key = |word: &&Field| KEYS.contains(&word.marked().split('=').next().unwrap_or_default());
    invocation.has_any(&["set"]) && invocation.arguments().iter().take(4).any(|word| is_key(&word))
}

/// A template folder, from which git copies hooks into a new repository.
fn has_template(invocation: &Invocation<'_>) -> bool {
    let named =
        invocation.value("", "template").into_iter().chain(invocation.scope.assigned("GIT_TEMPLATE_DIR"));
    invocation.has_any(&["init", "clone"]) && named.into_iter().any(|folder| !folder.marked().is_empty())
}

/// `git config core.hooksPath x`: settings that make git run programs.
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
        ["config", rest @ ..] => sets_key(invocation, rest),
        ["remote", "add" | "set-url", ..] => words.iter().any(|word| word.starts_with("ext::")),
        _ => false,
    }
}

/// `git config key value`, `git config set key value`. Reading or removing a setting is fine.
fn sets_key(invocation: &Invocation<'_>, words: &[&str]) -> bool {
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
    if invocation.has_any(&READS) {
        return false;
    }
    if invocation.has_any(&["--edit", "-e"]) {
        return true;
    }
    let rest = match words {
        ["get" | "list" | "unset" | "remove-section", ..] => return false,
        ["edit", ..] => return true,
        ["rename-section", _, to] => return git::is_section(to.split('.').next().unwrap_or(to)),
        [_, to] if invocation.has_any(&["--rename-section"]) => {
            return git::is_section(to.split('.').next().unwrap_or(to));
        }
        ["set", rest @ ..] => rest,
        rest => rest,
    };
    // A key without a value is a read.
    let [key, value, ..] = rest else { return false };
    let is_known = Field::from(*key).is_known();
    let section = key.split('.').next().unwrap_or(key);
    git::decides(key, value) || !is_known && git::is_section(section) && key.ends_with(CLOSE)
}
