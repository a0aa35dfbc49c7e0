//! Wrappers that need their own code to find the command.

mod build;
mod cmdlet;
mod git;
mod murmur;
mod option;
mod repeat;
mod tools;

pub(super) use build::{cargo, cmake, make};
pub(in crate::shell) use build::{flags, make_text};
pub(super) use cmdlet::{copy_item, move_item, remove_item, set_content, stop_process};
pub(super) use git::git;
pub(in crate::shell) use git::parameters;
pub(super) use murmur::murmur;
pub(super) use option::{container, package, shell_escapes, socat, tar, tool};
pub(super) use repeat::{fd, find, parallel, xargs};
pub(super) use tools::{
    compgen, config_options, coproc, exec_subcommand, file_transfer, fzf, java, just, maven, mix, nix,
    pipe_syntax, puppet, rails, ripgrep, tex,
};

use super::{is_assignment, line, values};
use crate::shell::command::quote;
use crate::shell::field::Field;
use crate::shell::output;
use crate::shell::walk::{Stream, Walk};

/// `env [options] [NAME=value]… command`; `-S` splits a string.
pub(super) fn env(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let (mut at, mut folder) = (0, None);
    while let Some(text) = words.get(at).map(Field::marked) {
        if let Some(text) =
            text.strip_prefix("--split-string=").or(text.strip_prefix("-S").filter(|rest| !rest.is_empty()))
        {
            return walk.source(&format!("{text} {}", line(&words[at + 1..])), input);
        }
        match text {
            "-S" | "--split-string" | "-vS" | "-iS" => return walk.source(&line(&words[at + 1..]), input),
            "-C" | "--chdir" => {
                folder = words.get(at + 1).cloned();
                at += 2;
            }
            "-u" | "--unset" => at += 2,
            "--" => {
                at += 1;
                break;
            }
            _ if text.starts_with('-') => {
                folder = text.strip_prefix("--chdir=").map(Field::from).or(folder);
                at += 1;
            }
            _ => break,
        }
    }
    let rest = words.get(at..).unwrap_or_default();
    let count = rest.iter().take_while(|word| is_assignment(word)).count();
    for (name, value) in rest[..count].iter().filter_map(|word| word.marked().split_once('=')) {
        walk.set(name, vec![value.into()]);
    }
    walk.in_subshell(|walk| {
        if let Some(folder) = folder {
            walk.run(&["cd".into(), folder], &[], input);
        }
        walk.run(&rest[count..], &[], input)
    })
}

/// `nohup command`, `command [-v] command`. With `-v` and `-V`, `command` runs nothing.
pub(super) fn prefix(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let start = words.iter().position(|word| !word.marked().starts_with('-')).unwrap_or(words.len());
    if words[..start].iter().any(|word| ["-v", "-V", "-pv", "-pV"].contains(&word.marked())) {
        return words.get(start).map_or(Stream::Unknown, output::found_program);
    }
    walk.run(&words[start..], &[], input)
}

/// `strace [options] command`, and the subcommands of `perf` that run a command.
pub(super) fn strace(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let words = match words.first().map(Field::marked) {
        Some("stat" | "record" | "trace" | "mem" | "report") => &words[1..],
        _ => words,
    };
    let mut at = 0;
    while let Some(option) = words.get(at).map(Field::marked).filter(|text| text.starts_with('-')) {
        at += 1;
        if option == "--" {
            break;
        }
        let takes_value = option.len() == 2 && option.ends_with(|c| "aeEoOpPsSuIbUXFCGg".contains(c));
        at += usize::from(takes_value && !(option == "-g" || option == "-C" && words.len() < at + 2));
    }
    walk.run(words.get(at..).unwrap_or_default(), &[], input)
}

/// `gdb --args command`, `lldb -- command`, and debugger commands that run a shell.
pub(super) fn debugger(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let mut texts = values(words, &["-ex", "-iex", "--eval-command", "-o", "--one-line", "-O"]);
    texts.extend(input.known().map(str::to_owned));
    for file in values(words, &["-x", "-ix", "--command", "-s", "--source"]) {
        let written = walk.scope.files.get(&super::super::walk::plain(&file));
        texts.extend(written.map(|written| written.text.clone()));
    }
    for line in texts.iter().flat_map(|text| text.lines()).map(str::trim) {
        let start =
            ["shell ", "!", "platform shell ", "make "].iter().find_map(|start| line.strip_prefix(start));
        // `pipe command | text`
        let piped =
            line.strip_prefix("pipe ").or(line.strip_prefix('|')).and_then(|rest| rest.split_once('|'));
        if let Some(command) = start.or(piped.map(|(_, command)| command)) {
            walk.source(command, &Stream::External);
        } else if let Some((_, call)) = line.split_once("system(\"") {
            walk.source(call.split('"').next().unwrap_or(call), &Stream::External);
        }
    }
    let start = words.iter().position(|word| ["--args", "-args", "--"].contains(&word.marked()));
    start.map_or(Stream::Unknown, |start| walk.run(&words[start + 1..], &[], input))
}

