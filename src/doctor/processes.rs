//! Whether the running daemon and hosts respond.

mod service;

use super::{Check, Environment, Finding, Hint, files, folders};
use crate::daemon::status::{Daemon, Status, StatusRequest};
use crate::daemon::{client, instance};
use murmur_host::discover::{self, ANSWER_TIMEOUT, HostInfo, HostState};
pub use service::ServiceFile;
use std::io;
use std::path::Path;
use std::time::Duration;
use sys::watch::{Watch, WatchedFolder};
use tokio::time::timeout;

/// How long a starting or ending host may be silent.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(3);

/// The longest socket address, in bytes.
const ADDRESS: usize = 103;

pub(super) async fn examine(environment: &Environment) -> Vec<Finding> {
    let service = service::examine(environment);
    if files::usable(&environment.dir).is_err() {
        let [socket, daemon, hosts] = [Check::SOCKET, Check::DAEMON, Check::HOSTS].map(Check::skipped);
        return vec![socket, daemon, service, hosts];
    }
    let (daemon, hosts) = tokio::join!(daemon(environment), hosts(environment));
    vec![socket(environment), daemon, service, hosts]
}

fn socket(environment: &Environment) -> Finding {
    let path = environment.dir.root().join(environment.dir.socket_name());
    let length = path.as_os_str().len();
    let check = Check::SOCKET;
    if length <= ADDRESS {
        return check.ok(format!("the path {} has {length} bytes", path.display()));
    }
    let found =
        format!("the path {} has {length} bytes, more than a socket address can have", path.display());
    if cfg!(target_os = "linux") {
        return check.ok(format!("{found}; murmur reaches it through its folder"));
    }
    check.fail(found, Hint::SHORTER_FOLDER)
}

async fn daemon(environment: &Environment) -> Finding {
    let check = Check::DAEMON;
    match instance::is_running(&environment.dir) {
        Ok(true) => {}
        Ok(false) => {
            return check.warn("not running", Hint::START);
        }
        Err(error) => {
            return check
                .failed(&error)
                .after("cannot determine whether it is running: ")
                .or(Hint::CHECK_THE_PID_FILE);
        }
    }
    let answered = async { client::ping(&mut client::connect(&environment.dir).await?).await };
    let answered = answered.await;
    if answered.is_ok()
        && let Ok(Status { daemon: Some(Daemon { unwatched: Some(why), .. }), .. }) =
            client::status(&environment.dir, StatusRequest { settings: false }).await
    {
        let (why, hint) = why.rsplit_once("; ").unwrap_or((&why, "see: murmur status"));
        return check.warn(why, Hint::of_error(hint));
    }
    match answered {
        Ok(ping) if ping.version == env!("CARGO_PKG_VERSION") => {
            check.ok(format!("PID {}, since {}", ping.pid, ping.started_at))
        }
        Ok(ping) => check.warn(
            format!("PID {} is murmur {}, and this is {}", ping.pid, ping.version, env!("CARGO_PKG_VERSION")),
            Hint::RESTART,
        ),
        Err(error) => check.fail(format!("running but not responding: {error}"), Hint::RESTART_BY_FORCE),
    }
}

/// Scans the hosts. While one is silent, scans again on every change and once more at the end.
async fn scan_until_settled(folder: &Path) -> io::Result<Vec<HostInfo>> {
    let watch = Watch::new([WatchedFolder::new(folder, &[])]);
    let mut seen = discover::scan(folder, ANSWER_TIMEOUT).await?;
    let is_silent = |seen: &HostInfo| matches!(seen.condition, HostState::Silent);
    if !seen.iter().any(is_silent) {
        return Ok(seen);
    }
    let settled = async {
        let Ok(mut watch) = watch else { return std::future::pending().await };
        while seen.iter().any(is_silent) {
            watch.changed().await?;
            seen = discover::scan(folder, ANSWER_TIMEOUT).await?;
        }
        Ok(seen)
    };
    match timeout(SETTLE_TIMEOUT, settled).await {
        Ok(seen) => seen,
        Err(_) => discover::scan(folder, ANSWER_TIMEOUT).await,
    }
}

async fn hosts(environment: &Environment) -> Finding {
    let check = Check::HOSTS;
    if let Some(wrong) = folders::hosts(environment) {
        return wrong;
    }
    let seen = match scan_until_settled(&environment.dir.hosts()).await {
        Ok(seen) => seen,
        Err(error) => {
            return check.failed(&error).after("cannot list them: ").or(Hint::CHECK_THE_FOLDER);
        }
    };
    let those = |of: fn(&HostState) -> bool| {
        let those: Vec<&str> =
            seen.iter().filter(|seen| of(&seen.condition)).map(|seen| seen.agent_id.as_str()).collect();
        (!those.is_empty()).then(|| those.join(", "))
    };
    if let Some(silent) = those(|condition| matches!(condition, HostState::Silent)) {
        return check.fail(format!("no answer from {silent}"), Hint::STOP_BY_FORCE);
    }
    if let Some(dead) = those(|condition| matches!(condition, HostState::Dead)) {
        return check.warn(format!("killed: {dead}"), Hint::CLEAN_UP);
    }
    if let Some(other) = those(|condition| matches!(condition, HostState::Incompatible(_))) {
        return check.warn(format!("of another murmur version: {other}"), Hint::START_AGAIN);
    }
    let live = seen.iter().filter(|seen| seen.is_alive()).count();
    check.ok(if live == 0 { "none running".to_owned() } else { format!("{live} running") })
}
