//! Containers that have this machine's own folders and may write to them, its disks, or all its rights and processes.

use super::Judgement;
use super::device::DISKS;
use super::invocation::Invocation;
use super::path;
use crate::permit::shell::{Field, Scope};

/// Trees of the machine whose files decide who may do what, or what runs.
const TREES: [&str; 9] = ["etc", "dev", "boot", "usr", "root", "bin", "sbin", "lib", "proc"];

/// Whether `source` is the root folder, or a tree without which the machine is not its own.
pub(super) fn is_of_machine(source: &Field, scope: &Scope) -> bool {
    if !source.is_known() || source.marked().is_empty() {
        return false;
    }
    path::written(source, scope).iter().any(|names| match names.as_slice() {
        [] => true,
        [only] => TREES.contains(&only.as_str()),
        _ => path::CRITICAL.iter().any(|file| path::is_at(names, file.trim_end_matches("/?"))),
    })
}

/// `docker run -v /:/host`, `docker run --privileged --pid=host`
pub(super) fn container(invocation: &Invocation<'_>) -> Judgement {
    let words = invocation.arguments();
    let mut mounts = Vec::new();
    let mut devices = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let text = word.marked();
        let next = || words.get(at + 1).map_or("", |word| word.marked());
        let value = |long: &str| match text.strip_prefix(long) {
            Some("") => Some(next()),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        let volume = value("--volume").or_else(|| match text.strip_prefix("-v") {
            Some("") => Some(next()),
            Some(rest) => Some(rest.trim_start_matches('=')),
            None => None,
        });
        mounts.extend(volume.map(mounted));
        mounts.extend(value("--mount").map(described));
        devices.extend(value("--device").map(|device| device.split(':').next().unwrap_or(device)));
    }
    let gives = mounts
        .iter()
        .any(|mount| !mount.is_read_only && is_of_machine(&Field::from(mount.source), invocation.scope));
    let is_disk = |device: &&str| {
        let name = device.strip_prefix("/dev/");
        name.is_some_and(|name| DISKS.iter().any(|disk| name.starts_with(disk)))
    };
    let of_host = words.iter().zip(words.iter().skip(1).map(Some).chain([None])).any(|(word, next)| {
        word.marked() == "--pid=host"
            || word.marked() == "--pid" && next.is_some_and(|next| next.marked() == "host")
    });
    let enters = invocation.says(&["nsenter"]);
    let is_all = invocation.says(&["--privileged"]) && (of_host || enters);
    if gives || is_all || devices.iter().any(is_disk) {
        return Judgement::Refused(invocation.written());
    }
    Judgement::Clear
}

/// A folder of the machine in a container.
struct Mount<'a> {
    source: &'a str,
    is_read_only: bool,
}

/// `source:target:options`
fn mounted(value: &str) -> Mount<'_> {
    let mut parts = value.splitn(3, ':');
    let (source, target, options) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    // A name of one part is that of a volume.
    let is_path = source.contains('/') || source.starts_with('.') || source.starts_with('~');
    let source = if target.is_some() && is_path { source } else { "" };
    Mount { source, is_read_only: options.unwrap_or_default().split(',').any(|option| option == "ro") }
}

/// `type=bind,src=source,dst=target,readonly`
fn described(value: &str) -> Mount<'_> {
    let mut mount = Mount { source: "", is_read_only: false };
    for part in value.split(',') {
        match part.split_once('=') {
            Some(("src" | "source", source)) => mount.source = source,
            Some(("readonly" | "ro", is)) => mount.is_read_only = is != "false",
            None if part == "readonly" || part == "ro" => mount.is_read_only = true,
            _ => {}
        }
    }
    if !mount.source.contains('/') && !mount.source.starts_with('.') {
        mount.source = "";
    }
    mount
}
