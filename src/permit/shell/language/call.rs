//! The calls that pass something on, by their names.

use super::lex::Token;
use super::{Embedded, Kind, Reader, Value};
use crate::permit::shell::field::Field;

/// Calls that run a command, whatever they belong to.
const RUN: [&str; 40] = [
    "posix_spawnp",
    "pcntl_exec",
    "spawnlpe",
    "launchedProcess",
    "system2",
    "callCommand",
    "Sys.command",
    "system",
    "popen",
    "popen2",
    "popen3",
    "popen4",
    "Popen",
    "check_output",
    "check_call",
    "getoutput",
    "execSync",
    "getstatusoutput",
    "shell_exec",
    "passthru",
    "proc_open",
    "execute",
    "execFile",
    "execFileSync",
    "spawnSync",
    "create_subprocess_shell",
    "create_subprocess_exec",
    "capture2",
    "capture2e",
    "capture3",
    "execvp",
    "execv",
    "execve",
    "execl",
    "execlp",
    "execle",
    "execvpe",
    "spawnvp",
    "spawnlp",
    "posix_spawn",
];
/// Calls that may run a command, and may be something else: what they are given counts where it is written out.
const MAY_RUN: [&str; 11] =
    ["run", "call", "exec", "spawn", "eval", "command", "shell", "sh", "Command", "cmd", "process"];
/// Calls that remove files.
const REMOVE: [&str; 28] = [
    "remove_dir",
    "remove_entry",
    "remove_entry_secure",
    "emptyDir",
    "emptyDirSync",
    "RemoveAll",
    "rm_f",
    "File.delete",
    "FileUtils.rm",
    "Deno.remove",
    "Deno.removeSync",
    "fse.remove",
    "rmdir",
    "rmtree",
    "rm_rf",
    "rm_r",
    "remove_tree",
    "rmSync",
    "rmdirSync",
    "rimraf",
    "removedirs",
    "unlinkSync",
    "removeSync",
    "os.remove",
    "unlink",
    "os.unlink",
    "fs.rm",
    "remove_dir_all",
];
/// Calls that write to a file.
const WRITE: [&str; 14] = [
    "os.truncate",
    "truncateSync",
    "binwrite",
    "Deno.writeFile",
    "Bun.write",
    "writeFileSync",
    "writeFile",
    "appendFileSync",
    "createWriteStream",
    "file_put_contents",
    "File.write",
    "IO.write",
    "write_text",
    "copyfile",
];
/// What makes text of other text.
const DECODE: [&str; 13] = [
    "pack",
    "unpack",
    "unpack1",
    "Buffer.from",
    "fromCharCode",
    "b64decode",
    "fromhex",
    "unhexlify",
    "decompress",
    "decode64",
    "atob",
    "base64_decode",
    "urlopen",
];

/// Whether a call of that name runs something.
pub(super) fn runs(name: &str) -> bool {
    let last = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
    RUN.contains(&last)
}

/// Whether a call of that name removes something.
pub(super) fn removes(name: &str) -> bool {
    let last = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
    REMOVE.contains(&last)
}

