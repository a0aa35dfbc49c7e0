//! The arguments of `murmur inbox`, `murmur allow`, `murmur deny` and `murmur answer`.

use clap::Args as ClapArgs;

/// List everything that is waiting for you
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Lists calls, questions, reached usage limits, used-up budgets, failing heartbeats, unreadable rules, \
untrusted repositories and stuck agents, nearest deadline first. A request's number works in place of its ID, and is \
not reused within a day.")]
pub(crate) struct Inbox {
    /// Keep running and show changes
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print output as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The arguments of both decisions.
#[derive(Debug, ClapArgs)]
pub(crate) struct Decision {
    /// Number in the inbox, request ID or ID prefix, heartbeat, agent, folder, or last
    #[arg(value_name = "REQUEST")]
    pub(crate) id: String,
    /// Reason to tell the agent
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Also choose a rule for such calls, and add it to the project's permissions.toml
    #[arg(long)]
    pub(crate) always: bool,
    /// With --always, add the rule for exactly this call, without asking
    #[arg(long, requires = "always")]
    pub(crate) yes: bool,
    /// With --always, add offered rule N, without asking
    #[arg(long, value_name = "N", requires = "always", conflicts_with = "yes")]
    pub(crate) rule: Option<usize>,
}

/// Allow a call that is waiting for you
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur allow 1           allow the call that the inbox lists as 1
  murmur allow 1 --always  also add a rule that allows such calls from now on
  murmur allow last        allow the latest call")]
pub(crate) struct Allow {
    #[command(flatten)]
    pub(crate) decision: Decision,
}

/// Deny a call or dismiss a question that is waiting for you
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur deny 1 --reason 'not on a Friday'
  murmur deny last")]
pub(crate) struct Deny {
    #[command(flatten)]
    pub(crate) decision: Decision,
}

/// Answer an agent's questions
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Give one ANSWER per question: a label, its number, several separated by commas, or = followed by \
your own text. On a terminal, without an ANSWER, asks each question in turn.

Examples:
  murmur answer 1 2                     answer with the second choice
  murmur answer 1 2 '=mock the clock'   answer two questions
  murmur answer last                    answer the latest questions, one by one")]
pub(crate) struct AnswerQuestions {
    /// Number in the inbox, request ID or ID prefix, heartbeat, agent, folder, or last
    #[arg(value_name = "REQUEST")]
    pub(crate) id: String,
    /// Answers in the order of the questions, or one JSON object
    #[arg(value_name = "ANSWER", allow_hyphen_values = true)]
    pub(crate) answers: Vec<String>,
}
