//! Programs that are not known to only read. A few paths are never a reasonable argument for them: files that decide on
//! permissions, murmur's own files, and raw disks.

use super::invocation::Invocation;
use crate::shell::{Field, wrapper};

#[rustfmt::skip]
/// Programs that only read their operands, or whose writes `access` knows. Sorted.
static READERS: [&str; 495] = [
    ".", "7z", "7za", "7zz", ":", "[", "[[", "ack", "ag", "alias", "apk", "apt-file", "ar", "arch", "aria2c",
    "asdf", "atop", "auditctl", "awk", "b2sum", "b3sum", "badblocks", "base32", "base64", "basename", "bash",
    "bat", "batcat", "bcat", "bfs", "blkid", "blockdev", "borg", "brew", "bsdcpio", "bsdtar", "btop", "btrfs",
    "builtin", "bun", "bunzip2", "busybox", "bwrap", "bzcat", "bzgrep", "bzip2", "cargo", "cat", "cd",
    "chage", "chattr", "chcon", "chgrp", "chmod", "chown", "chronic", "chroot", "cksum", "claude", "clear",
    "cmp", "code", "colordiff", "column", "comm", "command", "compress", "concurrently", "convmv", "cp",
    "cpio", "crc32", "crudini", "cryptsetup", "csplit", "csvcut", "csvlook", "curl", "cursor", "cut", "dash",
    "date", "dd", "ddrescue", "declare", "delta", "deno", "df", "diff", "diff3", "difft", "dig", "dir",
    "dircolors", "direnv", "dirname", "dmsetup", "doas", "docker", "docker-compose", "dos2unix", "dosfslabel",
    "dpkg", "dpkg-query", "du", "dump", "dumpcap", "dumpe2fs", "dust", "e2fsck", "e2image", "e2label", "echo",
    "ed", "egrep", "emacs", "enca", "entr", "env", "eval", "ex", "exa", "exec", "exfatlabel", "exiftool",
    "expand", "expect", "explorer.exe", "export", "expr", "eza", "fallocate", "fatlabel", "fd", "fdfind",
    "fdisk", "fdupes", "fgrep", "file", "file-roller", "find", "findfs", "findmnt", "firejail", "fish",
    "flatpak", "flock", "fmt", "fold", "fsck", "fsck.ext4", "fuser", "fzf", "gawk", "gdb",
    "gdisk", "getcap", "getconf", "getent", "getfacl", "getfattr", "gfind", "git", "glow", "gparted",
    "gpg", "grep", "grpck", "grub-probe", "gsutil", "gtar", "gunzip", "gzip", "hash", "hdparm", "head",
    "helm", "hexdump", "hexedit", "hexyl", "highlight", "history", "host", "hwinfo", "hyperfine", "iconv",
    "id", "identify", "imgcat", "inotifywait", "install", "inxi", "ionice", "iostat", "ip", "ipcs", "jj",
    "join", "journalctl", "jq", "just", "kpartx", "ksh", "kubectl", "last", "lastlog", "ldd", "less",
    "lesspipe", "let", "lf", "lldb", "ln", "local", "locale", "locate", "logger", "logname", "losetup", "ls",
    "lsattr", "lsblk", "lscpu", "lsd", "lshw", "lsof", "lsscsi", "ltrace", "lvdisplay", "lvs", "lz4", "lzcat",
    "make", "man", "mapfile", "mawk", "mc", "md5", "md5sum", "mdadm", "mdcat", "minikube", "mise", "mkfifo",
    "mkfs", "mknod", "mktemp", "mlr", "mm", "more", "most", "mount", "mountpoint", "multipath", "murmur",
    "murmur-hook", "murmur-host", "mv", "namei", "nano", "nawk", "ncdu", "nerdctl", "newfs_msdos", "nice",
    "nix", "nl", "nm", "node", "nodemon", "nohup", "npm", "npx", "nsenter", "ntfsclone", "ntfsinfo", "nvim",
    "nvme", "objcopy", "objdump", "oc", "od", "open", "openssl", "os-prober", "pandoc", "parallel",
    "partclone.info", "parted", "partprobe", "paste", "patch", "pathchk", "pcre2grep", "perf", "perl",
    "pgrep", "php", "pico", "pip", "pixi", "pkill", "plocate", "pnpm", "podman", "podman-compose", "poetry",
    "popd", "pr", "print", "printenv", "printf", "ps", "pushd", "pv", "pvdisplay", "pvs", "pwck", "pwd",
    "pygmentize", "python", "python3", "qemu-img", "ranger", "rar", "rclone", "read", "readarray", "readelf",
    "readlink", "readonly", "realpath", "red", "restic", "return", "rev", "rg", "rga", "ripgrep", "rm",
    "rmdir", "rpm", "rsync", "ruby", "runcon", "scp", "screen", "script", "sd", "sdiff", "sdparm", "sed",
    "select", "sensors", "seq", "set", "setfacl", "setfattr", "setpriv", "setsid", "sfdisk", "sftp", "sg_inq",
    "sgdisk", "sh", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shasum", "shift", "shopt",
    "shred", "shuf", "size", "skopeo", "sleep", "smartctl", "snap", "sort", "source", "source-highlight",
    "split", "sponge", "sqlite3", "ss", "ssh", "ssh-keygen", "ssh-keyscan", "stat", "stdbuf", "strace",
    "strings", "strip", "su", "sudo", "sum", "swaplabel", "swapoff", "swapon", "sync", "systemctl", "tac",
    "tail", "tar", "tcpdump", "tee", "test", "testdisk", "tig", "time", "timeout", "tmux", "tokei", "toybox",
    "tput", "tr", "trap", "tree", "true", "truncate", "tsc", "tshark", "tsort", "tune2fs", "type", "typeset",
    "udevadm", "ug", "ugrep", "umount", "unalias", "unbuffer", "uncompress", "unexpand", "uniq", "unix2dos",
    "unlink", "unrar", "unset", "unshare", "unsquashfs", "unxz", "unzip", "uptime", "users", "uv", "vagrant",
    "valgrind", "vdir", "vgdisplay", "vgs", "vi", "view", "vim", "visudo", "wait", "watch", "watchexec", "wc",
    "wget", "whatis", "whence", "where", "whereis", "which", "who", "wipefs", "wslpath", "wslview", "xargs",
    "xdg-open", "xfs_info", "xmllint", "xmlstarlet", "xxd", "xz", "xzcat", "xzgrep", "yarn", "yq", "zcat",
    "zed", "zegrep", "zfs", "zgrep", "zip", "zless", "zmore", "zpool", "zramctl", "zsh", "zstd", "zstdcat",
];

