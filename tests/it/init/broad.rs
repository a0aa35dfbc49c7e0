//! A very broad folder doesn't become a workspace by mistake.

use insta::assert_snapshot;

use crate::env::Env;

#[test]
fn the_home_folder_and_its_parents_need_force() {
    let env = Env::new();
    std::os::unix::fs::symlink(env.home(), env.root().join("link")).unwrap();
    std::os::unix::fs::symlink("/", env.root().join("top")).unwrap();
    assert_snapshot!(env.run(["init", "home"]), @"
    | error: [ENV]/home is your home folder, and an agent would work on all of it
    | hint: name the folder of a project, or pass --force
    [exit 1]
    ");
    assert_snapshot!(env.run(["init", "/"]), @"
    | error: / contains your home folder, and an agent would work on all of it
    | hint: name the folder of a project, or pass --force
    [exit 1]
    ");
    assert_snapshot!(env.run(["init", "/etc"]), @"
    | error: /etc is a system folder, and an agent would work on all of it
    | hint: name the folder of a project, or pass --force
    [exit 1]
    ");
    for path in ["link", "home/bin/..", ".", "top", "/."] {
        let shown = env.run(["init", path, "--template", "tests", "--name", "nightly"]);
        assert!(shown.contains("pass --force") && shown.ends_with("[exit 1]"), "{path}: {shown}");
    }
    let here = env.murmur(["init"]).at(&env.home()).run();
    assert!(here.ends_with("[exit 1]"), "{here}");
    // Through a link to HOME itself.
    let by_link = env.murmur(["init", "home"]).set("HOME", env.root().join("link")).run();
    assert!(by_link.ends_with("[exit 1]"), "{by_link}");
    for path in [env.home(), env.root().to_path_buf()] {
        assert!(!path.join("HEARTBEAT.md").exists() && !path.join("heartbeats").exists(), "{path:?}");
    }
    assert!(!env.data().join("config.json").exists());
    // Its subfolders are fine.
    assert!(env.run(["init", "home/site"]).ends_with("[exit 0]"));
    assert_snapshot!(env.run(["init", "home", "--force"]), @"
    wrote [ENV]/home/HEARTBEAT.md; edit it, or the daemon will not run it
    registered [ENV]/home
    [exit 0]
    ");
}

#[test]
fn workspaces_add_needs_force_too() {
    let env = Env::new();
    std::fs::write(env.home().join("HEARTBEAT.md"), "Do it.").unwrap();
    assert_snapshot!(env.run(["workspaces", "add", "home"]), @"
    | error: [ENV]/home is your home folder, and an agent would work on all of it
    | hint: name the folder of a project, or pass --force
    [exit 1]
    ");
    assert!(env.run(["workspaces", "add", "home", "--force"]).ends_with("[exit 0]"));
}
