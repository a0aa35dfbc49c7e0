//! Path resolution, and the trees that must not be destroyed.

use crate::shell::field::{CLASS, CLOSE, OPEN, QUESTION, STAR, has_marks, matches};
use crate::shell::{Field, Scope};

/// Trees that a system or its users depend on; `?` matches any one name.
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
/// Trees in which nothing may be destroyed.
const WHOLE: [&str; 7] = ["bin", "sbin", "boot", "usr/bin", "usr/sbin", "System", "lib64"];
/// Files that decide on permissions or on whether the system boots.
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

/// The longest path that Linux accepts, in bytes.
const MAX_PATH: usize = 4096;

/// What destroying a path would destroy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// A protected tree, or everything in one.
    Protected(String),
    /// A protected tree, if a variable that nothing has set is empty.
    IfUnset(String),
    /// Anything else.
    Other,
}

/// Returns the components of `path` from the root, once for each possible working folder. Marks of unknown text and
/// patterns are kept.
pub(super) fn resolve(path: &Field, scope: &Scope) -> Vec<Vec<String>> {
    // Removing a link leaves its target alone, unless a trailing slash means the target.
    let last = usize::from(path.marked().ends_with('/'));
    resolve_with(path, scope, last)
}

/// Like [`resolve`], but follows a final link, as a write does.
pub(super) fn resolve_target(path: &Field, scope: &Scope) -> Vec<Vec<String>> {
    resolve_with(path, scope, 1)
}

/// Whether `path` is certainly a user's own single file or folder, which no row about writes applies to.
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
    resolve_target(path, scope).iter().all(|names| is_ours(names))
}

fn resolve_with(path: &Field, scope: &Scope, last: usize) -> Vec<Vec<String>> {
    let mut all = Vec::with_capacity(scope.folders().len());
    for folder in scope.folders() {
        let names = from(path.marked(), folder.marked());
        let names = if scope.has_links() { follow_new_links(names, scope, last) } else { names };
        if scope.can_read_links() {
            all.extend(follow_disk_links(&names, scope, last));
            // The kernel follows a link before `..` leaves its target.
            if path.marked().contains("..") {
                let whole = joined(path.marked(), folder.marked());
                all.extend(follow_disk_links(&whole, scope, last));
            }
        }
        all.push(names);
    }
    all
}

/// Resolves links on disk in all components except the last `last`. Components after an unknown one stay as they are.
/// Returns `None` if there are no links.
fn follow_disk_links<T: AsRef<str>>(names: &[T], scope: &Scope, last: usize) -> Option<Vec<String>> {
    let known = names.iter().take_while(|name| !has_marks(name.as_ref())).count();
    let count = known.min((names.len() + last).saturating_sub(1));
    let mut path = String::new();
    for name in &names[..count] {
        path.push('/');
        path.push_str(name.as_ref());
    }
    let real = scope.resolve_on_disk(&path)?;
    let rest = names[count..].iter().map(AsRef::as_ref);
    Some(real.split('/').filter(|name| !name.is_empty()).chain(rest).map(str::to_owned).collect())
}

/// The components of `path` relative to `folder`, including `..`.
fn joined<'a>(path: &'a str, folder: &'a str) -> Vec<&'a str> {
    let folder = if is_absolute(path) { "" } else { folder };
    split(folder).into_iter().chain(split(path)).filter(|name| !["", "."].contains(name)).collect()
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.starts_with(OPEN)
}

/// Resolves links that the command line itself has created, in all components except the last `last`.
fn follow_new_links(mut names: Vec<String>, scope: &Scope, last: usize) -> Vec<String> {
    for _ in 0..4 {
        let linked = (1..names.len() + last).find_map(|count| {
            let target = scope.link_target(&format!("/{}", names[..count].join("/")))?;
            Some((count, target.to_owned()))
        });
        let Some((count, target)) = linked else { break };
        names = [from(&target, "/"), names.split_off(count)].concat();
    }
    names
}

fn from(path: &str, folder: &str) -> Vec<String> {
    // No system opens a longer path.
    if path.len() > MAX_PATH {
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
            // A quoted `*` in a path is more likely a mistake than a file's name.
            name => names.push(name.replace('*', &STAR.to_string())),
        }
        // `/proc/1/root` is the root, `/proc/self/cwd` the working folder.
        if names.len() > 2 && names[0] == "proc" {
            match names[names.len() - 1].as_str() {
                "root" => names.clear(),
                "cwd" => {
                    names = if path.len() < MAX_PATH && folder.starts_with('/') {
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

/// Splits a path at its slashes, but not within unknown text.
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

/// Returns what destroying `path` would destroy.
pub(super) fn target(path: &Field, scope: &Scope) -> Target {
    if path.marked().is_empty() {
        return Target::Other;
    }
    let is_protected = |path: &Field| resolve(path, scope).iter().any(|names| is_protected(names, scope));
    if is_protected(path) {
        return Target::Protected(path.to_string());
    }
    match path.without_variables() {
        Some(rest) if !rest.marked().is_empty() && is_protected(&rest) => Target::IfUnset(path.to_string()),
        _ => Target::Other,
    }
}

fn is_protected(names: &[String], scope: &Scope) -> bool {
    if is_protected_tree(names, scope) || WHOLE.iter().any(|tree| is_below(names, tree)) {
        return true;
    }
    // Destroying everything in a tree is like destroying the tree.
    names.split_last().is_some_and(|(last, parent)| {
        is_everything(last)
            && is_protected_tree(parent, scope)
            && parent.first().is_none_or(|first| first != "etc" || parent.len() < 2)
    })
}

/// Whether the path is the root, a home folder, a parent of one, or a system tree.
fn is_protected_tree(names: &[String], scope: &Scope) -> bool {
    let is_home = scope.home().is_some_and(|home| {
        let home = split(home.marked());
        let mut home = home.into_iter().filter(|name| !name.is_empty());
        names.iter().all(|name| home.next().is_some_and(|home| matches(name, home)))
    });
    is_home || TREES.iter().chain(&CRITICAL).any(|tree| is_at(names, tree))
}

/// Whether the path is `tree`, in which `?` matches any one name.
pub(super) fn is_at(names: &[String], tree: &str) -> bool {
    let mut parts = tree.split('/');
    names.iter().all(|name| parts.next().is_some_and(|part| part == "?" || matches(name, part)))
        && parts.next().is_none()
}

fn is_below(names: &[String], tree: &str) -> bool {
    let mut names = names.iter();
    tree.split('/').all(|part| names.next().is_some_and(|name| name == part))
}

/// Whether the pattern matches every name: `*`, `.*`, `.[!.]*`, `?*`.
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