/// `sg group -c command`, `sg group command`
pub(super) fn sg(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let rest: Vec<Field> =
        words.iter().filter(|word| !["-", "-c"].contains(&word.marked())).cloned().collect();
    walk.source(&line(rest.get(1..).unwrap_or_default()), input)
}

/// `ssh [options] host command`. Commands for another machine are checked as if they ran here.
pub(super) fn ssh(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    for option in values(words, &["-o"]) {
        if let Some((name, command)) = option.split_once(['=', ' '])
            && name.to_lowercase().ends_with("command")
        {
            walk.source(command, &Stream::External);
        }
    }
    for text in values(words, &["--ssh", "--server"]) {
        walk.source(&text, &Stream::External);
    }
    let mut at = 0;
    while let Some(option) = words.get(at).map(Field::marked).filter(|text| text.starts_with('-')) {
        at += 1;
        let ends_open = option
            .find(|c| "BbcDEeFIiJLlmOopPQRSWw".contains(c))
            .is_some_and(|place| place + 1 == option.len());
        at += usize::from(ends_open && !option.starts_with("--"));
    }
    let rest = words.get(at + 1..).unwrap_or_default();
    let rest = if rest.first().is_some_and(|word| word.marked() == "--") { &rest[1..] } else { rest };
    if rest.is_empty() {
        // The remote shell reads commands from stdin.
        let opens_none = words.iter().any(|word| ["-N", "-W"].contains(&word.marked()));
        match input {
            Stream::Known(written) => return super::super::interpreter::script(walk, written),
            Stream::Unknown if !opens_none => walk.doubt(super::super::interpreter::unknown_text()),
            _ => {}
        }
    }
    walk.in_subshell(|walk| walk.source(&line(rest), input))
}

/// `flock file command`, `flock file -c text`
pub(super) fn flock(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    for text in values(words, &["-c", "--command"]) {
        walk.source(&text, input);
    }
    let mut at = 0;
    while let Some(option) = words.get(at).map(Field::marked).filter(|text| text.starts_with('-')) {
        at += 1 + usize::from(["-w", "-E", "--timeout", "--wait", "--conflict-exit-code"].contains(&option));
    }
    let rest = words.get(at + 1..).unwrap_or_default();
    if rest.first().is_some_and(|word| ["-c", "--command"].contains(&word.marked())) {
        return Stream::Unknown;
    }
    walk.run(rest, &[], input)
}

/// `script -c text file`, and BSD's `script file command`
pub(super) fn script(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    for text in values(words, &["-c", "--command"]) {
        walk.source(&text, input);
    }
    let options = words.iter().position(|word| !word.marked().starts_with('-')).unwrap_or(words.len());
    if values(words, &["-c", "--command"]).is_empty() {
        walk.run(words.get(options + 1..).unwrap_or_default(), &[], input);
    }
    Stream::Unknown
}

/// `trap text signal…`
pub(super) fn trap(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let text = words.iter().find(|word| !["--", "-p", "-l"].contains(&word.marked()));
    if let Some(text) = text.filter(|text| !["", "-"].contains(&text.marked())) {
        walk.in_subshell(|walk| walk.source(text.marked(), input));
    }
    Stream::text("")
}

/// `crontab -` reads lines of five fields and a command.
pub(super) fn crontab(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let file = words.iter().find(|word| !word.marked().starts_with('-') || word.marked() == "-");
    let text = match file.map(Field::marked) {
        Some("-") => input.known().map(str::to_owned),
        Some(file) => {
            walk.scope.files.get(&super::super::walk::plain(file)).map(|written| written.text.clone())
        }
        None if words.is_empty() => input.known().map(str::to_owned),
        None => None,
    };
    for entry in text.iter().flat_map(|text| text.lines()).map(str::trim) {
        let count = if entry.starts_with('@') { 1 } else { 5 };
        let command = entry.split_whitespace().skip(count).collect::<Vec<_>>().join(" ");
        if !entry.starts_with('#') && !command.is_empty() {
            walk.in_subshell(|walk| walk.source(&command, &Stream::External));
        }
    }
    Stream::Unknown
}

