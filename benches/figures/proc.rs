//! What Linux reports about a process: memory, wake-ups, CPU time.

use anyhow::Context;
use std::fs;

/// The kernel's ticks per second (USER_HZ), on every architecture that murmur runs on.
const TICKS: u64 = 100;

/// A process by its PID; `self` is this one.
#[derive(Debug, Clone)]
pub(crate) struct Process(String);

impl Process {
    pub(crate) fn own() -> Self {
        Self("self".to_owned())
    }

    pub(crate) fn numbered(pid: u32) -> Self {
        Self(pid.to_string())
    }

    /// A field of `file` that is given in kB, in bytes, for example `VmHWM` of `status`.
    pub(crate) fn bytes(&self, file: &str, field: &str) -> anyhow::Result<u64> {
        let text = self.read(file)?;
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let value = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        Ok(value.with_context(|| format!("no {field} in {file} of process {}", self.0))? << 10)
    }

    /// How often its threads were scheduled, voluntarily or not.
    pub(crate) fn switches(&self) -> anyhow::Result<u64> {
        self.sum_of_threads("status", |text| {
            let counts = text.lines().filter_map(|line| line.split_once("ctxt_switches:"));
            counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum()
        })
    }

    /// The CPU time of its threads, in nanoseconds.
    pub(crate) fn cpu(&self) -> anyhow::Result<u64> {
        self.sum_of_threads("schedstat", |text| {
            text.split(' ').next().and_then(|time| time.parse::<u64>().ok()).unwrap_or_default()
        })
    }

    /// The CPU time of its threads and of those that have ended, in nanoseconds, but only in ticks of the kernel.
    pub(crate) fn cpu_with_ended(&self) -> anyhow::Result<u64> {
        let text = self.read("stat")?;
        // The name before may contain spaces.
        let fields = text.rsplit_once(") ").map(|(_, fields)| fields).unwrap_or_default().split(' ');
        let ticks: Vec<u64> = fields.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
        anyhow::ensure!(ticks.len() == 2, "no times in stat of process {}", self.0);
        Ok(ticks.iter().sum::<u64>() * (1_000_000_000 / TICKS))
    }

    fn sum_of_threads(&self, file: &str, count: impl Fn(&str) -> u64) -> anyhow::Result<u64> {
        let mut sum = 0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.0))? {
            sum += count(&fs::read_to_string(thread?.path().join(file))?);
        }
        Ok(sum)
    }

    fn read(&self, file: &str) -> anyhow::Result<String> {
        let path = format!("/proc/{}/{file}", self.0);
        fs::read_to_string(&path).with_context(|| path)
    }
}
