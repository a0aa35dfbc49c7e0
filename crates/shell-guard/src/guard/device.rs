//! Writes to devices, to files that stop the system, and to files that decide on permissions.

use super::Assessment;
use super::invocation::Invocation;
use super::path::{self, CRITICAL, is_at};
use crate::shell::{Field, Scope};

/// Entries of /dev that are safe to write: neither disk nor memory.
const HARMLESS: [&str; 21] = [
    "null", "zero", "full", "random", "urandom", "tty", "console", "ptmx", "stdin", "stdout", "stderr",
    "log", "fuse", "pts", "fd", "shm", "tcp", "udp", "mqueue", "snd", "dri",
];
/// Prefixes of device names that are disks or memory.
pub(super) const DISKS: [&str; 11] =
    ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "mapper", "dm-", "mem", "kmem"];
/// Files that stop or suspend the system when written.
const POWER: [&str; 6] = [
    "proc/sysrq-trigger",
    "proc/sys/kernel/sysrq",
    "sys/power/state",
    "sys/power/disk",
    "proc/acpi/sleep",
    "sys/kernel/reboot/?",
];
/// Trees that only the system itself writes.
const SYSTEM: [&str; 7] = ["boot", "bin", "sbin", "usr/bin", "usr/sbin", "lib64", "System"];

/// Whether the path is a device that holds data: anything in /dev that isn't known to be safe.
pub(super) fn is_device(path: &Field, scope: &Scope) -> bool {
    path::resolve_target(path, scope).iter().any(|names| has_data(names))
}

/// Like [`is_device`], but for a removal, which acts on the link rather than its target.
pub(super) fn is_device_itself(path: &Field, scope: &Scope) -> bool {
    path::resolve(path, scope).iter().any(|names| has_data(names))
}

fn has_data(names: &[String]) -> bool {
    match names {
        [dev, name, ..] if dev == "dev" => {
            !HARMLESS.contains(&name.as_str()) && !name.starts_with("tty") && !name.starts_with("cu.")
        }
        _ => false,
    }
}

/// Whether the path is a disk or memory device.
pub(super) fn is_disk(path: &Field, scope: &Scope) -> bool {
    path::resolve_target(path, scope).iter().any(|names| match names.as_slice() {
        [dev, name, ..] => {
            dev == "dev" && DISKS.iter().any(|disk| name.trim_start_matches('r').starts_with(disk))
        }
        _ => false,
    })
}

/// Whether the path is a file that decides on permissions.
pub(super) fn is_critical(path: &Field, scope: &Scope) -> bool {
    path::resolve_target(path, scope).iter().any(|names| CRITICAL.iter().any(|file| is_at(names, file)))
}

fn writing_to(path: &Field) -> String {
    format!("writing to {path}")
}

/// Raw writes to a device.
pub(super) fn to_device(invocation: &Invocation<'_>) -> Assessment {
    let device = targets(invocation).into_iter().find(|path| is_device(path, invocation.scope));
    device.map_or(Assessment::Clear, |path| Assessment::Refused(writing_to(&path)))
}

/// Writes that stop the system.
pub(super) fn to_power(invocation: &Invocation<'_>) -> Assessment {
    find(invocation, |names| POWER.iter().any(|file| is_at(names, file)))
}

/// Writes to files that decide on permissions, or into system trees.
pub(super) fn to_critical(invocation: &Invocation<'_>) -> Assessment {
    find(invocation, |names| {
        CRITICAL.iter().any(|file| is_at(names, file))
            || SYSTEM.iter().any(|tree| {
                let mut names = names.iter();
                tree.split('/').all(|part| names.next().is_some_and(|name| name == part))
            })
    })
}

/// Files of unknown names written into a folder that holds such files, or above it.
pub(super) fn around_critical(invocation: &Invocation<'_>) -> Assessment {
    find(invocation, |names| {
        CRITICAL.iter().chain(&SYSTEM).any(|file| {
            let parts: Vec<&str> = file.split('/').collect();
            let fits = |(name, part): (&String, &&str)| *part == "?" || name == part;
            names.len() < parts.len() && names.iter().zip(&parts).all(fits)
        })
    })
}

/// `mknod file b 8 0` creates another name for a device.
pub(super) fn node(invocation: &Invocation<'_>) -> Assessment {
    let kind = invocation.operands("mZ", &["mode", "context"]).get(1).map(|kind| kind.marked());
    if kind.is_some_and(|kind| ["b", "c", "u"].contains(&kind)) {
        return Assessment::Refused(invocation.quoted());
    }
    Assessment::Clear
}

