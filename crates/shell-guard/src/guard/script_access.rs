//! Files that a command writes from within a script argument, such as `vim -c 'w! file'`, or by a convention of its
//! own.

use super::access::{Access, AccessKind, all};
use super::invocation::Invocation;
use crate::shell::Field;

/// Programs, with words that a script of theirs must contain for it to write the files that it names.
const TEXTS: [(&[&str], &[&str]); 13] = [
    (
        &["vim", "vi", "ex", "nvim", "view", "gvim", "ed", "red"],
        &["w ", "w! ", "wq", "write", "sav", "delete(", "rename("],
    ),
    (&["emacs", "emacsclient"], &["write-", "append-to-file", "copy-file", "rename-file", "delete-"]),
    (
        &["sqlite3", "sqlite"],
        &[".output", ".once", ".backup", ".save", ".log", ".clone", ".trace", "writefile"],
    ),
    (
        &["duckdb", "clickhouse-local"],
        &["copy ", "COPY ", "export ", "EXPORT ", ".output", "outfile", "OUTFILE"],
    ),
    (&["psql"], &["\\o ", "\\w ", "\\g ", " to '", " TO '", " to program", " TO PROGRAM"]),
    (&["mysql", "mariadb"], &["outfile", "OUTFILE", "dumpfile", "DUMPFILE", "tee "]),
    (&["awk", "gawk", "mawk", "nawk"], &["> f", ">f", "> \"/", ">\"/", ">> f", "> ENVIRON"]),
    (&["sed", "gsed"], &["w/", "w /", "w ~", "w .", "w\\/"]),
    (&["lftp"], &["get", "mirror"]),
    (&["curl"], &["%output{"]),
    (&["puppet"], &["file"]),
    (&["nu"], &["save", "rm ", "mv ", "cp "]),
    (
        &["Rscript", "R", "julia", "elixir", "groovy", "deno", "tclsh", "lua", "luajit", "scala"],
        &["write", "Write", "rm_rf", "new File", "open(", "file delete"],
    ),
];

/// Calls that copy, link or unpack to the last path in the code.
const CALLS: [&str; 15] = [
    "shutil.",
    "os.symlink",
    "os.link",
    "os.replace",
    "os.rename",
    "os.chmod",
    "urlretrieve",
    "inplace=True",
    "extractall",
    "truncate",
    "chmod",
    "symlink",
    "FileUtils.",
    "copy(",
    "rmtree",
];

