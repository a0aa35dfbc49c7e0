//! Installation and packages: the scripts of `packaging/` with programs that are quick to build, and the
//! workflow that checks them on other systems. `tests/packaging.sh` does the same with the real programs.

mod install;
mod modules;
mod workflow;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::env::{Env, MURMUR, Run};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A script of `packaging/`, run by the available bash, with these arguments.
fn script(env: &Env, name: &str, arguments: &[&Path]) -> Run {
    let script = root().join("packaging").join(name);
    let words = [&[script.as_path()], arguments].concat();
    env.program("bash", words).set("PATH", std::env::var_os("PATH").unwrap()).unset("MURMUR_DIR")
}

/// Every file and link in a folder, each link with its target, in order.
fn tree(folder: &Path) -> String {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if entry.file_type().unwrap().is_dir() {
                found.push(format!("{name}/"));
                open.push(path);
            } else if let Ok(place) = fs::read_link(&path) {
                found.push(format!("{name} -> {}", place.display()));
            } else {
                found.push(name);
            }
        }
    }
    found.sort();
    found.join("\n")
}

/// A program that answers the scripts like murmur.
fn program(path: &Path, version: &str) {
    let text = format!(
        "#!/bin/sh\ncase $1 in\n--version) echo 'murmur {version}' ;;\nstatus) cat \"$HOME/status.json\" ;;\nesac\n"
    );
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A minimal version of what packaging/build.sh builds.
fn made(env: &Env, version: &str) -> PathBuf {
    let folder = env.root().join(format!("made-{version}"));
    program(&folder.join("bin/murmur"), version);
    program(&folder.join("bin/murmur-hook"), version);
    symlink("murmur", folder.join("bin/mm")).unwrap();
    fs::create_dir_all(folder.join("share/man/man1")).unwrap();
    fs::write(folder.join("share/man/man1/murmur.1"), version).unwrap();
    folder
}

#[test]
fn a_package_has_links_completions_and_manual_pages() {
    let env = Env::new();
    let prefix = env.root().join("prefix");
    fs::create_dir_all(prefix.join("bin")).unwrap();
    symlink(MURMUR, prefix.join("bin/murmur")).unwrap();
    insta::assert_snapshot!(script(&env, "layout.sh", &[&prefix]).run(), @"[exit 0]");
    let pages = tree(&prefix).lines().filter(|line| line.contains("man1/")).count();
    assert!(pages > 40, "{pages} manual pages");
    let others: Vec<String> =
        tree(&prefix).lines().filter(|line| !line.contains("man1/murmur-")).map(str::to_owned).collect();
    insta::assert_snapshot!(others.join("\n").replace(MURMUR, "[MURMUR]"));
    // None of the files created belongs to a data folder.
    assert!(!env.data().exists() && !env.home().join(".murmur").exists());
}

#[test]
fn a_layout_without_a_program_is_refused() {
    let env = Env::new();
    insta::assert_snapshot!(script(&env, "layout.sh", &[&env.home()]).run());
}
