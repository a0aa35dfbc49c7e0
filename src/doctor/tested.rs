//! Whether murmur was tested with the version of an agent other than Claude Code.

use super::{Check, Finding, Hint};

/// The finding of `check` if an agent reports `version`. `tested` has the beginnings of the versions that
/// murmur was tested with, oldest first.
pub(super) fn check_version(check: Check, found: &str, version: &str, tested: &[&str]) -> Finding {
    let [oldest, newest] = [tested.first(), tested.last()]
        .map(|prefix| prefix.map_or("", |prefix| prefix.trim_end_matches('.')));
    let range = if oldest == newest { oldest.to_owned() } else { format!("{oldest} to {newest}") };
    let tested = format!("murmur was tested with {range}");
    match version.split_whitespace().next_back().and_then(numbers) {
        None => check.warn(format!("{found}, which is not a version; {tested}"), Hint::UPDATE_AGENT),
        Some(version) if Some(version) < numbers(oldest) => {
            check.warn(format!("{found}, which is older than {oldest}; {tested}"), Hint::UPDATE_AGENT)
        }
        Some(version) if Some(version) > numbers(newest) => {
            check.ok(format!("{found} (newer than {newest}; {tested})"))
        }
        Some(_) => check.ok(found),
    }
}

/// The first two numbers of a version.
fn numbers(version: &str) -> Option<[u32; 2]> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use murmur_agent::codex;

    #[test]
    fn a_version_is_tested_or_older_or_newer() {
        let of = |version: &str| {
            let Finding { level, found, hint, .. } =
                check_version(Check::CODEX, "it", version, codex::TESTED);
            (level, found, hint)
        };
        for tested in ["codex-cli 0.169.0", "codex-cli 0.170.3", "0.171.0-alpha.2"] {
            assert_eq!(of(tested), (Level::Ok, "it".to_owned(), None), "{tested}");
        }
        let range = "murmur was tested with 0.169 to 0.171";
        let old =
            |found: &str| (Level::Warn, format!("it, which is {found}; {range}"), Some(Hint::UPDATE_AGENT));
        assert_eq!(of("codex-cli 0.99.0"), old("older than 0.169"));
        assert_eq!(of("codex-cli dev"), old("not a version"));
        let new = (Level::Ok, format!("it (newer than 0.171; {range})"), None);
        assert_eq!((of("codex-cli 0.172.0"), of("codex-cli 1.0.0")), (new.clone(), new));
        let one = check_version(Check::ACP, "it", "OpenCode 1.17.2", &["1.18."]);
        assert_eq!(one.found, "it, which is older than 1.18; murmur was tested with 1.18");
    }
}
