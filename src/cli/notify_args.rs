//! The arguments of `murmur notify`.

use clap::{Args as ClapArgs, Subcommand};

/// Test notifications, and show what was sent
#[derive(Debug, ClapArgs)]
pub(crate) struct NotifyArgs {
    #[command(subcommand)]
    pub(crate) command: NotifyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NotifyCommand {
    Test(Test),
    Log(Log),
    #[command(hide = true)]
    Run(Run),
}

/// Send a test message through your channels
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur notify test        send to every channel in config.toml
  murmur notify test phone  send to [notify.channels.phone]")]
pub(crate) struct Test {
    /// Channel to test [default: all]
    #[arg(value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
}

/// Show deliveries, failures and answers
#[derive(Debug, ClapArgs)]
pub(crate) struct Log {
    /// Maximum number of lines
    #[arg(short = 'n', default_value_t = 20, value_name = "N")]
    pub(crate) count: usize,
    /// Print the lines as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Send notifications until the daemon ends
#[derive(Debug, ClapArgs)]
pub(crate) struct Run {}
