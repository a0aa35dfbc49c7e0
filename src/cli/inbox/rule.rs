//! The rule that `--always` adds, shown before it is added.

use super::super::requests::Answer;
use super::super::style::plain_text;
use super::super::user_env::UserEnv;
use crate::daemon::broker::Row;
use anyhow::bail;
use derun::cli::stdout::stdout;
use murmur_core::permit::rules::{Action, append_rule};
use shell_guard::call::{Call, Place, ProtectedPaths};
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

impl Rules {
    pub(in crate::cli) fn new(dir: DataDir, home: PathBuf) -> Self {
        Self { dir, home }
    }

    /// The file that a rule about `row` is added to.
    pub(in crate::cli) fn file(&self, row: &Row) -> PathBuf {
        self.dir.rules_of(&row.workspace)
    }

    /// The rule, which matches exactly this call, and the file that it would be added to.
    pub(in crate::cli) fn shown(&self, row: &Row, answer: Answer) -> Result<String, Failure> {
        let (cwd, workspace) = (row.cwd.clone(), row.workspace.clone());
        let place = Place { cwd, workspace, home: self.home.clone(), own: ProtectedPaths::default() };
        let call = Call { tool: row.tool.clone(), input: row.input.clone(), place };
        let action = if answer == Answer::Allow { Action::Allow } else { Action::Deny };
        let file = self.file(row);
        let rule = append_rule("", &file, &call, action).map_err(|error| error.failure())?;
        let mut text = format!("this rule would be added to {}:\n", file.display());
        for line in plain_text(&rule).lines() {
            let _never = writeln!(text, "    {line}");
        }
        Ok(text)
    }
}

/// Shows the rule, and asks whether to add it. Only a terminal can be asked.
pub(super) fn confirmed(row: &Row, answer: Answer, dir: &DataDir, env: &UserEnv) -> anyhow::Result<bool> {
    let rule = Rules::new(dir.clone(), env.home()).shown(row, answer)?;
    let mut out = Shown(stdout().lock());
    write!(out, "{rule}")?;
    if !io::stdin().is_terminal() {
        out.flush()?;
        bail!(
            failure!("nothing was answered, and no rule was added"; "to add the rule, run it again with --yes")
        );
    }
    write!(out, "add it? [y]es, [n]o: ")?;
    out.flush()?;
    let mut typed = String::new();
    io::stdin().lock().read_line(&mut typed)?;
    let is_yes = matches!(typed.trim().to_lowercase().as_str(), "y" | "yes");
    if !is_yes {
        writeln!(out, "nothing was answered, and no rule was added")?;
    }
    Ok(is_yes)
}
