//! Disks: formatting, partitioning, erasing.

use super::Assessment;
use super::device::is_device;
use super::invocation::Invocation;
use crate::shell::Field;

fn refused(invocation: &Invocation<'_>) -> Assessment {
    Assessment::Refused(invocation.quoted())
}

fn refused_if(condition: bool, invocation: &Invocation<'_>) -> Assessment {
    if condition { refused(invocation) } else { Assessment::Clear }
}

/// Whether the command works on a disk image: a file that isn't a device. Some programs take device names without their
/// folder next to their own subcommands (`has_words`); there, only a word with a dot or slash is a file.
fn is_on_image(invocation: &Invocation<'_>, has_words: bool) -> bool {
    let operands = invocation.operands("tL", &["type", "label"]);
    let is_file = |path: &&Field| {
        let is_path = !has_words || path.marked().contains(['.', '/']);
        is_path && path.is_known() && !is_device(path, invocation.scope)
    };
    let is_elsewhere = |word: &Field| !word.is_known() || is_device(word, invocation.scope);
    !invocation.arguments().iter().any(is_elsewhere) && operands.iter().any(is_file)
}

/// `mkfs`, `mkswap` on a device rather than an image.
pub(super) fn format(invocation: &Invocation<'_>) -> Assessment {
    refused_if(!invocation.arguments().is_empty() && !is_on_image(invocation, false), invocation)
}

/// `fdisk`, `parted`, `wipefs`, unless they only list.
pub(super) fn partition(invocation: &Invocation<'_>) -> Assessment {
    let name = invocation.name();
    let words = invocation.arguments();
    if words.is_empty() && name != "cfdisk" || is_on_image(invocation, true) {
        return Assessment::Clear;
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

/// Programs with destructive subcommands.
pub(super) fn by_subcommand(invocation: &Invocation<'_>) -> Assessment {
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
    // ZFS dataset names contain slashes, as paths do.
    let is_image = invocation.name() != "zfs" && is_on_image(invocation, true);
    let is_btrfs = invocation.name() == "btrfs";
    let adds =
        is_btrfs && invocation.has_any(&["device", "replace"]) && invocation.has_any(&["add", "start"]);
    let is_on_mine = is_btrfs && !invocation.has_any(&["device"]);
    // A diskpart script isn't readable here.
    let is_script = invocation.name() == "diskpart" && invocation.has_any(&["/s", "/S"]);
    let destroys = invocation.has_any(words) && !is_on_mine && !is_image;
    refused_if(destroys || is_script || adds && !is_image, invocation)
}

/// Options that erase a disk: `hdparm --security-erase`.
pub(super) fn by_option(invocation: &Invocation<'_>) -> Assessment {
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

/// `format c:`
pub(super) fn drive(invocation: &Invocation<'_>) -> Assessment {
    let is_drive = |word: &Field| {
        let word = word.marked().as_bytes();
        word.len() == 2 && word[0].is_ascii_alphabetic() && word[1] == b':'
    };
    let is_own = ["Format-Volume", "Clear-Disk"].contains(&invocation.name().as_str());
    refused_if(is_own || invocation.arguments().iter().any(is_drive), invocation)
}

/// Programs that are destructive with any argument.
pub(super) fn always(invocation: &Invocation<'_>) -> Assessment {
    refused_if(!invocation.arguments().is_empty(), invocation)
}
