//! Calls with an effect, recognized by name.

use super::lex::Token;
use super::reader::CodeReader;
use super::{Effect, Syntax, Value, names};
use crate::shell::field::Field;

impl CodeReader<'_> {
    /// Adds the effects of a call whose arguments start at `at`.
    pub(super) fn call(&mut self, name: &str, arguments: &[Value], at: usize) {
        let last = names::last(name);
        if last == "exec" && self.syntax == Syntax::CLike && !self.is_process_exec(name, at) {
            return;
        }
        let is_method = at.checked_sub(3).and_then(|at| self.tokens.get(at)) == Some(&Token::Symbol('.'));
        let is_file_call = self.removal(name, arguments, is_method)
            || self.transfer(name, arguments)
            || self.indirect_call(last, arguments, at)
            || self.write(name, arguments, at, is_method);
        if is_file_call {
            return;
        }
        match last {
            "getattr" => self.getattr(arguments, at),
            "open" | "fopen" | "openSync" => self.open(arguments, at),
            "reboot" if name != last || at > 2 && self.tokens.get(at - 3) == Some(&Token::Symbol('.')) => {
                self.run_words(&["reboot"]);
            }
            "setuid" | "setreuid" | "seteuid"
                if self.tokens.get(at) == Some(&Token::Name("0".to_owned())) =>
            {
                self.run_words(&["su"]);
            }
            _ if names::evaluates(name, last) || name == "exec" && self.syntax == Syntax::Python => {
                self.evaluate(name, arguments, at);
            }
            _ if names::always_runs(name, last) => self.run(name, arguments, at, true),
            _ if names::may_run(name, last) => {
                let is_sure = name.starts_with("subprocess.") || name.starts_with("child_process.");
                self.run(name, arguments, at, is_sure);
            }
            _ => {}
        }
    }

    /// Handles calls that remove files.
    fn removal(&mut self, name: &str, arguments: &[Value], is_method: bool) -> bool {
        let last = names::last(name);
        let paths = texts(arguments);
        if names::removes(name, last) {
            if paths.is_empty() && !matches!(arguments.first(), Some(Value::List(_))) {
                self.removes = true;
            } else {
                // In the other languages, options follow the path.
                let count = if self.syntax == Syntax::Perl { paths.len() } else { 1 };
                self.remove(paths.into_iter().take(count));
            }
        } else if last == "rm" || name == "delete" && !is_method {
            // `fs.promises.rm(path)`, or shelljs's `rm('-rf', path)`.
            self.remove(paths.into_iter());
        } else {
            return false;
        }
        true
    }

    /// Handles calls that copy, move, link or unpack.
    fn transfer(&mut self, name: &str, arguments: &[Value]) -> bool {
        let Some(program) = names::moves(name, names::last(name)) else { return false };
        match arguments {
            [Value::Text(from), Value::Text(to), ..] if program[0] == "unzip" => {
                self.run_words(&[program[0], from, program[1], to]);
            }
            [Value::Text(from), Value::Text(to), ..] => {
                self.run_words(&[program, &[from.as_str(), to.as_str()]].concat());
            }
            [Value::Unknown, Value::Text(to), ..] => self.found.push(Effect::Write(to.as_str().into())),
            _ => {}
        }
        true
    }

    /// Handles calls of a function named by an argument.
    fn indirect_call(&mut self, last: &str, arguments: &[Value], at: usize) -> bool {
        if last.starts_with("array_map") || last.starts_with("call_user_func") {
            if let [Value::Text(name), rest @ ..] = arguments {
                self.call(name, rest, at);
            }
        } else if ["send", "public_send", "__send__"].contains(&last) && arguments.len() > 1 {
            self.call_sent(arguments, at);
        } else {
            return false;
        }
        true
    }

    /// Handles calls that write or change a file.
    fn write(&mut self, name: &str, arguments: &[Value], at: usize, is_method: bool) -> bool {
        const CHANGES: [&str; 10] = [
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
        ];
        let last = names::last(name);
        let is_plain_write = name == "write" && !is_method && self.syntax == Syntax::CLike;
        let is_first = names::writes(name, last) || is_plain_write;
        if !is_first && names::writes_last(name, last) {
            let path = texts(arguments).last().map(|path| Effect::Write(Field::from(*path)));
            self.found.extend(path);
        } else if !is_first && CHANGES.contains(&last) {
            self.change(last, arguments, at);
        } else if is_first || last == "input" && self.mentions(at, 24, "inplace") {
            if let Some(Value::Text(path)) = arguments.first() {
                self.found.push(Effect::Write(Field::from(path.as_str())));
            }
        } else if last == "sysopen" {
            self.found.extend(texts(arguments).into_iter().map(|path| Effect::Write(path.into())));
        } else {
            return false;
        }
        true
    }

    /// Code that evaluates code: reads a literal string, and doubts a string from elsewhere.
    fn evaluate(&mut self, name: &str, arguments: &[Value], at: usize) {
        let near = self.tokens[at.min(self.tokens.len())..].iter().take(24);
        let is_address = |token: &Token| match token {
            Token::Str(text) => text.starts_with("http://") || text.starts_with("https://"),
            _ => false,
        };
        if near.clone().any(names::decodes) || near.clone().any(is_address) {
            let why = format!("{name} runs code that is only known at run time: run the command directly");
            self.found.push(Effect::Unknown(why));
        } else if let Some(Value::Text(code)) = arguments.first() {
            self.found.append(&mut super::effects_at(code, self.syntax, self.depth + 1));
        }
    }

    /// Calls that change a path other than by writing it.
    fn change(&mut self, last: &str, arguments: &[Value], at: usize) {
        let paths = texts(arguments);
        let path = paths.first().copied();
        match (last, path) {
            ("chdir", Some(path)) => self.run_words(&["cd", path]),
            ("truncate", Some(path)) => self.found.push(Effect::Write(path.into())),
            ("extractall", Some(path)) => self.run_words(&["unzip", "x.zip", "-d", path]),
            ("mknod", Some(path)) if self.mentions(at, 16, "S_IFBLK") => {
                self.run_words(&["mknod", path, "b", "8", "0"])
            }
            ("syscall", _) if self.mentions(at, 16, "fee1dead") => self.run_words(&["reboot"]),
            ("chmod" | "chmodSync" | "chown" | "chownSync" | "lchown", Some(_)) => {
                let numbers = self.tokens[at.min(self.tokens.len())..].iter().take(16);
                let mode = numbers.filter_map(|token| match token {
                    Token::Name(word) if word.starts_with(|c: char| c.is_ascii_digit()) => {
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

    /// Whether any of the next `count` tokens contains `text`.
    pub(super) fn mentions(&self, at: usize, count: usize, text: &str) -> bool {
        self.tokens[at.min(self.tokens.len())..].iter().take(count).any(|token| match token {
            Token::Name(word) | Token::Str(word) | Token::Command(word) => word.contains(text),
            _ => false,
        })
    }

    pub(super) fn run_words(&mut self, words: &[&str]) {
        self.found.push(Effect::Words(words.iter().map(|word| Field::from(*word)).collect()));
    }

    pub(super) fn remove<'p>(&mut self, paths: impl Iterator<Item = &'p str>) {
        let words: Vec<&str> = ["rm", "-rf"].into_iter().chain(paths).collect();
        self.run_words(&words);
    }

    fn run(&mut self, name: &str, arguments: &[Value], at: usize, is_sure: bool) {
        let decodes = self.tokens[at.min(self.tokens.len())..].iter().take(24).any(names::decodes);
        if decodes {
            let why = format!("{name} runs decoded text: write out the decoded command");
            self.found.push(Effect::Unknown(why));
            return;
        }
        let known = arguments.iter().skip_while(|value| **value == Value::Unknown && arguments.len() > 1);
        // Lisp has `nil` arguments between the words.
        let is_word = |value: &&Value| self.syntax != Syntax::Lisp || **value != Value::Unknown;
        let known: Vec<&Value> = known.filter(is_word).collect();
        match known.as_slice() {
            [Value::List(list), ..] => self.words(list.iter()),
            [Value::Text(program), Value::List(list), ..] => {
                let program = Value::Text(program.clone());
                self.words(std::iter::once(&program).chain(list));
            }
            [Value::Text(_), Value::Text(_), ..] if !matches!(self.syntax, Syntax::Awk) => {
                self.words(known.iter().copied().filter(|value| matches!(value, Value::Text(_))));
            }
            [Value::Text(text), ..] => self.found.push(Effect::Shell(text.clone())),
            [] | [Value::Unknown, ..] if is_sure => {
                let why = format!("cannot tell which command {name} runs: write it out");
                self.found.push(Effect::Unknown(why));
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
            self.found.push(Effect::Words(words));
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
            matches!(token, Token::Name(word) if word.ends_with("O_WRONLY") || word.ends_with("O_RDWR"))
        });
        match texts.as_slice() {
            [pipe] if pipe.trim_end().ends_with('|') || pipe.trim_start().starts_with('|') => {
                let command = pipe.trim().trim_matches('|').trim();
                self.found.push(Effect::Shell(command.to_owned()));
                if ["sh", "bash", "zsh", "dash", "ksh"].contains(&command)
                    && pipe.trim_start().starts_with('|')
                {
                    let why = "the code pipes unknown text to a shell: run the command directly";
                    self.found.push(Effect::Unknown(why.to_owned()));
                }
            }
            [mode, rest @ ..] if *mode == "-|" || *mode == "|-" => match rest {
                [text] => self.found.push(Effect::Shell((*text).clone())),
                words => {
                    self.found.push(Effect::Words(words.iter().map(|word| word.as_str().into()).collect()))
                }
            },
            [path] if flags => self.found.push(Effect::Write(Field::from(path.as_str()))),
            [path] if path.starts_with(['>', '+']) => {
                self.found.push(Effect::Write(path.trim_start_matches(['>', '+', ' ']).into()));
            }
            [mode, path, ..] if mode.starts_with(['>', '+']) => {
                self.found.push(Effect::Write(Field::from(path.as_str())))
            }
            [path, mode, ..] if mode.contains(['w', 'a', '+', 'x']) && mode.len() < 5 => {
                self.found.push(Effect::Write(Field::from(path.as_str())));
            }
            _ => {}
        }
    }
}

/// The arguments that are known strings.
pub(super) fn texts(arguments: &[Value]) -> Vec<&str> {
    let known = arguments.iter().filter_map(|value| match value {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    });
    known.collect()
}
