//! `just bench [parse] [beat] [idle] [scan] [crowd] [scale] [log] [capture] [host] [hook] [guard] [gate] [usage]
//! [sweep] [screen]`: the figures in docs/design/performance.md, each with its baseline from the same run.
//!
//! With `--json`, prints a report. `just bench compare [BEFORE] AFTER` compares two; without BEFORE, with the one on
//! the page. `just bench page REPORT...` puts their sections on the page.
//!
//! Every figure is a median of at least five rounds that alternate with rounds of the baseline; on a busy machine, read
//! the ratios.
//! Measured on Linux, with Linux-only interfaces: inotify, /proc, clocks of other processes.

#[cfg(target_os = "linux")]
#[path = "../tests/built.rs"]
mod built;
#[cfg(target_os = "linux")]
mod figures {
    pub(crate) mod beat;
    pub(crate) mod capture;
    pub(crate) mod crowd;
    pub(crate) mod gate;
    pub(crate) mod guard;
    pub(crate) mod home;
    pub(crate) mod hook;
    pub(crate) mod host;
    pub(crate) mod idle;
    pub(crate) mod journal;
    pub(crate) mod journal_watch;
    pub(crate) mod log;
    pub(crate) mod machine;
    pub(crate) mod measure;
    pub(crate) mod parse;
    pub(crate) mod proc;
    pub(crate) mod programs;
    pub(crate) mod report;
    pub(crate) mod scale;
    pub(crate) mod scan;
    pub(crate) mod screen;
    pub(crate) mod stream;
    pub(crate) mod sweep;
    pub(crate) mod table;
    pub(crate) mod usage;
}

#[cfg(target_os = "linux")]
use figures::machine::Machine;
#[cfg(target_os = "linux")]
use figures::report::{self, Report};
#[cfg(target_os = "linux")]
use figures::{
    beat, capture, crowd, gate, guard, hook, host, idle, log, measure, parse, programs, scale, scan, screen,
    sweep, table, usage,
};
#[cfg(target_os = "linux")]
use std::io::{self, Write};

#[cfg(target_os = "linux")]
type Section = fn(&mut table::Table) -> anyhow::Result<()>;

/// Runs every section with tiny sizes, to test that it works, without figures.
#[cfg(target_os = "linux")]
const TINY: &str = "--tiny";

/// Prints all rows as one JSON object at the end.
#[cfg(target_os = "linux")]
const JSON: &str = "--json";

#[cfg(target_os = "linux")]
const SECTIONS: [(&str, Section); 15] = [
    ("parse", parse::run),
    ("beat", beat::run),
    ("idle", idle::run),
    ("scan", scan::run),
    ("crowd", crowd::run),
    ("scale", scale::run),
    ("log", log::run),
    ("capture", capture::run),
    ("host", host::run),
    ("hook", hook::run),
    ("guard", guard::run),
    ("gate", gate::run),
    ("usage", usage::run),
    ("sweep", sweep::run),
    ("screen", screen::run),
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
    let mut out = io::stdout().lock();
    // Cargo adds its own flags.
    let (flags, names): (Vec<&str>, Vec<&str>) =
        args.iter().map(String::as_str).partition(|arg| arg.starts_with('-'));
    match names[..] {
        ["compare", after] => return report::compare(&mut out, None, after),
        ["compare", before, after] => return report::compare(&mut out, Some(before), after),
        ["compare", ..] => anyhow::bail!("usage: just bench compare [BEFORE] AFTER"),
        ["page", ref files @ ..] => return report::write_page(files),
        _ => {}
    }
    if let Some(unknown) = names.iter().find(|name| SECTIONS.iter().all(|(known, _)| known != *name)) {
        anyhow::bail!(
            "no figures called {unknown}; there are: {}",
            SECTIONS.map(|(name, _)| name).join(", ")
        );
    }
    let (is_tiny, is_json) = (flags.contains(&TINY), flags.contains(&JSON));
    let machine = Machine::look();
    if is_tiny {
        if !is_json {
            report::check_page()?;
        }
        measure::be_tiny();
    } else if !is_json {
        table::print_head(&mut out, &machine.line())?;
    }
    programs::build()?;
    let (mut failed, mut sections) = (Vec::new(), Vec::new());
    for (name, section) in SECTIONS {
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        writeln!(io::stderr(), "measuring: {name}")?;
        let mut table = table::Table::default();
        let measured = section(&mut table);
        // A failing section keeps its first rows and the other sections.
        if is_tiny && !is_json {
            writeln!(out, "{name}: {} rows", table.len())?;
        } else if !is_json {
            table.print(&mut out, machine.is_busy())?;
        }
        sections.push(report::Section {
            name: name.to_owned(),
            machine: machine.clone(),
            rows: table.into_rows(),
        });
        out.flush()?;
        if let Err(error) = measured {
            writeln!(io::stderr(), "error: cannot measure {name}: {error:#}")?;
            failed.push(name);
        }
    }
    if is_json {
        Report::new(sections).write(&mut out)?;
    }
    anyhow::ensure!(failed.is_empty(), "not measured: {}", failed.join(", "));
    Ok(())
}

/// Nothing is measured on other systems.
#[cfg(not(target_os = "linux"))]
fn main() {}
