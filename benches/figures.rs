//! `just bench [parse] [beat] [idle] [scan] [log] [capture] [host] [hook] [guard]`: the figures in docs/performance.md, each with its floor in the same run.
//!
//! Every time is a median of runs that alternate with those of the floor; on a busy machine read the ratios.
//! Measured on Linux, with what only Linux has: inotify, /proc, clocks of other processes.

#[cfg(target_os = "linux")]
mod figures {
    pub(crate) mod beat;
    pub(crate) mod capture;
    pub(crate) mod guard;
    pub(crate) mod home;
    pub(crate) mod hook;
    pub(crate) mod host;
    pub(crate) mod idle;
    pub(crate) mod journal_watch;
    pub(crate) mod log;
    pub(crate) mod measure;
    pub(crate) mod parse;
    pub(crate) mod proc;
    pub(crate) mod scan;
    pub(crate) mod stream;
    pub(crate) mod table;
}

#[cfg(target_os = "linux")]
use figures::{beat, capture, guard, hook, host, idle, log, parse, scan, table};
#[cfg(target_os = "linux")]
use std::io::{self, Write};

#[cfg(target_os = "linux")]
type Section = fn(&mut table::Table) -> anyhow::Result<()>;

#[cfg(target_os = "linux")]
const SECTIONS: [(&str, Section); 9] = [
    ("parse", parse::run),
    ("beat", beat::run),
    ("idle", idle::run),
    ("scan", scan::run),
    ("log", log::run),
    ("capture", capture::run),
    ("host", host::run),
    ("hook", hook::run),
    ("guard", guard::run),
];

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(path) = args.iter().find_map(|arg| arg.strip_prefix(parse::CHILD)) {
        return parse::child(path.as_ref());
    }
    if args.first().is_some_and(|arg| capture::CHILDREN.contains(&arg.as_str())) {
        return capture::child(&args);
    }
    if args.first().is_some_and(|arg| arg == host::CHILD) {
        return host::child();
    }
    // Cargo adds flags of its own.
    let names: Vec<&str> = args.iter().map(String::as_str).filter(|arg| !arg.starts_with('-')).collect();
    if let Some(unknown) = names.iter().find(|name| SECTIONS.iter().all(|(known, _)| known != *name)) {
        anyhow::bail!(
            "no figures called {unknown}; there are: {}",
            SECTIONS.map(|(name, _)| name).join(", ")
        );
    }
    let mut table = table::Table::default();
    for (name, section) in SECTIONS {
        if names.is_empty() || names.contains(&name) {
            writeln!(io::stderr(), "measuring: {name}")?;
            section(&mut table)?;
        }
    }
    table.print(&mut io::stdout().lock())?;
    Ok(())
}

/// Nothing is measured elsewhere.
#[cfg(not(target_os = "linux"))]
fn main() {}
