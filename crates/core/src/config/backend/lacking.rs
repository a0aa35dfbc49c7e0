//! Keys that ask for something that only some backends can do.

use super::{Backend, Capability};
use sys::error::Failure;
use sys::failure;

/// The first of `keys`, each with whether it is set and what it needs, that `backend` can't fulfill.
pub(in crate::config) fn check(backend: &Backend, keys: &[(&str, bool, Capability)]) -> Result<(), Failure> {
    let lacks = |(_, is_set, needed): &&(&str, bool, Capability)| *is_set && !backend.has(*needed);
    match keys.iter().find(lacks) {
        Some((key, _, needed)) => Err(failure!(
            "{key} needs {}, which {backend} doesn't have", needed.noun();
            "remove {key}, or choose another agent"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_the_key_and_the_backend() {
        let keys = [("mcp", false, Capability::McpServers), ("maxTurns", true, Capability::MaxTurns)];
        assert!(check(&Backend::Claude, &keys).is_ok());
        assert_eq!(
            check(&Backend::Codex, &keys).unwrap_err().line(),
            "maxTurns needs a turn limit, which codex doesn't have; remove maxTurns, or choose another agent"
        );
    }
}
