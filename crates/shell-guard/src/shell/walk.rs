//! Walks a command line without running it. Each command that would run is shown to a [`Visitor`] with its words
//! expanded as far as possible, including commands that another command would run.

mod control_flow;

use super::Parser;
use super::budget::{Budget, MAX_DEPTH};
use super::field::{Field, has_marks, written};
use super::scope::{Scope, Written};
use super::tree::{List, Node, NodeKind, Part, Redirection};
use crate::line::Doubt;
use std::collections::HashSet;

/// A command that would run.
#[derive(Debug)]
pub struct Run<'a> {
    /// The program and its arguments.
    pub words: &'a [Field],
    /// The files that it writes by redirection.
    pub writes: &'a [Field],
    /// The state of the shell at that point.
    pub scope: &'a Scope,
}

/// Receives what a command line would do.
pub trait Visitor {
    /// A command would run. The commands that it runs itself follow before [`Self::leave`].
    fn enter(&mut self, run: &Run<'_>);
    /// The commands run by the last entered one are complete.
    fn leave(&mut self);
    /// Something can't be parsed, or is only known at run time.
    fn doubt(&mut self, doubt: Doubt);
    /// Returns the programs of interest to the visitor that the glob `pattern` may match.
    fn programs(&self, pattern: &Field) -> Vec<&'static str>;
}

/// The input or output of a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stream {
    /// Known text.
    Known(Written),
    /// Text that is only known at run time.
    Unknown,
    /// A file that the command line didn't write, or the command line's own input.
    External,
}

impl Stream {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Known(Written { text: text.into(), is_decoded: false })
    }

    /// The known text.
    pub(super) fn known(&self) -> Option<&str> {
        match self {
            Self::Known(written) => Some(&written.text),
            Self::Unknown | Self::External => None,
        }
    }

    fn append(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Known(all), Self::Known(more)) => {
                all.text.push_str(&more.text);
                all.is_decoded |= more.is_decoded;
            }
            (Self::Known(all), _) if !all.text.is_empty() => all.text.push_str(&unknown_lines()),
            (Self::Known(_), _) => *self = Self::Unknown,
            (_, Self::Known(mut more)) if !more.text.is_empty() => {
                more.text.insert_str(0, &unknown_lines());
                *self = Self::Known(more);
            }
            _ => *self = Self::Unknown,
        }
    }
}

/// A walk over one command line.
pub(super) struct Walk<'a> {
    pub(super) parser: &'a dyn Parser,
    pub(super) visitor: &'a mut dyn Visitor,
    pub(super) budget: Budget,
    pub(super) scope: Scope,
    /// How deeply commands are nested.
    pub(super) depth: u32,
    /// Doubts are ignored while this is above 0: in code that may never run.
    pub(super) speculative: u32,
    /// For each variable with several possible values: its name, the index of the chosen value, and their number.
    pub(super) choices: Vec<(String, usize, usize)>,
    /// Commands already tried by [`Self::run_any_of`].
    tried: Option<HashSet<Vec<Field>>>,
    /// The rest of the line's input after `exec < file`.
    pub(super) redirected_input: Option<Stream>,
    /// The input of a process substitution among a command's words.
    pub(super) substitution_input: Stream,
}

impl<'a> Walk<'a> {
    pub(super) fn new(parser: &'a dyn Parser, visitor: &'a mut dyn Visitor, scope: Scope) -> Self {
        let budget = Budget::default();
        Self {
            parser,
            visitor,
            budget,
            scope,
            depth: 0,
            speculative: 0,
            choices: Vec::new(),
            tried: None,
            redirected_input: None,
            substitution_input: Stream::External,
        }
    }

    pub(super) fn doubt(&mut self, doubt: Doubt) {
        if self.speculative == 0 {
            self.visitor.doubt(doubt);
        }
    }

    /// Walks source code as a shell would read it.
    pub(super) fn source(&mut self, text: &str, input: &Stream) -> Stream {
        match self.read(text) {
            Ok(list) => self.list(&list, input),
            Err(doubt) => {
                self.doubt(doubt);
                Stream::Unknown
            }
        }
    }

    fn read(&mut self, text: &str) -> Result<List, Doubt> {
        let text = if self.depth > 0 { written(text) } else { text.to_owned() };
        if has_marks(&text) || text.contains('\0') {
            return Err(Doubt("the command contains Unicode noncharacters: remove them".to_owned()));
        }
        if self.depth > MAX_DEPTH {
            return Err(Doubt(
                "commands run other commands too deeply to check: run the inner command directly".to_owned(),
            ));
        }
        self.budget.read(text.len())?;
        let tokens = self.parser.count_tokens(&text)?;
        self.budget.spend(tokens)?;
        self.parser.parse(&text)
    }

    /// Walks code that can't change this shell's variables and folders, as in a subshell.
    pub(super) fn in_subshell(&mut self, walk: impl FnOnce(&mut Self) -> Stream) -> Stream {
        if let Err(doubt) = self.budget.spend(1 + u32::try_from(self.scope.size() / 4).unwrap_or(u32::MAX)) {
            self.doubt(doubt);
            return Stream::Unknown;
        }
        let mut scope = self.scope.clone();
        let choices = std::mem::take(&mut self.choices);
        let output = walk(self);
        // Written files stay written.
        scope.files = std::mem::take(&mut self.scope.files);
        (self.scope, self.choices) = (scope, choices);
        output
    }

