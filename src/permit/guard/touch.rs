//! The files that a command would write, replace, or remove: by its name and its arguments.

use super::invocation::Invocation;
use super::unpack;
use crate::permit::shell::Field;

/// What would happen to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is written, or something else comes in its place.
    Write,
    /// It is written, or a folder of which nothing is known comes in its place.
    Place,
    /// Things of any name are written into it.
    Tree,
    /// It is removed, moved away, or its rights change, with all that is in it.
    Remove,
    /// Nothing.
    Read,
}

impl Kind {
    /// Whether something is there afterwards that was not before.
    pub(super) fn writes(self) -> bool {
        !matches!(self, Self::Remove | Self::Read)
    }
}

/// A path, and what would happen to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) path: Field,
    pub(super) kind: Kind,
}

pub(super) fn all<'a>(kind: Kind, paths: impl IntoIterator<Item = &'a Field>) -> Vec<Touch> {
    paths.into_iter().map(|path| Touch { path: path.clone(), kind }).collect()
}

/// What looks like an assignment has its `~` expanded by bash.
fn from_home(file: &str, invocation: &Invocation<'_>) -> Field {
    match (file.strip_prefix("~/"), invocation.scope.home()) {
        (Some(rest), Some(home)) => Field::from(format!("{}/{rest}", home.marked()).as_str()),
        _ => file.into(),
    }
}

/// Long options whose value is a file that is written.
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

/// What `invocation` touches.
pub(super) fn by(invocation: &Invocation<'_>) -> Vec<Touch> {
    let name = invocation.name();
    let mut touched = match name.as_str() {
        "tee" | "mkfifo" | "mktemp" | "sqlite3" | "dos2unix" | "unix2dos" | "hexedit" | "nano" | "pico" => {
            all(Kind::Write, invocation.operands("pno", &[]))
        }
        "sponge" | "truncate" | "fallocate" | "mknod" => all(
            Kind::Write,
            invocation.operands("srlonm", &["size", "reference", "length", "offset", "mode"]),
        ),
        "ed" | "red" | "ex" | "vi" | "vim" | "nvim" | "emacs" | "xfs_io" | "script" => {
            all(Kind::Write, invocation.operands("cSTuEIOf", &["command", "cmd", "eval", "funcall"]))
        }
        "crudini" => all(Kind::Write, invocation.operands("", &[]).into_iter().take(1)),
        "sd" => all(Kind::Write, invocation.operands("", &[]).into_iter().skip(1)),
        "yq" if invocation.has('i', "inplace") => all(Kind::Write, invocation.operands("", &[])),
        "xmlstarlet" if invocation.has('L', "inplace") => all(Kind::Write, invocation.operands("uvtn", &[])),
        "gzip" | "gunzip" | "xz" | "unxz" | "bzip2" | "bunzip2" | "compress" | "uncompress" => {
            let keeps = ['c', 'k', 'l', 't'].iter().any(|letter| invocation.has(*letter, ""))
                || invocation.says(&["--stdout", "--to-stdout", "--keep", "--list", "--test"]);
            all(if keeps { Kind::Read } else { Kind::Write }, invocation.operands("S", &["suffix"]))
        }
        "split" | "lz4" | "objcopy" | "ddrescue" | "dd_rescue" => {
            let operands = invocation.operands("abnlCIORj", &["bytes", "lines", "number"]);
            all(Kind::Write, operands.into_iter().skip(1))
        }
        "csplit" => all(Kind::Write, &invocation.value("-f", "prefix")),
        "strip" if invocation.value("-o", "").is_none() => all(Kind::Write, invocation.operands("RNK", &[])),
        "ssh-keygen" if !invocation.says(&["-l", "-y", "-e", "-F", "-R", "-Y", "-B", "-H"]) => {
            all(Kind::Write, &invocation.value("-f", ""))
        }
        "tcpdump" | "tshark" | "dumpcap" => all(Kind::Write, &invocation.value("-w", "")),
        "patch" => patched(invocation),
        "rm" | "unlink" | "rmdir" | "shred" | "trash" | "trash-put" | "rimraf" | "wipe" | "srm" => {
            all(Kind::Remove, invocation.operands("", &[]))
        }
        "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "setfattr" | "chcon" => {
            all(Kind::Remove, invocation.operands("", &["reference", "from"]))
        }
        "dd" | "dcfldd" | "dc3dd" => {
            let words = invocation.arguments().iter();
            let files = words.filter_map(|word| word.marked().strip_prefix("of="));
            files.map(|file| Touch { path: from_home(file, invocation), kind: Kind::Write }).collect()
        }
        "cp" | "mv" | "install" | "ln" | "rsync" | "scp" | "ditto" | "sftp" | "rclone" => {
            copied(invocation, &name)
        }
        "sed" | "gsed" | "perl" | "ruby" if invocation.has('i', "in-place") => {
            all(Kind::Write, invocation.operands("ef", &[]))
        }
        "awk" | "gawk" if invocation.says(&["inplace"]) => all(Kind::Write, invocation.operands("ivf", &[])),
        "curl" | "wget" | "aria2c" => downloaded(invocation),
        "tar" | "gtar" | "bsdtar" | "unzip" | "cpio" | "bsdcpio" | "7z" | "7za" | "7zz" | "unrar" | "rar"
        | "ar" | "dpkg" | "dpkg-deb" | "unsquashfs" | "restic" | "borg" => unpack::unpacked(invocation),
        "git" => cloned(invocation),
        "find" | "gfind" => found(invocation),
        _ => Vec::new(),
    };
    touched.extend(outputs(invocation));
    let is_known =
        ["grep", "egrep", "rg", "ssh", "ps", "find", "set", "bash", "sh", "zsh", "mount", "ls", "unzip"];
    if !is_known.contains(&name.as_str())
        && let Some(path) = invocation.value("-o", "")
    {
        touched.push(Touch { path, kind: Kind::Write });
    }
    touched
}

