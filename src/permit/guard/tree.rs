//! Destruction of trees: by removing them, moving them away, taking their rights, emptying or overwriting them.

use super::Judgement;
use super::device::is_device_itself;
use super::invocation::Invocation;
use super::path::{Target, target};
use super::table::OVER;
use crate::permit::shell::Field;

/// The judgement on destroying `paths`, done by `invocation`.
fn destroys<'a>(invocation: &Invocation<'_>, paths: impl IntoIterator<Item = &'a Field>) -> Judgement {
    let mut judgement = Judgement::Clear;
    for path in paths {
        match target(path, invocation.scope) {
            Target::Protected(path) => {
                return Judgement::Refused(format!("{}, which destroys {path},", invocation.written()));
            }
            Target::Perhaps(path) => {
                let why = format!(
                    "{} destroys a whole tree if the variable in {path} is empty: write `${{NAME:?}}` or the path",
                    invocation.written()
                );
                judgement = Judgement::Doubt(why);
            }
            Target::Other => {}
        }
    }
    judgement
}

/// `rm` and what removes in its way.
pub(super) fn remove(invocation: &Invocation<'_>) -> Judgement {
    let operands = invocation.operands("", &[]);
    if let Some(device) = operands.iter().find(|path| is_device_itself(path, invocation.scope)) {
        return Judgement::Refused(format!("removing {device}"));
    }
    destroys(invocation, operands)
}

/// `mv` of a tree to elsewhere.
pub(super) fn relocate(invocation: &Invocation<'_>) -> Judgement {
    let operands = invocation.operands("tS", &["target-directory", "suffix"]);
    let has_target = invocation.value("-t", "target-directory").is_some();
    let count = operands.len() - usize::from(!has_target && !operands.is_empty());
    destroys(invocation, operands.into_iter().take(count))
}

/// `chmod -R`, `chown -R` and their like.
pub(super) fn rights(invocation: &Invocation<'_>) -> Judgement {
    if !invocation.has('R', "recursive") {
        return Judgement::Clear;
    }
    let has_mode = ["chmod", "chown", "chgrp", "gchmod", "gchown"].contains(&invocation.name().as_str());
    let refers = invocation.value("", "reference").is_some() || !has_mode;
    let operands = invocation.operands("", &["reference", "from"]);
    // A link that is named is followed.
    let operands = operands.into_iter().skip(usize::from(!refers)).filter(|path| !path.marked().is_empty());
    let operands: Vec<Field> =
        operands.map(|path| Field::from(format!("{}/", path.marked()).as_str())).collect();
    destroys(invocation, &operands)
}

/// `chmod 000 /`: the rights of the root, or of a tree of the system, alone.
pub(super) fn shut(invocation: &Invocation<'_>) -> Judgement {
    let closes = invocation.arguments().iter().any(|word| {
        ["000", "0", "0000", "a-rwx", "a-x", "-x", "-rwx", "a=", "ugo-rwx", "a-r", "-r"]
            .contains(&word.marked())
    });
    if !closes {
        return Judgement::Clear;
    }
    destroys(invocation, invocation.arguments().iter().filter(|word| !word.marked().starts_with('-')).skip(1))
}

