//! The arguments of the commands for heartbeats and their workspaces.

use super::init::Templates;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args as ClapArgs, Subcommand, ValueHint};
use derun::cli::args::Run;
use murmur_core::config::backend::Backend;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Create a HEARTBEAT.md and register the workspace
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Never overwrites a file.

Examples:
  murmur init                                set up this folder
  murmur init ~/repos/site --cron '0 9 * * 1-5' --tz Europe/Berlin
  murmur init --name nightly --interval 1d   add a second heartbeat here")]
pub(super) struct Init {
    /// Workspace folder
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub(super) path: PathBuf,
    /// Create a named heartbeat, heartbeats/NAME/HEARTBEAT.md
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Interval between runs, in s, m, h or d, such as 1h30m [default: 30m]
    #[arg(long, alias = "every", value_name = "INTERVAL", conflicts_with = "cron")]
    pub(super) interval: Option<String>,
    /// Schedule as five cron fields, such as '0 9 * * 1-5'
    #[arg(long, value_name = "CRON")]
    pub(super) cron: Option<String>,
    /// Time zone of --cron, such as Europe/Berlin
    #[arg(long, requires = "cron")]
    pub(super) tz: Option<String>,
    /// Backend: claude, codex or acp:NAME [default: from config.toml, else claude]
    #[arg(long, alias = "backend", value_name = "BACKEND", conflicts_with = "name")]
    pub(super) agent: Option<Backend>,
    /// Template: default, tests, issues, deploy or a path [default: default]
    #[arg(long, value_parser = Templates, hide_possible_values = true)]
    pub(super) template: Option<String>,
    /// Allow your home folder, a folder above it, or a system folder
    #[arg(long)]
    pub(super) force: bool,
}

/// List, add, approve or remove workspaces
#[derive(Debug, ClapArgs)]
pub(super) struct Workspaces {
    #[command(subcommand)]
    pub(super) command: WorkspacesCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum WorkspacesCommand {
    List(List),
    Add(Add),
    Approve(Approve),
    Remove(Remove),
}

/// List your heartbeats
#[derive(Debug, ClapArgs)]
pub(super) struct List {
    /// Print output as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Register a folder that has a HEARTBEAT.md
#[derive(Debug, ClapArgs)]
pub(super) struct Add {
    /// Workspace folder
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub(super) path: PathBuf,
    /// Interval between runs [default: 30m if no schedule is set]
    #[arg(long, alias = "every", value_name = "INTERVAL", conflicts_with = "cron")]
    pub(super) interval: Option<String>,
    /// Schedule as five cron fields, such as '0 9 * * 1-5'
    #[arg(long, value_name = "CRON")]
    pub(super) cron: Option<String>,
    /// Time zone of --cron, such as Europe/Berlin
    #[arg(long, requires = "cron")]
    pub(super) tz: Option<String>,
    /// Backend: claude, codex or acp:NAME [default: from config.toml, else claude]
    #[arg(long, alias = "backend", value_name = "BACKEND")]
    pub(super) agent: Option<Backend>,
    /// Allow your home folder, a folder above it, or a system folder
    #[arg(long)]
    pub(super) force: bool,
}

/// Approve the heartbeats in a workspace's heartbeats/ folder
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Agents can create named heartbeats, so the daemon starts each of them only after you approve it."
)]
pub(super) struct Approve {
    /// Name of a heartbeat, or a workspace folder
    #[arg(value_name = "NAME|PATH", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(super) path: PathBuf,
    /// Named heartbeat of PATH to approve [default: all]
    #[arg(long)]
    pub(super) name: Option<String>,
}

/// Unregister a workspace without changing its files
#[derive(Debug, ClapArgs)]
pub(super) struct Remove {
    /// Name or folder of the workspace
    #[arg(value_name = "NAME|PATH", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(super) path: PathBuf,
}

