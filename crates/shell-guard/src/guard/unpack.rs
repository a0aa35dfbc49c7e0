//! The files that extracting an archive writes.

use super::access::{Access, AccessKind, all};
use super::invocation::Invocation;
use crate::shell::Field;

/// Returns what `invocation` extracts.
pub(super) fn extracted(invocation: &Invocation<'_>) -> Vec<Access> {
    let words = invocation.arguments();
    let first = words.first().map(Field::marked).unwrap_or_default();
    let last = || invocation.operands("", &[]).last().map(|field| (*field).clone());
    let here = || Field::from(".");
    match invocation.name().as_str() {
        "tar" | "gtar" | "bsdtar" => tar(invocation, first),
        "unzip" if ['l', 'p', 't', 'v', 'Z', 'z'].iter().any(|letter| invocation.has(*letter, "")) => {
            Vec::new()
        }
        "unzip" => below(invocation, invocation.value("-d", "").unwrap_or_else(here)),
        "cpio" | "bsdcpio" if invocation.has('p', "pass-through") => all(AccessKind::Tree, &last()),
        "cpio" | "bsdcpio" if invocation.has('o', "create") || invocation.has('t', "list") => Vec::new(),
        "cpio" | "bsdcpio" => below(invocation, invocation.value("-D", "directory").unwrap_or_else(here)),
        "7z" | "7za" | "7zz" if !["x", "e"].contains(&first) => Vec::new(),
        "7z" | "7za" | "7zz" => {
            let folder = words.iter().find_map(|word| Some(Field::from(word.marked().strip_prefix("-o")?)));
            below(invocation, folder.unwrap_or_else(here))
        }
        "unrar" | "rar" if !["x", "e"].contains(&first) => Vec::new(),
        "unrar" | "rar" => {
            let operands = invocation.operands("", &[]);
            let folder = operands.get(2..).and_then(|rest| rest.last()).map(|field| (*field).clone());
            all(AccessKind::Tree, &Some(folder.unwrap_or_else(here)))
        }
        "dpkg" | "dpkg-deb" => {
            let extracts = ["-x", "-X", "-R", "-e", "--extract", "--vextract", "--raw-extract"];
            all(AccessKind::Tree, &last().filter(|_| invocation.has_any(&extracts)))
        }
        "ar" if !first.trim_start_matches('-').starts_with('x') => Vec::new(),
        "ar" => all(AccessKind::Tree, &Some(invocation.value("", "output").unwrap_or_else(here))),
        "unsquashfs" => {
            all(AccessKind::Tree, &invocation.value("-d", "dest").or_else(|| invocation.value("-dest", "")))
        }
        "restic" if first == "restore" => all(AccessKind::Tree, &invocation.value("-t", "target")),
        "borg" if invocation.has_any(&["extract"]) => all(AccessKind::Tree, &Some(here())),
        _ => Vec::new(),
    }
}

/// Unknown files, and the members that are named, below `folder`.
fn below(invocation: &Invocation<'_>, folder: Field) -> Vec<Access> {
    let before = folder.marked().trim_end_matches('/').to_owned();
    let mut accesses = Vec::new();
    for member in invocation.operands("fCdTX", &["file", "directory"]).into_iter().skip(1) {
        let path = Field::from(format!("{before}/{}", member.marked()).as_str());
        accesses.push(Access { path: path.clone(), kind: AccessKind::Write });
        accesses.push(Access { path, kind: AccessKind::Tree });
    }
    accesses.push(Access { path: folder.clone(), kind: AccessKind::Write });
    accesses.push(Access { path: folder, kind: AccessKind::Tree });
    accesses
}

/// `tar -x -C folder member`; `tar -cf file`
fn tar(invocation: &Invocation<'_>, first: &str) -> Vec<Access> {
    let words = invocation.arguments();
    let is_short = !first.starts_with("--");
    let creates = is_short && first.contains(['c', 'r', 'u'])
        || invocation.has('c', "create")
        || invocation.has_any(&["--append", "--update"]);
    if creates {
        let bundled = words.iter().position(|word| {
            let text = word.marked();
            text.ends_with('f') && text.trim_start_matches('-').chars().all(char::is_alphabetic)
        });
        let archive =
            bundled.and_then(|at| words.get(at + 1)).cloned().or_else(|| invocation.value("-f", "file"));
        return all(AccessKind::Write, &archive);
    }
    let lists = is_short && first.contains('t') && !first.contains('x') || invocation.has_any(&["--list"]);
    if lists || invocation.has('O', "to-stdout") {
        return Vec::new();
    }
    let folder = invocation.value("-C", "directory").unwrap_or_else(|| ".".into());
    let mut accesses = below(invocation, folder);
    // With -P, members keep their absolute names.
    if invocation.has('P', "absolute-names") || is_short && first.contains('P') {
        accesses.push(Access { path: "/".into(), kind: AccessKind::Tree });
    }
    accesses
}