/// `find … -delete`, `find … -exec rm …`
pub(super) fn find(invocation: &Invocation<'_>) -> Judgement {
    const REMOVES: [&str; 14] = [
        "rm",
        "sed",
        "unlink",
        "rmdir",
        "mv",
        "chmod",
        "chown",
        "truncate",
        "tee",
        "sponge",
        "shred",
        "dd",
        "cp",
        "fallocate",
    ];
    const NARROW: [&str; 18] = [
        "-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-mtime", "-mmin", "-atime", "-ctime",
        "-size", "-user", "-newer", "-empty", "-perm", "-group", "-inum", "-amin",
    ];
    let words = invocation.arguments();
    let skipped = words.iter().take_while(|word| ["-L", "-H", "-P", "--"].contains(&word.marked())).count();
    let starts = words[skipped..].iter().take_while(|word| !word.marked().starts_with(['-', '(', '!']));
    let starts: Vec<&Field> = starts.collect();
    let executes = words.iter().enumerate().find_map(|(at, word)| {
        let runs = ["-exec", "-execdir", "-ok", "-okdir"].contains(&word.marked());
        words.get(at + 1).filter(|_| runs).map(Field::base)
    });
    let removes = executes.is_some_and(|program| {
        let is_shell = program.marked().ends_with("sh");
        let mentions = || {
            words.iter().map(Field::marked).any(|text| {
                let empties = ["> \"$", ">\"$", "> $", ">$"].iter().any(|start| text.contains(start));
                text.contains("rm ") || empties && !text.contains(">>")
            })
        };
        let is_over = match program.marked() {
            // What is copied onto each of them, not each of them elsewhere.
            "cp" => words
                .windows(2)
                .any(|pair| pair[0].marked() == "{}" && [";", "+", "\\;"].contains(&pair[1].marked())),
            "dd" => words.iter().any(|word| word.marked() == "of={}"),
            "sed" => is_emptying(words),
            _ => true,
        };
        REMOVES.contains(&program.marked()) && is_over || is_shell && mentions()
    });
    let deletes = invocation.says(&["-delete"]);
    if !deletes && !removes {
        return Judgement::Clear;
    }
    let is_narrow = words.iter().zip(words.iter().skip(1)).any(|(word, value)| {
        NARROW.contains(&word.marked()) && !value.marked().chars().all(|c| "*./?".contains(c))
    }) || invocation.says(&["-empty"]);
    let own = [Field::from(".")];
    let starts = if starts.is_empty() { own.iter().collect() } else { starts };
    if !is_narrow {
        return destroys(invocation, starts);
    }
    // A search in somebody's home for something of their own is theirs; one in the system's trees is not.
    let home = invocation.scope.home().map(|home| home.marked().to_owned()).unwrap_or_default();
    let of_system = starts.into_iter().filter(|start| {
        let names = super::path::resolve(start, invocation.scope);
        !names.iter().all(|names| format!("/{}", names.join("/")).starts_with(&home))
    });
    destroys(invocation, of_system)
}

/// `rsync --delete` into a tree.
pub(super) fn mirror(invocation: &Invocation<'_>) -> Judgement {
    let deletes = invocation.arguments().iter().any(|word| word.marked().starts_with("--del"));
    let takes = invocation.says(&["--remove-source-files"]);
    let operands =
        invocation.operands("efTB", &["rsh", "filter", "exclude", "include", "exclude-from", "files-from"]);
    let count = operands.len().saturating_sub(1);
    let sources = operands.iter().take(if takes { count } else { 0 }).copied();
    let target = operands.last().copied().filter(|_| deletes);
    destroys(invocation, sources.chain(target))
}

/// `git clean -f` where everything is: in a home folder, in the root; `git reset --hard` where these are named as its work
/// tree.
pub(super) fn clean(invocation: &Invocation<'_>) -> Judgement {
    let operands = invocation.operands("Cc", &["git-dir", "work-tree"]);
    let tree = invocation.value("", "work-tree").or_else(|| invocation.scope.variable("GIT_WORK_TREE"));
    let folder = match operands.first().map(|word| word.marked()) {
        Some("clean") if invocation.has('f', "force") && !invocation.has('n', "dry-run") => {
            tree.or_else(|| invocation.value("-C", "")).unwrap_or_else(|| ".".into())
        }
        Some("reset") if invocation.says(&["--hard"]) => match tree {
            Some(tree) => tree,
            None => return Judgement::Clear,
        },
        _ => return Judgement::Clear,
    };
    destroys(invocation, [&folder])
}

/// Whether `sed` takes away all lines of a file in its place.
fn is_emptying(words: &[Field]) -> bool {
    let in_place = |word: &Field| word.marked().starts_with("-i") || word.marked().starts_with("--in-place");
    let takes_all = |word: &Field| ["d", "1,$d", "Q", "1Q", "1d;d", "/./d", "/^/d"].contains(&word.marked());
    words.iter().any(in_place) && words.iter().any(takes_all)
}

