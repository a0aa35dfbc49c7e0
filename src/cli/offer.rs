//! `murmur offer`: the names and ids that a shell offers for the word being typed. Must be fast: it reads few files,
//! and waits for nobody.

use super::args;
use super::heartbeat_name::{ShortNames, candidates};
use super::requests;
use super::runtime;
use super::user_env::UserEnv;
use clap::{Arg, Command};
use derun::cli::captures;
use derun::cli::stdout::stdout;
use murmur_core::config::heartbeat::Cache;
use murmur_core::naming::{LAST, Noun};
use murmur_host::discover;
use murmur_host::state::AgentKind;
use murmur_store::journal::read::{Filter, newest};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;
use sys::clock;
use sys::paths::DataDir;
use sys::text::is_hidden;

/// How long the daemon may take to list requests.
const DAEMON_TIMEOUT: Duration = Duration::from_millis(15);

/// The most captures to offer.
const CAPTURES: usize = 50;

/// The most beats to offer.
const BEATS: usize = 50;

/// Prints what may stand for the last of `words`, the words after the program's name.
pub(super) fn run(words: &[String], env: &UserEnv) -> anyhow::Result<ExitCode> {
    let Some((typed, before)) = words.split_last() else { return Ok(ExitCode::SUCCESS) };
    let Some(place) = place(&args::full(), before) else { return Ok(ExitCode::SUCCESS) };
    // A shell shows no errors here.
    let mut names = names(&place, env, typed).unwrap_or_default();
    if !typed.is_empty() && !names.is_empty() {
        names.push(LAST.to_owned());
    }
    let mut printed = BTreeSet::new();
    let mut out = stdout().lock();
    for name in names.iter().filter(|name| name.starts_with(typed) && !name.chars().any(is_hidden)) {
        if printed.insert(name) {
            writeln!(out, "{name}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Succeeds if the last of `words` can't be a file: a shell without a name or id to offer then offers nothing.
pub(super) fn only_names(words: &[String]) -> ExitCode {
    let place = words.split_last().and_then(|(_, before)| place(&args::full(), before));
    match place {
        Some(Operand { kind: Noun::Heartbeat, .. }) | None => ExitCode::FAILURE,
        Some(_) => ExitCode::SUCCESS,
    }
}

/// What is named in the place of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Operand {
    kind: Noun,
    /// Which agents can be named.
    agents: Agents,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agents {
    /// All.
    All,
    /// Those that are running.
    Running,
    /// Those that take messages.
    Live,
}

/// What may be named after the words `before`.
fn place(root: &Command, before: &[String]) -> Option<Operand> {
    let (mut command, mut index) = (root, 0);
    let mut words = before.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            return None;
        }
        if let Some(option) = word.strip_prefix('-').filter(|option| !option.is_empty()) {
            let option = option_of(command, option).or_else(|| option_of(root, option));
            let valued = option.filter(|option| !word.contains('=') && takes_value(option));
            // The value is what is being typed.
            if let Some(option) = valued
                && words.next().is_none()
            {
                return kind_of(command, option).map(|kind| Operand { kind, agents: Agents::All });
            }
        } else if let Some(below) = command.find_subcommand(word) {
            (command, index) = (below, 0);
        } else {
            index += 1;
        }
    }
    let arg = command.get_positionals().nth(index)?;
    let kind = kind_of(command, arg)?;
    let agents = match command.get_name() {
        "attach" | "stop" => Agents::Running,
        "chat" | "send" | "interrupt" => Agents::Live,
        _ => Agents::All,
    };
    Some(Operand { kind, agents })
}

fn option_of<'a>(command: &'a Command, option: &str) -> Option<&'a Arg> {
    let is_it = |arg: &&Arg| match option.strip_prefix('-') {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short() == option.chars().last(),
    };
    command.get_arguments().find(is_it)
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values() && !arg.is_require_equals_set()
}

/// What an argument of `command` names.
pub(super) fn kind_of(command: &Command, arg: &Arg) -> Option<Noun> {
    let value = arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    match (value, arg.get_id().as_str(), command.get_name()) {
        ("NAME|PATH", ..) => Some(Noun::Heartbeat),
        ("NAME|ID", ..) => Some(Noun::Beat),
        ("REQUEST", ..) | (_, "id", "respond") => Some(Noun::Request),
        ("BACKEND", ..) => None,
        (_, "agent", _) => Some(Noun::Agent),
        (_, "id", "show") => Some(Noun::Capture),
        _ => None,
    }
}

