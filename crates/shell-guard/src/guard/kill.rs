//! Commands that kill murmur, an agent or its supervisor: `kill $PPID`, `pkill murmur`.

use super::control;
use super::invocation::Invocation;
use crate::agents;
use crate::call::ProtectedPaths;
use crate::shell::Field;
use regex::RegexBuilder;

/// Names of murmur's processes, which no agent may kill.
const NAMES: [&str; 3] = ["murmur", "murmur-host", "murmur-hook"];

/// A longer list of process ids is a range rather than a choice.
const MAX_PIDS: usize = 200;

/// Whether `invocation` kills a protected process.
pub(super) fn kills_protected(invocation: &Invocation<'_>, own: &ProtectedPaths) -> bool {
    let words = invocation.arguments();
    match invocation.name().as_str() {
        "kill" | "skill" | "tgkill" | "fkill" | "fkill-cli" | "taskkill" | "Stop-Process"
        | "stop-process" | "xkill" => {
            !only_lists(invocation)
                && (words.len() > MAX_PIDS
                    || words.iter().any(is_range)
                    || words.iter().any(|word| is_protected_process(word, own))
                    || search_finds_protected(&joined(words)))
        }
        "pkill" | "killall" => !only_lists(invocation) && by_name(invocation, own),
        "fuser" => {
            invocation.has('k', "kill")
                && words.iter().any(|path| control::is_own_path(path, invocation.scope, own))
        }
        "gdb" | "lldb" => {
            let process = invocation.value("-p", "pid");
            process.is_some_and(|process| is_protected_process(&process, own))
        }
        "loginctl" => {
            let ends = ["terminate-user", "terminate-session", "terminate-seat", "kill-user", "kill-session"];
            invocation.has_any(&ends)
        }
        "python" | "python3" | "node" | "bun" | "deno" | "php" => {
            in_code(invocation, ArgumentOrder::ProcessFirst)
        }
        "perl" | "ruby" | "awk" | "gawk" => in_code(invocation, ArgumentOrder::SignalFirst),
        _ => false,
    }
}

/// `{1..99999}`, which is too long to expand.
fn is_range(word: &Field) -> bool {
    let text = word.to_string();
    text.starts_with('{') && text.contains("..")
}

