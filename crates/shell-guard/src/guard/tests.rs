//! Checks the examples of each row in both tables.

use super::*;
use crate::shell::wrapper;

fn place() -> CallPlace {
    CallPlace {
        cwd: "/home/me/work".into(),
        workspace: "/home/me/work".into(),
        home: "/home/me".into(),
        own: ProtectedPaths::default(),
    }
}

fn entry(line: &str) -> Option<&'static str> {
    match inspect(line, &place()) {
        Finding::Refused { entry, .. } => Some(entry),
        _ => None,
    }
}

#[test]
fn every_danger_refuses_only_its_first_example() {
    for danger in TABLE {
        assert_eq!(entry(danger.matches), Some(danger.entry), "{}", danger.matches);
        assert_eq!(inspect(danger.not_match, &place()), Finding::Clear, "{}", danger.not_match);
    }
}

#[test]
fn every_wrapper_runs_a_command_only_in_its_first_example() {
    for wrapper in wrapper::TABLE {
        assert!(entry(wrapper.matches).is_some(), "{}", wrapper.matches);
        assert_eq!(inspect(wrapper.not_match, &place()), Finding::Clear, "{}", wrapper.not_match);
    }
}

/// A fake disk for these tests.
#[test]
fn a_very_long_word_with_braces_is_not_expanded() {
    let line = |length: usize| format!("echo {{a,b}}{}", "c".repeat(length));
    assert_eq!(inspect(&line(1 << 10), &place()), Finding::Clear);
    assert!(matches!(inspect(&line(1 << 17), &place()), Finding::Doubt { .. }));
}

fn read_link(path: &std::path::Path) -> Option<std::path::PathBuf> {
    let target = match path.to_str()?.strip_prefix("/home/me/work/")? {
        "passwd" => "/etc/passwd",
        "etc" => "/etc",
        "root" => "/",
        "boot" => "/boot",
        "disk" => "/dev/sda",
        "home" => "..",
        "far" => "etc",
        "git" => ".git",
        "ours" => "src",
        "round" => "round",
        _ => return None,
    };
    Some(target.into())
}

#[test]
fn links_on_disk_are_followed() {
    let found = |line: &str| {
        let input = serde_json::json!({ "command": line });
        inspect_call_with_links(&Call { tool: "Bash".to_owned(), input, place: place() }, read_link)
    };
    for line in [
        "echo x > passwd",
        "cp a etc/passwd",
        "cp a far/passwd",
        "echo x > root/etc/passwd",
        "echo x > boot/x",
        "rm -rf home/*",
        "rm -rf home/",
        "cd home && rm -rf *",
        "cd etc && cp x passwd",
        "rm -rf root/*",
        "rm -rf root/home/../etc",
        "chmod -R 777 root",
        "chmod -R 777 root/",
        "dd if=x of=disk",
        "echo x > disk",
        "docker run -v ./root:/h alpine",
        "docker run -v $PWD/etc:/h alpine",
        "tar xf a.tar -C etc",
        "echo x > git/hooks/pre-commit",
        "echo x > home/.bashrc",
        "echo x > etc/../etc/passwd",
        "find etc/ -delete",
        "echo x >> /proc/self/cwd/root/etc/passwd",
        "cd /etc && echo x > /proc/self/cwd/passwd",
        "echo x > /proc/1234/root/etc/passwd",
        "echo x > /proc/self/task/1/root/etc/passwd",
    ] {
        assert!(!matches!(found(line), Finding::Clear), "{line}");
    }
    for line in [
        "rm root",
        "rm -f passwd etc home",
        "rm -rf home",
        "unlink disk",
        "mv etc old",
        "ln -sfn x home",
        "cat etc/passwd",
        "ls home/",
        "cp etc/hosts .",
        "rm -rf ours/*",
        "echo x > ours/a",
        "chmod -R 755 ours",
        "echo x > round",
        "rm -rf round/x",
        "cd ours && rm -rf *",
        "docker run -v ./ours:/h alpine",
        "echo x > /dev/stderr",
        "echo x > /proc/self/cwd/a",
    ] {
        assert_eq!(found(line), Finding::Clear, "{line}");
    }
}