fn find(invocation: &Invocation<'_>, is_wanted: impl Fn(&[String]) -> bool) -> Assessment {
    let targets = targets(invocation);
    let found = targets
        .iter()
        .find(|path| path::resolve_target(path, invocation.scope).iter().any(|names| is_wanted(names)));
    found.map_or(Assessment::Clear, |path| Assessment::Refused(writing_to(path)))
}

/// Returns the files that the program writes.
fn targets(invocation: &Invocation<'_>) -> Vec<Field> {
    let name = invocation.name();
    let cloned = |fields: Vec<&Field>| fields.into_iter().cloned().collect::<Vec<_>>();
    let pairs = |key: &str| {
        let words = invocation.arguments().iter();
        words.filter_map(|word| word.marked().strip_prefix(key)).map(Field::from).collect::<Vec<_>>()
    };
    let last = |letters: &str, long: &[&str]| {
        let target = invocation.value("-t", "target-directory");
        let operands = invocation.operands(letters, long);
        let last = operands.last().filter(|_| operands.len() > 1).map(|field| (*field).clone());
        target.into_iter().chain(last).collect::<Vec<_>>()
    };
    let option = |short: &str, long: &str| invocation.value(short, long).into_iter().collect::<Vec<_>>();
    match name.as_str() {
        "dd" | "dcfldd" | "dc3dd" => [pairs("of="), pairs("ofs="), pairs("hof="), pairs("wipe=")].concat(),
        "tee" | "sponge" | "truncate" | "fallocate" | super::table::WRITE | super::table::INTO => {
            cloned(invocation.operands("srlon", &["size", "reference", "length", "offset"]))
        }
        "cp" | "mv" | "install" | "ln" | "ddrescue" | "dd_rescue" | "rsync" | "scp" | "xxd" => {
            last("tSgmoeT", &["target-directory", "suffix", "group", "mode", "owner", "rsh"])
        }
        "qemu-img" => {
            let operands = invocation.operands("fOoS", &[]);
            let last = operands.last().filter(|_| operands.len() > 2).map(|field| (*field).clone());
            [pairs("of="), last.into_iter().collect()].concat()
        }
        "sed" | "gsed" | "perl" if invocation.has('i', "in-place") => cloned(invocation.operands("ef", &[])),
        "sed" | "gsed" | "perl" => Vec::new(),
        "curl" => option("-o", "output"),
        "wget" => option("-O", "output-document"),
        "openssl" | "ffmpeg" => [option("-out", ""), cloned(invocation.operands("", &[]))].concat(),
        "tar" | "gtar" | "bsdtar" => {
            let words = invocation.arguments();
            let creates = words.first().is_some_and(|word| word.marked().contains(['c', 'r', 'u']))
                || invocation.has('c', "create");
            let archive = option("-f", "file");
            let bundled = words.iter().position(|word| {
                let text = word.marked();
                text.ends_with('f') && text.trim_start_matches('-').chars().all(char::is_alphabetic)
            });
            let bundled = bundled.and_then(|at| words.get(at + 1)).cloned();
            if creates { archive.into_iter().chain(bundled).collect() } else { Vec::new() }
        }
        "badblocks" if !invocation.has('w', "") && !invocation.has('n', "") => Vec::new(),
        "fio" => pairs("--filename="),
        "socat" => {
            let words = invocation.arguments().iter().filter_map(|word| word.marked().split_once(':'));
            let files = words.filter(|(kind, _)| {
                ["FILE", "OPEN", "CREATE", "GOPEN", "CREAT"].contains(&kind.to_uppercase().as_str())
            });
            files.map(|(_, file)| file.split(',').next().unwrap_or(file).into()).collect()
        }
        "find" | "gfind" => {
            let words = invocation.arguments();
            let prints = words
                .iter()
                .zip(words.iter().skip(1))
                .filter(|(word, _)| ["-fprint", "-fprintf", "-fls", "-fprint0"].contains(&word.marked()));
            prints.map(|(_, file)| file.clone()).collect()
        }
        "sort" | "gsort" | "shuf" | "pv" | "ntfsclone" | "gcc" => {
            [option("-o", "output"), option("-O", "overwrite")].concat()
        }
        // The rest of the table's programs write to every operand.
        _ => cloned(invocation.operands("", &[])).into_iter().chain(option("-o", "output")).collect(),
    }
}
