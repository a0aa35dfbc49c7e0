//! The files that a command would write, replace or remove, according to its name and arguments.

use super::invocation::Invocation;
use super::unpack;
use crate::shell::Field;

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessKind {
    /// It is written or replaced.
    Write,
    /// It is written, or replaced by a folder with unknown content.
    Replace,
    /// Files of unknown names are written into it.
    Tree,
    /// It and everything in it is removed or moved away, or its mode changes.
    Remove,
    /// It is only read.
    Read,
}

impl AccessKind {
    /// Whether something new exists at the path afterward.
    pub(super) fn writes(self) -> bool {
        !matches!(self, Self::Remove | Self::Read)
    }
}

/// A path and what happens to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) path: Field,
    pub(super) kind: AccessKind,
}

pub(super) fn all<'a>(kind: AccessKind, paths: impl IntoIterator<Item = &'a Field>) -> Vec<Access> {
    paths.into_iter().map(|path| Access { path: path.clone(), kind }).collect()
}

/// Expands `~` in a word that looks like an assignment, as bash does.
fn from_home(file: &str, invocation: &Invocation<'_>) -> Field {
    match (file.strip_prefix("~/"), invocation.scope.home()) {
        (Some(rest), Some(home)) => Field::from(format!("{}/{rest}", home.marked()).as_str()),
        _ => file.into(),
    }
}

/// Long options whose value is an output file.
const OUTPUTS: [&str; 14] = [
    "output",
    "out",
    "output-document",
    "outfile",
    "output-file",
    "log-file",
    "logfile",
    "descriptor_set_out",
    "dump-header",
    "cookie-jar",
    "trace",
    "trace-ascii",
    "stderr",
    "keyout",
];

/// Returns the files that `invocation` accesses.
pub(super) fn of(invocation: &Invocation<'_>) -> Vec<Access> {
    let name = invocation.name();
    let mut accesses = match name.as_str() {
        "tee" | "mkfifo" | "mktemp" | "sqlite3" | "dos2unix" | "unix2dos" | "hexedit" | "nano" | "pico" => {
            all(AccessKind::Write, invocation.operands("pno", &[]))
        }
        "sponge" | "truncate" | "fallocate" | "mknod" => all(
            AccessKind::Write,
            invocation.operands("srlonm", &["size", "reference", "length", "offset", "mode"]),
        ),
        "ed" | "red" | "ex" | "vi" | "vim" | "nvim" | "emacs" | "xfs_io" | "script" => {
            all(AccessKind::Write, invocation.operands("cSTuEIOf", &["command", "cmd", "eval", "funcall"]))
        }
        "crudini" => all(AccessKind::Write, invocation.operands("", &[]).into_iter().take(1)),
        "sd" => all(AccessKind::Write, invocation.operands("", &[]).into_iter().skip(1)),
        "yq" if invocation.has('i', "inplace") => all(AccessKind::Write, invocation.operands("", &[])),
        "xmlstarlet" if invocation.has('L', "inplace") => {
            all(AccessKind::Write, invocation.operands("uvtn", &[]))
        }
        "gzip" | "gunzip" | "xz" | "unxz" | "bzip2" | "bunzip2" | "compress" | "uncompress" => {
            let keeps = ['c', 'k', 'l', 't'].iter().any(|letter| invocation.has(*letter, ""))
                || invocation.has_any(&["--stdout", "--to-stdout", "--keep", "--list", "--test"]);
            all(
                if keeps { AccessKind::Read } else { AccessKind::Write },
                invocation.operands("S", &["suffix"]),
            )
        }
        "split" | "lz4" | "objcopy" | "ddrescue" | "dd_rescue" => {
            let operands = invocation.operands("abnlCIORj", &["bytes", "lines", "number"]);
            all(AccessKind::Write, operands.into_iter().skip(1))
        }
        "csplit" => all(AccessKind::Write, &invocation.value("-f", "prefix")),
        "strip" if invocation.value("-o", "").is_none() => {
            all(AccessKind::Write, invocation.operands("RNK", &[]))
        }
        "ssh-keygen" if !invocation.has_any(&["-l", "-y", "-e", "-F", "-R", "-Y", "-B", "-H"]) => {
            all(AccessKind::Write, &invocation.value("-f", ""))
        }
        "tcpdump" | "tshark" | "dumpcap" => all(AccessKind::Write, &invocation.value("-w", "")),
        "patch" => patched(invocation),
        "rm" | "unlink" | "rmdir" | "shred" | "trash" | "trash-put" | "rimraf" | "wipe" | "srm" => {
            all(AccessKind::Remove, invocation.operands("", &[]))
        }
        "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "setfattr" | "chcon" => {
            all(AccessKind::Remove, invocation.operands("", &["reference", "from"]))
        }
        "dd" | "dcfldd" | "dc3dd" => {
            let words = invocation.arguments().iter();
            let files = words.filter_map(|word| word.marked().strip_prefix("of="));
            files.map(|file| Access { path: from_home(file, invocation), kind: AccessKind::Write }).collect()
        }
        "cp" | "mv" | "install" | "ln" | "rsync" | "scp" | "ditto" | "sftp" | "rclone" => {
            copied(invocation, &name)
        }
        "sed" | "gsed" | "perl" | "ruby" if invocation.has('i', "in-place") => {
            all(AccessKind::Write, invocation.operands("ef", &[]))
        }
        "awk" | "gawk" if invocation.has_any(&["inplace"]) => {
            all(AccessKind::Write, invocation.operands("ivf", &[]))
        }
        "curl" | "wget" | "aria2c" => downloaded(invocation),
        "tar" | "gtar" | "bsdtar" | "unzip" | "cpio" | "bsdcpio" | "7z" | "7za" | "7zz" | "unrar" | "rar"
        | "ar" | "dpkg" | "dpkg-deb" | "unsquashfs" | "restic" | "borg" => unpack::extracted(invocation),
        "git" => cloned(invocation),
        "find" | "gfind" => found(invocation),
        _ => Vec::new(),
    };
    accesses.extend(outputs(invocation));
    let is_known =
        ["grep", "egrep", "rg", "ssh", "ps", "find", "set", "bash", "sh", "zsh", "mount", "ls", "unzip"];
    if !is_known.contains(&name.as_str())
        && let Some(path) = invocation.value("-o", "")
    {
        accesses.push(Access { path, kind: AccessKind::Write });
    }
    accesses
}

