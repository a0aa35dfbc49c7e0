//! The arguments of `murmur setup`.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use murmur_claude_files::setup::Scope;

/// Install murmur's hooks in Claude Code's settings
#[derive(Debug, ClapArgs)]
pub(crate) struct Setup {
    #[command(subcommand)]
    pub(crate) command: SetupCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SetupCommand {
    Hooks(SetupHooks),
}

/// Install hooks that report your own Claude Code sessions to murmur
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The settings file of each scope:
  user     ~/.claude/settings.json, or settings.json in $CLAUDE_CONFIG_DIR
  project  .claude/settings.json in this folder
  local    .claude/settings.local.json in this folder
Nothing else in the file changes.

Examples:
  murmur setup hooks                   install hooks for all your sessions
  murmur setup hooks --scope local     install hooks for this folder only
  murmur setup hooks --dry-run         show what would change
  murmur setup hooks --check           check that the installed hook works
  murmur setup hooks --remove          remove the hooks
  murmur setup hooks --fix-flat        fix entries without a `hooks` list")]
pub(crate) struct SetupHooks {
    /// Settings file to change
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub(crate) scope: ScopeArg,
    /// Remove the hooks
    #[arg(long, conflicts_with_all = ["check", "fix_flat"])]
    pub(crate) remove: bool,
    /// Run the installed hook once and check that it works
    #[arg(long, group = "reads", conflicts_with_all = ["dry_run", "fix_flat"])]
    pub(crate) check: bool,
    /// Show what would change without writing anything
    #[arg(long, group = "reads")]
    pub(crate) dry_run: bool,
    /// Print what --check or --dry-run shows as JSON
    #[arg(long, requires = "reads")]
    pub(crate) json: bool,
    /// Only fix entries without a `hooks` list, which Claude Code cannot read
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
