//! Destruction of folder trees: removing, moving away, changing modes, emptying or overwriting.

use super::Assessment;
use super::device::is_device_itself;
use super::invocation::Invocation;
use super::path::{Target, target};
use super::table::OVER;
use crate::shell::Field;

/// Refuses `invocation` if it destroys a protected tree among `paths`.
fn destroys<'a>(invocation: &Invocation<'_>, paths: impl IntoIterator<Item = &'a Field>) -> Assessment {
    let mut assessment = Assessment::Clear;
    for path in paths {
        match target(path, invocation.scope) {
            Target::Protected(path) => {
                return Assessment::Refused(format!("{} (destroys {path})", invocation.quoted()));
            }
            Target::IfUnset(path) => {
                let why = format!(
                    "{} destroys a whole tree if the variable in {path} is empty: write `${{NAME:?}}` or the path",
                    invocation.quoted()
                );
                assessment = Assessment::Doubt(why);
            }
            Target::Other => {}
        }
    }
    assessment
}

/// `rm` and its equivalents.
pub(super) fn remove(invocation: &Invocation<'_>) -> Assessment {
    let operands = invocation.operands("", &[]);
    if let Some(device) = operands.iter().find(|path| is_device_itself(path, invocation.scope)) {
        return Assessment::Refused(format!("removing {device}"));
    }
    destroys(invocation, operands)
}

/// `mv` of a protected tree.
pub(super) fn move_away(invocation: &Invocation<'_>) -> Assessment {
    let operands = invocation.operands("tS", &["target-directory", "suffix"]);
    let has_target = invocation.value("-t", "target-directory").is_some();
    let count = operands.len() - usize::from(!has_target && !operands.is_empty());
    destroys(invocation, operands.into_iter().take(count))
}

/// `chmod -R`, `chown -R` and similar.
pub(super) fn change_modes(invocation: &Invocation<'_>) -> Assessment {
    if !invocation.has('R', "recursive") {
        return Assessment::Clear;
    }
    let has_mode = ["chmod", "chown", "chgrp", "gchmod", "gchown"].contains(&invocation.name().as_str());
    let refers = invocation.value("", "reference").is_some() || !has_mode;
    let operands = invocation.operands("", &["reference", "from"]);
    // These follow a link given as an operand.
    let operands = operands.into_iter().skip(usize::from(!refers)).filter(|path| !path.marked().is_empty());
    let operands: Vec<Field> =
        operands.map(|path| Field::from(format!("{}/", path.marked()).as_str())).collect();
    destroys(invocation, &operands)
}

/// `chmod 000 /`: the mode of the root or of a system tree, without -R.
pub(super) fn change_root_mode(invocation: &Invocation<'_>) -> Assessment {
    let closes = invocation.arguments().iter().any(|word| {
        ["000", "0", "0000", "a-rwx", "a-x", "-x", "-rwx", "a=", "ugo-rwx", "a-r", "-r"]
            .contains(&word.marked())
    });
    if !closes {
        return Assessment::Clear;
    }
    destroys(invocation, invocation.arguments().iter().filter(|word| !word.marked().starts_with('-')).skip(1))
}

/// `find … -delete`, `find … -exec rm …`
pub(super) fn find(invocation: &Invocation<'_>) -> Assessment {
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
            // `cp file {}` overwrites each result; `cp {} file` only reads it.
            "cp" => words
                .windows(2)
                .any(|pair| pair[0].marked() == "{}" && [";", "+", "\\;"].contains(&pair[1].marked())),
            "dd" => words.iter().any(|word| word.marked() == "of={}"),
            "sed" => is_emptying(words),
            _ => true,
        };
        REMOVES.contains(&program.marked()) && is_over || is_shell && mentions()
    });
    let deletes = invocation.has_any(&["-delete"]);
    if !deletes && !removes {
        return Assessment::Clear;
    }
    let is_narrow = words.iter().zip(words.iter().skip(1)).any(|(word, value)| {
        NARROW.contains(&word.marked()) && !value.marked().chars().all(|c| "*./?".contains(c))
    }) || invocation.has_any(&["-empty"]);
    let own = [Field::from(".")];
    let starts = if starts.is_empty() { own.iter().collect() } else { starts };
    if !is_narrow {
        return destroys(invocation, starts);
    }
    // A search for one kind of file in the user's home is fine; in a system tree it isn't.
    let home = invocation.scope.home().map(|home| home.marked().to_owned()).unwrap_or_default();
    let of_system = starts.into_iter().filter(|start| {
        let names = super::path::resolve(start, invocation.scope);
        !names.iter().all(|names| format!("/{}", names.join("/")).starts_with(&home))
    });
    destroys(invocation, of_system)
}

