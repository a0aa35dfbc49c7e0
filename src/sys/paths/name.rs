//! Names of files: for what people and agents call things, whatever they call them.

use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::path::Path;

/// A short file name that stands for a heartbeat: its folder's name for people, a hash so that no two share it.
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

/// What stands between name and digest in [`of_folder`]; no [`readable`] name has it.
pub(super) const AT: char = '@';

/// A file name that identifies one folder: its name, for people, and a digest of its path.
pub(super) fn of_folder(folder: &Path) -> String {
    let name = readable(folder.file_name().unwrap_or(OsStr::new("root")).to_string_lossy().as_ref());
    let digest = Sha256::digest(folder.as_os_str().as_encoded_bytes());
    let digits: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}{AT}{digits}")
}

/// FNV-1a, 64 bits folded to 32: tells apart the handful of things of one name that a user has.
fn hash(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    (hash >> 32) ^ (hash & 0xffff_ffff)
}

/// The longest name of an agent that stands in a file's name as it is, in bytes: with what stands around it, it has to
/// fit into a socket's address.
pub const LONGEST_NAME: usize = 80;

/// Whether `name` is 1 to [`LONGEST_NAME`] letters, digits, `-`, `_` and `.` (ASCII) and begins with neither `-` nor `.`:
/// then it is one component of a path, on every system.
#[must_use]
pub fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins_well = name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric() || first == b'_');
    begins_well && name.len() <= LONGEST_NAME && name.bytes().all(is_plain)
}

/// The name of files that belong to `agent`, whatever it calls itself: its id where that [is plain](is_plain), else
/// something readable and a hash of it.
pub(super) fn stem(agent: &str) -> String {
    if is_plain(agent) {
        agent.to_owned()
    } else {
        format!("{}-{:08x}", readable(agent), hash(agent.as_bytes()))
    }
}

/// `name` in characters that every file system and socket path takes, at most 40 of them.
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
    fn a_project_is_known_by_its_path_and_no_name_is_that_of_another() {
        assert_eq!(of_folder(Path::new("/a/my site")), "my-site@6643bd9ba7ecdc35");
        assert_ne!(of_folder(Path::new("/a/my site")), of_folder(Path::new("/b/my site")));
        assert!(!readable("my-site@6643bd9ba7ecdc35").contains(AT));
    }

    #[test]
    fn slugs_are_readable_and_tell_folders_of_one_name_apart() {
        let one = slug(Path::new("/a/my project"), None);
        assert!(one.starts_with("my-project-"), "{one}");
        assert_ne!(one, slug(Path::new("/b/my project"), None));
        assert_ne!(slug(Path::new("/a"), Some("x")), slug(Path::new("/a"), Some("y")));
        assert!(slug(Path::new("/a/../…"), Some("../../etc")).chars().all(|c| c != '/'));
    }
}
