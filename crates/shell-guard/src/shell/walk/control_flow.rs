//! Control flow: lists, branches, loops.

use super::{MAX_DEPTH, Stream, Walk};
use crate::line::Doubt;
use crate::shell::field::Field;
use crate::shell::scope::Arguments;
use crate::shell::tree::{Connector, List, Node, NodeKind, Part, Step, Word};
use std::rc::Rc;

impl Walk<'_> {
    pub(in crate::shell) fn list(&mut self, list: &List, input: &Stream) -> Stream {
        self.depth += 1;
        let mut output = Stream::text("");
        if self.depth > MAX_DEPTH + 24 {
            self.doubt(Doubt(
                "the command is nested too deeply to check: split it into several commands".to_owned(),
            ));
            self.depth -= 1;
            return Stream::Unknown;
        }
        let mut rest = list.0.as_slice();
        while let Some((_, after)) = rest.split_first() {
            let length = 1 + after.iter().take_while(|step| step.connector != Connector::Then).count();
            let (chain, after) = rest.split_at(length);
            self.chain(chain, after.is_empty(), input, &mut output);
            rest = after;
        }
        self.depth -= 1;
        output
    }

    /// Walks `a && b || c`. Each but the first may not run, and each folder may not exist.
    fn chain(&mut self, chain: &[Step], is_last: bool, input: &Stream, output: &mut Stream) {
        let mut if_cd_fails = Vec::new();
        for (at, step) in chain.iter().enumerate() {
            if at == 1 {
                self.scope.begin_branch();
            }
            // `cd build || exit`: the folder exists in what follows.
            if step.connector == Connector::Or && ends_flow(&step.pipeline) {
                if_cd_fails.clear();
                self.scope.commit_branch();
                self.scope.begin_branch();
            }
            output.append(self.pipeline(&step.pipeline, input));
            if_cd_fails.append(&mut self.scope.if_cd_fails);
        }
        if chain.len() > 1 {
            self.scope.merge_branch();
        } else if self.scope.exits_on_error {
            if_cd_fails.clear();
        }
        if is_last {
            // The last pipeline may be a condition of what follows.
            self.scope.if_cd_fails = if_cd_fails;
        } else {
            self.scope.add_folders(if_cd_fails);
        }
    }

    /// Walks a branch that may not be taken.
    fn branch(&mut self, list: &List, input: &Stream) {
        self.scope.begin_branch();
        self.list(list, input);
        self.scope.merge_branch();
        self.keep_folders();
    }

    /// Adds the folders from before a `cd` that may have failed.
    fn keep_folders(&mut self) {
        let if_cd_fails = std::mem::take(&mut self.scope.if_cd_fails);
        self.scope.add_folders(if_cd_fails);
    }

    pub(super) fn compound(&mut self, kind: &NodeKind, input: &Stream) -> Stream {
        match kind {
            NodeKind::Simple(_) => Stream::Unknown,
            NodeKind::Subshell(list) => self.in_subshell(|this| this.list(list, input)),
            NodeKind::Coprocess(list) => self.in_subshell(|this| this.list(list, &Stream::Unknown)),
            NodeKind::Group(list) => self.list(list, input),
            NodeKind::Branches { parts, repeats } => {
                let before = self.scope.changes();
                self.branches(parts, input);
                if *repeats && self.scope.changes() != before {
                    self.branches(parts, input);
                }
                Stream::Unknown
            }
            NodeKind::For { variable, words, body } => self.for_loop(variable, words, body, input),
            NodeKind::Case { words, arms } => {
                self.expand_for_effects(words);
                for arm in arms {
                    self.branch(arm, input);
                }
                Stream::Unknown
            }
            NodeKind::Function { name, body } => {
                self.scope.functions.insert(name.clone(), Rc::clone(body));
                self.speculate(|this| {
                    this.scope.arguments = Arguments::Unknown;
                    this.scope.functions.remove(name);
                    this.node(body, &Stream::Unknown);
                });
                Stream::text("")
            }
            NodeKind::Test(words) => {
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

    /// Walks a condition, which always runs, and the branches after it.
    fn branches(&mut self, parts: &[List], input: &Stream) {
        let Some((condition, parts)) = parts.split_first() else { return };
        self.list(condition, input);
        // `if cd build; then …`
        let if_cd_fails = std::mem::take(&mut self.scope.if_cd_fails);
        for (at, list) in parts.iter().enumerate() {
            self.branch(list, input);
            if at == 0 {
                self.scope.add_folders(if_cd_fails.clone());
            }
        }
    }

    /// Walks a loop's body, once for each value.
    fn for_loop(&mut self, variable: &str, words: &[Word], body: &List, input: &Stream) -> Stream {
        let values = match self.fields(words) {
            Ok(values) => values,
            Err(doubt) => {
                self.doubt(doubt);
                return Stream::Unknown;
            }
        };
        let mut output = Stream::text("");
        // Unknown text may expand to no words.
        self.scope.begin_branch();
        let is_sure = values.iter().any(Field::is_known);
        for value in values {
            if let Err(doubt) = self.budget.spend(1) {
                self.doubt(doubt);
                self.scope.merge_branch();
                return Stream::Unknown;
            }
            self.scope.set(variable, vec![value]);
            let written = self.list(body, input);
            self.keep_folders();
            output.append(written);
        }
        if is_sure {
            self.scope.commit_branch();
        } else {
            self.scope.merge_branch();
        }
        output
    }

    /// Expands words for the substitutions in them.
    fn expand_for_effects(&mut self, words: &[Word]) {
        if let Err(doubt) = self.fields(words) {
            self.doubt(doubt);
        }
    }
}

/// Whether control doesn't continue after it: `exit`, `return`, `{ …; exit 1; }`
fn ends_flow(pipeline: &[Node]) -> bool {
    const LEAVE: [&str; 7] = ["exit", "return", "break", "continue", "die", "fail", "abort"];
    match pipeline {
        [Node { kind: NodeKind::Simple(simple), .. }] => {
            match simple.words.first().map(|word| word.0.as_slice()) {
                Some([Part::Unquoted(name)]) => LEAVE.contains(&name.as_str()),
                _ => false,
            }
        }
        [Node { kind: NodeKind::Group(list), .. }] => {
            list.0.last().is_some_and(|step| ends_flow(&step.pipeline))
        }
        _ => false,
    }
}