/// `rsync --delete` into a protected tree.
pub(super) fn rsync(invocation: &Invocation<'_>) -> Assessment {
    let deletes = invocation.arguments().iter().any(|word| word.marked().starts_with("--del"));
    let takes = invocation.has_any(&["--remove-source-files"]);
    let operands =
        invocation.operands("efTB", &["rsh", "filter", "exclude", "include", "exclude-from", "files-from"]);
    let count = operands.len().saturating_sub(1);
    let sources = operands.iter().take(if takes { count } else { 0 }).copied();
    let target = operands.last().copied().filter(|_| deletes);
    destroys(invocation, sources.chain(target))
}

/// `git clean -f` in a home folder or the root, and `git reset --hard` with one of these as its work tree.
pub(super) fn git_clean(invocation: &Invocation<'_>) -> Assessment {
    let operands = invocation.operands("Cc", &["git-dir", "work-tree"]);
    let tree = invocation.value("", "work-tree").or_else(|| invocation.scope.variable("GIT_WORK_TREE"));
    let folder = match operands.first().map(|word| word.marked()) {
        Some("clean") if invocation.has('f', "force") && !invocation.has('n', "dry-run") => {
            tree.or_else(|| invocation.value("-C", "")).unwrap_or_else(|| ".".into())
        }
        Some("reset") if invocation.has_any(&["--hard"]) => match tree {
            Some(tree) => tree,
            None => return Assessment::Clear,
        },
        _ => return Assessment::Clear,
    };
    destroys(invocation, [&folder])
}

/// Whether `sed -i` deletes every line.
fn is_emptying(words: &[Field]) -> bool {
    let in_place = |word: &Field| word.marked().starts_with("-i") || word.marked().starts_with("--in-place");
    let takes_all = |word: &Field| ["d", "1,$d", "Q", "1Q", "1d;d", "/./d", "/^/d"].contains(&word.marked());
    words.iter().any(in_place) && words.iter().any(takes_all)
}

/// Emptying every file of a tree, with arguments from a search: `cp /dev/null ~`, `sed -i d ~`, `truncate -s0 ~`
pub(super) fn empty_found(invocation: &Invocation<'_>) -> Assessment {
    let operands = invocation.operands("", &[]);
    let empties = match invocation.name().as_str() {
        "sed" | "gsed" => is_emptying(invocation.arguments()),
        "truncate" => {
            return destroys(invocation, invocation.operands("sro", &["size", "reference"]));
        }
        _ => operands.first().is_some_and(|source| ["/dev/null", "/dev/zero"].contains(&source.marked())),
    };
    if !empties {
        return Assessment::Clear;
    }
    destroys(invocation, operands.into_iter().skip(1))
}

/// `aws s3 sync remote folder --delete`, `aws s3 mv folder remote --recursive`, `gsutil rsync -d remote folder`
pub(super) fn cloud(invocation: &Invocation<'_>) -> Assessment {
    const VERBS: [&str; 6] = ["sync", "rsync", "mirror", "mv", "move", "cp"];
    let operands = invocation.operands("", &["exclude", "include", "profile", "region", "endpoint-url"]);
    let Some(at) = operands.iter().position(|word| VERBS.contains(&word.marked())) else {
        return Assessment::Clear;
    };
    let deletes = invocation.arguments().iter().any(|word| {
        let word = word.marked();
        word.starts_with("--delete") || word == "-d" || word == "--remove" || word == "--rsync-delete"
    });
    let paths = &operands[at + 1..];
    let is_local = |path: &&&Field| !path.marked().contains("://");
    match operands[at].marked() {
        "mv" | "move" => destroys(invocation, paths.first().filter(is_local).copied()),
        "cp" => Assessment::Clear,
        _ if deletes => destroys(invocation, paths.last().filter(is_local).copied()),
        _ => Assessment::Clear,
    }
}

/// `btrfs subvolume delete folder`
pub(super) fn subvolume(invocation: &Invocation<'_>) -> Assessment {
    let operands = invocation.operands("", &[]);
    match operands.as_slice() {
        [kind, verb, paths @ ..] if kind.marked().starts_with("sub") && verb.marked() == "delete" => {
            destroys(invocation, paths.iter().copied())
        }
        _ => Assessment::Clear,
    }
}

