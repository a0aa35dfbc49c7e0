//! murmur's own files: that nobody else reads them, that they can be read, and that there is room for more.

use super::{Environment, Finding};
use crate::config::heartbeat::Cache;
use crate::config::settings::Settings;
use crate::journal::read::Backward;
use crate::permit::rules::Rules;
use crate::sys::{clock, file};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// With less room than this on its disk murmur still works, but not for long, in MiB.
const LITTLE: u64 = 200;

/// With less than this beats are not started well, in MiB.
const NONE: u64 = 10;

pub(super) fn examine(environment: &Environment) -> Vec<Finding> {
    let mut findings = vec![folder(environment)];
    if environment.dir.root().is_dir() {
        findings.extend([
            config(environment),
            room(environment),
            journal(environment),
            the_clock(environment),
        ]);
    }
    findings.extend([settings(environment), rules(environment)]);
    findings
}

fn folder(environment: &Environment) -> Finding {
    let (check, dir) = ("data folder", &environment.dir);
    if !dir.root().exists() {
        return Finding::warn(
            check,
            format!("{} is not there yet", dir.root().display()),
            "murmur start makes it",
        );
    }
    if let Err(error) = dir.require_private() {
        return Finding::of_error(check, error);
    }
    if let Err(error) = dir.prepare() {
        return Finding::of_error(check, error);
    }
    let files = [dir.config(), dir.journal(), dir.log(), dir.decisions(), dir.pid()];
    let open = files.iter().find_map(|path| {
        let mode = path.symlink_metadata().ok()?.mode() & 0o777;
        (mode & 0o077 != 0).then_some((path, mode))
    });
    match open {
        Some((path, mode)) => Finding::warn(
            check,
            format!("{} has mode {mode:04o}; its folder keeps others out", path.display()),
            format!("run: chmod 600 {}", path.display()),
        ),
        None => Finding::ok(check, format!("{} is yours alone", dir.root().display())),
    }
}

fn config(environment: &Environment) -> Finding {
    let check = "config.json";
    match Cache::new(environment.time_zone.clone()).load(&environment.dir.config(), clock::now()) {
        Ok(loaded) => {
            let wrong: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
            let broken = loaded.heartbeats.iter().filter_map(|heartbeat| heartbeat.problem.as_ref());
            let wrong: Vec<String> = wrong.into_iter().chain(broken.map(ToString::to_string)).collect();
            match &wrong[..] {
                [] => Finding::ok(check, format!("{} heartbeats", loaded.heartbeats.len())),
                [first, rest @ ..] => {
                    let mut finding = Finding::of_error(check, first);
                    if !rest.is_empty() {
                        finding.found = format!("{} (and {} more)", finding.found, rest.len());
                    }
                    finding
                }
            }
        }
        Err(error) => Finding::of_error(check, format!("{:#}", anyhow::Error::new(error))),
    }
}

fn settings(environment: &Environment) -> Finding {
    let (check, path) = ("config.toml", environment.user.settings.settings());
    match Settings::read(&path) {
        Ok(_) if path.exists() => Finding::ok(check, path.display().to_string()),
        Ok(_) => Finding::ok(check, "none; the defaults hold"),
        Err(error) => {
            let mut finding = Finding::of_error(check, error);
            finding.found = format!("every call is denied: {}", finding.found);
            finding
        }
    }
}

fn rules(environment: &Environment) -> Finding {
    let check = "permissions.toml";
    let mut count = 0;
    let global = environment.user.settings.rules();
    let projects = std::fs::read_dir(environment.dir.root().join("projects")).into_iter().flatten().flatten();
    let projects = projects.map(|entry| entry.path().join("permissions.toml"));
    for path in std::iter::once(global).chain(projects) {
        match read_rules(&path) {
            Ok(rules) => count += rules,
            Err(why) => {
                let mut finding = Finding::of_error(check, why);
                finding.found = format!("calls are denied: {}", finding.found);
                return finding;
            }
        }
    }
    Finding::ok(check, format!("{count} rules"))
}

fn read_rules(path: &Path) -> Result<usize, String> {
    let Some(bytes) = file::read_regular(path).map_err(|error| format!("{}: {error}", path.display()))?
    else {
        return Ok(0);
    };
    Rules::parse(&bytes, path).map(|rules| rules.iter().len()).map_err(|problem| problem.to_string())
}

fn room(environment: &Environment) -> Finding {
    let (check, root) = ("disk", environment.dir.root());
    let free = match rustix::fs::statvfs(root) {
        Ok(found) => found.f_bavail.saturating_mul(found.f_frsize) >> 20,
        Err(error) => {
            return Finding::fail(check, format!("{}: {error}", root.display()), "look at the disk");
        }
    };
    let found = format!("{free} MiB free for {}", root.display());
    match free {
        0..NONE => Finding::fail(check, found, "make room: nothing can be written down"),
        NONE..LITTLE => Finding::warn(check, found, "make room; old captures go by murmur's own rules"),
        _ => Finding::ok(check, found),
    }
}

/// Every line is looked at.
fn journal(environment: &Environment) -> Finding {
    let (check, path) = ("journal", environment.dir.journal());
    let unreadable = |error: std::io::Error| {
        Finding::fail(
            check,
            format!("{} cannot be read: {error}", path.display()),
            "check its owner and mode",
        )
    };
    let mut lines = match Backward::open(&path) {
        Ok(lines) => lines,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Finding::ok(check, "empty"),
        Err(error) => return unreadable(error),
    };
    let (mut count, mut wrong) = (0_u64, 0_u64);
    loop {
        match lines.next_line() {
            Ok(Some(line)) if line.iter().all(u8::is_ascii_whitespace) => {}
            Ok(Some(line)) => {
                count += 1;
                wrong += u64::from(serde_json::from_slice::<crate::journal::entry::Entry>(&line).is_err());
            }
            Ok(None) => break,
            Err(error) => return unreadable(error),
        }
    }
    if wrong == 0 {
        return Finding::ok(check, format!("{count} lines"));
    }
    let hint = format!("they are passed over; look at them in {}", path.display());
    Finding::warn(check, format!("{wrong} of {count} lines are no lines of a journal"), hint)
}

/// A clock that went back makes schedules wait.
fn the_clock(environment: &Environment) -> Finding {
    let (check, now) = ("clock", clock::now());
    let zone = environment.time_zone.iana_name().unwrap_or("unnamed");
    let newest = environment.dir.journal().metadata().and_then(|found| found.modified()).ok();
    let newest = newest.and_then(|at| jiff::Timestamp::try_from(at).ok());
    match newest {
        Some(newest) if newest.duration_since(now) > jiff::SignedDuration::from_mins(5) => {
            let found = format!(
                "it says {}, and the journal was written later: {}",
                clock::rfc3339(now),
                clock::rfc3339(newest)
            );
            Finding::fail(check, found, "set it; heartbeats are counted from when they ran last")
        }
        _ => Finding::ok(check, format!("{}, time zone {zone}", clock::rfc3339(now))),
    }
}