/// Change a workspace's settings in config.json
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Nothing else in the file changes. The settings apply to all heartbeats of the workspace.
A HEARTBEAT.md can make its heartbeat run less often or set lower limits, but cannot override a model set here.

Examples:
  murmur set site --every 1h
  murmur set site --cron '0 9 * * 1-5' --tz Europe/Berlin
  murmur set site --enabled=false   disable its heartbeats")]
pub(super) struct Set {
    /// Name or folder of the workspace
    #[arg(value_name = "NAME|PATH", value_hint = ValueHint::DirPath)]
    pub(super) path: PathBuf,
    /// Interval between runs, in s, m, h or d, such as 30m or 1h30m
    #[arg(long, alias = "interval", value_name = "INTERVAL", conflicts_with_all = ["cron", "tz"])]
    pub(super) every: Option<String>,
    /// Schedule as five cron fields, such as '0 9 * * 1-5'
    #[arg(long, value_name = "CRON")]
    pub(super) cron: Option<String>,
    /// Time zone of --cron, such as Europe/Berlin
    #[arg(long, requires = "cron")]
    pub(super) tz: Option<String>,
    /// Maximum number of model replies in a beat
    #[arg(long, value_name = "N")]
    pub(super) max_turns: Option<NonZeroU32>,
    /// Time limit for a beat
    #[arg(long, value_name = "DURATION")]
    pub(super) timeout: Option<String>,
    /// Backend: claude, codex or acp:NAME
    #[arg(long, alias = "backend", value_name = "BACKEND")]
    pub(super) agent: Option<Backend>,
    /// Model to use
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(super) model: Option<String>,
    /// Who decides on calls that no rule covers (manual asks you)
    #[arg(long, value_name = "WHO", value_parser = ["off", "manual", "llm", "deny"])]
    pub(super) permissions_checker: Option<String>,
    /// Whether the daemon starts the workspace's heartbeats
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) enabled: Option<bool>,
}

/// Edit a heartbeat's HEARTBEAT.md and check it
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Opens the file with $VISUAL, else $EDITOR, else vi. Exits with 1 if the heartbeat cannot run."
)]
pub(super) struct Edit {
    /// Name of a heartbeat, or a workspace folder
    #[arg(value_name = "NAME|PATH", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(super) path: PathBuf,
}

/// Run one beat now
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Exits with 1 if the beat ends in error or cannot run.

Examples:
  murmur beat                   run HEARTBEAT.md in this folder
  murmur beat ~/repos/site -v   show tool calls as they happen
  murmur beat nightly           run the heartbeat called nightly, from anywhere
  murmur beat --dry-run         show what would run")]
pub(super) struct Beat {
    /// Name of a registered heartbeat, or any folder with a HEARTBEAT.md
    #[arg(value_name = "NAME|PATH", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(super) path: PathBuf,
    /// Named heartbeat to run, from the folder's heartbeats/
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Print what the agent does as it happens
    #[arg(long, short = 'v', short_alias = 'V')]
    pub(super) verbose: bool,
    /// Print the journal line, or what --dry-run shows, as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Show the prompt, settings, arguments and environment without running anything
    #[arg(long, conflicts_with = "verbose")]
    pub(super) dry_run: bool,
    /// Run even if a usage limit is reached or a budget is used up
    #[arg(long)]
    pub(super) ignore_limits: bool,
}

/// Run a beat, or capture a command after --
#[derive(Debug, ClapArgs)]
#[command(
    mut_arg("command", |command| command.required(false)),
    mut_args(|arg| match arg.get_id().as_str() {
        "session_id" | "retention" => arg.requires("command"),
        "command" => arg,
        _ => arg.conflicts_with("command"),
    }),
    after_help = "Short for murmur beat and murmur capture run."
)]
pub(super) struct RunEither {
    #[command(flatten)]
    pub(super) beat: Beat,
    #[command(flatten)]
    pub(super) capture: Run,
}
