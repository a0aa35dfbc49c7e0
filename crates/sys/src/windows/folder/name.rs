//! File names that are valid for every Windows program.

use std::ffi::OsStr;
use std::io;
use std::os::windows::ffi::OsStrExt;

/// The longest name, in UTF-16 units.
pub(super) const MAX_NAME: usize = 255;

/// Converts `name` to UTF-16 if it is a single component that other programs accept as well: not a device, and
/// without the trailing dots and spaces that Windows drops.
pub(super) fn component(name: &OsStr) -> io::Result<Vec<u16>> {
    let refused =
        || io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is not a valid file name"));
    let units: Vec<u16> = name.encode_wide().collect();
    let means_something = |unit: &u16| match u8::try_from(*unit) {
        Ok(byte) => byte < b' ' || br#"/\:*?"<>|"#.contains(&byte),
        Err(_) => false,
    };
    let ends_in = |byte: u8| units.last() == Some(&u16::from(byte));
    let text = name.to_string_lossy().to_ascii_uppercase();
    let stem = text.split('.').next().unwrap_or_default().trim_end();
    let is_numbered = |device: &str| {
        stem.strip_prefix(device).is_some_and(|rest| {
            let mut characters = rest.chars();
            let number = characters.next();
            characters.next().is_none() && number.is_some_and(|n| n.is_ascii_digit() || "¹²³".contains(n))
        })
    };
    let is_device = matches!(stem, "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$")
        || is_numbered("COM")
        || is_numbered("LPT");
    let is_bad = units.is_empty() || units.len() > MAX_NAME || units.iter().any(means_something);
    if is_bad || is_device || ends_in(b'.') || ends_in(b' ') { Err(refused()) } else { Ok(units) }
}