/// Wrappers that also write files.
const WRITING_WRAPPERS: [&str; 4] = ["cmake", "mysql", "psql", "socat"];

/// Addresses of this machine.
const LOCALHOST: [&str; 5] = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "file"];

/// Returns the paths among the arguments that the program may write, as far as anyone knows.
pub(super) fn possible_writes(invocation: &Invocation<'_>) -> Vec<Field> {
    let words = invocation.arguments();
    if !words.iter().any(|word| may_be_sensitive(word, invocation)) {
        return Vec::new();
    }
    let name = invocation.name();
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if READERS.binary_search(&name.as_str()).is_ok() || READERS.binary_search(&plain).is_ok() {
        return Vec::new();
    }
    if wrapper::is_wrapper(&name) && !WRITING_WRAPPERS.contains(&name.as_str()) {
        return Vec::new();
    }
    words.iter().filter(|word| may_be_sensitive(word, invocation)).flat_map(paths).collect()
}

/// Whether the word can be such a path: it has a slash, or the working folder has such files.
fn may_be_sensitive(word: &Field, invocation: &Invocation<'_>) -> bool {
    let is_there = |folder: &Field| {
        let folder = folder.marked();
        folder.starts_with("/etc") || folder.starts_with("/dev") || folder.contains("murmur")
    };
    word.marked().contains('/') || invocation.scope.folders().iter().any(is_there)
}

/// The paths in a word: the word itself, the part after `=` or a host, and the value attached to an option.
fn paths(word: &Field) -> Vec<Field> {
    let text = word.marked();
    if text.contains(char::is_whitespace) {
        return Vec::new();
    }
    let mut paths = Vec::new();
    match text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
        Some(option) => paths.extend(option.find(['/', '~']).map(|at| Field::from(&option[at..]))),
        None if !text.starts_with('-') => paths.push(word.clone()),
        None => {}
    }
    if let Some((_, value)) = text.split_once('=') {
        paths.push(value.split(',').next().unwrap_or(value).into());
        paths.extend(value.rsplit_once('=').map(|(_, value)| Field::from(value)));
    }
    if let Some((place, path)) = text.split_once(':') {
        let place = place.rsplit('@').next().unwrap_or(place);
        let is_opened = ["OPEN", "CREATE", "FILE", "GOPEN", "CREAT"].contains(&place.to_uppercase().as_str());
        if LOCALHOST.contains(&place) || is_opened {
            paths.push(path.trim_start_matches(':').split(',').next().unwrap_or(path).into());
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_programs_are_sorted() {
        assert!(READERS.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