/// Returns the files that `invocation` accesses, besides those that [`super::access`] returns.
pub(super) fn of(invocation: &Invocation<'_>) -> Vec<Access> {
    let name = invocation.name();
    let mut accesses = texts(invocation, &name);
    let operands = || invocation.operands("", &[]);
    let last = |kind| all(kind, operands().last().copied());
    accesses.extend(match name.as_str() {
        "uniq" | "link" | "pdftotext" => all(AccessKind::Write, operands().into_iter().skip(1)),
        "rename" | "prename" | "perl-rename" | "mmv" | "zstd" | "patchelf" | "upx"
            if !invocation.has_any(&["-n"]) =>
        {
            all(AccessKind::Write, operands())
        }
        "zip" => all(AccessKind::Write, operands().into_iter().take(1)),
        "7z" | "7za" | "7zz" if operands().first().is_some_and(|word| word.marked() == "a") => {
            all(AccessKind::Write, operands().into_iter().skip(1).take(1))
        }
        "cmake" if invocation.has_any(&["-E"]) => [last(AccessKind::Write), last(AccessKind::Tree)].concat(),
        "gio" | "tmpreaper" | "tmpwatch" | "bindfs" => all(AccessKind::Remove, operands()),
        "mount" if invocation.has('B', "bind") || operands().len() > 1 || invocation.has_any(&["bind"]) => {
            [last(AccessKind::Remove), last(AccessKind::Tree)].concat()
        }
        "pax" | "stow" => {
            let target = invocation.value("-t", "target");
            [all(AccessKind::Tree, &target), last(AccessKind::Tree)].concat()
        }
        "docker" | "podman" | "nerdctl" | "kubectl" | "docker-compose" => copied_out(invocation),
        "aws" | "gsutil" | "gcloud" | "s3cmd" | "rclone" | "mc" | "az" => stored(invocation),
        "ssh-copy-id" | "ssh-import-id" => vec![keys(invocation, &name)].into_iter().flatten().collect(),
        "rsync" | "scp" | "sftp" => {
            operands().into_iter().filter_map(|word| here(word, invocation)).flat_map(anything).collect()
        }
        "ansible" => pairs(invocation, &["dest", "path", "name"]),
        "history" | "fc" => {
            all(AccessKind::Write, operands().into_iter().filter(|_| invocation.has_any(&["-w", "-a"])))
        }
        "bash" | "zsh" | "sh" => variables(invocation, &["HISTFILE"]),
        "script" => all(
            AccessKind::Write,
            &invocation.value("-O", "log-out").or_else(|| invocation.value("-B", "log-io")),
        ),
        "wget" => [("-a", "append-output"), ("", "save-cookies"), ("", "rejected-log")]
            .iter()
            .flat_map(|(short, long)| all(AccessKind::Write, &invocation.value(short, long)))
            .collect(),
        "curl" => ["etag-save", "libcurl", "hsts", "alt-svc"]
            .iter()
            .flat_map(|long| all(AccessKind::Write, &invocation.value("", long)))
            .chain(attached(invocation, 'o'))
            .collect(),
        "time" | "gtime" => attached(invocation, 'o').collect(),
        "gawk" | "awk" => ["-d", "-o", "-p"].iter().flat_map(|short| dumped(invocation, short)).collect(),
        "tar" | "gtar" | "bsdtar" => {
            let files = ["index-file", "listed-incremental"];
            let files = files.iter().flat_map(|long| all(AccessKind::Write, &invocation.value("", long)));
            let top = all(AccessKind::Tree, &invocation.value("", "one-top-level"));
            let state = all(AccessKind::Write, &invocation.value("-g", ""));
            let packed = if invocation.has_any(&["--remove-files", "--remove"]) {
                all(AccessKind::Remove, invocation.operands("fCT", &["file", "directory"]))
            } else {
                Vec::new()
            };
            [files.collect(), top, state, packed].concat()
        }
        "git" => git(invocation),
        "python" | "python3" => module(invocation),
        _ => Vec::new(),
    });
    if name == "zip" && invocation.has('m', "move") {
        accesses.extend(all(AccessKind::Remove, operands()));
    }
    accesses
}

fn anything(path: Field) -> [Access; 2] {
    [Access { path: path.clone(), kind: AccessKind::Write }, Access { path, kind: AccessKind::Tree }]
}

/// Paths in arguments that the program runs as a script.
fn texts(invocation: &Invocation<'_>, name: &str) -> Vec<Access> {
    let marks = TEXTS.iter().find(|(names, _)| names.contains(&name)).map(|(_, marks)| *marks);
    let words = invocation.arguments().iter();
    if let Some(marks) = marks {
        let texts: Vec<&Field> =
            words.filter(|word| marks.iter().any(|mark| word.marked().contains(mark))).collect();
        let mut paths: Vec<&str> = texts.iter().flat_map(|text| path_like(text.marked())).collect();
        if name.ends_with("awk") && !texts.is_empty() {
            let given = invocation.arguments().iter().filter_map(|word| word.marked().split_once('='));
            paths.extend(given.map(|(_, value)| value).filter(|value| value.contains('/')));
        }
        return paths.into_iter().flat_map(|path| anything(expanded(path, invocation))).collect();
    }
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !["python", "perl", "ruby", "php", "node", "bun"].contains(&plain) {
        return Vec::new();
    }
    let is_code = |word: &&Field| CALLS.iter().any(|call| word.marked().contains(call));
    let last = |word: &Field| {
        let strings: Vec<&str> = word.marked().split(['"', '\'']).skip(1).step_by(2).collect();
        let path = strings.into_iter().rev().find(|text| text.len() > 1)?;
        Some(expanded(path, invocation))
    };
    words.filter(is_code).filter_map(last).flat_map(anything).collect()
}

