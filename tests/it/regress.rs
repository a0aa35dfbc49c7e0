//! Regressions: one test per bug.

mod commands;
mod config;
mod death;
mod follow;
mod record;
mod start;
mod stop;

use crate::env::{Daemon, Env};

/// Waits until config.json has the last runs, so that nobody writes it any more.
fn wait_for_last_run(env: &Env) {
    env.wait(&env.data(), || env.config().contains("\"lastRun\":\"").then_some(()));
}

/// Returns once the daemon has read every earlier change: it reports an unknown key.
fn ring(env: &Env, daemon: &Daemon, bell: &str) {
    let mut config: serde_json::Value = serde_json::from_str(&env.config()).unwrap();
    config[bell] = true.into();
    env.configure(&config.to_string());
    daemon.says(bell);
}
