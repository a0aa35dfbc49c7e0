//! Completions and manual pages, which are generated from the commands.

use std::path::PathBuf;
use std::process::Command;

use assert_cmd::assert::OutputAssertExt;
use predicates::boolean::PredicateBooleanExt;
use predicates::str::{contains, starts_with};

use crate::env::{Env, MURMUR, quiet};

fn completions(shell: &str, name: &str) -> String {
    quiet(Command::new(MURMUR).args(["completions", shell, "--as", name]).env_clear().assert())
}

#[test]
fn every_shell_completes_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        for (name, word) in [("murmur", "pause"), ("mm", "pause"), ("derun", "run")] {
            let script = completions(shell, name);
            assert!(script.contains(name) && script.contains(word), "{shell} {name}");
        }
    }
}

/// What bash offers while the last of these words is typed.
fn offered(env: &Env, words: &[&str]) -> String {
    let file = env.home().join("murmur.bash");
    std::fs::write(&file, completions("bash", "murmur")).unwrap();
    // The function that bash itself would call, with its arguments.
    let line = "source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1))
        of=$(complete -p murmur); of=${of##*-F }; compopt() { :; }
        \"${of%% *}\" murmur \"${COMP_WORDS[-1]}\" \"${COMP_WORDS[-2]}\"; echo \"${COMPREPLY[*]}\"";
    let start = ["--norc", "-c", line, file.to_str().unwrap()];
    env.program("bash", start.iter().chain(words)).quiet().trim_end().to_owned()
}

#[test]
fn bash_loads_and_uses_its_completions() {
    let env = Env::new();
    assert_eq!(offered(&env, &["murmur", "sta"]), "start status");
    assert_eq!(offered(&env, &["murmur", "agent", "s"]), "start show send stop");
    assert_eq!(offered(&env, &["murmur", "beat", "--dr"]), "--dry-run");
    assert_eq!(offered(&env, &["murmur", "init", "--template", ""]), "default tests issues deploy");
    assert_eq!(offered(&env, &["murmur", "completions", ""]), "bash elvish fish powershell zsh");
    assert_eq!(offered(&env, &["murmur", "set", "--permissions-checker", ""]), "off manual llm deny");
    // No completion of ours, so bash offers files.
    assert_eq!(offered(&env, &["murmur", "beat", ""]), "");
    assert_eq!(offered(&env, &["murmur", "run", "--", "ls", "--"]), "");
}

#[test]
fn bash_offers_no_files_in_place_of_ids() {
    let env = Env::new();
    let file = env.home().join("murmur.bash");
    std::fs::write(&file, completions("bash", "murmur")).unwrap();
    let options = |words: &[&str]| {
        let line = "source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1))
            of=$(complete -p murmur); of=${of##*-F }; compopt() { echo \"$@\"; }
            \"${of%% *}\" \"$MURMUR\" \"${COMP_WORDS[-1]}\" \"${COMP_WORDS[-2]}\" | grep bashdefault";
        let start = ["--norc", "-c", line, file.to_str().unwrap()];
        let murmur = env!("CARGO_BIN_EXE_murmur");
        let output = env.program("bash", start.iter().chain(words)).set("MURMUR", murmur).output();
        String::from_utf8(output.stdout).unwrap()
    };
    for words in [&["allow"][..], &["agent", "stop"], &["capture", "show"], &["show"]] {
        let words = [&["murmur"], words, &[""]].concat();
        assert_eq!(options(&words), "+o bashdefault +o default\n", "{words:?}");
    }
    for words in [&["beat"][..], &["edit"], &["add"], &["log", "--workspace"]] {
        let words = [&["murmur"], words, &[""]].concat();
        assert_eq!(options(&words), "", "{words:?}");
    }
}

#[test]
fn no_shell_completes_hidden_commands() {
    let env = Env::new();
    let help = offered(&env, &["murmur", "help", ""]);
    assert!(help.contains("completions") && help.contains("capture"), "{help}");
    assert!(!help.split(' ').any(|word| word == "hook"), "{help}");
    assert!(!offered(&env, &["murmur", ""]).split(' ').any(|word| word == "hook"));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = completions(shell, "murmur");
        for hidden in ["Answer a Claude Code hook", "Run the host of one agent", "announce"] {
            assert!(!script.contains(hidden), "{shell} {hidden}");
        }
    }
}

#[test]
fn data_dir_is_accepted_only_where_it_has_an_effect() {
    let env = Env::new();
    for command in ["mcp", "schema", "completions", "man", "demo"] {
        env.murmur([command, "--help"]).assert().success().stdout(contains("--data-dir").not());
        if command != "schema" {
            assert_eq!(offered(&env, &["murmur", command, "--data"]), "", "{command}");
        }
        let refused = starts_with("error: unknown option \"--data-dir\"");
        env.murmur([command, "--data-dir", "elsewhere"]).assert().code(2).stdout("").stderr(refused);
        // All calls that the command itself makes.
        let asked: &[&str] = match command {
            "completions" => &["bash"],
            "man" => &["pages"],
            _ => &[],
        };
        let refused = format!(
            "error: --data-dir has no effect on \"murmur {command}\"\nhint: remove it; see: murmur {command} --help\n"
        );
        let before = [&["--data-dir", "elsewhere", command], asked].concat();
        env.murmur(before).assert().code(2).stdout("").stderr(starts_with(refused));
    }
    for (args, command) in [
        (&["capture", "run", "--", "true"][..], "\"murmur capture run\""),
        (&["record", "name", "--", "true"], "\"murmur record\" without --beat"),
    ] {
        let before = [&["--data-dir", "elsewhere"], args].concat();
        let refused = starts_with(format!("error: --data-dir has no effect on {command}\nhint: remove it; "));
        env.murmur(before).assert().code(2).stdout("").stderr(refused);
    }
    let record = ["record", "name", "--data-dir", "elsewhere", "--", "true"];
    env.murmur(record)
        .assert()
        .code(2)
        .stderr(starts_with("error: --data-dir has no effect on \"murmur record\""));
    let folder = manual(&env);
    let names = |page: &str| std::fs::read_to_string(folder.join(page)).unwrap().contains("data\\-dir");
    assert_eq!(
        ["murmur-capture-run.1", "murmur-capture-show.1", "murmur-status.1"].map(names),
        [false, true, true]
    );
}

#[test]
fn data_dir_is_accepted_before_and_after_a_command_and_the_last_counts() {
    let env = Env::new();
    std::fs::create_dir(env.root().join("there")).unwrap();
    let workspaces = r#"{"workspaces":[{"path":"/there","interval":"1h"}]}"#;
    std::fs::write(env.root().join("there/config.json"), workspaces).unwrap();
    let listed = |args: &[&str]| env.murmur(args).json()["heartbeats"][0]["workspace"].clone();
    for args in [
        &["--data-dir", "there", "workspaces", "list", "--json"][..],
        &["workspaces", "--data-dir", "there", "list", "--json"],
        &["workspaces", "list", "--json", "--data-dir", "there"],
        &["--data-dir", "nowhere", "workspaces", "list", "--json", "--data-dir", "there"],
    ] {
        assert_eq!(listed(args), "/there", "{args:?}");
    }
    assert_eq!(offered(&env, &["murmur", "agent", "list", "--data"]), "--data-dir");
    assert_eq!(offered(&env, &["murmur", "--data"]), "--data-dir");
}

#[test]
fn folders_commands_and_values_are_completed_where_they_belong() {
    let zsh = completions("zsh", "murmur");
    assert!(zsh.contains(
        "Name of a registered heartbeat, or any folder with a HEARTBEAT.md:_murmur_names_and_folders'"
    ));
    assert!(zsh.contains("Command and its arguments:_cmdambivalent"));
    let fish = completions("fish", "murmur");
    let shells = "complete -c murmur -n \"__fish_murmur_using_subcommand completions\" -f -a \"bash elvish fish powershell zsh\"\n";
    assert!(fish.contains(shells), "{fish}");
    assert!(zsh.contains("Session ID or ID prefix, heartbeat, folder, or last:_murmur_names'"));
    assert!(fish.contains("using_subcommand beat\" -a \"(__murmur_names)\"\n"));
    assert!(fish.contains("__fish_seen_subcommand_from stop\" -f -a \"(__murmur_names)\"\n"));
    let elvish = completions("elvish", "mm");
    let offers = "program offer -- (all $words[1..]) 2>/dev/null | from-lines\n";
    assert!(elvish.contains("if (has-key $completions $command) {\n") && elvish.contains(offers), "{elvish}");
    let powershell = completions("powershell", "mm");
    let offers = "    & $commandElements[0].Extent.Text offer '--' @typed 2>$null | ForEach-Object {\n";
    assert!(powershell.contains(offers) && powershell.contains("    $completions.Where{"), "{powershell}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(!completions(shell, "derun").contains(" offer "), "{shell}");
    }
}

#[test]
fn shells_offer_live_names() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.named("nightly", "---\nname: Night Watch\ninterval: 1d\n---\nCount.");
    env.register(&[&site]);
    std::os::unix::fs::symlink(MURMUR, env.home().join("bin/murmur")).unwrap();
    assert_eq!(offered(&env, &["murmur", "beat", ""]), "Night\\ Watch nightly site site::nightly");
    assert_eq!(offered(&env, &["murmur", "pause", "n"]), "nightly");
    for words in [&["murmur", "set", "--max-turns", ""][..], &["murmur", "log", ""]] {
        assert!(!offered(&env, words).contains("nightly"), "{words:?}");
    }
    let file = env.home().join("murmur.fish");
    std::fs::write(&file, completions("fish", "murmur")).unwrap();
    if Command::new("fish").arg("--version").output().is_ok() {
        let line = "source $argv[1]; complete -C 'murmur pause N'; complete -C 'murmur pause nig'";
        let shown = env.program("fish", ["--no-config", "-c", line, file.to_str().unwrap()]).quiet();
        assert_eq!(shown, "Night Watch\nnightly\n");
    }
}