/// The parts of a text that look like paths.
fn path_like(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "._-/~+@*?".contains(c) || !c.is_ascii();
    let pieces = text.split(move |c: char| !is_part(c)).filter(|piece| piece.len() > 2);
    let from_slash = |piece: &'_ str| {
        piece
            .find('/')
            .map_or(0, |at| if piece[..at].len() < 3 && !piece.starts_with(['.', '~']) { at } else { 0 })
    };
    pieces
        .map(move |piece| &piece[from_slash(piece)..])
        .filter(|piece| piece.contains('/') || piece.starts_with('.'))
}

/// A path with `~` expanded.
fn expanded(path: &str, invocation: &Invocation<'_>) -> Field {
    match (path.strip_prefix("~/"), invocation.scope.home()) {
        (Some(rest), Some(home)) => Field::from(format!("{}/{rest}", home.marked()).as_str()),
        _ => path.into(),
    }
}

/// The value of a letter at the end of a cluster: `-sofile`, `-ao file`
fn attached<'a>(invocation: &Invocation<'a>, letter: char) -> impl Iterator<Item = Access> + 'a {
    let words = invocation.arguments();
    words.iter().enumerate().filter_map(move |(at, word)| {
        let letters = word.marked().strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
        let (before, value) = letters.split_once(letter)?;
        if before.len() > 6 || !before.chars().all(char::is_alphabetic) {
            return None;
        }
        let path = if value.is_empty() { words.get(at + 1)?.clone() } else { value.into() };
        Some(Access { path, kind: AccessKind::Write })
    })
}

/// `gawk -dfile`
fn dumped(invocation: &Invocation<'_>, short: &str) -> Vec<Access> {
    let words = invocation.arguments().iter();
    let files = words.filter_map(|word| word.marked().strip_prefix(short)).filter(|file| file.contains('/'));
    files.map(|file| Access { path: file.into(), kind: AccessKind::Write }).collect()
}

/// `docker cp container:file file`
fn copied_out(invocation: &Invocation<'_>) -> Vec<Access> {
    let operands = invocation.operands("", &[]);
    let copies = operands.iter().take(2).any(|word| word.marked() == "cp");
    let target = operands.last().filter(|path| copies && !path.marked().contains(':'));
    target.into_iter().flat_map(|path| anything((*path).clone())).collect()
}

/// `aws s3 cp s3://b/a file`, and removals by `mv` and `--delete`.
fn stored(invocation: &Invocation<'_>) -> Vec<Access> {
    let operands = invocation.operands("", &[]);
    let copies =
        operands.iter().any(|word| ["cp", "mv", "sync", "rsync", "get", "mirror"].contains(&word.marked()));
    let target = operands.last().filter(|path| copies && !path.marked().contains("://"));
    target.into_iter().flat_map(|path| anything((*path).clone())).collect()
}

/// `ssh-copy-id localhost` writes to the user's own authorized_keys.
fn keys(invocation: &Invocation<'_>, name: &str) -> Option<Access> {
    let is_here = invocation.operands("ipo", &[]).iter().any(|word| {
        let host = word.marked().rsplit('@').next().unwrap_or_default();
        ["localhost", "127.0.0.1", "::1"].contains(&host)
    });
    let home = invocation.scope.home()?;
    let path = Field::from(format!("{}/.ssh/authorized_keys", home.marked()).as_str());
    (is_here || name == "ssh-import-id").then_some(Access { path, kind: AccessKind::Write })
}

/// The path in `localhost:path`, which is relative to home.
fn here(word: &Field, invocation: &Invocation<'_>) -> Option<Field> {
    let (host, path) = word.marked().split_once(':')?;
    let host = host.rsplit('@').next().unwrap_or(host);
    let is_here = ["localhost", "127.0.0.1", "[", "0.0.0.0"].contains(&host);
    let path = path.trim_start_matches([':', '1', ']']);
    let from_home = || match path.starts_with(['/', '~']) {
        true => expanded(path, invocation),
        false => expanded(&format!("~/{path}"), invocation),
    };
    is_here.then(from_home)
}

/// `ansible localhost -m copy -a 'src=a dest=b'`
fn pairs(invocation: &Invocation<'_>, keys: &[&str]) -> Vec<Access> {
    let texts = invocation.arguments().iter().map(Field::marked);
    let pairs = texts.flat_map(str::split_whitespace).filter_map(|pair| pair.split_once('='));
    let paths = pairs.filter(|(key, _)| keys.contains(key)).map(|(_, path)| expanded(path, invocation));
    paths.flat_map(anything).collect()
}

