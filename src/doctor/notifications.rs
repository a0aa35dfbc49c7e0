//! The channels of notifications, if there are any: whether their programs are found, and whether the last delivery
//! worked. Nothing is sent.

use super::agent::both_paths;
use super::{Check, Environment, Finding, Hint};
use ::notify::state::State;
use murmur_agent::find;
use murmur_core::config::notify::Destination;
use murmur_core::config::settings::Settings;
use std::ffi::OsStr;
use std::path::Path;
use sys::shell;
use sys::text::visible;

/// Examines the channels in config.toml; `None` if there is none. `login` is the PATH of the daemon, which starts the
/// programs.
pub(super) fn examine(environment: &Environment, settings: &Settings, login: &OsStr) -> Option<Finding> {
    let channels = &settings.notify.channels;
    if channels.is_empty() {
        return None;
    }
    let path = both_paths(login, &environment.path);
    let missing = channels.iter().find_map(|(name, channel)| {
        let program = program(&channel.destination)?;
        (!is_there(program, &path)).then_some((name, program))
    });
    let names: Vec<&str> = channels.keys().map(String::as_str).collect();
    if let Some((name, program)) = missing {
        let (name, program) = (visible(name), visible(program));
        let found = format!("channel {name}: there is no {program}");
        return Some(Check::NOTIFICATIONS.fail(found, Hint::NO_NOTIFIER));
    }
    let state = match State::read(&environment.dir.notify()) {
        Ok(state) => state,
        Err(failure) => return Some(Check::NOTIFICATIONS.failed(&failure)),
    };
    let failing: Vec<(&str, &str)> =
        state.failing().filter(|(name, _)| channels.contains_key(*name)).collect();
    let Some((first, _)) = failing.first() else {
        return Some(Check::NOTIFICATIONS.ok(visible(&names.join(", "))));
    };
    let found = failing.iter().map(|(name, error)| format!("{name}: not delivered: {error}"));
    let found = visible(&found.collect::<Vec<_>>().join("; "));
    let hint = Hint::of_error(&format!("to try it, run: murmur notify test {}", shell::word(first)));
    Some(Check::NOTIFICATIONS.fail(found, hint))
}

/// The program of a channel that needs one.
fn program(destination: &Destination) -> Option<&str> {
    match destination {
        Destination::Command { argv } => argv.first().map(String::as_str),
        Destination::Desktop if cfg!(target_os = "macos") => Some("osascript"),
        Destination::Desktop => Some("notify-send"),
        Destination::Email { sendmail, .. } => Some(sendmail),
        Destination::Webhook { .. } | Destination::Ntfy { .. } | Destination::Telegram { .. } => None,
    }
}

fn is_there(program: &str, path: &OsStr) -> bool {
    match Path::new(program).parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => {
            let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
            find::find(&name, folder.as_os_str()).is_ok()
        }
        None => find::find(program, path).is_ok(),
    }
}
