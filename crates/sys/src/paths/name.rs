//! File names for things with arbitrary names.

use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::path::Path;

/// A short file name for a heartbeat: its folder's name for readability, plus a hash for uniqueness.
#[must_use]
pub fn slug(workspace: &Path, name: Option<&str>) -> String {
    let mut slug = readable(workspace.file_name().unwrap_or(OsStr::new("root")).to_string_lossy().as_ref());
    let mut bytes = workspace.as_os_str().as_encoded_bytes().to_vec();
    if let Some(name) = name {
        slug = format!("{slug}-{}", readable(name));
        bytes.push(0);
        bytes.extend_from_slice(name.as_bytes());
    }
    format!("{slug}-{:08x}", hash(&bytes))
}

/// Separates name and digest in [`of_folder`]. Never part of a [`readable`] name.
pub(super) const AT: char = '@';

/// A file name that identifies a folder: its name for readability, plus a digest of its path.
pub(super) fn of_folder(folder: &Path) -> String {
    let name = readable(folder.file_name().unwrap_or(OsStr::new("root")).to_string_lossy().as_ref());
    let digest = Sha256::digest(folder.as_os_str().as_encoded_bytes());
    let digits: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}{AT}{digits}")
}

/// FNV-1a, 64 bits folded to 32: enough for the few items with the same name that a user has.
fn hash(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    (hash >> 32) ^ (hash & 0xffff_ffff)
}

/// The longest agent id that is used unchanged in a file name, in bytes. With its prefix and suffix it must fit
/// into a socket address.
pub const MAX_NAME: usize = 80;

/// Whether `name` consists of 1 to [`MAX_NAME`] ASCII letters, digits, `-`, `_` and `.`, and starts with
/// neither `-` nor `.`. Such a name is a single path component on every system.
#[must_use]
pub fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins_well = name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric() || first == b'_');
    begins_well && name.len() <= MAX_NAME && name.bytes().all(is_plain)
}

/// The base name of files that belong to `agent`: its id if that [is plain](is_plain), otherwise a readable form
/// plus a hash.
pub(super) fn stem(agent: &str) -> String {
    if is_plain(agent) {
        agent.to_owned()
    } else {
        format!("{}-{:08x}", readable(agent), hash(agent.as_bytes()))
    }
}

/// `name` restricted to characters that are valid in every file system and socket path, at most 40.
#[must_use]
pub fn readable(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let plain: String = name.chars().map(plain).take(40).collect();
    let plain = plain.trim_matches(['.', '-']);
    if plain.is_empty() { "workspace".to_owned() } else { plain.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_names_depend_on_the_path_and_never_collide_with_readable_names() {
        assert_eq!(of_folder(Path::new("/a/my site")), "my-site@6643bd9ba7ecdc35");
        assert_ne!(of_folder(Path::new("/a/my site")), of_folder(Path::new("/b/my site")));
        assert!(!readable("my-site@6643bd9ba7ecdc35").contains(AT));
    }

    #[test]
    fn slugs_are_readable_and_differ_for_folders_with_the_same_name() {
        let one = slug(Path::new("/a/my project"), None);
        assert!(one.starts_with("my-project-"), "{one}");
        assert_ne!(one, slug(Path::new("/b/my project"), None));
        assert_ne!(slug(Path::new("/a"), Some("x")), slug(Path::new("/a"), Some("y")));
        assert!(slug(Path::new("/a/../…"), Some("../../etc")).chars().all(|c| c != '/'));
    }
}
