//! Tools with a command in one of their options or in a script of their own language.

use super::super::{command, values};
use super::option::speculate;
use crate::agents;
use crate::shell::field::Field;
use crate::shell::interpreter;
use crate::shell::language::Syntax;
use crate::shell::walk::{Stream, Walk, plain};

/// The part of `text` between `start` and `end`.
fn between<'a>(text: &'a str, start: &str, end: char) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    Some(rest.split(end).next().unwrap_or(rest))
}

fn position(words: &[Field], names: &[&str]) -> Option<usize> {
    words.iter().position(|word| names.contains(&word.marked()))
}

/// `fzf --preview text`, `fzf --bind 'key:execute(text)'`
pub(in super::super) fn fzf(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    for text in values(words, &["--preview", "--become"]) {
        speculate(walk, &text);
    }
    const ACTIONS: [&str; 7] =
        ["execute(", "execute-silent(", "reload(", "reload-sync(", "become(", "transform(", "preview("];
    for text in values(words, &["--bind"]) {
        for action in ACTIONS {
            for rest in text.split(action).skip(1) {
                speculate(walk, rest.rsplit_once(')').map_or(rest, |(command, _)| command));
                speculate(walk, rest.split(')').next().unwrap_or(rest));
            }
        }
    }
    Stream::Unknown
}

/// `just --command program arguments`, `just --shell program`
pub(in super::super) fn just(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    if let Some(start) = position(words, &["--command", "-c"]) {
        command(walk, &words[start + 1..]);
        return Stream::Unknown;
    }
    for text in values(words, &["--shell", "--chooser"]) {
        speculate(walk, &text);
    }
    Stream::Unknown
}

/// `nix develop -c program arguments`, `nix run package -- arguments`
pub(in super::super) fn nix(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    if let Some(start) = position(words, &["-c", "--command"]) {
        command(walk, &words[start + 1..]);
    } else if words.first().is_some_and(|word| word.marked() == "run") {
        let rest = &words[1..];
        let package = rest.iter().find(|word| word.marked().contains('#'));
        let name = package.and_then(|word| word.marked().rsplit(['#', '.']).next());
        let end = position(rest, &["--"]).map_or(rest.len(), |at| at + 1);
        if let Some(name) = name {
            let name = agents::packaged(name).map_or(name, |agent| agent.program);
            command(walk, &[&[Field::from(name)], &rest[end..]].concat());
        }
    }
    Stream::Unknown
}

/// `stack exec -- program`, `bun exec text`, `jj util exec -- program`
pub(in super::super) fn exec_subcommand(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    if let Some(start) = position(words, &["exec", "x"]) {
        let rest = &words[start + 1..];
        let is_option = |word: &&Field| word.marked().starts_with('-');
        let end = position(rest, &["--"]).filter(|_| rest.first().as_ref().is_some_and(is_option));
        let skipped = end.map_or_else(|| rest.iter().take_while(is_option).count(), |end| end + 1);
        command(walk, &rest[skipped..]);
    }
    config_options(walk, words, input)
}

/// `hg --config alias.x='!text'`, `svn --diff-cmd program`, `jj --config ui.pager=text`
pub(in super::super) fn config_options(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    for pair in values(words, &["--config", "--config-option", "--config-toml"]) {
        if let Some((_, value)) = pair.rsplit_once('=') {
            let value: String = value.chars().filter(|c| !"[]\"',".contains(*c)).collect();
            speculate(walk, value.trim_start_matches('!'));
        }
    }
    for text in values(words, &["--diff-cmd", "--diff3-cmd", "--editor-cmd", "--ssh", "--remotecmd"]) {
        speculate(walk, &text);
    }
    Stream::Unknown
}

/// `rsync -e program`, `scp -o ProxyCommand=text`, `sftp -D program`, `sshfs -o ssh_command=program`
pub(in super::super) fn file_transfer(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    for text in values(words, &["-e", "--rsh", "--rsync-path", "-S", "-D"]) {
        speculate(walk, &text);
    }
    for option in values(words, &["-o"]) {
        for pair in [option.as_str()].into_iter().chain(option.split(',')) {
            if let Some((name, text)) = pair.split_once(['=', ' '])
                && name.to_lowercase().ends_with("command")
            {
                speculate(walk, text);
            }
        }
    }
    // In `sftp`, lines that start with `!` are shell commands.
    for line in input.known().unwrap_or_default().lines() {
        if let Some(text) = line.trim().strip_prefix('!') {
            speculate(walk, text);
        }
    }
    Stream::Unknown
}

/// `java -XX:OnOutOfMemoryError=text`
pub(in super::super) fn java(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    for word in words {
        if let Some((_, text)) = word.marked().strip_prefix("-XX:On").and_then(|rest| rest.split_once('=')) {
            speculate(walk, text);
        }
    }
    Stream::Unknown
}

