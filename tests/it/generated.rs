//! What is made from the commands themselves: completions and manual pages.

use std::process::Command;

use crate::env::{Env, MURMUR};

fn completions(shell: &str, name: &str) -> String {
    let output =
        Command::new(MURMUR).args(["completions", shell, "--as", name]).env_clear().output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_shell_learns_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        for (name, word) in [("murmur", "workspaces"), ("mm", "workspaces"), ("derun", "run")] {
            let script = completions(shell, name);
            assert!(script.contains(name) && script.contains(word), "{shell} {name}");
        }
    }
}

#[test]
fn bash_takes_its_completions_and_completes_with_them() {
    let env = Env::new();
    let script = completions("bash", "murmur");
    let file = env.home().join("murmur.bash");
    std::fs::write(&file, script).unwrap();
    let line = "source \"$0\"; COMP_WORDS=(murmur sta); COMP_CWORD=1; _murmur murmur sta murmur; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("bash").args(["--norc", "-c", line]).arg(&file).env_clear().output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "start status\n", "{output:?}");
}

#[test]
fn every_command_that_is_shown_has_a_manual_page() {
    let env = Env::new();
    let folder = env.home().join("man/man1");
    let output = Command::new(MURMUR).arg("man").arg(&folder).env_clear().output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    let mut pages: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    for page in ["derun-run.1", "derun.1", "murmur-beat.1", "murmur-host-spawn.1", "murmur.1"] {
        assert!(pages.iter().any(|found| found == page), "{page} of {pages:?}");
        let text = std::fs::read_to_string(folder.join(page)).unwrap();
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{page}");
    }
    assert!(!pages.iter().any(|page| page.starts_with("murmur-hook") || page.contains("help")), "{pages:?}");
}