/// `tmux new-session text`, `tmux send-keys text Enter`, `screen -dm command`, `screen -X stuff text`
pub(super) fn multiplexer(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    // `tmux new -d ';' send-keys text`: a sequence of commands.
    if let Some(end) = words.iter().position(|word| word.marked() == ";") {
        multiplexer(walk, &words[..end], input);
        return multiplexer(walk, &words[end + 1..], input);
    }
    const STARTS: [&str; 18] = [
        "new",
        "new-session",
        "neww",
        "new-window",
        "splitw",
        "split-window",
        "respawn-pane",
        "respawn-window",
        "run",
        "run-shell",
        "if-shell",
        "pipe-pane",
        "popup",
        "display-popup",
        "send-keys",
        "send",
        "stuff",
        "exec",
    ];
    let start = words.iter().position(|word| STARTS.contains(&word.marked()));
    let screen = words.iter().position(|word| word.marked().starts_with("-d") || word.marked() == "-A");
    let Some(start) = start.or(screen) else { return Stream::Unknown };
    let takes_name = words[start].marked().starts_with("-d") && words[start].marked().ends_with(['S', 't']);
    let mut rest = words.get(start + 1 + usize::from(takes_name)..).unwrap_or_default();
    while let Some(option) = rest.first().map(Field::marked).filter(|text| text.starts_with('-')) {
        let takes_value = option.len() == 2 && option.ends_with(|c| "censtFxyTSl".contains(c));
        rest = rest.get(1 + usize::from(takes_value)..).unwrap_or_default();
    }
    // The keys may be typed at a shell prompt.
    let is_key = |word: &&Field| !["Enter", "C-m", "KPEnter", "C-c"].contains(&word.marked());
    let keys: Vec<Field> = rest.iter().filter(is_key).map(|word| word.marked().trim_end().into()).collect();
    let text = match keys.as_slice() {
        [text] => text.marked().to_owned(),
        keys => keys.iter().map(|key| quote(key.marked())).collect::<Vec<_>>().join(" "),
    };
    walk.speculate(|walk| {
        walk.source(text.trim_end_matches("^M"), input);
        if keys.len() > 1 {
            walk.source(&line(&keys), input);
        }
    });
    Stream::Unknown
}

/// `xterm -e command`, `gnome-terminal -- command`
pub(super) fn terminal_emulator(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let start = words.iter().position(|word| ["-e", "-x", "--", "--command"].contains(&word.marked()));
    match start.map(|start| &words[start + 1..]) {
        Some([text]) => walk.source(text.marked(), input),
        Some(words) => walk.run(words, &[], input),
        None => {
            let skipped = words.iter().take_while(|word| word.marked().starts_with('-')).count();
            walk.run(&words[skipped..], &[], input)
        }
    }
}

/// `setarch architecture -R command`, `setarch -R command`
pub(super) fn setarch(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    const NAMES: [&str; 12] =
        ["linux", "x86", "i3", "i4", "i5", "i6", "arm", "aarch", "ppc", "s390", "mips", "riscv"];
    let is_option = |word: &&Field| word.marked().starts_with('-');
    let rest = &words[words.iter().take_while(is_option).count()..];
    let is_name = |word: &Field| NAMES.iter().any(|name| word.marked().starts_with(name));
    let rest = if rest.first().is_some_and(is_name) { &rest[1..] } else { rest };
    walk.run(&rest[rest.iter().take_while(is_option).count()..], &[], input)
}

/// `coreutils --coreutils-prog=program arguments`
pub(super) fn coreutils(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let program = words.first().and_then(|word| word.marked().strip_prefix("--coreutils-prog="));
    match program {
        Some(program) => walk.run(&[&[Field::from(program)], &words[1..]].concat(), &[], input),
        None if words.first().is_some_and(|word| !word.marked().starts_with('-')) => {
            walk.run(words, &[], input)
        }
        None => Stream::Unknown,
    }
}

/// `capsh -- arguments of a shell`
pub(super) fn capsh(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let start = words.iter().position(|word| word.marked() == "--");
    start.map_or(Stream::Unknown, |start| {
        walk.run(&[&[Field::from("bash")], &words[start + 1..]].concat(), &[], input)
    })
}

/// `bind -x 'key: command'`
pub(super) fn bind(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    for text in values(words, &["-x"]) {
        if let Some((_, command)) = text.split_once(':') {
            walk.in_subshell(|walk| walk.source(command, &Stream::External));
        }
    }
    Stream::text("")
}

/// `xdotool exec command`
pub(super) fn xdotool(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let start = words.iter().position(|word| word.marked() == "exec");
    start.map_or(Stream::Unknown, |start| walk.run(&words[start + 1..], &[], input))
}

/// `hyperfine --prepare text text`
pub(super) fn hyperfine(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let mut skips = false;
    for word in words {
        let text = word.marked();
        let is_value = std::mem::replace(
            &mut skips,
            ["-w", "-r", "-m", "-M", "--warmup", "--runs", "-n", "--export-json", "--export-markdown", "-N"]
                .contains(&text),
        );
        if !is_value && !text.starts_with('-') {
            walk.in_subshell(|walk| walk.source(text, input));
        }
    }
    Stream::Unknown
}
