//! Randomness from the system.

use std::io;

/// `N` random bytes.
///
/// # Errors
/// What the system says.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}
