//! Goes through what a line would do, without doing it: each command that would run is shown to a [`Visitor`], with its
//! words expanded as far as they can be known, also those that another command would run in its turn.

use super::Reader;
use super::budget::{Budget, DEPTH};
use super::field::{Field, has_marks, written};
use super::scope::{Arguments, Scope, Written};
use super::tree::{Joint, Kind, List, Node, Part, Redirection, Step};
use crate::permit::line::Doubt;
use std::collections::HashSet;
use std::rc::Rc;

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

    pub(super) fn list(&mut self, list: &List, input: &Stream) -> Stream {
        self.depth += 1;
        let mut output = Stream::text("");
        if self.depth > DEPTH + 24 {
            self.doubt(Doubt("it is nested too deep to be read: write it in several commands".to_owned()));
            self.depth -= 1;
            return Stream::Unknown;
        }
        let mut rest = list.0.as_slice();
        while let Some((_, after)) = rest.split_first() {
            let length = 1 + after.iter().take_while(|step| step.joint != Joint::Then).count();
            let (chain, after) = rest.split_at(length);
            self.chain(chain, after.is_empty(), input, &mut output);
            rest = after;
        }
        self.depth -= 1;
        output
    }

    /// Walks through `a && b || c`: each but the first may not happen, and each folder may not be there.
    fn chain(&mut self, chain: &[Step], is_last: bool, input: &Stream, output: &mut Stream) {
        let mut stays = Vec::new();
        for (at, step) in chain.iter().enumerate() {
            if at == 1 {
                self.scope.suppose();
            }
            // `cd build || exit`: what comes after it is there.
            if step.joint == Joint::Or && leaves(&step.pipeline) {
                stays.clear();
                self.scope.settle();
                self.scope.suppose();
            }
            output.append(self.pipeline(&step.pipeline, input));
            stays.append(&mut self.scope.stays);
        }
        if chain.len() > 1 {
            self.scope.join();
        } else if self.scope.is_strict {
            stays.clear();
        }
        if is_last {
            // What it ends with may be a condition of what comes after it.
            self.scope.stays = stays;
        } else {
            self.scope.may_be_in(stays);
        }
    }

    /// Walks through what may happen, or not.
    fn maybe(&mut self, list: &List, input: &Stream) {
        self.scope.suppose();
        self.list(list, input);
        self.scope.join();
        self.stay();
    }

    /// It may be in the folders that it did not leave.
    fn stay(&mut self) {
        let stays = std::mem::take(&mut self.scope.stays);
        self.scope.may_be_in(stays);
    }

    fn pipeline(&mut self, nodes: &[Node], input: &Stream) -> Stream {
        if let [node] = nodes {
            return self.node(node, input);
        }
        let mut stream = input.clone();
        for node in nodes {
            stream = self.apart(|this| this.node(node, &stream));
            if stream == Stream::Elsewhere {
                stream = Stream::Unknown;
            }
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

    fn compound(&mut self, kind: &Kind, input: &Stream) -> Stream {
        match kind {
            Kind::Simple(_) => Stream::Unknown,
            Kind::Subshell(list) => self.apart(|this| this.list(list, input)),
            Kind::Group(list) => self.list(list, input),
            Kind::Branches { parts, repeats } => {
                let before = self.scope.changes();
                self.branches(parts, input);
                if *repeats && self.scope.changes() != before {
                    self.branches(parts, input);
                }
                Stream::Unknown
            }
            Kind::For { variable, words, body } => self.each(variable, words, body, input),
            Kind::Case { words, arms } => {
                self.words_only(words);
                for arm in arms {
                    self.maybe(arm, input);
                }
                Stream::Unknown
            }
            Kind::Function { name, body } => {
                self.scope.functions.insert(name.clone(), Rc::clone(body));
                self.perhaps(|this| {
                    this.scope.arguments = Arguments::Unknown;
                    this.scope.functions.remove(name);
                    this.node(body, &Stream::Unknown);
                });
                Stream::text("")
            }
            Kind::Test(words) => {
                self.words_only(words);
                Stream::text("")
            }
        }
    }

    /// Walks through a condition, which happens, and the parts of which each may.
    fn branches(&mut self, parts: &[List], input: &Stream) {
        let Some((condition, parts)) = parts.split_first() else { return };
        self.list(condition, input);
        // `if cd build; then …`
        let stays = std::mem::take(&mut self.scope.stays);
        for (at, list) in parts.iter().enumerate() {
            self.maybe(list, input);
            if at == 0 {
                self.scope.may_be_in(stays.clone());
            }
        }
    }

    /// Walks through the body of a loop, once for each value.
    fn each(&mut self, variable: &str, words: &[super::tree::Word], body: &List, input: &Stream) -> Stream {
        let values = match self.fields(words) {
            Ok(values) => values,
            Err(doubt) => {
                self.doubt(doubt);
                return Stream::Unknown;
            }
        };
        let mut output = Stream::text("");
        // What is only known when it runs may be nothing.
        self.scope.suppose();
        let is_sure = values.iter().any(Field::is_known);
        for value in values {
            if let Err(doubt) = self.budget.spend(1) {
                self.doubt(doubt);
                self.scope.join();
                return Stream::Unknown;
            }
            self.scope.set(variable, vec![value]);
            let written = self.list(body, input);
            self.stay();
            output.append(written);
        }
        if is_sure {
            self.scope.settle();
        } else {
            self.scope.join();
        }
        output
    }

    /// Walks through what words substitute.
    fn words_only(&mut self, words: &[super::tree::Word]) {
        if let Err(doubt) = self.fields(words) {
            self.doubt(doubt);
        }
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
                Redirection::Read(word) => {
                    let (source, stream) = self.read_from(word)?;
                    input = stream.unwrap_or_else(|| match self.scope.files.get(source.marked()) {
                        Some(written) => Stream::Known(written.clone()),
                        None => Stream::Elsewhere,
                    });
                }
                // What reads it is walked through when it is known.
                Redirection::Write(_, word) if matches!(word.0.as_slice(), [Part::Process { .. }]) => {}
                Redirection::Write(_, word) => {
                    let mut targets = self.fields(std::slice::from_ref(word))?;
                    writes.append(&mut targets);
                }
            }
        }
        Ok((input, writes))
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

/// Whether the line does not go on after it: `exit`, `return`, `{ …; exit 1; }`
fn leaves(pipeline: &[Node]) -> bool {
    const LEAVE: [&str; 7] = ["exit", "return", "break", "continue", "die", "fail", "abort"];
    match pipeline {
        [Node { kind: Kind::Simple(simple), .. }] => match simple.words.first().map(|word| word.0.as_slice())
        {
            Some([Part::Bare(name)]) => LEAVE.contains(&name.as_str()),
            _ => false,
        },
        [Node { kind: Kind::Group(list), .. }] => list.0.last().is_some_and(|step| leaves(&step.pipeline)),
        _ => false,
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
