//! What can be typed after `murmur permission`.

use crate::permit::policy::Role;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What agents may do: the rules, and what would become of a call
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur permission rules                                  every rule, in the order in which they are looked at
  murmur permission check 'Bash(git push -f)'              what would happen to it here, and who decides
  murmur permission check 'Edit(/etc/hosts)' --as hosted   the same for an agent that somebody speaks to")]
pub(crate) struct Permission {
    #[command(subcommand)]
    pub(crate) command: PermissionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionCommand {
    Check(PermissionCheck),
    Rules(PermissionRules),
}

/// Say what would become of a call, and who decides; runs nothing, asks nobody
#[derive(Debug, ClapArgs)]
pub(crate) struct PermissionCheck {
    /// The call, as 'Bash(git push)', 'Edit(/path)', 'WebFetch(https://...)', 'Tool({"key":"value"})' or 'Tool'; - reads
    /// {"tool_name":...,"tool_input":{...}} from stdin
    pub(crate) call: String,
    /// The folder that the agent is in [default: this one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The project whose rules come first [default: $MURMUR_PROJECT]
    #[arg(long)]
    pub(crate) project: Option<String>,
    /// What the agent is
    #[arg(long = "as", value_name = "ROLE", default_value = "beat")]
    pub(crate) role: RoleArg,
    /// One JSON object on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the rules in the order in which they are looked at
#[derive(Debug, ClapArgs)]
pub(crate) struct PermissionRules {
    /// The project whose rules come first [default: $MURMUR_PROJECT]
    #[arg(long)]
    pub(crate) project: Option<String>,
    /// One JSON object on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RoleArg {
    Beat,
    Hosted,
    Manager,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Beat => Self::Beat,
            RoleArg::Hosted => Self::Hosted,
            RoleArg::Manager => Self::Manager,
        }
    }
}