/// All names in this place that may begin with `typed`.
fn names(place: &Operand, env: &UserEnv, typed: &str) -> anyhow::Result<Vec<String>> {
    let dir = env.data_dir()?;
    Ok(match place.kind {
        // Ids that nobody has begun to type would only hide the names of heartbeats.
        Noun::Beat if typed.is_empty() => {
            heartbeats(&dir, env)?.into_iter().chain(agents(&dir, Agents::Live)?).collect()
        }
        Noun::Beat => {
            let newest = newest(&dir.journal(), None, &Filter::default(), BEATS)?.found;
            let ids = newest.into_iter().rev().filter_map(|found| Some(found.entry.beat?.to_string()));
            heartbeats(&dir, env)?.into_iter().chain(ids).chain(agents(&dir, Agents::All)?).collect()
        }
        Noun::Heartbeat => heartbeats(&dir, env)?,
        Noun::Agent => agents(&dir, place.agents)?,
        Noun::Request => {
            let asked = async { tokio::time::timeout(DAEMON_TIMEOUT, requests::all(&dir)).await };
            let rows = runtime()?.block_on(asked)??;
            rows.into_iter().filter(requests::is_open).map(|row| row.id.to_string()).collect()
        }
        Noun::Capture => {
            let listed = captures::existing()?.map(|store| store.list()).transpose()?.unwrap_or_default();
            listed.iter().take(CAPTURES).map(ToString::to_string).collect()
        }
    })
}

/// The ids of these agents, and the names of heartbeats with one running agent.
fn agents(dir: &DataDir, which: Agents) -> anyhow::Result<Vec<String>> {
    let mut started = discover::started(&dir.hosts())?;
    started.retain(|(info, is_running)| match which {
        Agents::All => true,
        Agents::Running => *is_running,
        Agents::Live => *is_running && info.kind == AgentKind::Live,
    });
    let ids = started.iter().map(|(info, _)| info.agent_id.to_string());
    let running = started.iter().filter(|(_, is_running)| *is_running);
    let names: Vec<&String> = running.filter_map(|(info, _)| info.heartbeat.as_ref()).collect();
    let is_single = |name: &&&String| names.iter().filter(|other| *other == *name).count() == 1;
    Ok(ids.chain(names.iter().filter(is_single).map(ToString::to_string)).collect())
}

/// The names that exactly one heartbeat has.
fn heartbeats(dir: &DataDir, env: &UserEnv) -> anyhow::Result<Vec<String>> {
    let known = Cache::new(env.time_zone()).load(&dir.config(), clock::now())?.heartbeats;
    let workspaces: Vec<_> = known.iter().map(|heartbeat| heartbeat.workspace.to_string_lossy()).collect();
    let apart = ShortNames::of(workspaces.iter().map(|path| &**path));
    let mut owners: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (index, (candidate, heartbeat)) in candidates(&known).into_iter().zip(&known).enumerate() {
        let short = apart.of_heartbeat(&workspaces[index], heartbeat.name.as_deref());
        for name in candidate.names.into_iter().chain([short]) {
            owners.entry(name).or_default().insert(index);
        }
    }
    Ok(owners.into_iter().filter(|(_, owners)| owners.len() == 1).map(|(name, _)| name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_what_its_command_takes() {
        let root = args::full();
        for (before, expected) in [
            ("beat", Some((Noun::Heartbeat, Agents::All))),
            ("beat -v --dry-run", Some((Noun::Heartbeat, Agents::All))),
            ("beat --name", None),
            ("beat site", None),
            ("--data-dir /x beat", Some((Noun::Heartbeat, Agents::All))),
            ("set", Some((Noun::Heartbeat, Agents::All))),
            ("set --enabled", Some((Noun::Heartbeat, Agents::All))),
            ("set site --agent", None),
            ("init --agent", None),
            ("add --agent", None),
            ("agent show", Some((Noun::Agent, Agents::All))),
            ("agent stop --force", Some((Noun::Agent, Agents::Running))),
            ("attach", Some((Noun::Agent, Agents::Running))),
            ("agent send", Some((Noun::Agent, Agents::Live))),
            ("agent send site-1", None),
            ("allow", Some((Noun::Request, Agents::All))),
            ("allow --reason", None),
            ("permission respond", Some((Noun::Request, Agents::All))),
            ("capture show", Some((Noun::Capture, Agents::All))),
            ("capture run --", None),
            ("", None),
            ("log -n", None),
            ("log --name", Some((Noun::Heartbeat, Agents::All))),
            ("log --since", None),
            ("rules log --name", Some((Noun::Heartbeat, Agents::All))),
            ("show", Some((Noun::Beat, Agents::All))),
            ("show --full", Some((Noun::Beat, Agents::All))),
        ] {
            let words: Vec<String> = before.split_whitespace().map(str::to_owned).collect();
            let expected = expected.map(|(kind, agents)| Operand { kind, agents });
            assert_eq!(place(&root, &words), expected, "{before}");
        }
    }
}