/// Every file of a tree emptied, as what is found there is: `cp /dev/null ~`, `sed -i d ~`, `truncate -s0 ~`
pub(super) fn blank(invocation: &Invocation<'_>) -> Judgement {
    let operands = invocation.operands("", &[]);
    let empties = match invocation.name().as_str() {
        "sed" | "gsed" => is_emptying(invocation.arguments()),
        "truncate" => {
            return destroys(invocation, invocation.operands("sro", &["size", "reference"]));
        }
        _ => operands.first().is_some_and(|source| ["/dev/null", "/dev/zero"].contains(&source.marked())),
    };
    if !empties {
        return Judgement::Clear;
    }
    destroys(invocation, operands.into_iter().skip(1))
}

/// `aws s3 sync remote folder --delete`, `aws s3 mv folder remote --recursive`, `gsutil rsync -d remote folder`
pub(super) fn cloud(invocation: &Invocation<'_>) -> Judgement {
    const VERBS: [&str; 6] = ["sync", "rsync", "mirror", "mv", "move", "cp"];
    let operands = invocation.operands("", &["exclude", "include", "profile", "region", "endpoint-url"]);
    let Some(at) = operands.iter().position(|word| VERBS.contains(&word.marked())) else {
        return Judgement::Clear;
    };
    let deletes = invocation.arguments().iter().any(|word| {
        let word = word.marked();
        word.starts_with("--delete") || word == "-d" || word == "--remove" || word == "--rsync-delete"
    });
    let paths = &operands[at + 1..];
    let is_local = |path: &&&Field| !path.marked().contains("://");
    match operands[at].marked() {
        "mv" | "move" => destroys(invocation, paths.first().filter(is_local).copied()),
        "cp" => Judgement::Clear,
        _ if deletes => destroys(invocation, paths.last().filter(is_local).copied()),
        _ => Judgement::Clear,
    }
}

/// `btrfs subvolume delete folder`
pub(super) fn subvolume(invocation: &Invocation<'_>) -> Judgement {
    let operands = invocation.operands("", &[]);
    match operands.as_slice() {
        [kind, verb, paths @ ..] if kind.marked().starts_with("sub") && verb.marked() == "delete" => {
            destroys(invocation, paths.iter().copied())
        }
        _ => Judgement::Clear,
    }
}

/// `ansible localhost -m file -a 'path=folder state=absent'`
pub(super) fn absent(invocation: &Invocation<'_>) -> Judgement {
    let text = invocation.value("-a", "args").map(|text| text.to_string()).unwrap_or_default();
    if !text.contains("state=absent") {
        return Judgement::Clear;
    }
    let paths: Vec<Field> = text
        .split_whitespace()
        .filter_map(|word| ["path=", "dest=", "name="].iter().find_map(|start| word.strip_prefix(start)))
        .map(Field::from)
        .collect();
    destroys(invocation, &paths)
}

/// Emptying, or overwriting, what is a tree's own file; or what stands in its place.
pub(super) fn into(invocation: &Invocation<'_>) -> Judgement {
    let last = invocation.operands("tS", &["target-directory"]);
    let replaces = invocation.has('f', "force")
        && invocation.has('s', "symbolic")
        && invocation.has('n', "no-dereference");
    match last.last() {
        Some(path) if replaces && last.len() > 1 => destroys(invocation, [*path]),
        _ => Judgement::Clear,
    }
}

/// `tar --remove-files`
pub(super) fn pack(invocation: &Invocation<'_>) -> Judgement {
    if !invocation.arguments().iter().any(|word| word.marked().starts_with("--rem")) {
        return Judgement::Clear;
    }
    let folder = invocation.value("-C", "directory");
    destroys(invocation, invocation.operands("fCT", &["file", "directory"]).into_iter().chain(&folder))
}

/// Every file of a tree written over: `for f in ~/*; do > "$f"; done`
pub(super) fn emptied(invocation: &Invocation<'_>) -> Judgement {
    // Of what is looked for in a tree, only the tree is known.
    let is_found = |path: &&Field| {
        invocation.name() == OVER
            && super::path::resolve(path, invocation.scope)
                .iter()
                .all(|names| names.len() != 2 || names[0] != "etc")
    };
    let all = invocation.arguments().iter().filter(|path| is_found(path) || is_all_within(path));
    destroys(invocation, all)
}

