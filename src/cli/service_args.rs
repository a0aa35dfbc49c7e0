//! The arguments of `murmur service`.

use clap::{Args as ClapArgs, Subcommand};

/// Run the daemon as a systemd or launchd service
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The service starts at login and restarts if it fails.

Examples:
  murmur service install           start the daemon now and at every login
  murmur service install --print   print the service file
  murmur service status            show whether it is installed and running
  murmur service uninstall         remove it without stopping hosted agents")]
pub(super) struct Service {
    #[command(subcommand)]
    pub(super) command: ServiceCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum ServiceCommand {
    /// Install and start the service
    Install {
        /// Print the service file without installing it
        #[arg(long)]
        print: bool,
    },
    /// Stop and remove the service
    Uninstall,
    /// Show whether the service is installed and running
    #[command(after_help = "Exits with 1 if the service is not running.")]
    Status {
        /// Print output as JSON
        #[arg(long)]
        json: bool,
    },
}
