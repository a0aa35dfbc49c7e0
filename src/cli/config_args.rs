//! The arguments of `murmur config`.

use clap::{Args as ClapArgs, Subcommand};

/// Show and check your configuration files
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur config path     show which files murmur reads
  murmur config check    check them, and every HEARTBEAT.md
  murmur config schema   print the JSON Schema of config.json")]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the paths of your configuration files
    Path {
        /// Print output as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check your configuration files and every HEARTBEAT.md
    #[command(after_help = "Exits with 1 if there is a problem.")]
    Check {
        /// Print output as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of config.json
    Schema,
}
