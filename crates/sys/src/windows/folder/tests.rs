//! Tests of folders on Windows, as far as wine supports them.

use super::*;

#[test]
fn a_file_is_replaced_even_while_it_is_read_without_leftovers() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::open(place.path()).unwrap();
    folder.write("meta.json", b"one", false).unwrap();
    folder.write("meta.json", b"two", true).unwrap();
    assert_eq!(io::read_to_string(folder.open_file("meta.json").unwrap()).unwrap(), "two");
    assert_eq!(folder.names().unwrap(), ["meta.json"]);
}

#[test]
fn appends_go_to_the_end_even_with_other_writers() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::open(place.path()).unwrap();
    let mut one = folder.append_file("log").unwrap();
    let mut other = folder.append_file("log").unwrap();
    one.write_all(b"a").unwrap();
    other.write_all(b"b").unwrap();
    one.write_all(b"c").unwrap();
    assert_eq!(std::fs::read(place.path().join("log")).unwrap(), b"abc");
    assert_eq!(folder.create_file("log").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
}

#[test]
fn folders_are_created_listed_and_removed() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::open(place.path()).unwrap();
    assert_eq!(folder.open_folder("s").unwrap_err().kind(), io::ErrorKind::NotFound);
    folder.create_folder("s").unwrap();
    assert_eq!(folder.create_folder("s").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    let inner = folder.open_folder("s").unwrap();
    drop(inner.create_file("größe").unwrap());
    assert_eq!(inner.names().unwrap(), ["größe"]);
    assert!(folder.remove_folder("s").is_err());
    assert!(folder.remove_file("s").is_err());
    assert!(folder.open_file("s").is_err());
    assert!(inner.open_folder("größe").is_err());
    assert!(folder.look("s").unwrap().is_folder);
    inner.remove_file("größe").unwrap();
    drop(inner);
    folder.remove_folder("s").unwrap();
    assert_eq!(folder.look("s").unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn names_are_single_components_that_every_program_accepts() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::open(place.path()).unwrap();
    let bad =
        ["", ".", "..", "a/b", r"a\b", r"C:\x", "x:stream", "a.", "a ", "NUL", "con.txt", "COM1", "lpt³.x"];
    for name in bad {
        assert_eq!(folder.append_file(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
    }
    for name in ["console", "COM", "COM10", "a.b", ".hidden", "größe"] {
        drop(folder.append_file(name).unwrap());
    }
}

#[test]
fn links_are_not_followed() {
    let place = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let linked = std::os::windows::fs::symlink_file(outside.path().join("secret"), place.path().join("link"))
        .and_then(|()| std::os::windows::fs::symlink_dir(outside.path(), place.path().join("folder")));
    // Only some Windows users may create links, and old versions of wine only pretend to.
    if linked.is_err() || !place.path().join("link").is_symlink() {
        return;
    }
    let folder = Folder::open(place.path()).unwrap();
    assert!(folder.open_file("link").is_err());
    assert!(folder.append_file("link").is_err());
    assert!(folder.create_file("link").is_err());
    assert!(folder.open_folder("folder").is_err());
    assert!(!folder.look("folder").unwrap().is_folder);
    folder.write("link", b"ours", false).unwrap();
    folder.remove_file("folder").unwrap();
    assert_eq!(std::fs::read(outside.path().join("secret")).unwrap(), b"secret");
}