#[test]
fn murmur_host_explains_itself() {
    let env = Env::new();
    let program = env.root().join("murmur-host");
    std::os::unix::fs::symlink(MURMUR, &program).unwrap();
    let version = Command::new(&program).arg("--version").env_clear().output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&version.stdout),
        concat!("murmur-host ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let bare = Command::new(&program).env_clear().output().unwrap();
    let said = String::from_utf8(bare.stderr).unwrap();
    assert_eq!(bare.status.code(), Some(2), "{said}");
    assert!(said.starts_with("Run the host of one agent") && said.contains("--agent-id <ID>"), "{said}");
}

/// The manual pages, in a folder of `env`.
fn manual(env: &Env) -> PathBuf {
    let folder = env.home().join("man/man1");
    Command::new(MURMUR).arg("man").arg(&folder).env_clear().assert().success().stdout("").stderr("");
    folder
}

#[test]
fn every_visible_command_has_a_manual_page() {
    let env = Env::new();
    let folder = manual(&env);
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let page = entry.unwrap().file_name().into_string().unwrap();
        let text = std::fs::read_to_string(folder.join(&page)).unwrap();
        let is_link = text == ".so man1/murmur.1\n";
        assert!(is_link || text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{page}");
        assert!(!text.contains(".SH EXTRA") && !text.contains("Examples:"), "{page}");
        assert_eq!(is_link, page == "mm.1", "{page}");
        pages.push(page);
    }
    for page in [
        "derun-run.1",
        "derun.1",
        "mm.1",
        "murmur-beat.1",
        "murmur-hook.1",
        "murmur-agent-start.1",
        "murmur.1",
    ] {
        assert!(pages.iter().any(|found| found == page), "{page} of {pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("help") || page.contains("serve")), "{pages:?}");
}

#[test]
fn a_manual_page_has_usage_options_and_commands() {
    let env = Env::new();
    let folder = manual(&env);
    let page = |name: &str| {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        text.replace(env!("CARGO_PKG_VERSION"), "[VERSION]")
    };
    let murmur = page("murmur.1");
    for heading in ["FILES", "ENVIRONMENT", "EXIT STATUS", "EXAMPLES"] {
        assert!(
            murmur.contains(&format!("\n.SH {heading}\n"))
                || murmur.contains(&format!("\n.SH \"{heading}\"\n")),
            "{heading}"
        );
    }
    insta::assert_snapshot!(page("murmur-capture-run.1"));
    insta::assert_snapshot!(page("murmur-hook.1"));
}
