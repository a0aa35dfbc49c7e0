//! Changes of real folders.

use super::*;

#[tokio::test(flavor = "current_thread")]
async fn reports_a_replaced_file_but_no_other_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut watch = Watch::new([&WatchedFolder::new(folder.path(), &["config.json"])]).unwrap();
    std::fs::write(folder.path().join("other"), "x").unwrap();
    // A symlink and not a file: a process forked by another test may hold a written file open, and its close
    // would be one more event.
    std::os::unix::fs::symlink("x", folder.path().join("new")).unwrap();
    std::fs::rename(folder.path().join("new"), folder.path().join("config.json")).unwrap();
    watch.changed().await.unwrap();
    std::fs::write(folder.path().join("other"), "y").unwrap();
    let nothing = watch.changed();
    tokio::select! {
        biased;
        _ = nothing => panic!("a change of another file counted"),
        () = tokio::task::yield_now() => {}
    }
}

#[tokio::test(flavor = "current_thread")]
async fn places_in_one_folder_report_the_names_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let own = WatchedFolder::new(folder.path(), &["a", "b"]);
    let coming = WatchedFolder::coming(&path("c/d")).unwrap();
    let mut watch = Watch::new([&own, &coming]).unwrap();
    watch.add([&own, &coming]).unwrap();
    // Symlinks for the same reason as above.
    for name in ["a", "b", "c", "other"] {
        std::os::unix::fs::symlink("x", path(name)).unwrap();
    }
    let changes = watch.changes().await.unwrap();
    let paths: Vec<PathBuf> = changes.paths.into_iter().collect();
    assert_eq!(paths, [path("a"), path("b"), path("c")]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_folder_created_before_it_was_watched_is_watched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b");
    let find = || {
        let place = WatchedFolder::existing_or_coming(&path, &[]);
        std::fs::create_dir_all(&path).unwrap();
        place
    };
    let mut watch = Watch::settled(find).unwrap();
    std::os::unix::fs::symlink("x", path.join("new")).unwrap();
    assert_eq!(watch.changes().await.unwrap().paths, BTreeSet::from([path.join("new")]));
}

#[tokio::test(flavor = "current_thread")]
async fn changes_during_a_rest_are_reported_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut watch = Watch::new([&WatchedFolder::new(folder.path(), &[])]).unwrap();
    for name in ["a", "b"] {
        watch.rest();
        std::os::unix::fs::symlink("x", path(name)).unwrap();
        assert_eq!(watch.changes().await.unwrap().paths, BTreeSet::from([path(name)]));
    }
    // Nothing is pending: it wakes again.
    watch.rest();
    let change = async { std::os::unix::fs::symlink("x", path("c")).unwrap() };
    let (changes, ()) = tokio::join!(biased; watch.changes(), change);
    assert_eq!(changes.unwrap().paths, BTreeSet::from([path("c")]));
}

#[tokio::test(flavor = "current_thread")]
async fn reports_each_path_once_and_the_removal_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let watched = folder.path().join("watched");
    std::fs::create_dir(&watched).unwrap();
    let mut watch = Watch::new([&WatchedFolder::new(&watched, &[])]).unwrap();
    // Symlinks for the same reason as above.
    for name in ["b", "a", "b"] {
        std::os::unix::fs::symlink("x", folder.path().join("new")).unwrap();
        std::fs::rename(folder.path().join("new"), watched.join(name)).unwrap();
    }
    let changes = watch.changes().await.unwrap();
    let paths: Vec<PathBuf> = changes.paths.into_iter().collect();
    assert_eq!((paths, changes.more), (vec![watched.join("a"), watched.join("b")], false));
    assert_eq!(watch.folders(), 1);
    std::fs::remove_dir_all(&watched).unwrap();
    let changes = watch.changes().await.unwrap();
    assert_eq!((changes.more, changes.gone), (true, BTreeSet::from([watched])));
    assert_eq!(watch.folders(), 0);
}
