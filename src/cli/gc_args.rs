//! Arguments of `murmur gc`.

use clap::Args as ClapArgs;

/// Remove expired captures, and files of ended agents
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Also removes journal and log archives older than two years, and the oldest ones if the total exceeds 4 GiB. The \
daemon does the same at most once an hour. The [captures] table in config.toml sets how long captures of beats are \
kept.")]
pub(super) struct Gc {
    /// Show what would be removed without removing anything
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print output as JSON
    #[arg(long)]
    pub(super) json: bool,
}