/// The values of [`OUTPUTS`]: `--output file`, `--output=file`, and of some programs `-out file`.
fn outputs(invocation: &Invocation<'_>) -> Vec<Touch> {
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
        Some(Touch { path, kind: Kind::Write })
    };
    words.iter().enumerate().filter_map(file).collect()
}

/// `cp a b`, `cp -t b a`, `mv`, `ln`, `install`, `rsync`
fn copied(invocation: &Invocation<'_>, name: &str) -> Vec<Touch> {
    let long =
        ["target-directory", "suffix", "group", "mode", "owner", "rsh", "exclude", "include", "backup-dir"];
    let operands = invocation.operands(if name == "rsync" { "efTB" } else { "tSgmo" }, &long);
    let folder = invocation.value("-t", "target-directory").filter(|_| name != "rsync");
    let (sources, targets) = match (&folder, operands.split_last()) {
        (Some(folder), _) => (operands.clone(), vec![folder.clone()]),
        // `ln file` makes one of that name here.
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
    let mut touched = Vec::new();
    for target in &targets {
        let is_replaced = ["mv", "ln"].contains(&name);
        touched
            .push(Touch { path: target.clone(), kind: if is_replaced { Kind::Place } else { Kind::Write } });
        if is_deep {
            touched.push(Touch { path: target.clone(), kind: Kind::Tree });
        }
        for source in &sources {
            let whole = source.marked().trim_end_matches('/');
            let base = Field::from(whole).base();
            let path =
                Field::from(format!("{}/{}", target.marked().trim_end_matches('/'), base.marked()).as_str());
            let is_root = target.marked() == "/";
            let path = if is_root { Field::from(format!("/{}", base.marked()).as_str()) } else { path };
            if is_deep || name == "mv" {
                touched.push(Touch { path: path.clone(), kind: Kind::Tree });
            }
            touched.push(Touch { path, kind: Kind::Write });
        }
    }
    match name {
        "mv" => touched.extend(all(Kind::Remove, sources)),
        // Another name of the same file is another way to write it.
        "ln" if !invocation.has('s', "symbolic") => touched.extend(all(Kind::Write, sources)),
        "cp" if invocation.has('l', "link") => touched.extend(all(Kind::Write, sources)),
        _ => {}
    }
    touched
}

/// `curl -o file`, `curl -O url`, `wget -P folder url`
fn downloaded(invocation: &Invocation<'_>) -> Vec<Touch> {
    let folder = match invocation.name().as_str() {
        "curl" => invocation.value("", "output-dir"),
        "wget" => invocation.value("-P", "directory-prefix"),
        _ => invocation.value("-d", "dir"),
    };
    let folder = folder.map_or(String::new(), |folder| format!("{}/", folder.marked().trim_end_matches('/')));
    let mut touched = Vec::new();
    for url in invocation.arguments().iter().filter(|word| word.marked().contains('/')) {
        let name = Field::from(url.marked().split(['?', '#']).next().unwrap_or_default()).base();
        let path = Field::from(format!("{folder}{}", name.marked()).as_str());
        touched.push(Touch { path, kind: Kind::Write });
    }
    let files = match invocation.name().as_str() {
        "wget" => vec![invocation.value("-O", "output-document")],
        "curl" => vec![invocation.value("-D", ""), invocation.value("-c", "")],
        _ => Vec::new(),
    };
    touched.extend(files.into_iter().flatten().map(|path| Touch { path, kind: Kind::Write }));
    if let Some(file) = invocation.value("-o", "output") {
        let path = if file.marked().starts_with(['/', '~']) {
            file
        } else {
            Field::from(format!("{folder}{}", file.marked()).as_str())
        };
        touched.push(Touch { path, kind: Kind::Write });
    }
    touched
}

/// `patch file`, `patch -d folder`, `patch -o file`
fn patched(invocation: &Invocation<'_>) -> Vec<Touch> {
    let operands = invocation.operands("diopFDYzBVr", &["directory", "input", "output", "strip"]);
    let mut touched = all(Kind::Write, operands.into_iter().take(1));
    touched.extend(all(Kind::Tree, &invocation.value("-d", "directory")));
    touched
}

/// `git clone url folder`, `git worktree add folder`
fn cloned(invocation: &Invocation<'_>) -> Vec<Touch> {
    let operands = invocation.operands("Ccbou", &["git-dir", "work-tree", "branch", "depth", "origin"]);
    match operands.as_slice() {
        [clone, _, folder, ..] if clone.marked() == "clone" => all(Kind::Write, [*folder]),
        [word, ..] if word.marked() == "format-patch" => {
            all(Kind::Tree, &invocation.value("-o", "output-directory"))
        }
        [word, ..]
            if ["checkout", "reset", "restore", "switch", "pull", "merge", "apply", "am", "stash"]
                .contains(&word.marked()) =>
        {
            let folder = invocation.value("", "work-tree").or_else(|| invocation.value("-C", ""));
            all(Kind::Tree, &folder)
        }
        [worktree, add, folder, ..] if worktree.marked() == "worktree" && add.marked() == "add" => {
            all(Kind::Write, [*folder])
        }
        _ => Vec::new(),
    }
}

/// `find folder -delete`, `find folder -exec rm`, `find -fprint file`
fn found(invocation: &Invocation<'_>) -> Vec<Touch> {
    let words = invocation.arguments();
    let pairs = words.iter().zip(words.iter().skip(1));
    let prints =
        pairs.filter(|(word, _)| ["-fprint", "-fprintf", "-fls", "-fprint0"].contains(&word.marked()));
    let mut touched: Vec<Touch> = all(Kind::Write, prints.map(|(_, file)| file));
    if invocation.says(&["-delete", "rm", "mv", "chmod"]) {
        let starts = words.iter().take_while(|word| !word.marked().starts_with(['-', '(', '!']));
        // Only what is below: what is around may have other things that are meant.
        touched.extend(
            all(Kind::Write, starts)
                .into_iter()
                .map(|touch| Touch { kind: Kind::Remove, ..touch })
                .filter(|_| !invocation.says(&["-name"])),
        );
    }
    touched
}
