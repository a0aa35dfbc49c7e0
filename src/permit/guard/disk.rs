//! Disks: formatting, partitioning, secure deletion.

use super::Judgement;
use super::device::is_device;
use super::invocation::Invocation;
use crate::permit::shell::Field;

fn refused(invocation: &Invocation<'_>) -> Judgement {
    Judgement::Refused(invocation.written())
}

fn refused_if(condition: bool, invocation: &Invocation<'_>) -> Judgement {
    if condition { refused(invocation) } else { Judgement::Clear }
}

/// Whether what it would touch is a file that is known to be no device: an image. Names of devices may stand without
/// their folder where `has_words` of its own stand beside them, so that a file is known by a dot or a slash there.
fn is_on_image(invocation: &Invocation<'_>, has_words: bool) -> bool {
    let operands = invocation.operands("tL", &["type", "label"]);
    let is_file = |path: &&Field| {
        let is_path = !has_words || path.marked().contains(['.', '/']);
        is_path && path.is_known() && !is_device(path, invocation.scope)
    };
    let is_elsewhere = |word: &Field| !word.is_known() || is_device(word, invocation.scope);
    !invocation.arguments().iter().any(is_elsewhere) && operands.iter().any(is_file)
}

/// `mkfs`, `mkswap`: of a device, not of an image.
pub(super) fn format(invocation: &Invocation<'_>) -> Judgement {
    refused_if(!invocation.arguments().is_empty() && !is_on_image(invocation, false), invocation)
}

/// `fdisk`, `parted`, `wipefs`: what changes something, not what lists it.
pub(super) fn partition(invocation: &Invocation<'_>) -> Judgement {
    let name = invocation.name();
    let words = invocation.arguments();
    if words.is_empty() && name != "cfdisk" || is_on_image(invocation, true) {
        return Judgement::Clear;
    }
    let only_shows = match name.as_str() {
        "wipefs" => {
            !invocation.has('a', "all") && !invocation.has('o', "offset") || invocation.has('n', "no-act")
        }
        "parted" => {
            let commands = invocation.operands("a", &["align"]);
            invocation.has('l', "list")
                || commands.iter().skip(1).any(|word| ["print", "p", "help"].contains(&word.marked()))
                    && commands.len() < 4
        }
        "sfdisk" => {
            ["list", "dump", "json", "verify", "list-types"].iter().any(|name| invocation.has('\0', name))
                || invocation.has('l', "")
                || invocation.has('d', "")
                || invocation.has('J', "")
                || invocation.has('n', "no-act")
        }
        "sgdisk" => words.iter().all(|word| {
            let word = word.marked();
            !word.starts_with('-')
                || ["-p", "--print", "-i", "-v", "--verify", "-b", "-O", "-L"]
                    .iter()
                    .any(|shows| word.starts_with(shows))
        }),
        _ => invocation.has('l', "list"),
    };
    refused_if(!only_shows, invocation)
}

/// Programs with commands of their own, some of which destroy.
pub(super) fn by_word(invocation: &Invocation<'_>) -> Judgement {
    let words: &[&str] = match invocation.name().as_str() {
        "cryptsetup" => {
            &["luksFormat", "erase", "luksErase", "reencrypt", "luksKillSlot", "luksRemoveKey", "format"]
        }
        "zpool" => &["destroy", "create", "labelclear", "remove", "offline", "split"],
        "zfs" => &["destroy", "rollback"],
        "nvme" => &[
            "format",
            "sanitize",
            "write",
            "write-zeroes",
            "write-uncor",
            "delete-ns",
            "dsm",
            "reset",
            "fw-download",
            "fw-commit",
        ],
        "mdadm" => &["--zero-superblock", "--create", "-C", "--remove", "--fail", "--stop", "-S", "-r", "-f"],
        "dmsetup" => &["remove", "remove_all", "wipe_table", "create", "load", "reload"],
        "diskutil" => &[
            "eraseDisk",
            "eraseVolume",
            "partitionDisk",
            "zeroDisk",
            "randomDisk",
            "secureErase",
            "reformat",
            "erasedisk",
            "deleteContainer",
            "deleteVolume",
            "erasevolume",
            "partitiondisk",
            "zerodisk",
            "secureerase",
            "eraseOptical",
        ],
        "apfs" | "asr" => &["deleteContainer", "deleteVolume", "restore"],
        "gpart" | "gdisk" => &["destroy", "create", "delete", "add"],
        "btrfs" => &["delete", "remove"],
        "multipath" => &["-F"],
        "diskpart" => &["clean", "/s"],
        _ => &[],
    };
    // A data set has a slash in its name, as a file has.
    let is_image = invocation.name() != "zfs" && is_on_image(invocation, true);
    let is_btrfs = invocation.name() == "btrfs";
    let adds = is_btrfs && invocation.says(&["device", "replace"]) && invocation.says(&["add", "start"]);
    let is_on_mine = is_btrfs && !invocation.says(&["device"]);
    // A script of diskpart's, which cannot be read.
    let is_script = invocation.name() == "diskpart" && invocation.says(&["/s", "/S"]);
    let destroys = invocation.says(words) && !is_on_mine && !is_image;
    refused_if(destroys || is_script || adds && !is_image, invocation)
}

/// Options of programs that erase a disk in itself: `hdparm --security-erase`
pub(super) fn by_option(invocation: &Invocation<'_>) -> Judgement {
    const STARTS: [&str; 12] = [
        "--security-erase",
        "--trim-sector",
        "--make-bad-sector",
        "--write-sector",
        "--dco-restore",
        "--sanitize",
        "--yes-i-know",
        "--fwdownload",
        "--security-set-pass",
        "--security-disable",
        "--repair-sector",
        "-N",
    ];
    let erases =
        invocation.arguments().iter().any(|word| STARTS.iter().any(|start| word.marked().starts_with(start)));
    refused_if(erases, invocation)
}

/// `format c:`: a drive, by its letter.
pub(super) fn drive(invocation: &Invocation<'_>) -> Judgement {
    let is_drive = |word: &Field| {
        let word = word.marked().as_bytes();
        word.len() == 2 && word[0].is_ascii_alphabetic() && word[1] == b':'
    };
    let is_own = ["Format-Volume", "Clear-Disk"].contains(&invocation.name().as_str());
    refused_if(is_own || invocation.arguments().iter().any(is_drive), invocation)
}

/// What always destroys, where it is given something.
pub(super) fn always(invocation: &Invocation<'_>) -> Judgement {
    refused_if(!invocation.arguments().is_empty(), invocation)
}
