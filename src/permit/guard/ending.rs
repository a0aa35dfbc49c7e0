//! What ends murmur, an agent, or what watches over it: `kill $PPID`, `pkill murmur`, `systemctl --user stop murmur`.

use super::control;
use super::invocation::Invocation;
use crate::permit::call::Own;
use crate::permit::shell::Field;
use regex::RegexBuilder;

/// What processes are called that no agent may end.
const NAMES: [&str; 4] = ["murmur", "murmur-host", "murmur-hook", "claude"];

/// More processes than anybody names one by one.
const MANY: usize = 200;

/// Whether `invocation` ends one of them.
pub(super) fn ends(invocation: &Invocation<'_>, own: &Own) -> bool {
    let words = invocation.arguments();
    match invocation.name().as_str() {
        "kill" | "skill" | "tgkill" | "fkill" | "fkill-cli" | "taskkill" | "Stop-Process"
        | "stop-process" | "xkill" => {
            !asks(invocation)
                && (words.len() > MANY
                    || words.iter().any(is_range)
                    || words.iter().any(|word| is_watched(word, own))
                    || is_found(&joined(words)))
        }
        "pkill" | "killall" => !asks(invocation) && by_name(invocation, own),
        "fuser" => {
            invocation.has('k', "kill")
                && words.iter().any(|path| control::is_murmurs(path, invocation.scope, own))
        }
        "gdb" | "lldb" => {
            let process = invocation.value("-p", "pid");
            process.is_some_and(|process| is_watched(&process, own))
        }
        "loginctl" => {
            let ends = ["terminate-user", "terminate-session", "terminate-seat", "kill-user", "kill-session"];
            invocation.says(&ends)
        }
        "python" | "python3" | "node" | "bun" | "deno" | "php" => in_code(invocation, Order::ProcessFirst),
        "perl" | "ruby" | "awk" | "gawk" => in_code(invocation, Order::SignalFirst),
        _ => false,
    }
}

/// `{1..99999}`, which is not expanded as it is too long.
fn is_range(word: &Field) -> bool {
    let text = word.to_string();
    text.starts_with('{') && text.contains("..")
}

fn joined(words: &[Field]) -> String {
    words.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn asks(invocation: &Invocation<'_>) -> bool {
    invocation.says(&["-0", "-l", "-L"])
}

/// Whether the word stands for a process that watches over the agent: by its number, or as what finds it out says.
fn is_watched(word: &Field, own: &Own) -> bool {
    let text = word.to_string();
    let plain = text.trim_start_matches(['-', '+']);
    if plain.parse().is_ok_and(|pid: u32| own.processes.contains(&pid)) {
        return true;
    }
    // What is put in brackets so that a search does not find itself.
    let letters = text.replace(['[', ']'], "").to_lowercase();
    let is_named = ["murmur", "claude"].iter().any(|name| letters.contains(name)) || names_parent(&letters);
    let is_in_own = || own.paths.iter().any(|path| leads_into(&text, &path.to_string_lossy()));
    is_named || text.len() > 8 && (is_in_own() || is_found(&text))
}

/// Whether `PPID` stands in the text by itself: not as in `APPID`.
fn names_parent(letters: &str) -> bool {
    let mut ends = letters.match_indices("ppid").map(|(at, _)| letters[..at].chars().next_back());
    ends.any(|before| !before.is_some_and(char::is_alphanumeric))
}

/// Whether `path`, or something in it, stands in the text.
fn leads_into(text: &str, path: &str) -> bool {
    let mut rests = text.match_indices(path).map(|(at, _)| text[at + path.len()..].chars().next());
    rests.any(|next| !next.is_some_and(|next| next.is_alphanumeric() || "._-".contains(next)))
}

/// Whether a search for processes, as `$(pgrep mur)`, finds one of them.
fn is_found(text: &str) -> bool {
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
            words
                .iter()
                .skip(1)
                .any(|word| !word.marked().starts_with('-') && fits(word, ignores, *search == "pidof "))
        })
    })
}

/// `pkill mur`, `killall -r 'mur.*'`, `pkill -u $USER`, `pkill -F murmur.pid`
fn by_name(invocation: &Invocation<'_>, own: &Own) -> bool {
    let is_exact = invocation.name() == "killall";
    let letters = if is_exact { "sunoyZ" } else { "sgGuUtPFO" };
    let long = [
        "signal", "group", "pgroup", "user", "euid", "uid", "terminal", "parent", "pidfile", "ns", "session",
    ];
    let patterns = invocation.operands(letters, &long);
    if invocation.arguments().iter().any(|word| is_watched(word, own)) {
        return true;
    }
    if let Some(file) = invocation.value("-F", "pidfile").filter(|_| !is_exact) {
        return control::is_murmurs(&file, invocation.scope, own);
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
    patterns.iter().any(|pattern| fits(pattern, ignores, is_whole))
}

/// Whether `pattern` is found in the name of one of them, or is it.
fn fits(pattern: &Field, ignores: bool, is_whole: bool) -> bool {
    if !pattern.is_known() {
        return false;
    }
    let pattern = pattern.to_string();
    let whole = if is_whole { format!("^(?:{pattern})$") } else { pattern.clone() };
    match RegexBuilder::new(&whole).case_insensitive(ignores).size_limit(1 << 16).build() {
        Ok(regex) => NAMES.iter().any(|name| regex.is_match(name)),
        Err(_) => NAMES.iter().any(|name| name.contains(&pattern)),
    }
}

/// How a language calls the function that sends signals.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    ProcessFirst,
    SignalFirst,
}

/// Code that ends its parent, the first process, all of them, or one by its name.
fn in_code(invocation: &Invocation<'_>, order: Order) -> bool {
    const CALLS: [&str; 6] = ["kill(", "kill 9", "kill -", "kill ", "kill\"", "kill'"];
    let words = invocation.arguments().iter().map(Field::marked);
    let mut codes = words.filter(|word| word.contains("kill") && word.contains(['(', ',']));
    codes.any(|code| {
        let is_named =
            ["getppid", ".ppid", "\"ppid\"", "'ppid'", "murmur"].iter().any(|name| code.contains(name));
        let calls = CALLS.iter().any(|call| code.contains(call));
        let ends_all = code.split("kill").skip(1).any(|rest| {
            let arguments = rest.trim_start_matches(['(', ' ']);
            let end = arguments.find([')', ';', '}']).unwrap_or(arguments.len());
            let mut arguments = arguments[..end].split(',').map(str::trim);
            let process = if order == Order::ProcessFirst { arguments.next() } else { arguments.nth(1) };
            process.is_some_and(|process| ["1", "-1"].contains(&process))
        });
        is_named && calls || ends_all
    })
}
