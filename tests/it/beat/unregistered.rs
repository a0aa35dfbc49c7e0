//! For a folder that is not a workspace, the command fails without a beat.

use insta::assert_snapshot;

use crate::env::Env;

#[test]
fn a_folder_that_is_not_a_workspace_writes_no_journal_line() {
    let env = Env::new();
    std::fs::create_dir(env.root().join("site")).unwrap();
    for args in [
        &["beat", "site"][..],
        &["beat", "-V", "site"],
        &["beat", "--json", "site"],
        &["beat", "--dry-run", "site"],
    ] {
        let folder = env.root().join("site");
        let folder = folder.display();
        let expected =
            format!("| error: no HEARTBEAT.md in {folder}\n| hint: run: murmur init {folder}\n[exit 1]");
        assert_eq!(env.run(args), expected);
    }
    assert_eq!(env.journal_text(), "");
    assert!(!env.data().join("last-beat-site.json").exists());
}

#[test]
fn a_registered_workspace_without_a_heartbeat_file_journals_an_error() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    std::fs::remove_file(site.0.join("HEARTBEAT.md")).unwrap();
    assert_snapshot!(env.run(["beat", "site"]), @"
    error [S] [ENV]/site/HEARTBEAT.md: not found; create it, or run `murmur init` in its folder
    [exit 1]
    ");
    assert_eq!(env.journal()[0]["outcome"], "error");
}
