use super::*;
use crate::error::Hinted;

#[test]
fn the_argument_wins_over_the_variable_and_that_over_home() {
    let find = |explicit: Option<&str>, dir: Option<&str>, home: Option<&str>| {
        DataDir::find(explicit.map(Path::new), dir.map(OsStr::new), home.map(OsStr::new)).map(|dir| dir.root)
    };
    assert_eq!(find(Some("/a"), Some("/b"), Some("/c")).unwrap(), Path::new("/a"));
    assert_eq!(find(None, Some("/b"), Some("/c")).unwrap(), Path::new("/b"));
    assert_eq!(find(None, Some(""), Some("/c")).unwrap(), Path::new("/c/.murmur"));
    assert!(matches!(find(None, None, Some("")), Err(PathsError::NoHome)));
}

#[test]
fn the_hint_for_a_closed_data_folder_is_chmod() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let hint = |kind: io::ErrorKind| {
        let error = PathsError::Unusable { path: path.clone(), source: kind.into() };
        error.hint().unwrap()
    };
    let another = "choose another with --data-dir or MURMUR_DIR";
    assert_eq!(hint(io::ErrorKind::PermissionDenied), another);
    std::fs::create_dir(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o0)).unwrap();
    assert_eq!(hint(io::ErrorKind::PermissionDenied), format!("run: chmod u+rwx {}", path.display()));
    assert_eq!(hint(io::ErrorKind::NotADirectory), another);
}

#[test]
fn settings_are_in_the_data_folder_if_that_is_not_the_default() {
    let find = |explicit: Option<&str>, dir: Option<&str>, xdg: Option<&str>, home: Option<&str>| {
        let (dir, xdg, home) = (dir.map(OsStr::new), xdg.map(OsStr::new), home.map(OsStr::new));
        SettingsDir::find(explicit.map(Path::new), dir, xdg, home).map(|dir| dir.settings())
    };
    assert_eq!(
        find(Some("/a"), Some("/b"), Some("/x"), Some("/h")).unwrap(),
        Path::new("/a/config/config.toml")
    );
    assert_eq!(find(None, Some("/b"), Some("/x"), Some("/h")).unwrap(), Path::new("/b/config/config.toml"));
    assert_eq!(find(None, Some(""), Some("/x"), Some("/h")).unwrap(), Path::new("/x/murmur/config.toml"));
    for unset in [None, Some(""), Some("x")] {
        let found = find(None, None, unset, Some("/h")).unwrap();
        assert_eq!(found, Path::new("/h/.config/murmur/config.toml"));
    }
    // Processes that pass it on, including older versions, use the same format.
    let found = SettingsDir::find(None, None, None, Some(OsStr::new("/h"))).unwrap();
    let told = serde_json::to_string(&found).unwrap();
    assert_eq!(told, r#"["/h/.murmur/config","/h/.config/murmur"]"#);
    assert_eq!(serde_json::from_str::<SettingsDir>(&told).unwrap(), found);
    let older: SettingsDir = serde_json::from_str(r#""/h/.config/murmur""#).unwrap();
    assert_eq!(older, SettingsDir::at("/h/.config/murmur".into(), None));
    assert!(matches!(find(None, None, None, None), Err(PathsError::NoHome)));
}

#[test]
fn a_project_name_cannot_leave_its_folder() {
    let dir = DataDir::find(Some(Path::new("/m")), None, None).unwrap();
    let rules = dir.project_rules("my site").unwrap();
    assert_eq!(rules, Path::new("/m/projects/my site/permissions.toml"));
    for name in ["", ".", "..", "a/b", "../x", "/x", "a\\b", "a\n", "site@0123456789abcdef"] {
        assert!(matches!(dir.project_rules(name), Err(PathsError::Project { .. })), "{name:?}");
    }
}

#[test]
fn no_agent_id_leaves_its_folder() {
    let dir = DataDir { root: "/m".into() };
    assert_eq!(dir.pulse("site-1"), Path::new("/m/heartbeats/site-1.json"));
    let names =
        ["", ".", "..", "../x", "/etc/passwd", ".hidden", "-f", "a/b", "a b", "a\0b", "ä", &"x".repeat(5000)];
    for name in names {
        let path = dir.pulse(name);
        assert_eq!(path.parent(), Some(Path::new("/m/heartbeats")), "{name:?}");
        let file = path.file_name().unwrap().to_str().unwrap();
        assert!(file.strip_suffix(".json").is_some_and(is_plain), "{file:?}");
        assert_eq!(dir.agent(name).parent(), Some(Path::new("/m/agents")), "{name:?}");
    }
    assert_ne!(dir.pulse("a/b"), dir.pulse("a b"));
}
