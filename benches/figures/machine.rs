//! The machine that is measured, and whether it is quiet enough.

use rustix::system::{sysinfo, uname};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

/// The share of the cores that other work may take while results still count.
const MOST_LOAD: f64 = 0.25;

/// What figures depend on.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Machine {
    cores: usize,
    kernel: String,
    /// The file system of temporary files, where everything is measured.
    file_system: String,
    /// The number of processes that want to run, an average of the last minute, before the first section.
    load: f64,
}

impl Machine {
    pub(crate) fn look() -> Self {
        Self {
            cores: available_parallelism().map_or(1, std::num::NonZeroUsize::get),
            kernel: uname().release().to_string_lossy().into_owned(),
            file_system: file_system(&std::env::temp_dir()).unwrap_or_else(|| "unknown".to_owned()),
            load: load(),
        }
    }

    /// Whether other work would distort results.
    pub(crate) fn is_busy(&self) -> bool {
        self.load > MOST_LOAD * self.cores as f64
    }

    /// One line about it.
    pub(crate) fn line(&self) -> String {
        let busy = if self.is_busy() { "; too busy for results" } else { "" };
        format!("{}, load {:.2}{busy}", self.name(), self.load)
    }

    fn name(&self) -> String {
        let Self { cores, kernel, file_system, load: _ } = self;
        format!("Linux {kernel}, {cores} cores, {file_system}")
    }
}

/// A line about each machine, with the loads of all its reports.
pub(crate) fn lines<'a>(machines: impl Iterator<Item = &'a Machine>) -> Vec<String> {
    let mut loads: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for machine in machines {
        loads.entry(machine.name()).or_default().insert(format!("{:.2}", machine.load));
    }
    let line = |(name, loads): (String, BTreeSet<String>)| {
        format!("{name}, load {}", loads.into_iter().collect::<Vec<_>>().join(", "))
    };
    loads.into_iter().map(line).collect()
}

fn load() -> f64 {
    // In units of 1/65536.
    sysinfo().loads[0] as f64 / f64::from(1 << 16)
}

/// The type of the file system that has `folder`: that of the longest mount point above it.
fn file_system(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let around = mounts.filter(|(point, _)| folder.starts_with(point));
    around.max_by_key(|(point, _)| point.len()).map(|(_, name)| name.to_owned())
}
