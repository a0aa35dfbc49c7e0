//! Checks that the service starts this murmur with this data folder. Does not query the service manager, and does not
//! check linked unit files.

use super::super::{Check, Environment, Finding, Hint};
use std::path::PathBuf;
use sys::file;

const CHECK: Check = Check::SERVICE;

pub(super) fn examine(environment: &Environment) -> Finding {
    let Some(service) = &environment.service else { return CHECK.ok("none installed") };
    let path = service.file.display();
    let text = match file::read_regular(&service.file) {
        Ok(Some(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        Ok(None) => return CHECK.ok("none installed"),
        Err(error) => {
            let found = format!("cannot read {path}: {error}");
            return CHECK.fail(found, Hint::OWNER_AND_MODE).into_warning();
        }
    };
    let link = file::leads_out(&service.file);
    if link.is_none() && started(&text) != started(&service.text) {
        let found = format!("{path} does not start this murmur with this data folder");
        return CHECK.warn(found, Hint::SERVICE_IS_ANOTHER);
    }
    if service.linger.as_deref().is_some_and(|linger| !linger.exists()) {
        return CHECK.warn(format!("{path}, which stops when you log out"), Hint::LINGER);
    }
    CHECK.ok(match link {
        Some(target) => format!("{path} is a link to {}, which is not checked", target.display()),
        None => path.to_string(),
    })
}

/// The command in a systemd unit or launchd agent, if any.
fn started(text: &str) -> Option<&str> {
    if let Some(line) = text.lines().find_map(|line| line.strip_prefix("ExecStart=")) {
        return Some(line.trim());
    }
    let (_, behind) = text.split_once("<key>ProgramArguments</key>")?;
    behind.split_once("</array>").map(|(words, _)| words.trim())
}

/// The service's unit file.
#[derive(Debug)]
pub struct ServiceFile {
    /// Its path.
    pub file: PathBuf,
    /// What this murmur would write.
    pub text: String,
    /// The file that keeps this user's services running after logout, with logind.
    pub linger: Option<PathBuf>,
}