/// What a name stands for that has a value of its own.
pub(super) fn constant(name: &str, next: &[Token]) -> Option<Value> {
    let home = || Some(Value::Text("~".to_owned()));
    let known = |variable: &str| match variable {
        "HOME" => home(),
        _ if variable.starts_with("MURMUR_") => Some(Value::Text(Field::unknown(&format!("${variable}")).0)),
        _ => None,
    };
    match name {
        "sys.executable" => Some(Value::Text("python3".to_owned())),
        "process.execPath" => Some(Value::Text("node".to_owned())),
        "process.env.HOME" | "os.homedir" | "homedir" | "Path.home" | "pathlib.Path.home" | "Dir.home" => {
            home()
        }
        _ if name.starts_with("process.env.") => known(name.trim_start_matches("process.env.")),
        _ if name.ends_with("environ") || name.ends_with("getenv") || name == "ENV" => match next {
            [Token::Mark(_), Token::Text(variable) | Token::Word(variable), ..] => known(variable),
            [Token::Mark(_), Token::Mark('{' | '('), Token::Text(variable) | Token::Word(variable), ..] => {
                known(variable)
            }
            _ => None,
        },
        _ if name.ends_with("glob")
            || name.ends_with("expanduser")
            || name.ends_with("Path")
            || name.ends_with("path.join") =>
        {
            match next {
                [Token::Mark('('), Token::Text(path), ..] => Some(Value::Text(path.clone())),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The program that does what a call of that name does with two paths.
fn moves(name: &str) -> Option<&'static str> {
    match name {
        "copyfile" | "copyFile" | "copyFileSync" | "copy2" | "copytree" | "cpSync" => Some("cp"),
        "move" | "rename" | "renameSync" | "moveSync" => Some("mv"),
        _ => None,
    }
}

impl Reader<'_> {
    /// Notes what is done with a path that stands in `Path(…)`, by the method that follows; the path is at `at`.
    pub(super) fn method(&mut self, name: &str, at: usize) {
        if name != "Path" && !name.ends_with(".Path") && name != "Pathname.new" {
            return;
        }
        let [Token::Text(path), Token::Mark(')'), Token::Mark('.'), Token::Word(method), ..] =
            &self.tokens[at.min(self.tokens.len())..]
        else {
            return;
        };
        let path = Field::from(path.as_str());
        match method.as_str() {
            _ if method.starts_with("write_") => self.found.push(Embedded::Write(path)),
            "unlink" | "rmdir" | "rmtree" | "delete" => {
                self.found.push(Embedded::Words(vec!["rm".into(), "-rf".into(), path]));
            }
            _ => {}
        }
    }

    /// Notes what a call passes on; its arguments begin at `at`.
    pub(super) fn call(&mut self, name: &str, arguments: &[Value], at: usize) {
        let last = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
        if last == "exec" && self.kind == Kind::Script && !self.is_of_process(name, at) {
            return;
        }
        let is_one_of = |names: &[&str]| names.iter().any(|known| *known == last || *known == name);
        let may_be_subprocess = name.starts_with("subprocess.") || name.starts_with("child_process.");
        if is_one_of(&REMOVE) {
            if let Some(Value::Text(path)) = arguments.first() {
                self.found.push(Embedded::Words(vec!["rm".into(), "-rf".into(), Field::from(path.as_str())]));
            }
        } else if last == "rm" {
            // `fs.promises.rm(path)`, and `rm('-rf', path)` of a shell's functions.
            let paths = arguments.iter().filter_map(|value| match value {
                Value::Text(path) => Some(Field::from(path.as_str())),
                _ => None,
            });
            self.found.push(Embedded::Words(["rm".into(), "-rf".into()].into_iter().chain(paths).collect()));
        } else if let Some(program) = moves(last) {
            if let [Value::Text(from), Value::Text(to), ..] = arguments {
                let words = [program, from.as_str(), to.as_str()];
                self.found.push(Embedded::Words(words.into_iter().map(Field::from).collect()));
            }
        } else if last.starts_with("array_map") || last.starts_with("call_user_func") {
            if let [Value::Text(name), rest @ ..] = arguments {
                self.call(name, rest, at);
            }
        } else if is_one_of(&WRITE) {
            if let Some(Value::Text(path)) = arguments.first() {
                self.found.push(Embedded::Write(Field::from(path.as_str())));
            }
        } else if last == "sysopen" {
            let paths = arguments.iter().filter_map(|value| match value {
                Value::Text(path) => Some(Embedded::Write(path.as_str().into())),
                _ => None,
            });
            self.found.extend(paths);
        } else if last == "getattr" {
            self.attribute(arguments, at);
        } else if last == "open" || last == "fopen" || last == "openSync" {
            self.open(arguments, at);
        } else if last == "reboot"
            && (name != last || at > 2 && self.tokens.get(at - 3) == Some(&Token::Mark('.')))
        {
            self.found.push(Embedded::Words(vec!["reboot".into()]));
        } else if ["setuid", "setreuid", "seteuid"].contains(&last) {
            if self.tokens.get(at) == Some(&Token::Word("0".to_owned())) {
                self.found.push(Embedded::Words(vec!["su".into()]));
            }
        } else if is_one_of(&RUN) || is_one_of(&MAY_RUN) {
            let is_sure = is_one_of(&RUN) || may_be_subprocess;
            self.run(name, arguments, at, is_sure);
        }
    }

    /// Whether `exec` is not that of a regular expression.
    fn is_of_process(&self, name: &str, at: usize) -> bool {
        const OWNERS: [&str; 9] =
            ["child_process", "childProcess", "cp", "proc", "process", "shell", "shelljs", "runtime", "os"];
        match name.strip_suffix(".exec") {
            Some(owner) => {
                OWNERS.iter().any(|known| owner == *known || owner.ends_with(&format!(".{known}")))
            }
            None => {
                let before = |count: usize| at.checked_sub(2 + count).and_then(|at| self.tokens.get(at));
                before(1) != Some(&Token::Mark('.')) || before(2) == Some(&Token::Mark(')'))
            }
        }
    }

    /// `getattr(os, 'system')('command')`
    fn attribute(&mut self, arguments: &[Value], at: usize) {
        let [_, Value::Text(name), ..] = arguments else { return };
        let rest = &self.tokens[at.min(self.tokens.len())..];
        let called = rest.windows(3).take(24).find_map(|tokens| match tokens {
            [Token::Mark(')'), Token::Mark('('), Token::Text(text)] => Some(text.clone()),
            _ => None,
        });
        if runs(name)
            && let Some(text) = called
        {
            self.found.push(Embedded::Shell(text));
        }
    }

    fn run(&mut self, name: &str, arguments: &[Value], at: usize, is_sure: bool) {
        let decodes = self.tokens[at.min(self.tokens.len())..].iter().take(24).any(
            |token| matches!(token, Token::Word(word) if DECODE.iter().any(|name| word.ends_with(name))),
        );
        if decodes {
            let why = format!("{name} runs what is decoded when it runs: write the command itself");
            self.found.push(Embedded::Unknown(why));
            return;
        }
        let known = arguments.iter().skip_while(|value| **value == Value::Unknown && arguments.len() > 1);
        let known: Vec<&Value> = known.collect();
        match known.as_slice() {
            [Value::List(list), ..] => self.words(list.iter()),
            [Value::Text(program), Value::List(list), ..] => {
                let program = Value::Text(program.clone());
                self.words(std::iter::once(&program).chain(list));
            }
            [Value::Text(_), Value::Text(_), ..] if !matches!(self.kind, Kind::Awk) => {
                self.words(known.iter().copied().filter(|value| matches!(value, Value::Text(_))));
            }
            [Value::Text(text), ..] if is_sure || name != "eval" || self.kind == Kind::Python => {
                // Python's own `exec` runs code.
                if self.kind == Kind::Python && !is_sure && (name == "exec" || name == "eval") {
                    self.found.append(&mut super::embedded(text, self.kind));
                } else {
                    self.found.push(Embedded::Shell(text.clone()));
                }
            }
            [] | [Value::Unknown, ..] if is_sure => {
                let why = format!("which command {name} runs can only be known when it runs: write it out");
                self.found.push(Embedded::Unknown(why));
            }
            _ => {}
        }
    }

    fn words<'v>(&mut self, values: impl Iterator<Item = &'v Value>) {
        let words = values.map(|value| match value {
            Value::Text(text) => Field(text.clone()),
            _ => Field::unknown("$interpolated"),
        });
        let words: Vec<Field> = words.collect();
        if !words.is_empty() {
            self.found.push(Embedded::Words(words));
        }
    }

    /// `open(path, mode)`, `open(handle, '>', path)`, `os.open(path, os.O_WRONLY)`.
    fn open(&mut self, arguments: &[Value], at: usize) {
        let texts: Vec<&String> = arguments
            .iter()
            .filter_map(|value| match value {
                Value::Text(text) => Some(text),
                _ => None,
            })
            .collect();
        let flags = self.tokens[at.min(self.tokens.len())..].iter().take(12).any(|token| {
            matches!(token, Token::Word(word) if word.ends_with("O_WRONLY") || word.ends_with("O_RDWR"))
        });
        match texts.as_slice() {
            [pipe] if pipe.trim_end().ends_with('|') || pipe.trim_start().starts_with('|') => {
                self.found.push(Embedded::Shell(pipe.trim().trim_matches('|').to_owned()));
            }
            [mode, rest @ ..] if *mode == "-|" || *mode == "|-" => match rest {
                [text] => self.found.push(Embedded::Shell((*text).clone())),
                words => {
                    self.found.push(Embedded::Words(words.iter().map(|word| word.as_str().into()).collect()))
                }
            },
            [path] if flags => self.found.push(Embedded::Write(Field::from(path.as_str()))),
            [path] if path.starts_with(['>', '+']) => {
                self.found.push(Embedded::Write(path.trim_start_matches(['>', '+', ' ']).into()));
            }
            [mode, path, ..] if mode.starts_with(['>', '+']) => {
                self.found.push(Embedded::Write(Field::from(path.as_str())))
            }
            [path, mode, ..] if mode.contains(['w', 'a', '+', 'x']) && mode.len() < 5 => {
                self.found.push(Embedded::Write(Field::from(path.as_str())));
            }
            _ => {}
        }
    }
}
