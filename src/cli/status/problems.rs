//! Problems that `murmur status` finds itself, whether a daemon runs or not.

use crate::cli::user_env::UserEnv;
use crate::daemon::state_files;
use crate::daemon::status::Status;
use murmur_core::config::settings::Settings;
use notify::state::State;
use sys::paths::DataDir;

/// Adds them to those in `status`.
pub(in crate::cli) fn add(status: &mut Status, dir: &DataDir, env: &UserEnv) -> anyhow::Result<()> {
    status.problems.extend(notifications(dir, env)?);
    for problem in state_files::problems(dir) {
        let line = problem.line();
        let reasons = status.paused.iter().filter_map(|pause| pause.reason.as_ref());
        if !status.problems.iter().chain(reasons).any(|known| line.starts_with(known)) {
            status.problems.push(line);
        }
    }
    Ok(())
}

/// The channels in config.toml that can't deliver notifications.
fn notifications(dir: &DataDir, env: &UserEnv) -> anyhow::Result<Vec<String>> {
    // If either file can't be read, that is reported elsewhere.
    let channels = Settings::read(&env.settings_dir()?.settings()).unwrap_or_default().notify.channels;
    let state = State::read(&dir.notify()).unwrap_or_default();
    let failing = state.failing().filter(|(name, _)| channels.contains_key(*name));
    let line = |(name, error)| {
        format!(
            "notifications by {name} are not delivered: {error}; to try it, run: murmur notify test {name}"
        )
    };
    Ok(failing.map(line).collect())
}
