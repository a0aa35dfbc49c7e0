//! What a path means: where it leads from the folder it counts from, and whether that is a tree nobody may destroy.

use crate::permit::shell::field::{CLASS, CLOSE, OPEN, QUESTION, STAR, has_marks, matches};
use crate::permit::shell::{Field, Scope};

/// Trees that a system, or its users, cannot do without; `?` is any one name.
const TREES: [&str; 81] = [
    "mnt/c",
    "mnt/c/Windows",
    "mnt/c/Users",
    "mnt/c/Users/?",
    "mnt/c/Program Files",
    "c",
    "c/Windows",
    "c/Users",
    "c/Users/?",
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "media",
    "mnt",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "home/?",
    "Users",
    "Users/?",
    "System",
    "Library",
    "Applications",
    "Volumes",
    "private",
    "private/etc",
    "private/var",
    "nix",
    "nix/store",
    "snap",
    "boot/efi",
    "boot/grub",
    "boot/grub2",
    "etc/?",
    "usr/bin",
    "usr/sbin",
    "usr/lib",
    "usr/lib32",
    "usr/lib64",
    "usr/libexec",
    "usr/share",
    "usr/include",
    "usr/local",
    "usr/local/bin",
    "usr/local/lib",
    "usr/local/sbin",
    "usr/src",
    "usr/lib/systemd",
    "usr/lib/modules",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "var/lib",
    "var/log",
    "var/spool",
    "var/mail",
    "var/backups",
    "var/www",
    "var/db",
    "var/lib/dpkg",
    "var/lib/rpm",
    "var/lib/pacman",
    "var/lib/mysql",
    "var/lib/postgresql",
    "var/lib/docker",
    "var/lib/systemd",
    "lib/modules",
    "lib/systemd",
    "lib/x86_64-linux-gnu",
    "cygdrive",
];
/// Trees of which nothing may be destroyed.
const WHOLE: [&str; 7] = ["bin", "sbin", "boot", "usr/bin", "usr/sbin", "System", "lib64"];
/// Files that decide who may do what, and whether a system starts.
pub(super) const CRITICAL: [&str; 12] = [
    "etc/passwd",
    "etc/shadow",
    "etc/group",
    "etc/gshadow",
    "etc/sudoers",
    "etc/sudoers.d/?",
    "etc/fstab",
    "etc/ld.so.preload",
    "etc/doas.conf",
    "etc/pam.d/?",
    "etc/crypttab",
    "etc/security/?",
];

/// The longest path there is, in bytes.
const LONGEST: usize = 4096;

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// A tree that nobody may destroy, or all that is in it.
    Protected(String),
    /// Such a tree, where a variable that nobody has set is empty.
    Perhaps(String),
    /// Anything else.
    Other,
}

/// The names on the way to `path` from the root, for each folder that it may count from; with the marks of fields.
pub(super) fn resolve(path: &Field, scope: &Scope) -> Vec<Vec<String>> {
    // What is removed is the link, unless what is below it is meant.
    let last = usize::from(path.marked().ends_with('/'));
    lead(path, scope, last)
}

/// The names on the way to the file that is written where `path` is: where a link leads, if it is one.
pub(super) fn written(path: &Field, scope: &Scope) -> Vec<Vec<String>> {
    lead(path, scope, 1)
}

/// Whether `path` is sure to lead to a file or folder of a user's, and to a single one: nothing that the rows of written paths
/// are about.
pub(super) fn is_ordinary(path: &Field, scope: &Scope) -> bool {
    const OF_SYSTEM: [&str; 15] = [
        "bin", "boot", "dev", "etc", "lib", "lib64", "mnt", "private", "proc", "root", "run", "sbin", "sys",
        "usr", "System",
    ];
    let is_ours = |names: &[String]| match (names.first(), names.last()) {
        (Some(first), Some(last)) => {
            names.len() > 2 && !OF_SYSTEM.contains(&first.as_str()) && !has_marks(first) && !has_marks(last)
        }
        _ => false,
    };
    written(path, scope).iter().all(|names| is_ours(names))
}

fn lead(path: &Field, scope: &Scope, last: usize) -> Vec<Vec<String>> {
    let mut all = Vec::with_capacity(scope.folders().len());
    for folder in scope.folders() {
        let names = from(path.marked(), folder.marked());
        let names = if scope.has_links() { through_links(names, scope, last) } else { names };
        if scope.sees_disk() {
            all.extend(through_disk(&names, scope, last));
            // A link is followed before `..` leads out of where it leads to.
            if path.marked().contains("..") {
                let whole = joined(path.marked(), folder.marked());
                all.extend(through_disk(&whole, scope, last));
            }
        }
        all.push(names);
    }
    all
}

