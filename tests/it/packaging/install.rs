//! `packaging/install.sh` and `packaging/uninstall.sh`.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use murmur::service::Service;
use murmur_agent::settings::HookProgram;
use serde_json::json;

use super::{made, root, script, tree};
use crate::env::{Env, programs};

fn install(env: &Env, from: &Path, prefix: &Path) -> String {
    script(env, "install.sh", &[Path::new("--from"), from, prefix]).run()
}

fn uninstall(env: &Env, prefix: &Path) -> String {
    script(env, "uninstall.sh", &[prefix]).run()
}

#[test]
fn installed_files_are_listed_and_all_are_removed() {
    let env = Env::new();
    let prefix = env.root().join("prefix");
    fs::create_dir_all(prefix.join("bin")).unwrap();
    fs::write(prefix.join("bin/other"), "").unwrap();
    let before = tree(&prefix);
    insta::assert_snapshot!(install(&env, &made(&env, "1.0.0"), &prefix));
    insta::assert_snapshot!(tree(&prefix), @"
    bin/
    bin/mm -> murmur
    bin/murmur
    bin/murmur-hook
    bin/other
    share/
    share/man/
    share/man/man1/
    share/man/man1/murmur.1
    share/murmur/
    share/murmur/files
    ");
    insta::assert_snapshot!(fs::read_to_string(prefix.join("share/murmur/files")).unwrap(), @"
    bin/mm
    bin/murmur
    bin/murmur-hook
    share/
    share/man/
    share/man/man1/
    share/man/man1/murmur.1
    share/murmur/
    ");
    insta::assert_snapshot!(uninstall(&env, &prefix));
    assert_eq!(tree(&prefix), before);
}

#[test]
fn the_default_prefix_is_in_home() {
    let env = Env::new();
    let from = made(&env, "1.0.0");
    let bin = env.home().join(".local/bin");
    let run = script(&env, "install.sh", &[Path::new("--from"), &from]);
    let inherited = std::env::var_os("PATH").unwrap();
    let both = [bin.to_str().unwrap(), programs(), inherited.to_str().unwrap()].join(":");
    // It is on the PATH, so nothing is printed about that.
    insta::assert_snapshot!(run.set("PATH", both).run());
    assert!(env.home().join(".local/bin/murmur-hook").exists());
}

#[test]
fn a_running_program_keeps_its_file_and_obsolete_files_are_removed() {
    let env = Env::new();
    let prefix = env.root().join("prefix");
    let first = made(&env, "1.0.0");
    fs::write(first.join("bin/gone"), "").unwrap();
    install(&env, &first, &prefix);
    let there = || fs::metadata(prefix.join("bin/murmur")).unwrap().ino();
    let open = fs::File::open(prefix.join("bin/murmur")).unwrap();
    let before = there();
    insta::assert_snapshot!(install(&env, &made(&env, "2.0.0"), &prefix));
    assert_ne!(there(), before);
    assert!(std::io::read_to_string(open).unwrap().contains("murmur 1.0.0"));
    assert!(!prefix.join("bin/gone").exists());
    uninstall(&env, &prefix);
    assert_eq!(tree(&prefix), "");
}

#[test]
fn installed_files_belong_to_the_installer_and_everybody_can_run_them() {
    let env = Env::new();
    let from = made(&env, "1.0.0");
    let prefix = env.root().join("prefix");
    let page = "share/man/man1/murmur.1";
    for (path, mode) in [("bin/murmur", 0o777), ("bin/murmur-hook", 0o4711), (page, 0o600)] {
        let path = from.join(path);
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode));
        // In a Nix build, the kernel refuses set-id files.
        set(mode).or_else(|_| set(mode & 0o777)).unwrap();
        // Only root can change an owner.
        if fs::metadata(env.root()).unwrap().uid() == 0 {
            chown(&path, Some(12345), Some(12345)).unwrap();
        }
    }
    // From a tarball that others can't read.
    let words = ["-c".as_ref(), "umask 077; exec bash \"$@\"".as_ref(), Path::new("bash")];
    let install = [&root().join("packaging/install.sh"), Path::new("--from"), &from, &prefix];
    let run = env.program("bash", [&words[..], &install[..]].concat());
    insta::assert_snapshot!(run.set("PATH", std::env::var_os("PATH").unwrap()).unset("MURMUR_DIR").run());
    let mine = fs::metadata(env.root()).unwrap().uid();
    let look = |path: &str| {
        let found = fs::symlink_metadata(prefix.join(path)).unwrap();
        assert_eq!(found.uid(), mine, "{path}");
        format!("{:o} {path}", found.permissions().mode() & 0o7777)
    };
    let paths = ["bin", "bin/murmur", "bin/murmur-hook", "share/man/man1", page, "share/murmur/files"];
    insta::assert_snapshot!(paths.map(look).join("\n"), @"
    755 bin
    755 bin/murmur
    755 bin/murmur-hook
    755 share/man/man1
    644 share/man/man1/murmur.1
    644 share/murmur/files
    ");
    assert_eq!(fs::read_link(prefix.join("bin/mm")).unwrap(), Path::new("murmur"));
    look("bin/mm");
}

#[test]
fn both_programs_are_renamed_last_and_in_sequence() {
    let env = Env::new();
    let (from, prefix) = (made(&env, "1.0.0"), env.root().join("prefix"));
    let told = env.root().join("told");
    fs::create_dir(&told).unwrap();
    let mv =
        "#!/bin/sh\nfor last; do :; done\necho \"$last\" >>\"$HOME/moves\"\nPATH=${PATH#*:} exec mv \"$@\"\n";
    fs::write(told.join("mv"), mv).unwrap();
    fs::set_permissions(told.join("mv"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", told.display(), std::env::var("PATH").unwrap());
    let arguments = [Path::new("--from"), &from, &prefix];
    insta::assert_snapshot!(script(&env, "install.sh", &arguments).set("PATH", path).run());
    let moves = fs::read_to_string(env.home().join("moves")).unwrap();
    insta::assert_snapshot!(moves.replace(&format!("{}/", prefix.display()), ""), @"
    share/murmur/files
    bin/mm
    share/man/man1/murmur.1
    bin/murmur-hook
    bin/murmur
    share/murmur/files
    ");
}

#[test]
fn if_a_foreign_file_is_in_the_way_nothing_is_changed() {
    let env = Env::new();
    let prefix = env.root().join("prefix");
    fs::create_dir_all(prefix.join("bin")).unwrap();
    fs::write(prefix.join("bin/mm"), "a mail reader").unwrap();
    let before = tree(&prefix);
    insta::assert_snapshot!(install(&env, &made(&env, "1.0.0"), &prefix));
    assert_eq!(tree(&prefix), before);
    fs::remove_file(prefix.join("bin/mm")).unwrap();
    fs::create_dir(prefix.join("bin/mm")).unwrap();
    insta::assert_snapshot!(install(&env, &made(&env, "1.0.1"), &prefix));
}

#[test]
fn destdir_is_prepended_and_not_a_place_to_run_from() {
    let env = Env::new();
    let stage = env.root().join("stage");
    let arguments = [Path::new("--from"), &made(&env, "1.0.0"), Path::new("/usr")];
    insta::assert_snapshot!(script(&env, "install.sh", &arguments).set("DESTDIR", &stage).run());
    assert!(stage.join("usr").join("bin/murmur").exists());
    insta::assert_snapshot!(script(&env, "uninstall.sh", &[Path::new("/usr")]).set("DESTDIR", &stage).run());
    assert_eq!(tree(&stage), "usr/");
}

#[test]
fn programs_in_use_are_not_removed() {
    let env = Env::new();
    let prefix = env.root().join("prefix");
    install(&env, &made(&env, "1.0.0"), &prefix);
    let before = tree(&prefix);

    let settings = env.home().join(".claude/settings.json");
    let hook =
        format!(r#"{{"command":"'{}' PreToolUse || exit 2"}}"#, prefix.join("bin/murmur-hook").display());
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, hook).unwrap();
    insta::assert_snapshot!(uninstall(&env, &prefix));
    fs::remove_file(settings).unwrap();

    let unit = env.home().join(".config/systemd/user/murmur.service");
    fs::create_dir_all(unit.parent().unwrap()).unwrap();
    fs::write(&unit, format!("ExecStart={}/bin/murmur start --foreground\n", prefix.display())).unwrap();
    insta::assert_snapshot!(uninstall(&env, &prefix));
    fs::remove_file(unit).unwrap();

    fs::write(env.home().join("status.json"), r#"{"daemon":{"pid":1}}"#).unwrap();
    insta::assert_snapshot!(uninstall(&env, &prefix));
    assert_eq!(tree(&prefix), before);

    fs::write(env.home().join("status.json"), r#"{"daemon":null}"#).unwrap();
    uninstall(&env, &prefix);
    assert_eq!(tree(&prefix), "");
}

/// A unit, a launchd agent and settings each quote a path in their own way.
#[test]
fn programs_in_use_are_found_however_their_paths_are_quoted() {
    let env = Env::new();
    let prefix = env.root().join("my \"tools\" & 100% it's $HOME <b>\\");
    install(&env, &made(&env, "1.0.0"), &prefix);
    let program = prefix.join("bin/murmur");
    let hook = HookProgram::at(prefix.join("bin/murmur-hook")).deciding("PreToolUse").unwrap();
    let service = Service { program, data_dir: env.data(), home: env.home(), environment: Vec::new() };
    for (name, text, said) in [
        (".claude/settings.json", json!({ "command": hook }).to_string(), "has hooks of this murmur"),
        (".config/systemd/user/murmur.service", service.unit().unwrap(), "starts this murmur"),
        ("Library/LaunchAgents/murmur.plist", service.plist().unwrap(), "starts this murmur"),
    ] {
        let file = env.home().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        let shown = uninstall(&env, &prefix);
        assert!(shown.contains(said) && shown.ends_with("[exit 1]"), "{name}: {shown}");
        fs::remove_file(file).unwrap();
    }
    assert!(uninstall(&env, &prefix).ends_with("[exit 0]"));
}

#[test]
fn programs_used_by_the_caller_of_sudo_are_not_removed() {
    let env = Env::new();
    let prefix = env.root().join("prefix");
    install(&env, &made(&env, "1.0.0"), &prefix);
    let caller = env.root().join("caller");
    let told = env.root().join("told");
    fs::create_dir(&told).unwrap();
    let getent = format!(
        "#!/bin/sh\n[ \"$*\" = 'passwd caller' ] && echo 'caller:x:1000:1000::{}:/bin/sh'\n",
        caller.display()
    );
    fs::write(told.join("getent"), getent).unwrap();
    fs::set_permissions(told.join("getent"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", told.display(), std::env::var("PATH").unwrap());
    let uninstall_for =
        |name: &str| script(&env, "uninstall.sh", &[&prefix]).set("PATH", &path).set("SUDO_USER", name).run();
    for (name, text) in [
        (".claude/settings.json", format!("'{}/bin/murmur-hook' PreToolUse", prefix.display())),
        (".config/systemd/user/murmur.service", format!("ExecStart={}/bin/murmur", prefix.display())),
        ("status.json", r#"{"daemon":{"pid":1}}"#.to_owned()),
    ] {
        let file = caller.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        insta::assert_snapshot!(uninstall_for("caller"));
        fs::remove_file(file).unwrap();
    }
    insta::assert_snapshot!(uninstall_for("nobody-known"));
    insta::assert_snapshot!(uninstall_for("caller"));
}

#[test]
fn a_file_list_that_names_outside_files_is_refused() {
    let env = Env::new();
    let prefix = env.root().join("prefix");
    fs::create_dir_all(prefix.join("share/murmur")).unwrap();
    fs::write(env.root().join("precious"), "").unwrap();
    for wrong in ["../precious", "bin/../../precious", "/etc/passwd", "bin/.."] {
        fs::write(prefix.join("share/murmur/files"), format!("{wrong}\n")).unwrap();
        let shown = uninstall(&env, &prefix);
        assert!(shown.contains("which is outside") && shown.ends_with("[exit 1]"), "{wrong}: {shown}");
        let shown = install(&env, &made(&env, "1.0.0"), &prefix);
        assert!(shown.contains("which is outside") && shown.ends_with("[exit 1]"), "{wrong}: {shown}");
        assert!(!prefix.join("bin").exists());
        fs::remove_dir_all(env.root().join("made-1.0.0")).unwrap();
    }
    assert!(env.root().join("precious").exists() && prefix.join("share/murmur/files").exists());
}

#[test]
fn without_an_installation_nothing_is_removed() {
    let env = Env::new();
    insta::assert_snapshot!(uninstall(&env, &env.home()));
    insta::assert_snapshot!(script(&env, "install.sh", &[Path::new("--from"), &env.home()]).run());
    insta::assert_snapshot!(script(&env, "install.sh", &[Path::new("--prefix")]).run());
    insta::assert_snapshot!(script(&env, "install.sh", &[Path::new("--help")]).run());
    insta::assert_snapshot!(script(&env, "uninstall.sh", &[Path::new("--help")]).run());
}
