//! Arguments of `murmur gc`.

use clap::Args as ClapArgs;

/// Remove expired captures, and files of ended agents
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Also removes archives of the journal and other logs that are older than two years, and the oldest beyond 4 GiB in \
total. The daemon does the same at most once an hour. The [captures] table in config.toml sets how long captures of \
beats are kept.")]
pub(super) struct Gc {
    /// Show what would be removed without removing anything
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print output as JSON
    #[arg(long)]
    pub(super) json: bool,
}
