//! The calls that pass something on, by their names.

use super::lex::Token;
use super::{Embedded, Kind, Reader, Value, names};
use crate::permit::shell::field::Field;

impl Reader<'_> {
    /// Notes what a call passes on; its arguments begin at `at`.
    pub(super) fn call(&mut self, name: &str, arguments: &[Value], at: usize) {
        let last = names::last(name);
        if last == "exec" && self.kind == Kind::Script && !self.is_of_process(name, at) {
            return;
        }
        let is_method = at.checked_sub(3).and_then(|at| self.tokens.get(at)) == Some(&Token::Mark('.'));
        let may_be_subprocess = name.starts_with("subprocess.") || name.starts_with("child_process.");
        if names::removes(name, last) {
            let paths = texts(arguments);
            if paths.is_empty() && !matches!(arguments.first(), Some(Value::List(_))) {
                self.removes = true;
            } else {
                // Other languages have options there.
                let count = if self.kind == Kind::Perl { paths.len() } else { 1 };
                self.remove(paths.into_iter().take(count));
            }
        } else if last == "rm" || name == "delete" && !is_method {
            // `fs.promises.rm(path)`, and `rm('-rf', path)` of a shell's functions.
            self.remove(texts(arguments).into_iter());
        } else if let Some(program) = names::moves(name, last) {
            let target = arguments.get(1);
            if let (Some(Value::Text(from)), Some(Value::Text(to))) = (arguments.first(), target) {
                let paths = [from.as_str(), to.as_str()];
                let words = if program[0] == "unzip" {
                    vec![program[0], from, program[1], to]
                } else {
                    [program, &paths].concat()
                };
                self.run_words(&words);
            } else if let (Some(Value::Unknown), Some(Value::Text(to))) = (arguments.first(), target) {
                self.found.push(Embedded::Write(to.as_str().into()));
            }
        } else if last.starts_with("array_map") || last.starts_with("call_user_func") {
            if let [Value::Text(name), rest @ ..] = arguments {
                self.call(name, rest, at);
            }
        } else if ["send", "public_send", "__send__"].contains(&last) && arguments.len() > 1 {
            let at = at + usize::from(self.tokens.get(at) == Some(&Token::Mark(':')));
            if let Some(Token::Word(name) | Token::Text(name)) = self.tokens.get(at) {
                self.call(name, &arguments[1..], at + 1);
            }
        } else if names::writes(name, last) || name == "write" && !is_method && self.kind == Kind::Script {
            if let Some(Value::Text(path)) = arguments.first() {
                self.found.push(Embedded::Write(Field::from(path.as_str())));
            }
        } else if names::writes_last(name, last) {
            if let Some(path) = texts(arguments).last() {
                self.found.push(Embedded::Write(Field::from(*path)));
            }
        } else if [
            "chdir",
            "chmod",
            "chmodSync",
            "chown",
            "chownSync",
            "lchown",
            "truncate",
            "extractall",
            "mknod",
            "syscall",
        ]
        .contains(&last)
        {
            self.change(last, arguments, at);
        } else if last == "input" && self.says(at, 24, "inplace") {
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
        } else if names::evaluates(name, last) || name == "exec" && self.kind == Kind::Python {
            self.evaluate(name, arguments, at);
        } else if names::surely_runs(name, last) || names::may_run(name, last) {
            let is_sure = names::surely_runs(name, last) || may_be_subprocess;
            self.run(name, arguments, at, is_sure);
        }
    }

    /// Code that runs code: what is written out is read in its turn, what comes from elsewhere is not known.
    fn evaluate(&mut self, name: &str, arguments: &[Value], at: usize) {
        let near = self.tokens[at.min(self.tokens.len())..].iter().take(24);
        let is_address = |token: &Token| match token {
            Token::Text(text) => text.starts_with("http://") || text.starts_with("https://"),
            _ => false,
        };
        if near.clone().any(names::decodes) || near.clone().any(is_address) {
            let why = format!("{name} runs what is only known when it runs: write the command itself");
            self.found.push(Embedded::Unknown(why));
        } else if let Some(Value::Text(code)) = arguments.first() {
            self.found.append(&mut super::embedded_at(code, self.kind, self.depth + 1));
        }
    }

    /// What is done to a path besides writing it.
    fn change(&mut self, last: &str, arguments: &[Value], at: usize) {
        let paths = texts(arguments);
        let path = paths.first().copied();
        match (last, path) {
            ("chdir", Some(path)) => self.run_words(&["cd", path]),
            ("truncate", Some(path)) => self.found.push(Embedded::Write(path.into())),
            ("extractall", Some(path)) => self.run_words(&["unzip", "x.zip", "-d", path]),
            ("mknod", Some(path)) if self.says(at, 16, "S_IFBLK") => {
                self.run_words(&["mknod", path, "b", "8", "0"])
            }
            ("syscall", _) if self.says(at, 16, "fee1dead") => self.run_words(&["reboot"]),
            ("chmod" | "chmodSync" | "chown" | "chownSync" | "lchown", Some(_)) => {
                let numbers = self.tokens[at.min(self.tokens.len())..].iter().take(16);
                let mode = numbers.filter_map(|token| match token {
                    Token::Word(word) if word.starts_with(|c: char| c.is_ascii_digit()) => {
                        Some(word.trim_start_matches("0o").to_owned())
                    }
                    _ => None,
                });
                let mode = mode.take(1).next().unwrap_or_else(|| "u=rw".to_owned());
                let program = if last.contains("mod") { "chmod" } else { "chown" };
                let words = [program, &mode].into_iter().chain(paths).collect::<Vec<_>>();
                self.run_words(&words);
            }
            _ => {}
        }
    }

    /// Whether `text` stands in one of the next tokens from `at` on.
    pub(super) fn says(&self, at: usize, count: usize, text: &str) -> bool {
        self.tokens[at.min(self.tokens.len())..].iter().take(count).any(|token| match token {
            Token::Word(word) | Token::Text(word) | Token::Run(word) => word.contains(text),
            _ => false,
        })
    }

    pub(super) fn run_words(&mut self, words: &[&str]) {
        self.found.push(Embedded::Words(words.iter().map(|word| Field::from(*word)).collect()));
    }

    pub(super) fn remove<'p>(&mut self, paths: impl Iterator<Item = &'p str>) {
        let words: Vec<&str> = ["rm", "-rf"].into_iter().chain(paths).collect();
        self.run_words(&words);
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
        if names::runs(name)
            && let Some(text) = called
        {
            self.found.push(Embedded::Shell(text));
        }
    }

    fn run(&mut self, name: &str, arguments: &[Value], at: usize, is_sure: bool) {
        let decodes = self.tokens[at.min(self.tokens.len())..].iter().take(24).any(names::decodes);
        if decodes {
            let why = format!("{name} runs what is decoded when it runs: write the command itself");
            self.found.push(Embedded::Unknown(why));
            return;
        }
        let known = arguments.iter().skip_while(|value| **value == Value::Unknown && arguments.len() > 1);
        // `nil` stands between the words of Lisp.
        let is_word = |value: &&Value| self.kind != Kind::Lisp || **value != Value::Unknown;
        let known: Vec<&Value> = known.filter(is_word).collect();
        match known.as_slice() {
            [Value::List(list), ..] => self.words(list.iter()),
            [Value::Text(program), Value::List(list), ..] => {
                let program = Value::Text(program.clone());
                self.words(std::iter::once(&program).chain(list));
            }
            [Value::Text(_), Value::Text(_), ..] if !matches!(self.kind, Kind::Awk) => {
                self.words(known.iter().copied().filter(|value| matches!(value, Value::Text(_))));
            }
            [Value::Text(text), ..] => self.found.push(Embedded::Shell(text.clone())),
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
                let command = pipe.trim().trim_matches('|').trim();
                self.found.push(Embedded::Shell(command.to_owned()));
                if ["sh", "bash", "zsh", "dash", "ksh"].contains(&command)
                    && pipe.trim_start().starts_with('|')
                {
                    let why =
                        "it writes to a shell what is only known when it runs: write the command itself";
                    self.found.push(Embedded::Unknown(why.to_owned()));
                }
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

/// The arguments that are known.
pub(super) fn texts(arguments: &[Value]) -> Vec<&str> {
    let known = arguments.iter().filter_map(|value| match value {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    });
    known.collect()
}