/// The values of [`OUTPUTS`]: `--output file`, `--output=file`, and `-out file` of some programs.
fn outputs(invocation: &Invocation<'_>) -> Vec<Access> {
    let words = invocation.arguments();
    let file = |(at, word): (usize, &Field)| {
        let text = word.marked();
        let long = text
            .strip_prefix("--")
            .or_else(|| text.strip_prefix('-').filter(|name| name.ends_with("out")))?;
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        if !OUTPUTS.contains(&name) {
            return None;
        }
        let path = value.map(Field::from).or_else(|| words.get(at + 1).cloned())?;
        Some(Access { path, kind: AccessKind::Write })
    };
    words.iter().enumerate().filter_map(file).collect()
}

/// `cp a b`, `cp -t b a`, `mv`, `ln`, `install`, `rsync`
fn copied(invocation: &Invocation<'_>, name: &str) -> Vec<Access> {
    let long =
        ["target-directory", "suffix", "group", "mode", "owner", "rsh", "exclude", "include", "backup-dir"];
    let operands = invocation.operands(if name == "rsync" { "efTB" } else { "tSgmo" }, &long);
    let folder = invocation.value("-t", "target-directory").filter(|_| name != "rsync");
    let (sources, targets) = match (&folder, operands.split_last()) {
        (Some(folder), _) => (operands.clone(), vec![folder.clone()]),
        // `ln file` creates a link of the same name in the working folder.
        (None, Some((last, []))) if name == "ln" => (vec![*last], vec![Field::from(".")]),
        (None, Some((last, sources))) if name == "install" && invocation.has('d', "directory") => {
            (Vec::new(), sources.iter().chain([last]).map(|path| (*path).clone()).collect())
        }
        (None, Some((last, sources))) => (sources.to_vec(), vec![(*last).clone()]),
        (None, None) => return Vec::new(),
    };
    let is_deep = ["rsync", "ditto", "rclone"].contains(&name)
        || ['r', 'R', 'a'].iter().any(|letter| invocation.has(*letter, "recursive"))
        || invocation.has('\0', "archive");
    let mut accesses = Vec::new();
    for target in &targets {
        let is_replaced = ["mv", "ln"].contains(&name);
        accesses.push(Access {
            path: target.clone(),
            kind: if is_replaced { AccessKind::Replace } else { AccessKind::Write },
        });
        if is_deep {
            accesses.push(Access { path: target.clone(), kind: AccessKind::Tree });
        }
        for source in &sources {
            let whole = source.marked().trim_end_matches('/');
            let base = Field::from(whole).base();
            let path =
                Field::from(format!("{}/{}", target.marked().trim_end_matches('/'), base.marked()).as_str());
            let is_root = target.marked() == "/";
            let path = if is_root { Field::from(format!("/{}", base.marked()).as_str()) } else { path };
            if is_deep || name == "mv" {
                accesses.push(Access { path: path.clone(), kind: AccessKind::Tree });
            }
            accesses.push(Access { path, kind: AccessKind::Write });
        }
    }
    match name {
        "mv" => accesses.extend(all(AccessKind::Remove, sources)),
        // A hard link is another way to write its source.
        "ln" if !invocation.has('s', "symbolic") => accesses.extend(all(AccessKind::Write, sources)),
        "cp" if invocation.has('l', "link") => accesses.extend(all(AccessKind::Write, sources)),
        _ => {}
    }
    accesses
}

