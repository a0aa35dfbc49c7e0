//! The arguments of `murmur config`.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

/// Show and check your configuration files
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  murmur config path                 show which files murmur reads
  murmur config check                check them, and every HEARTBEAT.md
  murmur config schema               print the JSON Schema of config.json
  murmur config schema config.toml   print it for config.toml")]
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
    /// Print the JSON Schema of a configuration file
    Schema {
        /// File to print the schema of
        #[arg(value_enum, default_value = "config.json")]
        file: ConfigFile,
    },
}

/// A file with a schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ConfigFile {
    /// Workspaces and their heartbeats
    #[value(name = "config.json")]
    Json,
    /// Settings for all agents
    #[value(name = "config.toml")]
    Toml,
}