fn joined(words: &[Field]) -> String {
    words.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn only_lists(invocation: &Invocation<'_>) -> bool {
    invocation.has_any(&["-0", "-l", "-L"])
}

/// Whether the word is a protected process: by its id, or by a search that finds it.
fn is_protected_process(word: &Field, own: &ProtectedPaths) -> bool {
    let text = word.to_string();
    let plain = text.trim_start_matches(['-', '+']);
    if plain.parse().is_ok_and(|pid: u32| own.processes.contains(&pid)) {
        return true;
    }
    // `pgrep [m]urmur` uses brackets so that it doesn't find itself.
    let letters = text.replace(['[', ']'], "").to_lowercase();
    let pattern_names_entry = names_protected(&letters) || names_parent(&letters);
    let is_in_own = || own.paths.iter().any(|path| mentions_path(&text, &path.to_string_lossy()));
    pattern_names_entry || text.len() > 8 && (is_in_own() || search_finds_protected(&text))
}

/// Whether the text names murmur or an agent.
pub(super) fn names_protected(text: &str) -> bool {
    text.contains("murmur") || agents::is_mentioned(text)
}

/// Whether the text contains the name `PPID`, and not as part of another name such as `APPID`.
fn names_parent(letters: &str) -> bool {
    let mut ends = letters.match_indices("ppid").map(|(at, _)| letters[..at].chars().next_back());
    ends.any(|before| !before.is_some_and(char::is_alphanumeric))
}

/// Whether the text contains `path` or a path below it.
fn mentions_path(text: &str, path: &str) -> bool {
    let mut rests = text.match_indices(path).map(|(at, _)| text[at + path.len()..].chars().next());
    rests.any(|next| !next.is_some_and(|next| next.is_alphanumeric() || "._-".contains(next)))
}

/// Whether a process search such as `$(pgrep mur)` finds a protected process.
fn search_finds_protected(text: &str) -> bool {
    ["pgrep ", "pidof "].iter().any(|search| {
        text.split(search).skip(1).any(|rest| {
            let end = rest.find([')', '|', '`', ';', '&']).unwrap_or(rest.len());
            let words: Vec<Field> = [search.trim()]
                .into_iter()
                .chain(rest[..end].split_whitespace())
                .map(|word| Field::from(word.trim_matches(['"', '\''])))
                .collect();
            let ignores =
                words.iter().any(|word| word.marked().starts_with('-') && word.marked().contains('i'));
            words.iter().skip(1).any(|word| {
                !word.marked().starts_with('-') && matches_protected(word, ignores, *search == "pidof ")
            })
        })
    })
}

/// `pkill mur`, `killall -r 'mur.*'`, `pkill -u $USER`, `pkill -F murmur.pid`
fn by_name(invocation: &Invocation<'_>, own: &ProtectedPaths) -> bool {
    let is_exact = invocation.name() == "killall";
    let letters = if is_exact { "sunoyZ" } else { "sgGuUtPFO" };
    let long = [
        "signal", "group", "pgroup", "user", "euid", "uid", "terminal", "parent", "pidfile", "ns", "session",
    ];
    let patterns = invocation.operands(letters, &long);
    if invocation.arguments().iter().any(|word| is_protected_process(word, own)) {
        return true;
    }
    if let Some(file) = invocation.value("-F", "pidfile").filter(|_| !is_exact) {
        return control::is_own_path(&file, invocation.scope, own);
    }
    if !is_exact && invocation.arguments().iter().any(|word| ["-v", "--inverse"].contains(&word.marked())) {
        return true;
    }
    if patterns.is_empty() {
        let user = invocation.value("-u", "user").or_else(|| invocation.value("-u", "euid"));
        let user = user.or_else(|| invocation.value("-U", "uid"));
        let mine = invocation.scope.home().map(Field::base);
        return user.is_some_and(|user| !user.is_known() || Some(user) == mine);
    }
    let ignores = invocation.has(if is_exact { 'I' } else { 'i' }, "ignore-case");
    let is_whole = is_exact && !invocation.has('r', "regexp") || !is_exact && invocation.has('x', "exact");
    patterns.iter().any(|pattern| matches_protected(pattern, ignores, is_whole))
}

/// The names of protected processes.
fn protected() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain(agents::programs())
}

/// Whether `pattern` matches the name of a protected process.
fn matches_protected(pattern: &Field, ignores: bool, is_whole: bool) -> bool {
    if !pattern.is_known() {
        return false;
    }
    let pattern = pattern.to_string();
    let whole = if is_whole { format!("^(?:{pattern})$") } else { pattern.clone() };
    match RegexBuilder::new(&whole).case_insensitive(ignores).size_limit(1 << 16).build() {
        Ok(regex) => protected().any(|name| regex.is_match(name)),
        Err(_) => protected().any(|name| name.contains(&pattern)),
    }
}

/// The argument order of a language's kill function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArgumentOrder {
    ProcessFirst,
    SignalFirst,
}

/// Code that kills its parent, process 1, all processes, or a protected one by name.
fn in_code(invocation: &Invocation<'_>, order: ArgumentOrder) -> bool {
    const CALLS: [&str; 6] = ["kill(", "kill 9", "kill -", "kill ", "kill\"", "kill'"];
    let words = invocation.arguments().iter().map(Field::marked);
    let mut codes = words.filter(|word| word.contains("kill") && word.contains(['(', ',']));
    codes.any(|code| {
        let pattern_names_entry =
            ["getppid", ".ppid", "\"ppid\"", "'ppid'", "murmur"].iter().any(|name| code.contains(name));
        let calls = CALLS.iter().any(|call| code.contains(call));
        let ends_all = code.split("kill").skip(1).any(|rest| {
            let arguments = rest.trim_start_matches(['(', ' ']);
            let end = arguments.find([')', ';', '}']).unwrap_or(arguments.len());
            let mut arguments = arguments[..end].split(',').map(str::trim);
            let process =
                if order == ArgumentOrder::ProcessFirst { arguments.next() } else { arguments.nth(1) };
            process.is_some_and(|process| ["1", "-1"].contains(&process))
        });
        pattern_names_entry && calls || ends_all
    })
}