/// `curl -o file`, `curl -O url`, `wget -P folder url`
fn downloaded(invocation: &Invocation<'_>) -> Vec<Access> {
    let folder = match invocation.name().as_str() {
        "curl" => invocation.value("", "output-dir"),
        "wget" => invocation.value("-P", "directory-prefix"),
        _ => invocation.value("-d", "dir"),
    };
    let folder = folder.map_or(String::new(), |folder| format!("{}/", folder.marked().trim_end_matches('/')));
    let mut accesses = Vec::new();
    for url in invocation.arguments().iter().filter(|word| word.marked().contains('/')) {
        let name = Field::from(url.marked().split(['?', '#']).next().unwrap_or_default()).base();
        let path = Field::from(format!("{folder}{}", name.marked()).as_str());
        accesses.push(Access { path, kind: AccessKind::Write });
    }
    let files = match invocation.name().as_str() {
        "wget" => vec![invocation.value("-O", "output-document")],
        "curl" => vec![invocation.value("-D", ""), invocation.value("-c", "")],
        _ => Vec::new(),
    };
    accesses.extend(files.into_iter().flatten().map(|path| Access { path, kind: AccessKind::Write }));
    if let Some(file) = invocation.value("-o", "output") {
        let path = if file.marked().starts_with(['/', '~']) {
            file
        } else {
            Field::from(format!("{folder}{}", file.marked()).as_str())
        };
        accesses.push(Access { path, kind: AccessKind::Write });
    }
    accesses
}

/// `patch file`, `patch -d folder`, `patch -o file`
fn patched(invocation: &Invocation<'_>) -> Vec<Access> {
    let operands = invocation.operands("diopFDYzBVr", &["directory", "input", "output", "strip"]);
    let mut accesses = all(AccessKind::Write, operands.into_iter().take(1));
    accesses.extend(all(AccessKind::Tree, &invocation.value("-d", "directory")));
    accesses
}

/// `git clone url folder`, `git worktree add folder`
fn cloned(invocation: &Invocation<'_>) -> Vec<Access> {
    let operands = invocation.operands("Ccbou", &["git-dir", "work-tree", "branch", "depth", "origin"]);
    match operands.as_slice() {
        [clone, _, folder, ..] if clone.marked() == "clone" => all(AccessKind::Write, [*folder]),
        [word, ..] if word.marked() == "format-patch" => {
            all(AccessKind::Tree, &invocation.value("-o", "output-directory"))
        }
        [word, ..]
            if ["checkout", "reset", "restore", "switch", "pull", "merge", "apply", "am", "stash"]
                .contains(&word.marked()) =>
        {
            let folder = invocation.value("", "work-tree").or_else(|| invocation.value("-C", ""));
            all(AccessKind::Tree, &folder)
        }
        [worktree, add, folder, ..] if worktree.marked() == "worktree" && add.marked() == "add" => {
            all(AccessKind::Write, [*folder])
        }
        _ => Vec::new(),
    }
}

/// `find folder -delete`, `find folder -exec rm`, `find -fprint file`
fn found(invocation: &Invocation<'_>) -> Vec<Access> {
    let words = invocation.arguments();
    let pairs = words.iter().zip(words.iter().skip(1));
    let prints =
        pairs.filter(|(word, _)| ["-fprint", "-fprintf", "-fls", "-fprint0"].contains(&word.marked()));
    let mut accesses: Vec<Access> = all(AccessKind::Write, prints.map(|(_, file)| file));
    if invocation.has_any(&["-delete", "rm", "mv", "chmod"]) {
        let starts = words.iter().take_while(|word| !word.marked().starts_with(['-', '(', '!']));
        // With `-name`, only some files below the folder are removed, so the folder itself doesn't count.
        accesses.extend(
            all(AccessKind::Write, starts)
                .into_iter()
                .map(|access| Access { kind: AccessKind::Remove, ..access })
                .filter(|_| !invocation.has_any(&["-name"])),
        );
    }
    accesses
}
