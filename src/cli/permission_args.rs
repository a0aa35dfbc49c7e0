//! What can be typed after `murmur permission`.

use super::requests::Verdicts;
use crate::permit::policy::Role;
use clap::{Args as ClapArgs, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

/// What agents may do: what waits for an answer, the rules, and what would happen to a call
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur permission list --watch                           what waits for an answer, as it comes
  murmur permission respond k3v9x2ab allow                 allow one call
  murmur permission respond                                one after the other, on a terminal
  murmur permission rules                                  every rule, in the order in which they are looked at
  murmur permission check 'Bash(git push -f)'              what would happen to it here, and who decides
  murmur permission check 'Edit(/etc/hosts)' --as hosted   the same for an agent that somebody speaks to")]
pub(crate) struct Permission {
    #[command(subcommand)]
    pub(crate) command: PermissionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionCommand {
    List(RequestList),
    Respond(PermissionRespond),
    Check(PermissionCheck),
    Rules(PermissionRules),
}

/// List what agents wait for
#[derive(Debug, ClapArgs)]
pub(crate) struct RequestList {
    /// Go on and show what comes, and what becomes of it
    #[arg(long)]
    pub(crate) watch: bool,
    /// One JSON object on stdout; with --watch, one for each that comes or goes
    #[arg(long)]
    pub(crate) json: bool,
}

/// Allow or deny a call that waits; without arguments, on a terminal, asks about one after the other
#[derive(Debug, ClapArgs)]
pub(crate) struct PermissionRespond {
    /// The request, as `murmur permission list` shows it
    #[arg(requires = "verdict")]
    pub(crate) id: Option<String>,
    /// What becomes of it
    pub(crate) verdict: Option<Verdicts>,
    /// Why, for the agent
    #[arg(long, requires = "verdict")]
    pub(crate) reason: Option<String>,
    /// From now on as well: a rule for just this call is added to the project's permissions.toml
    #[arg(long, requires = "verdict")]
    pub(crate) always: bool,
}

/// Agents' questions, and a person's answers
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur question list                              what agents ask
  murmur question respond k3v9x2ab '{\"q1\":2}'     answer with the second choice
  murmur question respond k3v9x2ab '{\"q1\":\"neither, mock it\"}'   answer in your own words
  murmur question respond                           one after the other, on a terminal")]
pub(crate) struct Question {
    #[command(subcommand)]
    pub(crate) command: QuestionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QuestionCommand {
    List(RequestList),
    Respond(QuestionRespond),
}

/// Answer an agent's questions; without arguments, on a terminal, asks about one after the other
#[derive(Debug, ClapArgs)]
pub(crate) struct QuestionRespond {
    /// The request, as `murmur question list` shows it
    #[arg(requires = "answers")]
    pub(crate) id: Option<String>,
    /// A JSON object: q1, q2 and so on, a header or a question's text; and for each a label, its number, a list of them,
    /// or a text of your own ({"other":"a text"} if it looks like a label)
    pub(crate) answers: Option<String>,
}

/// Say what would happen to a call, and who decides; runs nothing, asks nobody
#[derive(Debug, ClapArgs)]
pub(crate) struct PermissionCheck {
    /// The call, such as 'Bash(git push)', 'Edit(/path)', 'WebFetch(https://...)', 'Tool({"key":"value"})' or 'Tool'; - reads
    /// {"tool_name":...,"tool_input":{...}} from stdin
    pub(crate) call: String,
    /// The folder that the agent is in [default: this one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// The project whose rules come first [default: $MURMUR_PROJECT, else that of a beat or agent in the folder]
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
    /// The folder that the agent is in [default: this one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The project whose rules come first [default: $MURMUR_PROJECT, else that of a beat in the folder]
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
