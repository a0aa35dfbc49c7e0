//! `murmur notify`: tests the channels, shows what was sent, and runs the notifier for the daemon.

use super::notify_args::{Log, NotifyArgs, NotifyCommand, Test};
use super::style::plain_line;
use super::user_env::UserEnv;
use crate::notifier;
use ::notify::channel;
use ::notify::event::Event;
use ::notify::log::LogEntry;
use ::notify::message::Message;
use anyhow::{Context, bail};
use derun::cli::fitted::pad;
use derun::cli::json;
use derun::cli::stdout::stdout;
use derun::cli::wrapped::{Wrapped, output_width};
use jiff::Timestamp;
use murmur_core::config::notify::{EventKind, Notify};
use murmur_core::config::settings::Settings;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc;
use sys::clock;
use sys::error::{Failure, Hinted};
use sys::failure;
use sys::text::Shown;
use unicode_width::UnicodeWidthStr;

pub(super) fn run(args: &NotifyArgs, env: &UserEnv) -> anyhow::Result<ExitCode> {
    match &args.command {
        NotifyCommand::Test(args) => test(args, env),
        NotifyCommand::Log(args) => log(args, env),
        NotifyCommand::Run(_) => {
            let (notify, folder) = settings(env)?;
            let dir = env.read_data_dir()?;
            super::runtime()?.block_on(notifier::run(&dir, folder, notify))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The settings, and the folder of config.toml.
fn settings(env: &UserEnv) -> anyhow::Result<(Notify, PathBuf)> {
    let path = env.settings_dir()?.settings();
    let settings = Settings::read(&path)?;
    if let Some(problem) = &settings.wrong.notify {
        bail!(problem.failure());
    }
    let notify = settings.notify;
    Ok((notify, path.parent().unwrap_or(&path).to_owned()))
}

fn test(args: &Test, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let path = env.settings_dir()?.settings();
    let (notify, folder) = settings(env)?;
    let chosen = args.channel.as_deref();
    if let Some(name) = chosen.filter(|name| !notify.channels.contains_key(*name)) {
        let known: Vec<&str> = notify.channels.keys().map(String::as_str).collect();
        bail!(match known.as_slice() {
            [] => none(&path),
            known => failure!("there is no channel {name:?}"; "use one of {}", known.join(", ")),
        });
    }
    if notify.channels.is_empty() {
        bail!(none(&path));
    }
    let now = clock::now();
    let event = Event::new(EventKind::Test, clock::rfc3339(now), "Notifications from murmur arrive here.");
    let message = Message::new(vec![event], &clock::local_zone());
    // All at once, since one that hangs would delay the others.
    let (ended, results) = mpsc::channel();
    for (name, channel) in notify.channels.iter().filter(|(name, _)| chosen.is_none_or(|only| only == *name))
    {
        let (name, destination, ended) = (name.clone(), channel.destination.clone(), ended.clone());
        let (message, folder) = (message.clone(), folder.clone());
        std::thread::Builder::new()
            .spawn(move || {
                let _closed = ended.send((name, channel::send(&destination, &message, &folder, now)));
            })
            .context("cannot start a thread")?;
    }
    drop(ended);
    let mut failed = 0;
    for (name, result) in results {
        let mut out = Shown(Wrapped::new(stdout().lock(), output_width()));
        match result {
            Ok(_) => writeln!(out, "{name}: sent")?,
            Err(error) => {
                failed += 1;
                writeln!(out, "{name}: not sent: {}", error.failure.line())?;
            }
        }
        out.flush()?;
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn none(path: &std::path::Path) -> Failure {
    failure!(
        "no notifications are configured";
        "add a channel such as [notify.channels.phone] to {}", path.display()
    )
}

fn log(args: &Log, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let path = env.read_data_dir()?.notifications();
    let mut lines = Vec::new();
    let mut backward = murmur_store::journal::read::Backward::open(&path)?;
    while lines.len() < args.count
        && let Some(line) = backward.next_line()?
    {
        lines.push(line);
    }
    let mut out = Shown(Wrapped::list(stdout().lock(), output_width().filter(|_| !args.json)));
    if lines.is_empty() && !args.json {
        writeln!(out, "nothing was sent yet; tests are not listed")?;
    }
    if args.json {
        for line in lines.iter().rev() {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            writeln!(out, "{}", json::escaped(&String::from_utf8_lossy(line)))?;
        }
    } else {
        let zone = clock::local_zone();
        let entries: Vec<LogEntry> =
            lines.iter().rev().filter_map(|line| serde_json::from_slice(&line[..]).ok()).collect();
        let widest = entries.iter().map(|entry| entry.channel.width()).max().unwrap_or_default();
        for line in entries {
            let at = line
                .ts
                .parse::<Timestamp>()
                .map_or(line.ts, |at| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string());
            let request = line.request.map(|request| format!("request {request}"));
            let sender = line.sender.map(|sender| format!("by {sender}"));
            let more: Vec<String> = request.into_iter().chain(sender).collect();
            let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) };
            let error = line.error.map(|error| format!(": {error}")).unwrap_or_default();
            let text = format!("{}{more}{error}", line.what);
            let channel = pad(&line.channel, widest);
            writeln!(out, "{at}  {:<9}  {channel}  {}", line.result, plain_line(&text))?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