/// Whether the path stands for all that is in its folder.
fn is_all_within(path: &Field) -> bool {
    let base = path.base();
    !base.marked().is_empty() && base.is_pattern() && base.marked().chars().all(|c| !c.is_alphanumeric())
}

/// `zip -m`, `7z a -sdel`, `rar m`: what is packed is removed.
pub(super) fn archive(invocation: &Invocation<'_>) -> Judgement {
    let operands = invocation.operands("bntP", &[]);
    let moves = match invocation.name().as_str() {
        "zip" => invocation.has('m', "move"),
        "rar" | "arj" | "lha" => {
            invocation.says(&["-df", "-dw"])
                || operands.first().is_some_and(|word| word.marked().starts_with('m'))
        }
        _ => invocation.says(&["-sdel"]),
    };
    if !moves {
        return Judgement::Clear;
    }
    destroys(invocation, operands)
}

/// `rclone purge ~`, `rclone move ~ remote:`, `rclone sync x ~`
pub(super) fn remote(invocation: &Invocation<'_>) -> Judgement {
    let operands = invocation.operands("", &[]);
    match operands.first().map(|word| word.marked()) {
        Some("purge" | "delete" | "rmdirs" | "rmdir" | "move" | "moveto" | "dedupe") => {
            destroys(invocation, operands.into_iter().skip(1).take(1))
        }
        Some("sync" | "bisync") => destroys(invocation, operands.into_iter().skip(2)),
        _ => Judgement::Clear,
    }
}

/// Programs that remove by a word of theirs: `cmake -E rm`, `aws s3 sync --delete`, `btrfs subvolume delete`
pub(super) fn by_tool(invocation: &Invocation<'_>) -> Judgement {
    let operands = invocation.operands("", &[]);
    let says = |words: &[&str]| invocation.says(words);
    let (sources, targets) = match invocation.name().as_str() {
        "cmake" => (says(&["-E"]) && says(&["rm", "remove", "remove_directory"]), false),
        "btrfs" => (says(&["subvolume", "sub"]) && says(&["delete", "del"]), false),
        "lftp" => {
            // `mirror -R --delete from to`
            let texts = invocation.arguments().iter().map(Field::marked);
            let mirrors = texts.filter(|text| text.contains("mirror") && text.contains("--delete"));
            let home = invocation.scope.home().map(Field::marked).unwrap_or("~");
            let paths = mirrors
                .flat_map(str::split_whitespace)
                .map(|word| Field::from(word.replace('~', home).as_str()));
            return destroys(
                invocation,
                &paths.filter(|path| path.marked().starts_with('/')).collect::<Vec<_>>(),
            );
        }
        _ => (
            says(&["mv"]),
            says(&["sync", "rsync"]) && says(&["--delete", "--delete-removed", "-d"])
                || says(&["rsync"]) && says(&["-rd", "-dr"]),
        ),
    };
    let is_here = |path: &&&Field| !path.marked().contains("://");
    let last = operands.last().filter(|_| targets).filter(is_here);
    let taken = operands.iter().filter(|_| sources).filter(is_here);
    destroys(invocation, taken.chain(last).copied())
}

/// Programs that remove what they find: doubles, what is old, what is not elsewhere.
pub(super) fn prune(invocation: &Invocation<'_>) -> Judgement {
    let removes = match invocation.name().as_str() {
        "fdupes" | "jdupes" => invocation.has('d', "delete"),
        "rdfind" => {
            let words = invocation.arguments();
            let pairs = words.iter().zip(words.iter().skip(1));
            pairs
                .into_iter()
                .any(|(word, value)| word.marked() == "-deleteduplicates" && value.marked() == "true")
        }
        "robocopy" => invocation.says(&["/mir", "/MIR", "/purge", "/PURGE", "/mov", "/move", "/MOVE"]),
        "unison" => invocation.says(&["-force"]),
        _ => !invocation.has('t', "test"),
    };
    if !removes {
        return Judgement::Clear;
    }
    destroys(invocation, invocation.operands("", &[]))
}
