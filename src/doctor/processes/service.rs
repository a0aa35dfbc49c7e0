//! The service: that what the user's manager starts is this very murmur with this very data folder. The manager is not
//! asked, and what somebody else has linked there is theirs.

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
            let found = format!("{path} cannot be read: {error}");
            return CHECK.fail(found, Hint::OWNER_AND_MODE).into_warning();
        }
    };
    let link = file::leads_out(&service.file);
    if link.is_none() && started(&text) != started(&service.text) {
        let found = format!("{path} does not start this murmur with this data folder");
        return CHECK.warn(found, Hint::SERVICE_IS_ANOTHER);
    }
    if service.linger.as_deref().is_some_and(|linger| !linger.exists()) {
        return CHECK.warn(format!("{path}, which ends when you log out"), Hint::LINGER);
    }
    CHECK.ok(match link {
        Some(target) => format!("{path} is a link to {}, of whoever made it", target.display()),
        None => path.to_string(),
    })
}

/// What a unit, or a launchd agent, has its manager start; `None` where it says none of that.
fn started(text: &str) -> Option<&str> {
    if let Some(line) = text.lines().find_map(|line| line.strip_prefix("ExecStart=")) {
        return Some(line.trim());
    }
    let (_, behind) = text.split_once("<key>ProgramArguments</key>")?;
    behind.split_once("</array>").map(|(words, _)| words.trim())
}

/// The file that a service of ours would have.
#[derive(Debug)]
pub struct ServiceFile {
    /// Where it would be.
    pub file: PathBuf,
    /// What this murmur would write there.
    pub text: String,
    /// The file by which this user's services go on when the user has logged out, where the system has such (logind).
    pub linger: Option<PathBuf>,
}
