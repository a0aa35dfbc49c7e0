//! What happens after what, and what may not happen at all: lists, branches, loops.

use super::{DEPTH, Stream, Walk};
use crate::permit::line::Doubt;
use crate::permit::shell::field::Field;
use crate::permit::shell::scope::Arguments;
use crate::permit::shell::tree::{Joint, Kind, List, Node, Part, Step, Word};
use std::rc::Rc;

impl Walk<'_> {
    pub(in crate::permit::shell) fn list(&mut self, list: &List, input: &Stream) -> Stream {
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

    pub(super) fn compound(&mut self, kind: &Kind, input: &Stream) -> Stream {
        match kind {
            Kind::Simple(_) => Stream::Unknown,
            Kind::Subshell(list) => self.apart(|this| this.list(list, input)),
            Kind::Coprocess(list) => self.apart(|this| this.list(list, &Stream::Unknown)),
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
                for word in words {
                    match self.fields(std::slice::from_ref(word)) {
                        Ok(fields) => fields.iter().for_each(|field| self.subscripts(field.marked())),
                        Err(doubt) => self.doubt(doubt),
                    }
                }
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
    fn each(&mut self, variable: &str, words: &[Word], body: &List, input: &Stream) -> Stream {
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
    fn words_only(&mut self, words: &[Word]) {
        if let Err(doubt) = self.fields(words) {
            self.doubt(doubt);
        }
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
