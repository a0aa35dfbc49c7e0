//! More of the files that a command would write: those that stand within a text that its program takes for commands, as
//! `vim -c 'w! file'`, and those of programs that write in ways of their own.

use super::invocation::Invocation;
use super::touch::{Kind, Touch, all};
use crate::permit::shell::Field;

/// Programs, and what has to be in a text of theirs for it to write the files that it names.
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

/// What stands in code that copies, links or unpacks to the path that it names last.
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

/// What `invocation` touches besides.
pub(super) fn by(invocation: &Invocation<'_>) -> Vec<Touch> {
    let name = invocation.name();
    let mut touched = texts(invocation, &name);
    let operands = || invocation.operands("", &[]);
    let last = |kind| all(kind, operands().last().copied());
    touched.extend(match name.as_str() {
        "uniq" | "link" | "pdftotext" => all(Kind::Write, operands().into_iter().skip(1)),
        "rename" | "prename" | "perl-rename" | "mmv" | "zstd" | "patchelf" | "upx"
            if !invocation.says(&["-n"]) =>
        {
            all(Kind::Write, operands())
        }
        "zip" => all(Kind::Write, operands().into_iter().take(1)),
        "7z" | "7za" | "7zz" if operands().first().is_some_and(|word| word.marked() == "a") => {
            all(Kind::Write, operands().into_iter().skip(1).take(1))
        }
        "cmake" if invocation.says(&["-E"]) => [last(Kind::Write), last(Kind::Tree)].concat(),
        "gio" | "tmpreaper" | "tmpwatch" | "bindfs" => all(Kind::Remove, operands()),
        "mount" if invocation.has('B', "bind") || operands().len() > 1 || invocation.says(&["bind"]) => {
            [last(Kind::Remove), last(Kind::Tree)].concat()
        }
        "pax" | "stow" => {
            let target = invocation.value("-t", "target");
            [all(Kind::Tree, &target), last(Kind::Tree)].concat()
        }
        "docker" | "podman" | "nerdctl" | "kubectl" | "docker-compose" => copied_out(invocation),
        "aws" | "gsutil" | "gcloud" | "s3cmd" | "rclone" | "mc" | "az" => stored(invocation),
        "ssh-copy-id" | "ssh-import-id" => vec![keys(invocation, &name)].into_iter().flatten().collect(),
        "rsync" | "scp" | "sftp" => {
            operands().into_iter().filter_map(|word| here(word, invocation)).flat_map(anything).collect()
        }
        "ansible" => pairs(invocation, &["dest", "path", "name"]),
        "history" | "fc" => {
            all(Kind::Write, operands().into_iter().filter(|_| invocation.says(&["-w", "-a"])))
        }
        "bash" | "zsh" | "sh" => variables(invocation, &["HISTFILE"]),
        "script" => {
            all(Kind::Write, &invocation.value("-O", "log-out").or_else(|| invocation.value("-B", "log-io")))
        }
        "wget" => [("-a", "append-output"), ("", "save-cookies"), ("", "rejected-log")]
            .iter()
            .flat_map(|(short, long)| all(Kind::Write, &invocation.value(short, long)))
            .collect(),
        "curl" => ["etag-save", "libcurl", "hsts", "alt-svc"]
            .iter()
            .flat_map(|long| all(Kind::Write, &invocation.value("", long)))
            .chain(attached(invocation, 'o'))
            .collect(),
        "time" | "gtime" => attached(invocation, 'o').collect(),
        "gawk" | "awk" => ["-d", "-o", "-p"].iter().flat_map(|short| dumped(invocation, short)).collect(),
        "tar" | "gtar" | "bsdtar" => {
            let files = ["index-file", "listed-incremental"];
            let files = files.iter().flat_map(|long| all(Kind::Write, &invocation.value("", long)));
            let top = all(Kind::Tree, &invocation.value("", "one-top-level"));
            let state = all(Kind::Write, &invocation.value("-g", ""));
            let packed = if invocation.says(&["--remove-files", "--remove"]) {
                all(Kind::Remove, invocation.operands("fCT", &["file", "directory"]))
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
        touched.extend(all(Kind::Remove, operands()));
    }
    touched
}

fn anything(path: Field) -> [Touch; 2] {
    [Touch { path: path.clone(), kind: Kind::Write }, Touch { path, kind: Kind::Tree }]
}

/// What is named in texts that the program takes for commands.
fn texts(invocation: &Invocation<'_>, name: &str) -> Vec<Touch> {
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

/// What looks like a path in a text.
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

/// A path in which `~` is the home folder.
fn expanded(path: &str, invocation: &Invocation<'_>) -> Field {
    match (path.strip_prefix("~/"), invocation.scope.home()) {
        (Some(rest), Some(home)) => Field::from(format!("{}/{rest}", home.marked()).as_str()),
        _ => path.into(),
    }
}

/// The value of a letter that stands last in a cluster: `-sofile`, `-ao file`.
fn attached<'a>(invocation: &Invocation<'a>, letter: char) -> impl Iterator<Item = Touch> + 'a {
    let words = invocation.arguments();
    words.iter().enumerate().filter_map(move |(at, word)| {
        let letters = word.marked().strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
        let (before, value) = letters.split_once(letter)?;
        if before.len() > 6 || !before.chars().all(char::is_alphabetic) {
            return None;
        }
        let path = if value.is_empty() { words.get(at + 1)?.clone() } else { value.into() };
        Some(Touch { path, kind: Kind::Write })
    })
}

/// `gawk -dfile`
fn dumped(invocation: &Invocation<'_>, short: &str) -> Vec<Touch> {
    let words = invocation.arguments().iter();
    let files = words.filter_map(|word| word.marked().strip_prefix(short)).filter(|file| file.contains('/'));
    files.map(|file| Touch { path: file.into(), kind: Kind::Write }).collect()
}

/// `docker cp container:file file`
fn copied_out(invocation: &Invocation<'_>) -> Vec<Touch> {
    let operands = invocation.operands("", &[]);
    let copies = operands.iter().take(2).any(|word| word.marked() == "cp");
    let target = operands.last().filter(|path| copies && !path.marked().contains(':'));
    target.into_iter().flat_map(|path| anything((*path).clone())).collect()
}

/// `aws s3 cp s3://b/a file`; and what `mv` and `--delete` take away.
fn stored(invocation: &Invocation<'_>) -> Vec<Touch> {
    let operands = invocation.operands("", &[]);
    let copies =
        operands.iter().any(|word| ["cp", "mv", "sync", "rsync", "get", "mirror"].contains(&word.marked()));
    let target = operands.last().filter(|path| copies && !path.marked().contains("://"));
    target.into_iter().flat_map(|path| anything((*path).clone())).collect()
}

/// `ssh-copy-id localhost`: a key of this user's.
fn keys(invocation: &Invocation<'_>, name: &str) -> Option<Touch> {
    let is_here = invocation.operands("ipo", &[]).iter().any(|word| {
        let host = word.marked().rsplit('@').next().unwrap_or_default();
        ["localhost", "127.0.0.1", "::1"].contains(&host)
    });
    let home = invocation.scope.home()?;
    let path = Field::from(format!("{}/.ssh/authorized_keys", home.marked()).as_str());
    (is_here || name == "ssh-import-id").then_some(Touch { path, kind: Kind::Write })
}

/// The path of `localhost:path`, which counts from home.
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
fn pairs(invocation: &Invocation<'_>, keys: &[&str]) -> Vec<Touch> {
    let texts = invocation.arguments().iter().map(Field::marked);
    let pairs = texts.flat_map(str::split_whitespace).filter_map(|pair| pair.split_once('='));
    let paths = pairs.filter(|(key, _)| keys.contains(key)).map(|(_, path)| expanded(path, invocation));
    paths.flat_map(anything).collect()
}

/// The files that variables name which a program writes.
fn variables(invocation: &Invocation<'_>, names: &[&str]) -> Vec<Touch> {
    let files = names.iter().flat_map(|name| invocation.scope.given(name));
    files.map(|path| Touch { path, kind: Kind::Write }).collect()
}

/// What git writes by name.
fn git(invocation: &Invocation<'_>) -> Vec<Touch> {
    const FOLDERS: [&str; 2] = ["git-dir", "work-tree"];
    let traces = [
        "GIT_TRACE",
        "GIT_TRACE2",
        "GIT_TRACE2_EVENT",
        "GIT_TRACE2_PERF",
        "GIT_TRACE_SETUP",
        "GIT_TRACE_PACKET",
    ];
    let mut touched = variables(invocation, &traces);
    let operands = invocation.operands("Ccbo", &FOLDERS);
    let Some((verb, rest)) = operands.split_first() else { return touched };
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
    touched.extend(match verb.marked() {
        "config" => {
            let reads = ["--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list"];
            let file = invocation
                .value("-f", "file")
                .filter(|_| !invocation.says(&reads) && rest.clone().count() > 1);
            all(Kind::Write, &file)
        }
        "bundle" | "merge-file" => all(Kind::Write, rest.map(within).collect::<Vec<_>>().iter()),
        "checkout" | "restore" | "checkout-index" | "mv" | "rm" => {
            let prefix = invocation.value("", "prefix");
            let paths: Vec<Field> = rest.map(within).collect();
            let is_kept = invocation.says(&["--cached", "--staged"]) && !invocation.says(&["--worktree"]);
            let kind = if verb.marked() == "rm" { Kind::Remove } else { Kind::Write };
            let mut touched = if is_kept { Vec::new() } else { all(kind, &paths) };
            touched.extend(prefix.into_iter().flat_map(anything));
            touched
        }
        "apply" => {
            let included = invocation.value("", "include");
            let below = invocation.value("", "directory");
            [all(Kind::Write, &included), all(Kind::Tree, &below)].concat()
        }
        "clone" => rest.skip(1).flat_map(|path| anything(within(path))).collect(),
        "worktree" => rest.skip(1).take(1).flat_map(|path| anything(within(path))).collect(),
        "clean" if invocation.has('f', "force") && !invocation.has('n', "dry-run") => {
            let paths: Vec<Field> = rest.map(within).collect();
            let folder = invocation.value("-C", "work-tree").filter(|_| paths.is_empty());
            all(Kind::Remove, paths.iter().chain(&folder))
        }
        "read-tree" => all(Kind::Write, &invocation.value("", "index-output")),
        "diff" | "log" | "show" | "archive" => {
            all(Kind::Write, &invocation.value("", "output").map(|path| within(&path)))
        }
        _ => Vec::new(),
    });
    touched
}

/// `python3 -m zipfile -e file folder`, `python3 -m json.tool from to`
fn module(invocation: &Invocation<'_>) -> Vec<Touch> {
    let words = invocation.arguments();
    let Some(at) = words.iter().position(|word| word.marked() == "-m") else { return Vec::new() };
    let rest = words.get(at + 2..).unwrap_or_default();
    let unpacks = rest.iter().any(|word| ["-e", "--extract"].contains(&word.marked()));
    match words.get(at + 1).map(Field::marked) {
        Some("zipfile" | "tarfile") if unpacks => {
            rest.last().cloned().into_iter().flat_map(anything).collect()
        }
        Some("json.tool") if rest.len() > 1 => all(Kind::Write, rest.last()),
        _ => Vec::new(),
    }
}
