//! Arguments of `murmur gc`.

use clap::Args as ClapArgs;

/// Remove expired captures, and files of ended agents
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Also removes archived parts of the journal and other logs after two years, and the oldest beyond 4 GiB total. The \
daemon does the same at most once an hour. The table [captures] in config.toml sets how long captures of beats are \
kept.")]
pub(super) struct Gc {
    /// Show what would be removed without removing anything
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print output as JSON
    #[arg(long)]
    pub(super) json: bool,
}
