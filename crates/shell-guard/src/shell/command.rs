//! Simple commands: their assignments, the program they run, and their output.

use super::field::Field;
use super::scope::Arguments;
use super::tree::{Assignment, Part, Redirection, Simple};
use super::walk::{Run, Stream, Walk};
use super::{builtin, environment, interpreter, output, wrapper};
use crate::line::Doubt;

/// How many programs a glob in a program's name may match.
const MAX_PROGRAMS: usize = 24;

/// Builtins that evaluate a word as a variable's name or a number.
const EVALUATING: [&str; 16] = [
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

/// Variables that name one of the user's tools.
const TOOLS: [&str; 12] =
    ["EDITOR", "VISUAL", "PAGER", "BROWSER", "SHELL", "CC", "CXX", "LD", "AR", "MAKE", "CARGO", "PYTHON"];

impl Walk<'_> {
    pub(super) fn simple(&mut self, simple: &Simple, redirections: &[Redirection], input: &Stream) -> Stream {
        let output = self.each_choice(|this| {
            this.budget.spend(1)?;
            this.substitution_input = substitution_input(simple, redirections, input);
            let words = this.fields(&simple.words)?;
            let before = (!words.is_empty() && !simple.assignments.is_empty()).then(|| this.scope.clone());
            this.assign(&simple.assignments)?;
            let taken = this.redirected_input.clone().filter(|_| input == &Stream::External);
            let (input, writes) = this.redirections(redirections, taken.as_ref().unwrap_or(input))?;
            if words.len() == 1 && words[0].marked() == "exec" && input != Stream::External {
                this.redirected_input = Some(input.clone());
            }
            let output = this.run(&words, &writes, &input);
            this.feed_substitutions(redirections, &output);
            // An assignment prefix applies to this command only.
            for assignment in before.iter().flat_map(|_| &simple.assignments) {
                this.scope.unset(&assignment.name);
                for value in before.iter().flat_map(|scope| scope.values(&assignment.name)) {
                    this.scope.add(&assignment.name, value);
                }
            }
            Ok(this.store_output(&writes, output))
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

    /// Walks the commands in a subscript such as `a[$(ls)]`, which run when the text is evaluated as a number or a
    /// variable's name.
    pub(super) fn subscripts(&mut self, text: &str) {
        let Some((_, rest)) = text.split_once('[') else { return };
        if rest.contains("$(") || rest.contains('`') {
            self.walk_expansions(text);
        }
    }

    /// Walks the commands in text that a shell expands before using it. Text that can't be parsed is a doubt: it could
    /// hide a command.
    pub(super) fn walk_expansions(&mut self, text: &str) {
        let text = format!(": <<MURMUR_TEXT\n{text}\nMURMUR_TEXT\n");
        self.in_subshell(|this| this.source(&text, &Stream::External));
    }

    /// Sets a variable and walks what it makes programs run.
    pub(super) fn set(&mut self, name: &str, value: Vec<Field>) {
        for text in value.iter().map(Field::marked) {
            self.subscripts(text);
        }
        if name.starts_with("BASH_FUNC_") {
            let body = value.first().map(ToString::to_string).unwrap_or_default();
            self.speculate(|this| {
                this.source(body.trim_start().trim_start_matches("()"), &Stream::External);
            });
        }
        environment::set(self, name, &value);
        self.scope.set(name, value);
    }

    /// Shows a command to the visitor and walks what it would run.
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
            Ok(()) => self.run_program(words, writes, input),
            Err(doubt) => {
                self.doubt(doubt);
                Stream::Unknown
            }
        };
        self.depth -= 1;
        output
    }

    fn run_program(&mut self, words: &[Field], writes: &[Field], input: &Stream) -> Stream {
        if self.depth > super::budget::MAX_DEPTH {
            self.doubt(Doubt(
                "commands run other commands too deeply to check: run the inner command directly".to_owned(),
            ));
            return Stream::Unknown;
        }
        let program = words[0].base();
        // `time -p command`: the grammar consumes `time` itself.
        if program.marked().starts_with('-') {
            return self.run(&[&[Field::from("time")], words].concat(), writes, input);
        }
        if program.is_pattern() {
            return self.run_glob(&program, words, writes, input);
        }
        if self.asks_tool_version(words) {
            return Stream::Unknown;
        }
        let Some(name) = program.literal().map(str::to_owned) else {
            self.visitor.enter(&Run { words, writes, scope: &self.scope });
            self.visitor.leave();
            let why = format!("cannot resolve the program name {}: use the program's literal name", words[0]);
            self.doubt(Doubt(why));
            // An unset variable is most likely empty.
            if let Some(program) = words[0].without_variables().filter(|program| !program.0.is_empty()) {
                let words = [&[program], &words[1..]].concat();
                self.speculate(|this| {
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
        if EVALUATING.contains(&name.as_str()) {
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
            .unwrap_or_else(|| output::predict(&name, &words[1..], input, &self.scope));
        self.visitor.leave();
        output
    }

    /// Whether the command asks a tool named by the environment for its version: `"$EDITOR" --version`.
    fn asks_tool_version(&self, words: &[Field]) -> bool {
        let [program, option] = words else { return false };
        let asks = ["--version", "--help", "-V"].contains(&option.marked());
        asks && TOOLS.iter().any(|name| {
            let forms = [format!("${name}"), format!("${{{name}}}")];
            forms.iter().any(|form| *program == Field::unknown(form)) && self.scope.values(name).is_empty()
        })
    }

    /// Runs a script that the command line has written: `./script`
    fn written_script(&mut self, file: &Field) -> Option<Stream> {
        let name = file.literal().filter(|name| name.contains('/'))?;
        let written = self.scope.files.get(&super::walk::plain(name))?.clone();
        Some(interpreter::script(self, &written))
    }

    /// Runs the command once for each program that the glob may match.
    fn run_glob(&mut self, program: &Field, words: &[Field], writes: &[Field], input: &Stream) -> Stream {
        let mut names = self.visitor.programs(program);
        names.extend(wrapper::names().chain(interpreter::names()).filter(|name| program.matches_name(name)));
        let is_anything = !words[0].has_letters();
        if names.len() > MAX_PROGRAMS || is_anything {
            let why =
                format!("cannot tell which program {} matches: use the program's literal name", words[0]);
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
        // Removed while it runs, so that recursion ends.
        let function = words[0].literal().and_then(|name| self.scope.functions.remove_entry(name));
        self.scope.enter_function();
        let output = self.node(body, input);
        self.scope.leave_function();
        self.scope.functions.extend(function);
        self.scope.arguments = arguments;
        output
    }
}

/// The input of a process substitution among a command's words: known for `tee`, unknown otherwise.
fn substitution_input(simple: &Simple, redirections: &[Redirection], input: &Stream) -> Stream {
    let reads_process = |redirection: &Redirection| match redirection {
        Redirection::Read(_, word) => matches!(word.0.as_slice(), [Part::ProcessSubstitution { .. }]),
        _ => false,
    };
    let is_tee = simple.words.first().is_some_and(|word| word.0 == [Part::Unquoted("tee".to_owned())]);
    if is_tee && !redirections.iter().any(reads_process) { input.clone() } else { Stream::Unknown }
}

/// Quotes `text` as one shell word.
pub(super) fn quote(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./=:,@%+~*?[]$".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
