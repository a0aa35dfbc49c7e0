//! What can be typed after `murmur setup`.

use crate::setup::Scope;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};

/// Make Claude Code sessions that you start yourself known to murmur
#[derive(Debug, ClapArgs)]
pub(crate) struct Setup {
    #[command(subcommand)]
    pub(crate) command: SetupCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SetupCommand {
    Hooks(SetupHooks),
}

/// Add murmur's hooks to Claude Code's settings, so that sessions write pulses; changes nothing else there
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur setup hooks                   all your sessions: ~/.claude/settings.json
  murmur setup hooks --scope local     only those in this folder: .claude/settings.local.json
  murmur setup hooks --dry-run         what would change, changing nothing
  murmur setup hooks --check           whether a pulse arrives
  murmur setup hooks --remove          the file as it was before
  murmur setup hooks --fix-flat        mend entries of others in the flat form; adds no hooks")]
pub(crate) struct SetupHooks {
    /// Whose sessions: user is ~/.claude/settings.json (or in $CLAUDE_CONFIG_DIR), project .claude/settings.json and
    /// local .claude/settings.local.json in this folder
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub(crate) scope: ScopeArg,
    /// Take them out again
    #[arg(long, conflicts_with_all = ["check", "fix_flat"])]
    pub(crate) remove: bool,
    /// Run the installed hook once, and say whether a pulse arrives
    #[arg(long, conflicts_with_all = ["dry_run", "fix_flat"])]
    pub(crate) check: bool,
    /// Show what would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Only rewrite entries in the flat form, because of which Claude Code ignores the file; adds no hooks
    #[arg(long)]
    pub(crate) fix_flat: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ScopeArg {
    User,
    Project,
    Local,
}

impl From<ScopeArg> for Scope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::User => Self::User,
            ScopeArg::Project => Self::Project,
            ScopeArg::Local => Self::Local,
        }
    }
}
