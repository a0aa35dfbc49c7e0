//! Goes through what a line would do, without doing it: each command that would run is shown to a [`Visitor`], with its
//! words expanded as far as they can be known, also those that another command would run in its turn.

mod flow;

use super::Reader;
use super::budget::{Budget, DEPTH};
use super::field::{Field, has_marks, written};
use super::scope::{Scope, Written};
use super::tree::{Kind, List, Node, Part, Redirection};
use crate::permit::line::Doubt;
use std::collections::HashSet;

/// A command that would run.
#[derive(Debug)]
pub struct Run<'a> {
    /// The program and its arguments.
    pub words: &'a [Field],
    /// The files that it would write by redirection.
    pub writes: &'a [Field],
    /// What is known where it runs.
    pub scope: &'a Scope,
}

/// Who is shown what a line would do.
pub trait Visitor {
    /// A command would run. What it would run in its turn comes before [`Self::leave`].
    fn enter(&mut self, run: &Run<'_>);
    /// All that it would run in its turn has come.
    fn leave(&mut self);
    /// Something could not be read, or is only known when it runs.
    fn doubt(&mut self, doubt: Doubt);
    /// Of the programs that it looks for, those that `pattern`, a pattern of file names, may stand for.
    fn programs(&self, pattern: &Field) -> Vec<&'static str>;
}

/// What a command reads, or writes to its output.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stream {
    /// This text.
    Known(Written),
    /// Something that is only known when it runs.
    Unknown,
    /// A file that the line did not write, or what the line itself reads.
    Elsewhere,
}

impl Stream {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Known(Written { text: text.into(), is_decoded: false })
    }

    /// The known text of it.
    pub(super) fn known(&self) -> Option<&str> {
        match self {
            Self::Known(written) => Some(&written.text),
            Self::Unknown | Self::Elsewhere => None,
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

/// The walk through one line.
pub(super) struct Walk<'a> {
    pub(super) reader: &'a dyn Reader,
    pub(super) visitor: &'a mut dyn Visitor,
    pub(super) budget: Budget,
    pub(super) scope: Scope,
    /// How deep it is in what it walks through.
    pub(super) depth: u32,
    /// Above 0 where doubts do not count: in what may never run.
    pub(super) quiet: u32,
    /// Which value was taken of each variable that may have several, and of how many.
    pub(super) choices: Vec<(String, usize, usize)>,
    /// Where a command was taken to begin, in what may run one from any of its words on.
    begun: Option<HashSet<Vec<Field>>>,
    /// What the rest of the line reads, where it has changed that: `exec < file`.
    pub(super) taken: Option<Stream>,
    /// What a process among the words of a command reads: about what the command does.
    pub(super) fed: Stream,
}

impl<'a> Walk<'a> {
    pub(super) fn new(reader: &'a dyn Reader, visitor: &'a mut dyn Visitor, scope: Scope) -> Self {
        let budget = Budget::default();
        Self {
            reader,
            visitor,
            budget,
            scope,
            depth: 0,
            quiet: 0,
            choices: Vec::new(),
            begun: None,
            taken: None,
            fed: Stream::Elsewhere,
        }
    }

    pub(super) fn doubt(&mut self, doubt: Doubt) {
        if self.quiet == 0 {
            self.visitor.doubt(doubt);
        }
    }

    /// Walks through a text, as a shell reads it that has nothing on its own.
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
            return Err(Doubt("it has characters that no text has".to_owned()));
        }
        if self.depth > DEPTH {
            return Err(Doubt("it runs commands within commands, too deep to be read".to_owned()));
        }
        self.budget.read(text.len())?;
        let tokens = self.reader.tokens(&text)?;
        self.budget.spend(tokens)?;
        self.reader.read(&text)
    }

    /// Walks through a text whose effects on variables and folders stay within.
    pub(super) fn apart(&mut self, walk: impl FnOnce(&mut Self) -> Stream) -> Stream {
        if let Err(doubt) = self.budget.spend(1 + u32::try_from(self.scope.size() / 4).unwrap_or(u32::MAX)) {
            self.doubt(doubt);
            return Stream::Unknown;
        }
        let mut scope = self.scope.clone();
        let choices = std::mem::take(&mut self.choices);
        let output = walk(self);
        // What was written stays written.
        scope.files = std::mem::take(&mut self.scope.files);
        (self.scope, self.choices) = (scope, choices);
        output
    }

    /// Walks through what may never happen as it stands there: what it refuses counts, what is unknown does not.
    pub(super) fn perhaps(&mut self, walk: impl FnOnce(&mut Self)) {
        self.quiet += 1;
        self.apart(|this| {
            walk(this);
            Stream::Unknown
        });
        self.quiet -= 1;
    }

    /// Walks through what `commands` would run, of which nobody knows which does; each is looked at once, however they
    /// are nested.
    pub(super) fn any_of(&mut self, commands: impl Iterator<Item = Vec<Field>>, input: &Stream) {
        let is_outermost = self.begun.is_none();
        for words in commands {
            if self.begun.get_or_insert_default().insert(words.clone()) {
                self.perhaps(|this| {
                    this.run(&words, &[], input);
                });
            }
        }
        if is_outermost {
            self.begun = None;
        }
    }

    fn pipeline(&mut self, nodes: &[Node], input: &Stream) -> Stream {
        if let [node] = nodes {
            return self.node(node, input);
        }
        let mut stream = input.clone();
        for node in nodes {
            stream = self.apart(|this| this.node(node, &stream));
        }
        stream
    }

    pub(super) fn node(&mut self, node: &Node, input: &Stream) -> Stream {
        if let Kind::Simple(simple) = &node.kind {
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
        self.feed(&node.redirections, &output);
        self.keep(&writes, output)
    }

    /// What is read and the files that are written, where `redirections` hold.
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
                        None => Stream::Elsewhere,
                    });
                    if *descriptor == 0 {
                        input = stream;
                    } else {
                        self.open(*descriptor, stream);
                    }
                }
                // What reads it is walked through when it is known.
                Redirection::Write(_, word) if matches!(word.0.as_slice(), [Part::Process { .. }]) => {}
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

    /// What is read from that descriptor from here on.
    fn open(&mut self, descriptor: u32, stream: Stream) {
        let name = format!("/dev/fd/{descriptor}");
        match stream {
            Stream::Known(written) => {
                self.scope.files.insert(name, written);
            }
            Stream::Unknown => self.scope.pipes.push(name),
            Stream::Elsewhere => {}
        }
    }

    /// Walks through the processes that read what a command writes: `> >(…)`.
    pub(super) fn feed(&mut self, redirections: &[Redirection], output: &Stream) {
        for redirection in redirections {
            if let Redirection::Write(_, word) = redirection
                && let [Part::Process { list, .. }] = word.0.as_slice()
            {
                self.process(list, output);
            }
        }
    }

    /// Keeps what is written to a file that is known, and gives the output that is left.
    pub(super) fn keep(&mut self, writes: &[Field], output: Stream) -> Stream {
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
            // What is put there is run by and by.
            if name.contains(".git/hooks/") || name.contains(".husky/") {
                let text = written.text;
                self.perhaps(|this| {
                    this.source(&text, &Stream::Elsewhere);
                });
            }
        }
        Stream::text("")
    }
}

/// Lines of which nothing is known.
fn unknown_lines() -> String {
    Field::unknown("$(output)").0 + "\n"
}

/// A file's name without `./` before it.
pub(super) fn plain(name: &str) -> String {
    name.strip_prefix("./").unwrap_or(name).to_owned()
}
