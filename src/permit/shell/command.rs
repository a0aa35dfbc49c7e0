//! A simple command: what it sets, what it would run, and what it would write to its output.

use super::field::Field;
use super::scope::Arguments;
use super::tree::{Assignment, Part, Redirection, Simple};
use super::walk::{Run, Stream, Walk};
use super::{builtin, environment, interpreter, output, wrapper};
use crate::permit::line::Doubt;
use crate::sys::shell::single_quoted;

/// How many programs a pattern of names may stand for.
const PROGRAMS: usize = 24;

/// Builtins that take a word for the name of a variable, or for a number.
const NAMING: [&str; 16] = [
    "test",
    "[",
    "printf",
    "read",
    "unset",
    "declare",
    "typeset",
    "export",
    "readonly",
    "local",
    "let",
    "wait",
    "getopts",
    "mapfile",
    "readarray",
    "vared",
];

/// Variables that name a tool of the user's own.
const TOOLS: [&str; 12] =
    ["EDITOR", "VISUAL", "PAGER", "BROWSER", "SHELL", "CC", "CXX", "LD", "AR", "MAKE", "CARGO", "PYTHON"];

impl Walk<'_> {
    pub(super) fn simple(&mut self, simple: &Simple, redirections: &[Redirection], input: &Stream) -> Stream {
        let output = self.each_choice(|this| {
            this.budget.spend(1)?;
            this.fed = fed(simple, redirections, input);
            let words = this.fields(&simple.words)?;
            let before = (!words.is_empty() && !simple.assignments.is_empty()).then(|| this.scope.clone());
            this.assign(&simple.assignments)?;
            let taken = this.taken.clone().filter(|_| input == &Stream::Elsewhere);
            let (input, writes) = this.redirections(redirections, taken.as_ref().unwrap_or(input))?;
            if words.len() == 1 && words[0].marked() == "exec" && input != Stream::Elsewhere {
                this.taken = Some(input.clone());
            }
            let output = this.run(&words, &writes, &input);
            this.feed(redirections, &output);
            // What stands before a command holds for it alone.
            for assignment in before.iter().flat_map(|_| &simple.assignments) {
                this.scope.forget(&assignment.name);
                for value in before.iter().flat_map(|scope| scope.values(&assignment.name)) {
                    this.scope.add(&assignment.name, value);
                }
            }
            Ok(this.keep(&writes, output))
        });
        output.unwrap_or_else(|doubt| {
            self.doubt(doubt);
            Stream::Unknown
        })
    }

    fn assign(&mut self, assignments: &[Assignment]) -> Result<(), Doubt> {
        for Assignment { name, values, is_array, index, append } in assignments {
            let mut value = if *is_array {
                self.fields(values)?
            } else {
                values.iter().map(|value| self.text(value)).collect::<Result<_, _>>()?
            };
            if *append {
                let mut before = self.value(name).unwrap_or_default();
                if *is_array {
                    before.append(&mut value);
                } else if let Some(last) = before.first_mut() {
                    last.0.push_str(value.first().map_or("", Field::marked));
                }
                value = if before.is_empty() { value } else { before };
                self.budget.read(value.iter().map(|field| field.0.len()).sum())?;
            }
            match index.as_ref().map(|index| self.text(index)).transpose()? {
                Some(index) if name == "BASH_ALIASES" => {
                    let text = value.first().map(ToString::to_string).unwrap_or_default();
                    self.scope.aliases.insert(index.to_string(), text);
                }
                Some(index) => self.set(&format!("{name}[{index}]"), value),
                None => self.set(name, value),
            }
        }
        Ok(())
    }

    /// Walks through the commands in a subscript, as `a[$(ls)]`, which runs when the text is taken for a number, or for the name
    /// of a variable.
    pub(super) fn subscripts(&mut self, text: &str) {
        let Some((_, rest)) = text.split_once('[') else { return };
        if rest.contains("$(") || rest.contains('`') {
            self.expanded(text);
        }
    }

    /// Walks through the commands in a text that a shell expands before it shows or uses it. Text that can't be parsed is a
    /// doubt: it could hide a command.
    pub(super) fn expanded(&mut self, text: &str) {
        let text = format!(": <<MURMUR_TEXT\n{text}\nMURMUR_TEXT\n");
        self.apart(|this| this.source(&text, &Stream::Elsewhere));
    }

    /// Sets a variable to what is known of it.
    pub(super) fn set(&mut self, name: &str, value: Vec<Field>) {
        for text in value.iter().map(Field::marked) {
            self.subscripts(text);
        }
        if name.starts_with("BASH_FUNC_") {
            let body = value.first().map(ToString::to_string).unwrap_or_default();
            self.perhaps(|this| {
                this.source(body.trim_start().trim_start_matches("()"), &Stream::Elsewhere);
            });
        }
        environment::told(self, name, &value);
        self.scope.set(name, value);
    }

    /// Shows a command to the visitor, and walks through what it would run in its turn.
    pub(super) fn run(&mut self, words: &[Field], writes: &[Field], input: &Stream) -> Stream {
        if words.is_empty() {
            if !writes.is_empty() {
                self.visitor.enter(&Run { words, writes, scope: &self.scope });
                self.visitor.leave();
            }
            return Stream::text("");
        }
        self.depth += 1;
        let output = match self.budget.spend(1) {
            Ok(()) => self.program(words, writes, input),
            Err(doubt) => {
                self.doubt(doubt);
                Stream::Unknown
            }
        };
        self.depth -= 1;
        output
    }

    fn program(&mut self, words: &[Field], writes: &[Field], input: &Stream) -> Stream {
        if self.depth > super::budget::DEPTH {
            self.doubt(Doubt("it runs commands within commands, too deep to be read".to_owned()));
            return Stream::Unknown;
        }
        let program = words[0].base();
        // `time -p command`, where the grammar has taken `time` away.
        if program.marked().starts_with('-') {
            return self.run(&[&[Field::from("time")], words].concat(), writes, input);
        }
        if program.is_pattern() {
            return self.pattern(&program, words, writes, input);
        }
        if self.asks_tool(words) {
            return Stream::Unknown;
        }
        let Some(name) = program.literal().map(str::to_owned) else {
            self.visitor.enter(&Run { words, writes, scope: &self.scope });
            self.visitor.leave();
            let why = format!("which program {} is can only be known when it runs: name it", words[0]);
            self.doubt(Doubt(why));
            // Most likely a variable that nobody has set is empty.
            if let Some(program) = words[0].without_variables().filter(|program| !program.0.is_empty()) {
                let words = [&[program], &words[1..]].concat();
                self.perhaps(|this| {
                    this.run(&words, &[], input);
                });
            }
            return Stream::Unknown;
        };
        let is_plain = words[0].marked() == name;
        if is_plain {
            if let Some(body) = self.scope.functions.get(&name).cloned() {
                return self.call(&body, words, writes, input);
            }
            if let Some(text) = self.scope.aliases.remove(&name) {
                let rest: Vec<String> = words[1..].iter().map(|word| quote(&word.to_string())).collect();
                let output = self.source(&format!("{text} {}", rest.join(" ")), input);
                self.scope.aliases.insert(name, text);
                return output;
            }
        }
        self.visitor.enter(&Run { words, writes, scope: &self.scope });
        if NAMING.contains(&name.as_str()) {
            for word in &words[1..] {
                self.subscripts(word.marked());
            }
        }
        let output = match builtin::find(&name) {
            Some(builtin) => builtin(self, &words[1..], input),
            None => None,
        };
        let output = output
            .or_else(|| interpreter::run(self, &name, words, input))
            .or_else(|| output::prints_settings(&name, &words[1..]).then(|| Stream::text("")))
            .or_else(|| wrapper::run(self, &name, words, input))
            .or_else(|| self.written_script(&words[0]))
            .unwrap_or_else(|| output::of(&name, &words[1..], input, &self.scope));
        self.visitor.leave();
        output
    }

    /// Whether it asks a tool that the user's environment names for its version: `"$EDITOR" --version`.
    fn asks_tool(&self, words: &[Field]) -> bool {
        let [program, option] = words else { return false };
        let asks = ["--version", "--help", "-V"].contains(&option.marked());
        asks && TOOLS.iter().any(|name| {
            let forms = [format!("${name}"), format!("${{{name}}}")];
            forms.iter().any(|form| *program == Field::unknown(form)) && self.scope.values(name).is_empty()
        })
    }

    /// Runs a script that the line has written before: `./script`.
    fn written_script(&mut self, file: &Field) -> Option<Stream> {
        let name = file.literal().filter(|name| name.contains('/'))?;
        let written = self.scope.files.get(&super::walk::plain(name))?.clone();
        Some(interpreter::script(self, &written))
    }

    /// Takes a pattern for each program that it may stand for.
    fn pattern(&mut self, program: &Field, words: &[Field], writes: &[Field], input: &Stream) -> Stream {
        let mut names = self.visitor.programs(program);
        names.extend(wrapper::names().chain(interpreter::names()).filter(|name| program.stands_for(name)));
        let is_anything = words[0].marked().chars().all(|c| !c.is_alphanumeric());
        if names.len() > PROGRAMS || is_anything {
            let why = format!("which program {} stands for is not known: name it", words[0]);
            self.doubt(Doubt(why));
            names.clear();
        }
        let mut words = words.to_vec();
        for name in names {
            words[0] = name.into();
            self.run(&words, writes, input);
        }
        self.visitor.enter(&Run { words: &words, writes, scope: &self.scope });
        self.visitor.leave();
        Stream::Unknown
    }

    fn call(
        &mut self,
        body: &super::tree::Node,
        words: &[Field],
        writes: &[Field],
        input: &Stream,
    ) -> Stream {
        if !writes.is_empty() {
            self.run(&[], writes, input);
        }
        let arguments = Arguments::Known(words[1..].to_vec());
        let arguments = std::mem::replace(&mut self.scope.arguments, arguments);
        // A function that calls itself does nothing new.
        let function = words[0].literal().and_then(|name| self.scope.functions.remove_entry(name));
        self.scope.begin();
        let output = self.node(body, input);
        self.scope.end();
        self.scope.functions.extend(function);
        self.scope.arguments = arguments;
        output
    }
}

/// What a process among the words of a command reads: what `tee` does, and of others nobody knows.
fn fed(simple: &Simple, redirections: &[Redirection], input: &Stream) -> Stream {
    let reads_process = |redirection: &Redirection| match redirection {
        Redirection::Read(_, word) => matches!(word.0.as_slice(), [Part::Process { .. }]),
        _ => false,
    };
    let is_tee = simple.words.first().is_some_and(|word| word.0 == [Part::Bare("tee".to_owned())]);
    if is_tee && !redirections.iter().any(reads_process) { input.clone() } else { Stream::Unknown }
}

/// `text` as one word of shell.
pub(super) fn quote(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./=:,@%+~*?[]$".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    single_quoted(text)
}
