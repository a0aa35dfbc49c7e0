//! `murmur edit`: opens a HEARTBEAT.md in the user's editor, and checks it afterward.

use super::args::Edit;
use super::heartbeat_name::workspace_or_heartbeat;
use super::lacks;
use super::style::plain_line;
use super::user_env::UserEnv;
use anyhow::{Context, bail};
use derun::cli::stdout::stdout;
use murmur_core::config::cron::Crons;
use murmur_core::config::file::File;
use murmur_core::config::heartbeat::{self, Heartbeat, file_of};
use murmur_core::config::settings::Settings;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use sys::error::Hinted;
use sys::failure;
use sys::shell;
use sys::text::shown_line;

pub(super) fn run(args: &Edit, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.read_data_dir()?;
    let (workspace, name) = workspace_or_heartbeat(&args.path, &dir, env)?;
    let file = file_of(&workspace, name.as_deref());
    if !file.exists() {
        bail!(
            failure!("no HEARTBEAT.md in {}", workspace.display(); "run: murmur init {}", shell::path(&workspace))
        );
    }
    let crons = Crons::new(env.time_zone());
    let find = || -> anyhow::Result<Option<Heartbeat>> {
        let config = File::read(&dir.config(), &crons)?;
        let found = heartbeat::resolve_registered(&config, &workspace, &crons)
            .unwrap_or_else(|| heartbeat::resolve_folder(&workspace, &crons));
        Ok(found.into_iter().find(|heartbeat| heartbeat.name.as_deref() == name.as_deref()))
    };
    let settings = Settings::read(&env.settings_dir()?.settings()).ok();
    let by_default = Settings::default();
    let backend = |heartbeat: &Heartbeat| heartbeat.backend(settings.as_ref().unwrap_or(&by_default)).clone();
    let before = find().ok().flatten().map(|heartbeat| backend(&heartbeat));
    open(&env.editor(), &file)?;
    let Some(edited) = find()? else {
        bail!(failure!("no HEARTBEAT.md in {}", workspace.display()));
    };
    if let Some(chosen) = Some(backend(&edited)).filter(|chosen| before.as_ref() != Some(chosen)) {
        lacks::say(&chosen)?;
    }
    if let Some(problem) = edited.problem(settings.as_ref()) {
        bail!(problem.failure());
    }
    let id = shown_line(edited.id.as_str());
    if edited.unedited {
        writeln!(stdout(), "{id} is not edited yet; the daemon will not start it until you edit it")?;
    } else {
        writeln!(stdout(), "{id}  {}", plain_line(&edited.timing()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The editor, a command line as in git.
pub(super) fn command(editor: &str, file: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("{editor} \"$@\"")).arg(editor).arg(file);
    command
}

/// Runs the editor and waits for it.
fn open(editor: &str, file: &Path) -> anyhow::Result<()> {
    let ended =
        command(editor, file).status().with_context(|| format!("cannot start the editor {editor:?}"))?;
    if !ended.success() {
        bail!(failure!("the editor {editor:?} failed ({ended})"; "set VISUAL or EDITOR to one that works"));
    }
    Ok(())
}