/// `ansible localhost -m file -a 'path=folder state=absent'`
pub(super) fn ansible_absent(invocation: &Invocation<'_>) -> Assessment {
    let text = invocation.value("-a", "args").map(|text| text.to_string()).unwrap_or_default();
    if !text.contains("state=absent") {
        return Assessment::Clear;
    }
    let paths: Vec<Field> = text
        .split_whitespace()
        .filter_map(|word| ["path=", "dest=", "name="].iter().find_map(|start| word.strip_prefix(start)))
        .map(Field::from)
        .collect();
    destroys(invocation, &paths)
}

/// `ln -sfn` replaces a protected tree with a link.
pub(super) fn replace_with_link(invocation: &Invocation<'_>) -> Assessment {
    let last = invocation.operands("tS", &["target-directory"]);
    let replaces = invocation.has('f', "force")
        && invocation.has('s', "symbolic")
        && invocation.has('n', "no-dereference");
    match last.last() {
        Some(path) if replaces && last.len() > 1 => destroys(invocation, [*path]),
        _ => Assessment::Clear,
    }
}

/// `tar --remove-files`
pub(super) fn tar_remove_files(invocation: &Invocation<'_>) -> Assessment {
    if !invocation.arguments().iter().any(|word| word.marked().starts_with("--rem")) {
        return Assessment::Clear;
    }
    let folder = invocation.value("-C", "directory");
    destroys(invocation, invocation.operands("fCT", &["file", "directory"]).into_iter().chain(&folder))
}

/// Overwriting every file of a tree: `for f in ~/*; do > "$f"; done`
pub(super) fn overwrite_all(invocation: &Invocation<'_>) -> Assessment {
    // All that is known of search results is the tree that they are in.
    let is_found = |path: &&Field| {
        invocation.name() == OVER
            && super::path::resolve(path, invocation.scope)
                .iter()
                .all(|names| names.len() != 2 || names[0] != "etc")
    };
    let all = invocation.arguments().iter().filter(|path| is_found(path) || is_all_within(path));
    destroys(invocation, all)
}

/// Whether the path is a glob for everything in its folder.
fn is_all_within(path: &Field) -> bool {
    let base = path.base();
    !base.marked().is_empty() && base.is_pattern() && !base.has_letters()
}

/// `zip -m`, `7z a -sdel`, `rar m`: archivers that remove what they pack.
pub(super) fn pack_and_remove(invocation: &Invocation<'_>) -> Assessment {
    let operands = invocation.operands("bntP", &[]);
    let moves = match invocation.name().as_str() {
        "zip" => invocation.has('m', "move"),
        "rar" | "arj" | "lha" => {
            invocation.has_any(&["-df", "-dw"])
                || operands.first().is_some_and(|word| word.marked().starts_with('m'))
        }
        _ => invocation.has_any(&["-sdel"]),
    };
    if !moves {
        return Assessment::Clear;
    }
    destroys(invocation, operands)
}

/// `rclone purge ~`, `rclone move ~ remote:`, `rclone sync x ~`
pub(super) fn rclone(invocation: &Invocation<'_>) -> Assessment {
    let operands = invocation.operands("", &[]);
    match operands.first().map(|word| word.marked()) {
        Some("purge" | "delete" | "rmdirs" | "rmdir" | "move" | "moveto" | "dedupe") => {
            destroys(invocation, operands.into_iter().skip(1).take(1))
        }
        Some("sync" | "bisync") => destroys(invocation, operands.into_iter().skip(2)),
        _ => Assessment::Clear,
    }
}

/// Subcommands that remove: `cmake -E rm`, `aws s3 sync --delete`, `btrfs subvolume delete`
pub(super) fn by_subcommand(invocation: &Invocation<'_>) -> Assessment {
    let operands = invocation.operands("", &[]);
    let says = |words: &[&str]| invocation.has_any(words);
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

/// Programs that remove what they find: duplicates, old files, files missing elsewhere.
pub(super) fn prune(invocation: &Invocation<'_>) -> Assessment {
    let removes = match invocation.name().as_str() {
        "fdupes" | "jdupes" => invocation.has('d', "delete"),
        "rdfind" => {
            let words = invocation.arguments();
            let pairs = words.iter().zip(words.iter().skip(1));
            pairs
                .into_iter()
                .any(|(word, value)| word.marked() == "-deleteduplicates" && value.marked() == "true")
        }
        "robocopy" => invocation.has_any(&["/mir", "/MIR", "/purge", "/PURGE", "/mov", "/move", "/MOVE"]),
        "unison" => invocation.has_any(&["-force"]),
        _ => !invocation.has('t', "test"),
    };
    if !removes {
        return Assessment::Clear;
    }
    destroys(invocation, invocation.operands("", &[]))
}
