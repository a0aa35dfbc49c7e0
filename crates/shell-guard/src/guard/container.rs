//! Containers with write access to the host's own folders or disks, or with all of the host's rights or processes.

use super::Assessment;
use super::device::DISKS;
use super::invocation::Invocation;
use super::path;
use crate::shell::{Field, Scope};

/// Top-level folders of the host that decide on permissions or on what runs.
const TREES: [&str; 10] = ["etc", "dev", "boot", "usr", "root", "bin", "sbin", "lib", "proc", "home"];

/// Whether `source` is the root folder or a folder that controls the host.
pub(super) fn is_of_machine(source: &Field, scope: &Scope) -> bool {
    if !source.is_known() || source.marked().is_empty() {
        return false;
    }
    path::resolve_target(source, scope).iter().any(|names| match names.as_slice() {
        [] => true,
        [only] => TREES.contains(&only.as_str()),
        _ if is_home(names, scope) => true,
        _ => path::CRITICAL.iter().any(|file| path::is_at(names, file.trim_end_matches("/?"))),
    })
}

/// Whether the path is a home folder, or its `.ssh`.
fn is_home(names: &[String], scope: &Scope) -> bool {
    let folder = match names.split_last() {
        Some((last, folder)) if last == ".ssh" => folder,
        _ => names,
    };
    let folder = format!("/{}", folder.join("/"));
    folder == "/root" || scope.home().is_some_and(|home| home.marked().trim_end_matches('/') == folder)
}

/// `docker run -v /:/host`, `docker run --privileged --pid=host`
pub(super) fn container(invocation: &Invocation<'_>) -> Assessment {
    let words = invocation.arguments();
    let name = invocation.name();
    let is_elsewhere = ["systemd-nspawn", "apptainer", "singularity"].contains(&name.as_str());
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
        let bound = value("--bind").or_else(|| match text.strip_prefix("-B") {
            Some("") => Some(next()),
            Some(rest) => Some(rest.trim_start_matches('=')),
            None => None,
        });
        // `--bind PATH` keeps the path's name inside the container.
        if let Some(source) = bound.filter(|_| is_elsewhere) {
            mounts.push(Mount {
                source: source.split(':').next().unwrap_or(source),
                is_read_only: source.ends_with(":ro"),
            });
        }
        let root = value("--rootfs").or_else(|| value("--directory")).or_else(|| (text == "-D").then(next));
        mounts.extend(root.filter(|_| is_elsewhere || name == "podman").map(whole));
        mounts.extend(volume.map(mounted));
        mounts.extend(value("--mount").map(described));
        // A volume backed by a host folder or disk.
        let option = value("--opt").or_else(|| (text == "-o").then(next)).unwrap_or_default();
        mounts.extend(option.strip_prefix("device=").map(whole));
        devices.extend(value("--device").map(|device| device.split(':').next().unwrap_or(device)));
    }
    let gives = mounts
        .iter()
        .any(|mount| !mount.is_read_only && is_of_machine(&Field::from(mount.source), invocation.scope));
    let all_devices = words.iter().any(|word| word.marked().starts_with("--device-cgroup-rule"));
    let is_disk = |device: &&str| {
        let name = device.strip_prefix("/dev/");
        name.is_some_and(|name| DISKS.iter().any(|disk| name.starts_with(disk)))
    };
    let of_host = words.iter().zip(words.iter().skip(1).map(Some).chain([None])).any(|(word, next)| {
        word.marked() == "--pid=host"
            || word.marked() == "--pid" && next.is_some_and(|next| next.marked() == "host")
    });
    let enters = invocation.has_any(&["nsenter"]);
    let of_host = of_host || words.iter().any(|word| word.marked().contains("/proc/1/ns/"));
    let is_strong = words.iter().any(|word| {
        let word = word.marked().trim_start_matches("--cap-add=").trim_start_matches("CAP_");
        ["ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE", "SYS_RAWIO"].contains(&word.to_uppercase().as_str())
    });
    let is_all = invocation.has_any(&["--privileged"]) && (of_host || enters) || is_strong && of_host;
    let of_disk =
        mounts.iter().any(|mount| super::device::is_disk(&Field::from(mount.source), invocation.scope));
    if gives || is_all || all_devices || of_disk || devices.iter().any(is_disk) {
        return Assessment::Refused(invocation.quoted());
    }
    Assessment::Clear
}

/// A request to the container engine's socket that creates such a container.
pub(super) fn socket(invocation: &Invocation<'_>) -> Assessment {
    let words = invocation.arguments();
    let speaks = words.iter().any(|word| {
        ["docker.sock", "podman.sock", "containerd.sock"].iter().any(|name| word.marked().contains(name))
    });
    let asks = |word: &Field| {
        let text = word.marked().replace(char::is_whitespace, "");
        text.contains("\"Privileged\":true")
            || text.contains("\"Devices\":[{")
            || text.contains("\"PidMode\":\"host\"")
            || text.split('"').any(|bind| {
                let mount = mounted(bind);
                !mount.is_read_only && is_of_machine(&Field::from(mount.source), invocation.scope)
            })
    };
    if speaks && words.iter().any(asks) {
        return Assessment::Refused(invocation.quoted());
    }
    Assessment::Clear
}

/// Mounts a whole folder, writable.
fn whole(source: &str) -> Mount<'_> {
    Mount { source, is_read_only: false }
}

/// A host folder mounted into a container.
struct Mount<'a> {
    source: &'a str,
    is_read_only: bool,
}

/// `source:target:options`
fn mounted(value: &str) -> Mount<'_> {
    let mut parts = value.splitn(3, ':');
    let (source, target, options) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    // A source of one component is a volume's name.
    let is_path = source.contains('/') || source.starts_with('.') || source.starts_with('~');
    let source = if target.is_some() && is_path { source } else { "" };
    Mount { source, is_read_only: options.unwrap_or_default().split(',').any(|option| option == "ro") }
}

/// `type=bind,src=source,dst=target,readonly`
fn described(value: &str) -> Mount<'_> {
    let mut mount = Mount { source: "", is_read_only: false };
    for part in value.split(',').map(|part| part.trim_matches('"')) {
        match part.split_once('=') {
            Some(("src" | "source", source)) => mount.source = source,
            Some(("volume-opt", option)) => {
                mount.source = option.strip_prefix("device=").unwrap_or(mount.source);
            }
            Some(("readonly" | "ro", is)) => mount.is_read_only = !["false", "0"].contains(&is),
            None if part == "readonly" || part == "ro" => mount.is_read_only = true,
            _ => {}
        }
    }
    if !mount.source.contains('/') && !mount.source.starts_with('.') {
        mount.source = "";
    }
    mount
}