/// Files that a program writes because a variable names them.
fn variables(invocation: &Invocation<'_>, names: &[&str]) -> Vec<Access> {
    let files = names.iter().flat_map(|name| invocation.scope.assigned(name));
    files.map(|path| Access { path, kind: AccessKind::Write }).collect()
}

/// Files that git writes by name.
fn git(invocation: &Invocation<'_>) -> Vec<Access> {
    const FOLDERS: [&str; 2] = ["git-dir", "work-tree"];
    let traces = [
        "GIT_TRACE",
        "GIT_TRACE2",
        "GIT_TRACE2_EVENT",
        "GIT_TRACE2_PERF",
        "GIT_TRACE_SETUP",
        "GIT_TRACE_PACKET",
    ];
    let mut accesses = variables(invocation, &traces);
    let operands = invocation.operands("Ccbo", &FOLDERS);
    let Some((verb, rest)) = operands.split_first() else { return accesses };
    let rest = rest.iter().copied();
    let folder =
        || invocation.value("-C", "work-tree").map_or(String::new(), |path| format!("{}/", path.marked()));
    let within = |path: &Field| {
        let is_absolute = path.marked().starts_with(['/', '~']);
        if is_absolute {
            path.clone()
        } else {
            Field::from(format!("{}{}", folder(), path.marked()).as_str())
        }
    };
    accesses.extend(match verb.marked() {
        "config" => {
            let reads = ["--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list"];
            let file = invocation
                .value("-f", "file")
                .filter(|_| !invocation.has_any(&reads) && rest.clone().count() > 1);
            all(AccessKind::Write, &file)
        }
        "bundle" | "merge-file" => all(AccessKind::Write, rest.map(within).collect::<Vec<_>>().iter()),
        "checkout" | "restore" | "checkout-index" | "mv" | "rm" => {
            let prefix = invocation.value("", "prefix");
            let paths: Vec<Field> = rest.map(within).collect();
            let is_kept =
                invocation.has_any(&["--cached", "--staged"]) && !invocation.has_any(&["--worktree"]);
            let kind = if verb.marked() == "rm" { AccessKind::Remove } else { AccessKind::Write };
            let mut accesses = if is_kept { Vec::new() } else { all(kind, &paths) };
            accesses.extend(prefix.into_iter().flat_map(anything));
            accesses
        }
        "apply" => {
            let included = invocation.value("", "include");
            let below = invocation.value("", "directory");
            [all(AccessKind::Write, &included), all(AccessKind::Tree, &below)].concat()
        }
        "clone" => rest.skip(1).flat_map(|path| anything(within(path))).collect(),
        "worktree" => rest.skip(1).take(1).flat_map(|path| anything(within(path))).collect(),
        "clean" if invocation.has('f', "force") && !invocation.has('n', "dry-run") => {
            let paths: Vec<Field> = rest.map(within).collect();
            let folder = invocation.value("-C", "work-tree").filter(|_| paths.is_empty());
            all(AccessKind::Remove, paths.iter().chain(&folder))
        }
        "read-tree" => all(AccessKind::Write, &invocation.value("", "index-output")),
        "diff" | "log" | "show" | "archive" => {
            all(AccessKind::Write, &invocation.value("", "output").map(|path| within(&path)))
        }
        _ => Vec::new(),
    });
    accesses
}

/// `python3 -m zipfile -e file folder`, `python3 -m json.tool from to`
fn module(invocation: &Invocation<'_>) -> Vec<Access> {
    let words = invocation.arguments();
    let Some(at) = words.iter().position(|word| word.marked() == "-m") else { return Vec::new() };
    let rest = words.get(at + 2..).unwrap_or_default();
    let unpacks = rest.iter().any(|word| ["-e", "--extract"].contains(&word.marked()));
    match words.get(at + 1).map(Field::marked) {
        Some("zipfile" | "tarfile") if unpacks => {
            rest.last().cloned().into_iter().flat_map(anything).collect()
        }
        Some("json.tool") if rest.len() > 1 => all(AccessKind::Write, rest.last()),
        _ => Vec::new(),
    }
}
