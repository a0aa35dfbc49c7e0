//! The arguments of `murmur permission` and `murmur question`.

use super::log::{count, since};
use super::requests::Answer;
use clap::{Args as ClapArgs, Subcommand, ValueEnum, ValueHint};
use jiff::Timestamp;
use murmur_core::permit::policy::Role;
use std::path::PathBuf;

/// List and answer permission requests
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur permission list --watch             follow requests
  murmur permission respond k3v9x2ab allow   allow one call
  murmur permission respond                  answer every call in turn")]
pub(crate) struct Permission {
    #[command(subcommand)]
    pub(crate) command: PermissionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionCommand {
    /// List calls that are waiting for your approval
    List(RequestList),
    Respond(PermissionRespond),
    #[command(hide = true)]
    Check(PermissionCheck),
    #[command(hide = true)]
    Rules(PermissionRules),
}

/// List and check the rules for agents, and show past decisions
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur rules list                                   list the rules
  murmur rules check 'Bash(git push -f)'              show who would decide
  murmur rules check 'Edit(/etc/hosts)' --as hosted   check for hosted agents
  murmur rules log --name site --since 1d             show decisions for site")]
pub(crate) struct Rules {
    #[command(subcommand)]
    pub(crate) command: RulesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    List(PermissionRules),
    Check(PermissionCheck),
    Log(RulesLog),
}

/// Show past decisions on agents' calls
#[derive(Debug, ClapArgs)]
pub(crate) struct RulesLog {
    /// Maximum number of decisions, or all
    #[arg(short = 'n', value_name = "N", default_value = "20", value_parser = count, allow_negative_numbers = true)]
    pub(crate) count: usize,
    /// Show only decisions for this agent ID, project, folder or heartbeat
    #[arg(long, value_name = "NAME|PATH")]
    pub(crate) name: Option<String>,
    /// Show only decisions since WHEN, such as 2h, today or 2026-11-22
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub(crate) since: Option<Timestamp>,
    /// Print one JSON object per decision
    #[arg(long)]
    pub(crate) json: bool,
}

/// The arguments of `murmur permission list` and `murmur question list`.
#[derive(Debug, ClapArgs)]
pub(crate) struct RequestList {
    /// Keep running and show requests as they open and close
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print output as JSON, one object per change with --watch
    #[arg(long)]
    pub(crate) json: bool,
}

/// Allow or deny a call that is waiting for approval
#[derive(Debug, ClapArgs)]
#[command(after_help = "On a terminal, without arguments, asks about each call in turn.")]
pub(crate) struct PermissionRespond {
    /// Request ID, from `murmur permission list`
    #[arg(requires = "decision")]
    pub(crate) id: Option<String>,
    /// Answer to the request
    #[arg(value_name = "ANSWER")]
    pub(crate) decision: Option<Answer>,
    /// Reason to tell the agent
    #[arg(long, requires = "decision")]
    pub(crate) reason: Option<String>,
    /// Also add a rule for exactly this call to the project's permissions.toml
    #[arg(long, requires = "decision")]
    pub(crate) always: bool,
}

/// List and answer questions of agents
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur question list                          list open questions
  murmur question respond k3v9x2ab '{\"q1\":2}'   answer with the second choice
  murmur question respond                       answer every question in turn")]
pub(crate) struct Question {
    #[command(subcommand)]
    pub(crate) command: QuestionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QuestionCommand {
    /// List questions that are waiting for your answer
    List(RequestList),
    Respond(QuestionRespond),
}

/// Answer an agent's questions
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
ANSWERS maps each question (q1, q2, ..., its header or its text) to a label, its number, a list of these, \
or your own text. Write your own text as {\"other\":\"...\"} if it is one word or resembles a label.
On a terminal, without arguments, asks each question in turn.")]
pub(crate) struct QuestionRespond {
    /// Request ID, from `murmur question list`
    #[arg(requires = "answers")]
    pub(crate) id: Option<String>,
    /// Answers as a JSON object
    pub(crate) answers: Option<String>,
}

/// Show how a tool call would be decided, and by whom
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Runs nothing and asks nobody. A CALL is 'Bash(git push)', 'Edit(/path)', 'WebFetch(https://...)', \
'Tool({\"key\":\"value\"})' or 'Tool'. With -, it is read from stdin as {\"tool_name\":...,\"tool_input\":{...}}.")]
pub(crate) struct PermissionCheck {
    /// Call to check, such as 'Bash(git push)', or - to read it from stdin
    pub(crate) call: String,
    /// Folder of the agent [default: this folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Project whose rules apply [default: $MURMUR_PROJECT, else the folder's]
    #[arg(long)]
    pub(crate) project: Option<String>,
    /// Kind of agent that makes the call
    #[arg(long = "as", value_name = "KIND", default_value = "beat")]
    pub(crate) role: RoleArg,
    /// Print output as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the rules in the order they are checked
#[derive(Debug, ClapArgs)]
pub(crate) struct PermissionRules {
    /// Folder of the agent [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Project whose rules apply [default: $MURMUR_PROJECT, else the folder's]
    #[arg(long)]
    pub(crate) project: Option<String>,
    /// Print output as JSON
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