/// Where the names lead through links that are on the disk, up to the last one, or with it; what comes after a name that
/// is not known is as it is. None where there are no links.
fn through_disk<T: AsRef<str>>(names: &[T], scope: &Scope, last: usize) -> Option<Vec<String>> {
    let known = names.iter().take_while(|name| !has_marks(name.as_ref())).count();
    let count = known.min((names.len() + last).saturating_sub(1));
    let mut path = String::new();
    for name in &names[..count] {
        path.push('/');
        path.push_str(name.as_ref());
    }
    let real = scope.real(&path)?;
    let rest = names[count..].iter().map(AsRef::as_ref);
    Some(real.split('/').filter(|name| !name.is_empty()).chain(rest).map(str::to_owned).collect())
}

/// All names of a path that counts from `folder`, with `..`.
fn joined<'a>(path: &'a str, folder: &'a str) -> Vec<&'a str> {
    let folder = if is_absolute(path) { "" } else { folder };
    split(folder).into_iter().chain(split(path)).filter(|name| !["", "."].contains(name)).collect()
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.starts_with(OPEN)
}

/// Where the names lead through links that the line has made, up to the last one, or with it.
fn through_links(mut names: Vec<String>, scope: &Scope, last: usize) -> Vec<String> {
    for _ in 0..4 {
        let linked = (1..names.len() + last).find_map(|count| {
            let target = scope.linked(&format!("/{}", names[..count].join("/")))?;
            Some((count, target.to_owned()))
        });
        let Some((count, target)) = linked else { break };
        names = [from(&target, "/"), names.split_off(count)].concat();
    }
    names
}

fn from(path: &str, folder: &str) -> Vec<String> {
    // No system opens a longer one.
    if path.len() > LONGEST {
        return vec![path.chars().take(64).collect()];
    }
    let mut names: Vec<String> = Vec::new();
    let is_absolute = is_absolute(path);
    for name in split(folder).into_iter().filter(|_| !is_absolute).chain(split(path)) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            // A file that is called `*` is hardly what is meant.
            name => names.push(name.replace('*', &STAR.to_string())),
        }
        // `/proc/1/root` is the root, `/proc/self/cwd` the folder.
        if names.len() > 2 && names[0] == "proc" {
            match names[names.len() - 1].as_str() {
                "root" => names.clear(),
                "cwd" => {
                    names = if path.len() < LONGEST && folder.starts_with('/') {
                        from(folder, "/")
                    } else {
                        Vec::new()
                    }
                }
                _ => {}
            }
        }
    }
    names
}

/// The names between the slashes that are known.
fn split(path: &str) -> Vec<&str> {
    let (mut names, mut start, mut is_unknown) = (Vec::new(), 0, false);
    for (at, character) in path.char_indices() {
        match character {
            OPEN => is_unknown = true,
            CLOSE => is_unknown = false,
            '/' if !is_unknown => {
                names.push(&path[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    names.push(&path[start..]);
    names
}

/// What destroying `path` would destroy.
pub(super) fn target(path: &Field, scope: &Scope) -> Target {
    if path.marked().is_empty() {
        return Target::Other;
    }
    let is_protected = |path: &Field| resolve(path, scope).iter().any(|names| is_protected(names, scope));
    if is_protected(path) {
        return Target::Protected(path.to_string());
    }
    match path.without_variables() {
        Some(rest) if !rest.marked().is_empty() && is_protected(&rest) => Target::Perhaps(path.to_string()),
        _ => Target::Other,
    }
}

fn is_protected(names: &[String], scope: &Scope) -> bool {
    if is_tree(names, scope) || WHOLE.iter().any(|tree| is_below(names, tree)) {
        return true;
    }
    // All that is in it is as good as the tree.
    names.split_last().is_some_and(|(last, parent)| {
        is_everything(last)
            && is_tree(parent, scope)
            && parent.first().is_none_or(|first| first != "etc" || parent.len() < 2)
    })
}

/// Whether the names lead to the root, to a home folder, to what has one in it, or to a tree of the system.
fn is_tree(names: &[String], scope: &Scope) -> bool {
    let is_home = scope.home().is_some_and(|home| {
        let home = split(home.marked());
        let mut home = home.into_iter().filter(|name| !name.is_empty());
        names.iter().all(|name| home.next().is_some_and(|home| matches(name, home)))
    });
    is_home || TREES.iter().chain(&CRITICAL).any(|tree| is_at(names, tree))
}

/// Whether the names lead to `tree`, in which `?` is any one name.
pub(super) fn is_at(names: &[String], tree: &str) -> bool {
    let mut parts = tree.split('/');
    names.iter().all(|name| parts.next().is_some_and(|part| part == "?" || matches(name, part)))
        && parts.next().is_none()
}

fn is_below(names: &[String], tree: &str) -> bool {
    let mut names = names.iter();
    tree.split('/').all(|part| names.next().is_some_and(|name| name == part))
}

/// Whether a name stands for all names: `*`, `.*`, `.[!.]*`, `?*`.
fn is_everything(name: &str) -> bool {
    let mut rest = name;
    let mut plain = String::new();
    while let Some(open) = rest.find(CLASS) {
        plain.push_str(&rest[..open]);
        rest = rest[open..].find(']').map_or("", |close| &rest[open + close + 1..]);
    }
    plain.push_str(rest);
    plain.contains(STAR) && plain.chars().all(|c| [STAR, QUESTION, '.'].contains(&c))
}
