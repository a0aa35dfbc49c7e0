//! The rules that `--always` can add, shown before one is added.

use super::super::requests::Answer;
use super::super::style::plain_text;
use super::super::user_env::UserEnv;
use crate::daemon::broker::RequestRow;
use anyhow::bail;
use derun::cli::stdout::stdout;
use derun::cli::wrapped::{output_width, wrapped};
use murmur_core::permit::rules::{Action, EntryError, Proposal, append_rule, patterns_line};
use murmur_hook::evaluate;
use shell_guard::call::{Call, CallPlace, ProtectedPaths};
use std::fmt::Write as _;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use sys::error::{Failure, Hinted};
use sys::failure;
use sys::paths::DataDir;
use sys::text::Shown;

/// Where rules would go.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Rules {
    dir: DataDir,
    home: PathBuf,
}

/// The rules for a call to choose from, narrowest first. There is at least one.
#[derive(Debug, Clone)]
pub(in crate::cli) struct RuleChoice {
    pub(in crate::cli) answer: Answer,
    tool: String,
    file: PathBuf,
    proposals: Vec<Proposal>,
}

/// What was typed about the rules.
#[derive(Debug, PartialEq)]
pub(in crate::cli) enum Chosen {
    /// The rule with these patterns.
    Rule(Vec<String>),
    /// None of them.
    NoRule,
    /// Something else; this is what can be typed.
    Unclear(String),
}

impl Rules {
    pub(in crate::cli) fn new(dir: DataDir, home: PathBuf) -> Self {
        Self { dir, home }
    }

    /// The file that a rule about `row` is added to.
    pub(in crate::cli) fn file(&self, row: &RequestRow) -> PathBuf {
        self.dir.rules_of(&row.workspace)
    }

    /// The rules that would give `answer` to calls like that of `row`.
    pub(in crate::cli) fn choice(&self, row: &RequestRow, answer: Answer) -> Result<RuleChoice, Failure> {
        let (cwd, workspace) = (row.cwd.clone(), row.workspace.clone());
        let place = CallPlace { cwd, workspace, home: self.home.clone(), own: ProtectedPaths::default() };
        let call = Call { tool: row.tool.clone(), input: row.input.clone(), place };
        let proposals = evaluate::proposals(&call, action(answer), row.doubt.is_some());
        let file = self.file(row);
        if proposals.is_empty() {
            return Err(EntryError::inexact(&call, &file).failure());
        }
        Ok(RuleChoice { answer, tool: call.tool, file, proposals })
    }
}

fn action(answer: Answer) -> Action {
    if answer == Answer::Allow { Action::Allow } else { Action::Deny }
}

impl RuleChoice {
    /// The rules as text, and the file that one would be added to.
    pub(in crate::cli) fn text(&self) -> String {
        let (file, action) = (self.file.display(), action(self.answer));
        let mut text = String::new();
        if let [only] = self.proposals.as_slice() {
            let _never = writeln!(text, "add this rule to {file}:");
            let rule = append_rule("", &self.file, &self.tool, action, &only.patterns).unwrap_or_default();
            for line in plain_text(&rule).lines() {
                let _never = writeln!(text, "    {line}");
            }
            return text;
        }
        let tool = plain_text(&self.tool);
        let _never = writeln!(text, "add one of these rules that {action} {tool} to {file}:");
        for (number, rule) in (1..).zip(&self.proposals) {
            let _never = writeln!(text, "  {number}. {}", plain_text(&rule.covers));
            if !rule.patterns.is_empty() {
                let _never = writeln!(text, "     {}", plain_text(&patterns_line(&rule.patterns)));
            }
        }
        text
    }

    /// What to ask after [`Self::text`].
    pub(in crate::cli) fn prompt(&self) -> String {
        match self.proposals.len() {
            1 => "add it? [y]es, [n]o: ".to_owned(),
            last => format!("which rule? 1 to {last}, Enter for 1, or [n]one: "),
        }
    }

    /// The rule that the typed `line` chooses.
    pub(in crate::cli) fn chosen(&self, line: &str) -> Chosen {
        let is_only = self.proposals.len() == 1;
        match line.trim().to_lowercase().as_str() {
            "n" | "no" | "none" => Chosen::NoRule,
            "y" | "yes" if is_only => self.rule(1),
            "" if !is_only => self.rule(1),
            typed => match typed.parse() {
                Ok(number) => self.rule(number),
                Err(_) if is_only => Chosen::Unclear("type y or n".to_owned()),
                Err(_) => Chosen::Unclear("type a number, or n".to_owned()),
            },
        }
    }

    fn rule(&self, number: usize) -> Chosen {
        match number.checked_sub(1).and_then(|index| self.proposals.get(index)) {
            Some(rule) => Chosen::Rule(rule.patterns.clone()),
            None => Chosen::Unclear(format!("no rule {number}; rules are 1 to {}", self.proposals.len())),
        }
    }
}

/// Shows the rules, and returns the patterns of the one that is chosen: by `number`, or else by a person on a terminal.
pub(super) fn chosen(
    row: &RequestRow,
    answer: Answer,
    number: Option<usize>,
    dir: &DataDir,
    env: &UserEnv,
) -> anyhow::Result<Option<Vec<String>>> {
    let choice = Rules::new(dir.clone(), env.home()).choice(row, answer)?;
    let last = choice.proposals.len();
    if let Some(number) = number {
        let Chosen::Rule(patterns) = choice.rule(number) else {
            bail!(failure!("there is no rule {number}, only 1 to {last}"; "to see them, leave out --rule"));
        };
        return Ok(Some(patterns));
    }
    let mut out = Shown(stdout().lock());
    write!(out, "{}", wrapped(&choice.text(), output_width()))?;
    if !io::stdin().is_terminal() {
        out.flush()?;
        let hint = match last {
            1 => "to add the rule, run it again with --rule 1".to_owned(),
            _ => format!("to add a rule, run it again with its number: --rule 1 to --rule {last}"),
        };
        bail!(Failure::new("nothing was answered, and no rule was added").hint(hint));
    }
    loop {
        write!(out, "{}", choice.prompt())?;
        out.flush()?;
        let mut typed = String::new();
        let is_end = io::stdin().lock().read_line(&mut typed)? == 0;
        let chosen = if is_end { Chosen::NoRule } else { choice.chosen(&typed) };
        match chosen {
            Chosen::Rule(patterns) => return Ok(Some(patterns)),
            Chosen::NoRule => {
                writeln!(out, "nothing was answered, and no rule was added")?;
                return Ok(None);
            }
            Chosen::Unclear(text) => writeln!(out, "{text}")?,
        }
    }
}
