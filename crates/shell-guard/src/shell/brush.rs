//! Converts brush-parser's syntax tree to the one in [`super::tree`]. brush-parser's word parser isn't used: it panics
//! on long numbers, and keeps a cache behind a lock.

mod rewrite;

use super::tree::{Assignment, Connector, List, Node, NodeKind, Part, Redirection, Simple, Step, Word};
use super::{prescan, word};
use crate::line::Doubt;
use brush_parser::ast;

/// The grammar of bash, parsed by brush-parser.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BrushParser;

impl super::Parser for BrushParser {
    fn count_tokens(&self, text: &str) -> Result<u32, Doubt> {
        prescan::tokens(text)
    }

    fn parse(&self, text: &str) -> Result<List, Doubt> {
        let options = brush_parser::ParserOptions::default();
        let tokens = brush_parser::uncached_tokenize_str(text, &options.tokenizer_options())
            .map_err(|error| Doubt(format!("cannot parse the command: {error}")))?;
        let program = brush_parser::parse_tokens(&rewrite::tokens(text, tokens), &options)
            .map_err(|error| Doubt(format!("cannot parse the command: {error}")))?;
        let mut steps = Vec::new();
        for command in program.complete_commands {
            steps.append(&mut list(command)?.0);
        }
        Ok(List(steps))
    }
}

fn list(list: ast::CompoundList) -> Result<List, Doubt> {
    let mut steps = Vec::with_capacity(list.0.len());
    for ast::CompoundListItem(item, separator) in list.0 {
        let mut chain = vec![step(item.first, Connector::Then)?];
        for next in item.additional {
            chain.push(match next {
                ast::AndOr::And(pipeline) => step(pipeline, Connector::And)?,
                ast::AndOr::Or(pipeline) => step(pipeline, Connector::Or)?,
            });
        }
        // A background command can't set variables of this shell.
        if matches!(separator, ast::SeparatorOperator::Async) {
            let kind = NodeKind::Subshell(List(std::mem::take(&mut chain)));
            chain.push(Step {
                pipeline: vec![Node { kind, redirections: Vec::new() }],
                connector: Connector::Then,
            });
        }
        steps.append(&mut chain);
    }
    Ok(List(steps))
}

fn step(pipeline: ast::Pipeline, connector: Connector) -> Result<Step, Doubt> {
    let pipeline = pipeline.seq.into_iter().map(node).collect::<Result<_, _>>()?;
    Ok(Step { pipeline, connector })
}

fn node(command: ast::Command) -> Result<Node, Doubt> {
    Ok(match command {
        ast::Command::Simple(command) => simple(command)?,
        ast::Command::Compound(command, redirects) => {
            Node { kind: compound(command)?, redirections: redirections(redirects)? }
        }
        ast::Command::Function(function) => {
            let ast::FunctionBody(body, redirects) = function.body;
            let body = Node { kind: compound(body)?, redirections: redirections(redirects)? };
            let kind = NodeKind::Function { name: function.fname.value, body: std::rc::Rc::new(body) };
            Node { kind, redirections: Vec::new() }
        }
        ast::Command::ExtendedTest(test, redirects) => {
            let mut words = Vec::new();
            tested(&test.expr, &mut words)?;
            Node { kind: NodeKind::Test(words), redirections: redirections(redirects)? }
        }
    })
}

fn compound(command: ast::CompoundCommand) -> Result<NodeKind, Doubt> {
    use ast::CompoundCommand as C;
    Ok(match command {
        C::Arithmetic(command) => NodeKind::Test(vec![word::document(&command.expr.value)?]),
        C::ArithmeticForClause(clause) => {
            let parts = [clause.initializer, clause.condition, clause.updater].into_iter().flatten();
            let words = parts.map(|part| word::document(&part.value)).collect::<Result<_, _>>()?;
            NodeKind::Case { words, arms: vec![list(clause.body.list)?] }
        }
        C::BraceGroup(group) => NodeKind::Group(list(group.list)?),
        C::Subshell(subshell) => NodeKind::Subshell(list(subshell.list)?),
        C::ForClause(clause) => NodeKind::For {
            variable: clause.variable_name,
            words: match clause.values {
                Some(values) => values.iter().map(read).collect::<Result<_, _>>()?,
                None => vec![word::parse("\"$@\"")?],
            },
            body: list(clause.body.list)?,
        },
        C::CaseClause(clause) => {
            let mut words = vec![read(&clause.value)?];
            let mut arms = Vec::new();
            for case in clause.cases {
                words.extend(case.patterns.iter().map(read).collect::<Result<Vec<_>, _>>()?);
                arms.extend(case.cmd.map(list).transpose()?);
            }
            NodeKind::Case { words, arms }
        }
        C::IfClause(clause) => {
            let mut arms = vec![list(clause.condition)?, list(clause.then)?];
            for part in clause.elses.unwrap_or_default() {
                arms.extend(part.condition.map(list).transpose()?);
                arms.push(list(part.body)?);
            }
            NodeKind::Branches { parts: arms, repeats: false }
        }
        C::WhileClause(clause) | C::UntilClause(clause) => {
            NodeKind::Branches { parts: vec![list(clause.0)?, list(clause.1.list)?], repeats: true }
        }
        C::Coprocess(command) => {
            let step = Step { pipeline: vec![node(*command.body)?], connector: Connector::Then };
            NodeKind::Coprocess(List(vec![step]))
        }
    })
}

fn read(text: &ast::Word) -> Result<Word, Doubt> {
    word::parse(&text.value)
}