    /// Walks code that may never run: refusals count, doubts don't.
    pub(super) fn speculate(&mut self, walk: impl FnOnce(&mut Self)) {
        self.speculative += 1;
        self.in_subshell(|this| {
            walk(this);
            Stream::Unknown
        });
        self.speculative -= 1;
    }

    /// Walks `commands`, any of which may be the one that runs. Each is walked only once, however deeply these calls
    /// nest.
    pub(super) fn run_any_of(&mut self, commands: impl Iterator<Item = Vec<Field>>, input: &Stream) {
        let is_outermost = self.tried.is_none();
        for words in commands {
            if self.tried.get_or_insert_default().insert(words.clone()) {
                self.speculate(|this| {
                    this.run(&words, &[], input);
                });
            }
        }
        if is_outermost {
            self.tried = None;
        }
    }

    fn pipeline(&mut self, nodes: &[Node], input: &Stream) -> Stream {
        if let [node] = nodes {
            return self.node(node, input);
        }
        let mut stream = input.clone();
        for node in nodes {
            stream = self.in_subshell(|this| this.node(node, &stream));
        }
        stream
    }

    pub(super) fn node(&mut self, node: &Node, input: &Stream) -> Stream {
        if let NodeKind::Simple(simple) = &node.kind {
            return self.simple(simple, &node.redirections, input);
        }
        let (input, writes) = match self.redirections(&node.redirections, input) {
            Ok(redirected) => redirected,
            Err(doubt) => {
                self.doubt(doubt);
                return Stream::Unknown;
            }
        };
        if !writes.is_empty() {
            let run = Run { words: &[], writes: &writes, scope: &self.scope };
            self.visitor.enter(&run);
            self.visitor.leave();
        }
        let output = self.compound(&node.kind, &input);
        self.feed_substitutions(&node.redirections, &output);
        self.store_output(&writes, output)
    }

    /// Returns the input that the redirections set up, and the files that they write.
    pub(super) fn redirections(
        &mut self,
        redirections: &[Redirection],
        input: &Stream,
    ) -> Result<(Stream, Vec<Field>), Doubt> {
        let (mut input, mut writes) = (input.clone(), Vec::new());
        for redirection in redirections {
            match redirection {
                Redirection::Text(word) => {
                    input = Stream::text(self.text(word)?.marked());
                }
                Redirection::Read(descriptor, word) => {
                    let (source, stream) = self.read_from(word)?;
                    let stream = stream.unwrap_or_else(|| match self.scope.files.get(source.marked()) {
                        Some(written) => Stream::Known(written.clone()),
                        None if self.scope.is_pipe(source.marked()) => Stream::Unknown,
                        None => Stream::External,
                    });
                    if *descriptor == 0 {
                        input = stream;
                    } else {
                        self.open(*descriptor, stream);
                    }
                }
                // Handled by [`Self::feed_substitutions`], once the output is known.
                Redirection::Write(_, word)
                    if matches!(word.0.as_slice(), [Part::ProcessSubstitution { .. }]) => {}
                Redirection::Write(descriptor, word) => {
                    let mut targets = self.fields(std::slice::from_ref(word))?;
                    if targets.iter().any(|target| self.scope.is_pipe(target.marked())) {
                        self.open(*descriptor, Stream::Unknown);
                    }
                    writes.append(&mut targets);
                }
            }
        }
        Ok((input, writes))
    }

    /// Redirects a descriptor from here on.
    fn open(&mut self, descriptor: u32, stream: Stream) {
        let name = format!("/dev/fd/{descriptor}");
        match stream {
            Stream::Known(written) => {
                self.scope.files.insert(name, written);
            }
            Stream::Unknown => self.scope.pipes.push(name),
            Stream::External => {}
        }
    }

    /// Walks the process substitutions that read a command's output: `> >(…)`.
    pub(super) fn feed_substitutions(&mut self, redirections: &[Redirection], output: &Stream) {
        for redirection in redirections {
            if let Redirection::Write(_, word) = redirection
                && let [Part::ProcessSubstitution { list, .. }] = word.0.as_slice()
            {
                self.process(list, output);
            }
        }
    }

    /// Remembers output written to known files and returns the rest.
    pub(super) fn store_output(&mut self, writes: &[Field], output: Stream) -> Stream {
        let Some(file) = writes.first() else { return output };
        if let (Some(name), Stream::Known(written)) = (file.literal(), output)
            && name != "/dev/null"
            && !name.starts_with("/dev/std")
            && !written.text.is_empty()
        {
            let known = self
                .scope
                .files
                .entry(plain(name))
                .or_insert_with(|| Written { text: String::new(), is_decoded: false });
            known.text.push_str(&written.text);
            known.is_decoded |= written.is_decoded;
            // git runs this later.
            if name.contains(".git/hooks/") || name.contains(".husky/") {
                let text = written.text;
                self.speculate(|this| {
                    this.source(&text, &Stream::External);
                });
            }
        }
        Stream::text("")
    }
}

/// Lines of unknown text.
fn unknown_lines() -> String {
    Field::unknown("$(output)").0 + "\n"
}

/// A file's name without a leading `./`.
pub(super) fn plain(name: &str) -> String {
    name.strip_prefix("./").unwrap_or(name).to_owned()
}
