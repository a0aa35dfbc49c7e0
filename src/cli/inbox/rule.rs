//! The rule that `--always` adds, shown before it is added.

use super::super::requests::Answer;
use super::super::style::plain_text;
use super::super::user_env::UserEnv;
use crate::daemon::broker::Row;
use anyhow::bail;
use derun::cli::stdout::stdout;
use murmur_core::permit::rules::{Action, append_rule};
use shell_guard::call::{Call, Own, Place};
use std::io::{self, BufRead, IsTerminal, Write};
use sys::error::Hinted;
use sys::failure;
use sys::paths::DataDir;
use sys::text::Shown;

/// Shows the rule, which matches exactly this call, and asks whether to add it. Only a terminal can be asked.
pub(super) fn confirmed(row: &Row, answer: Answer, dir: &DataDir, env: &UserEnv) -> anyhow::Result<bool> {
    let (cwd, workspace) = (row.cwd.clone(), row.workspace.clone());
    let place = Place { cwd, workspace, home: env.home(), own: Own::default() };
    let call = Call { tool: row.tool.clone(), input: row.input.clone(), place };
    let action = if answer == Answer::Allow { Action::Allow } else { Action::Deny };
    let file = dir.rules_of(&row.workspace);
    let rule = append_rule("", &file, &call, action).map_err(|error| error.failure())?;
    let mut out = Shown(stdout().lock());
    writeln!(out, "this rule would be added to {}:", file.display())?;
    for line in plain_text(&rule).lines() {
        writeln!(out, "    {line}")?;
    }
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