/// `mvn exec:exec -Dexec.executable=program -Dexec.args=text`
pub(in super::super) fn maven(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    let value = |name: &str| words.iter().find_map(|word| word.marked().strip_prefix(name));
    if let Some(program) = value("-Dexec.executable=") {
        let arguments = value("-Dexec.args=").or(value("-Dexec.commandlineArgs=")).unwrap_or_default();
        speculate(walk, &format!("{program} {arguments}"));
    }
    Stream::Unknown
}

/// `mix run -e code`, `mix eval code`
pub(in super::super) fn mix(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    for code in values(words, &["-e", "--eval", "eval"]) {
        interpreter::text(walk, &code, Syntax::CLike);
    }
    Stream::Unknown
}

/// `rails runner code`
pub(in super::super) fn rails(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    for code in values(words, &["runner", "r"]) {
        if !code.ends_with(".rb") {
            interpreter::text(walk, &code, Syntax::Perl);
        }
    }
    Stream::Unknown
}

/// `puppet apply -e 'exec{"text":}'`
pub(in super::super) fn puppet(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    for code in values(words, &["-e", "--execute"]) {
        let code: String = code.chars().filter(|c| !c.is_whitespace() || *c == ' ').collect();
        for call in code.replace("exec {", "exec{").split("exec{").skip(1) {
            let call = call.trim_start();
            if let Some(quote) = call.chars().next().filter(|c| "\"'".contains(*c)) {
                speculate(walk, call[1..].split(quote).next().unwrap_or_default());
            }
        }
    }
    Stream::Unknown
}

/// `pdflatex '\write18{text}'`, `lualatex '\directlua{code}'`
pub(in super::super) fn tex(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    for text in words.iter().map(Field::marked) {
        if let Some(command) = between(text, "\\write18{", '}') {
            speculate(walk, command);
        }
        if let Some((_, code)) = text.split_once("\\directlua{") {
            interpreter::text(walk, code, Syntax::CLike);
        }
    }
    Stream::Unknown
}

/// `gs -c '(%pipe%text) (w) file'`, `clickhouse local -q "select * from executable('text', …)"`
pub(in super::super) fn pipe_syntax(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    for text in words.iter().map(Field::marked) {
        if let Some(command) = between(text, "%pipe%", ')').or(between(text, "executable('", '\'')) {
            speculate(walk, command);
        }
    }
    Stream::Unknown
}

/// `rg --pre program pattern folder` runs the program on each file; `rg --files folder` lists files.
pub(in super::super) fn ripgrep(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    let operands: Vec<Field> = words.iter().filter(|word| !word.marked().starts_with('-')).cloned().collect();
    for program in values(words, &["--pre", "--hostname-bin"]) {
        speculate(walk, &program);
        let program = Field::from(program.as_str());
        let files = operands.iter().filter(|word| **word != program).skip(1).cloned();
        command(walk, &std::iter::once(program.clone()).chain(files).collect::<Vec<_>>());
    }
    let has = |letter: char, long: &str| {
        words.iter().map(Field::marked).any(|word| {
            word == long || word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
        })
    };
    let is_everything = |pattern: &Field| ["", ".", ".*", "^"].contains(&pattern.marked());
    let folders = if has('\0', "--files") {
        operands.as_slice()
    } else if has('l', "--files-with-matches") && operands.first().is_some_and(is_everything) {
        &operands[1..]
    } else {
        return Stream::Unknown;
    };
    match folders {
        [] => Stream::Unknown,
        folders => {
            Stream::text(folders.iter().map(|word| word.marked().to_owned() + "\n").collect::<String>())
        }
    }
}

/// `compgen -W words` expands the words; `-C text` runs a command.
pub(in super::super) fn compgen(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    for text in values(words, &["-C"]) {
        walk.source(&text, input);
    }
    for text in values(words, &["-W"]) {
        if text.contains("$(") || text.contains('`') {
            walk.walk_expansions(&text);
        }
    }
    Stream::Unknown
}

/// `coproc program`: the rest of the line writes its input.
pub(in super::super) fn coproc(walk: &mut Walk<'_>, words: &[Field], _: &Stream) -> Stream {
    walk.run(words, &[], &Stream::Unknown)
}

/// `cmake -P file` with a file that the command line wrote: `execute_process(COMMAND program arguments)`
pub(in super::super) fn cmake_script(walk: &mut Walk<'_>, file: &Field) {
    let Some(text) = walk.scope.files.get(&plain(file.marked())).map(|written| written.text.clone()) else {
        return;
    };
    for call in text.split("COMMAND ").skip(1) {
        speculate(walk, call.split([')', '\n']).next().unwrap_or(call));
    }
    for call in text.split("REMOVE_RECURSE ").skip(1) {
        speculate(walk, &format!("rm -rf {}", call.split([')', '\n']).next().unwrap_or(call)));
    }
}