fn simple(command: ast::SimpleCommand) -> Result<Node, Doubt> {
    let mut simple = Simple::default();
    let mut redirections = Vec::new();
    for item in command.prefix.map(|prefix| prefix.0).unwrap_or_default() {
        match item {
            ast::CommandPrefixOrSuffixItem::AssignmentWord(assigned, _) => {
                simple.assignments.push(assignment(&assigned)?);
            }
            other => suffix(other, &mut simple, &mut redirections)?,
        }
    }
    if let Some(name) = command.word_or_name {
        simple.words.push(read(&name)?);
    }
    for item in command.suffix.map(|suffix| suffix.0).unwrap_or_default() {
        suffix(item, &mut simple, &mut redirections)?;
    }
    Ok(Node { kind: NodeKind::Simple(simple), redirections })
}

fn suffix(
    item: ast::CommandPrefixOrSuffixItem,
    simple: &mut Simple,
    redirections: &mut Vec<Redirection>,
) -> Result<(), Doubt> {
    match item {
        ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
            redirections.extend(redirection(redirect)?);
        }
        ast::CommandPrefixOrSuffixItem::Word(word)
        | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => simple.words.push(read(&word)?),
        ast::CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => {
            simple.words.push(process(&kind, subshell)?);
        }
    }
    Ok(())
}

fn process(kind: &ast::ProcessSubstitutionKind, subshell: ast::SubshellCommand) -> Result<Word, Doubt> {
    let reads = matches!(kind, ast::ProcessSubstitutionKind::Write);
    Ok(Word(vec![Part::ProcessSubstitution { list: list(subshell.list)?, reads }]))
}

fn assignment(assigned: &ast::Assignment) -> Result<Assignment, Doubt> {
    let (name, mut is_array) = match &assigned.name {
        ast::AssignmentName::VariableName(name) => (name.clone(), false),
        ast::AssignmentName::ArrayElementName(name, _) => (name.clone(), true),
    };
    let values: Vec<Word> = match &assigned.value {
        ast::AssignmentValue::Scalar(value) => vec![read(value)?],
        ast::AssignmentValue::Array(values) => {
            is_array = true;
            values.iter().map(|(_, value)| read(value)).collect::<Result<_, _>>()?
        }
    };
    let index = match &assigned.name {
        ast::AssignmentName::ArrayElementName(_, index) => Some(word::parse(index)?),
        ast::AssignmentName::VariableName(_) => None,
    };
    Ok(Assignment { name, values, is_array, index, append: assigned.append })
}

fn redirections(list: Option<ast::RedirectList>) -> Result<Vec<Redirection>, Doubt> {
    let mut redirections = Vec::new();
    for redirect in list.map(|list| list.0).unwrap_or_default() {
        redirections.extend(redirection(redirect)?);
    }
    Ok(redirections)
}

fn redirection(redirect: ast::IoRedirect) -> Result<Option<Redirection>, Doubt> {
    use ast::{IoFileRedirectKind as Do, IoFileRedirectTarget as Target};
    Ok(Some(match redirect {
        ast::IoRedirect::File(descriptor, kind, target) => {
            let word = match target {
                Target::Filename(word) => read(&word)?,
                Target::ProcessSubstitution(kind, subshell) => process(&kind, subshell)?,
                Target::Duplicate(word)
                    if matches!(kind, Do::DuplicateInput) && is_descriptor(&word.value) =>
                {
                    Word(vec![Part::Quoted(format!("/dev/fd/{}", word.value))])
                }
                Target::Duplicate(word)
                    if word.value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') =>
                {
                    return Ok(None);
                }
                Target::Duplicate(word) => read(&word)?,
                Target::Fd(read) if matches!(kind, Do::DuplicateInput) && read > 2 => {
                    Word(vec![Part::Quoted(format!("/dev/fd/{read}"))])
                }
                Target::Fd(_) => return Ok(None),
            };
            let descriptor = descriptor.and_then(|fd| u32::try_from(fd).ok());
            match kind {
                Do::Read | Do::DuplicateInput => Redirection::Read(descriptor.unwrap_or(0), word),
                Do::Write | Do::Append | Do::ReadAndWrite | Do::Clobber | Do::DuplicateOutput => {
                    Redirection::Write(descriptor.unwrap_or(1), word)
                }
            }
        }
        ast::IoRedirect::HereDocument(_, document) => Redirection::Text(if document.requires_expansion {
            word::document(&document.doc.value)?
        } else {
            Word(vec![Part::Quoted(document.doc.value)])
        }),
        ast::IoRedirect::HereString(_, word) => Redirection::Text(read(&word)?),
        ast::IoRedirect::OutputAndError(word, _) => Redirection::Write(1, read(&word)?),
    }))
}

/// Whether it is a file descriptor above 2.
fn is_descriptor(text: &str) -> bool {
    text.parse::<u32>().is_ok_and(|descriptor| descriptor > 2)
}

/// The words of `[[ … ]]`.
fn tested(test: &ast::ExtendedTestExpr, words: &mut Vec<Word>) -> Result<(), Doubt> {
    use ast::ExtendedTestExpr as Test;
    match test {
        Test::And(left, right) | Test::Or(left, right) => {
            tested(left, words)?;
            tested(right, words)
        }
        Test::Not(inner) | Test::Parenthesized(inner) => tested(inner, words),
        Test::UnaryTest(_, word) => {
            words.push(read(word)?);
            Ok(())
        }
        Test::BinaryTest(_, left, right) => {
            words.push(read(left)?);
            words.push(read(right)?);
            Ok(())
        }
    }
}
