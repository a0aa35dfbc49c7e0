//! The daemon and the hosts: that those that run answer.

use super::{Environment, Finding};
use crate::daemon::{client, instance};
use crate::host::discover::{self, Condition, PATIENCE};

/// A socket's path with more bytes than this has to be reached in another way.
const ADDRESS: usize = 103;

pub(super) async fn examine(environment: &Environment) -> Vec<Finding> {
    vec![socket(environment), daemon(environment).await, hosts(environment).await]
}

fn socket(environment: &Environment) -> Finding {
    let path = environment.dir.root().join(environment.dir.socket_name());
    let length = path.as_os_str().len();
    let check = "socket";
    if length <= ADDRESS {
        return Finding::ok(check, format!("{} has {length} bytes", path.display()));
    }
    let found = format!("{} has {length} bytes, more than an address takes", path.display());
    if cfg!(target_os = "linux") {
        return Finding::ok(check, format!("{found}; murmur reaches it through its folder"));
    }
    Finding::fail(check, found, "choose a shorter MURMUR_DIR")
}

async fn daemon(environment: &Environment) -> Finding {
    let check = "daemon";
    match instance::is_running(&environment.dir) {
        Ok(true) => {}
        Ok(false) => {
            return Finding::warn(check, "it does not run", "murmur start, or murmur service install");
        }
        Err(error) => {
            return Finding::fail(
                check,
                format!("cannot tell whether it runs: {error}"),
                "look at murmur.pid",
            );
        }
    }
    let answered = async { client::ping(&mut client::connect(&environment.dir).await?).await };
    match answered.await {
        Ok(ping) if ping.version == env!("CARGO_PKG_VERSION") => {
            Finding::ok(check, format!("PID {}, since {}", ping.pid, ping.started_at))
        }
        Ok(ping) => Finding::warn(
            check,
            format!("PID {} is murmur {}, and this is {}", ping.pid, ping.version, env!("CARGO_PKG_VERSION")),
            "murmur restart; agents go on",
        ),
        Err(error) => Finding::fail(check, format!("it runs and does not answer: {error}"), "murmur restart"),
    }
}

async fn hosts(environment: &Environment) -> Finding {
    let check = "hosts";
    let seen = match discover::scan(&environment.dir.hosts(), PATIENCE).await {
        Ok(seen) => seen,
        Err(error) => {
            return Finding::fail(check, format!("cannot look for them: {error}"), "check the data folder");
        }
    };
    let those = |of: fn(&Condition) -> bool| {
        let those: Vec<&str> =
            seen.iter().filter(|seen| of(&seen.condition)).map(|seen| seen.agent_id.as_str()).collect();
        (!those.is_empty()).then(|| those.join(", "))
    };
    if let Some(silent) = those(|condition| matches!(condition, Condition::Silent)) {
        return Finding::fail(
            check,
            format!("no answer from {silent}"),
            "murmur host stop --force, or look at its log",
        );
    }
    if let Some(dead) = those(|condition| matches!(condition, Condition::Dead)) {
        return Finding::warn(check, format!("killed: {dead}"), "murmur host discover cleans up after them");
    }
    if let Some(other) = those(|condition| matches!(condition, Condition::Incompatible(_))) {
        return Finding::warn(
            check,
            format!("of another murmur: {other}"),
            "stop them with that, and spawn them anew",
        );
    }
    let live = seen.iter().filter(|seen| seen.is_alive()).count();
    Finding::ok(check, if live == 0 { "none runs".to_owned() } else { format!("{live} answer") })
}
