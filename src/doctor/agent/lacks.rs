//! What older versions of Claude Code lack: fixtures/claude-versions.json, which `just conformance versions` measures.

use super::parse;
use serde::Deserialize;

const TABLE: &str = include_str!("../../../fixtures/claude-versions.json");

/// The measurements.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Versions {
    /// The versions that murmur was tested with, separated by spaces.
    tested: String,
    capabilities: Vec<Capability>,
}

/// Something that only some versions can do.
#[derive(Debug, Deserialize)]
struct Capability {
    #[cfg(test)]
    name: String,
    /// What happens where it is missing; `None` if it makes no difference to users.
    without: Option<String>,
    /// The versions that have it, separated by spaces.
    has: String,
    /// The versions that lack it, likewise.
    lacks: String,
}

/// Something that a version lacks and a newer one has.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lack<'a> {
    /// What happens without it.
    pub(super) without: &'a str,
    /// The oldest newer version that is known to have it.
    pub(super) since: [u32; 3],
}

impl Versions {
    /// The table that this program was compiled with.
    pub(super) fn compiled_in() -> Self {
        serde_json::from_str(TABLE).unwrap_or_default()
    }

    /// The oldest version that murmur was tested with.
    pub(super) fn oldest_tested(&self) -> Option<[u32; 3]> {
        versions(&self.tested).min()
    }

    /// What `version` lacks. A version that was not measured is like the next older one that was.
    pub(super) fn lacks(&self, version: [u32; 3]) -> Vec<Lack<'_>> {
        let lack = |capability: &'_ Capability| {
            let measured = versions(&capability.has).map(|one| (one, true));
            let measured = measured.chain(versions(&capability.lacks).map(|one| (one, false)));
            let mut measured: Vec<([u32; 3], bool)> = measured.collect();
            measured.sort_unstable();
            // An update is no help if the newest version lacks it, too.
            measured.last().filter(|(_, has)| *has)?;
            let nearest = measured.iter().rfind(|(one, _)| *one <= version).or(measured.first())?;
            if nearest.1 {
                return None;
            }
            measured.iter().find(|(one, has)| *has && *one > version).map(|(one, _)| *one)
        };
        let with_effect = self.capabilities.iter().filter_map(|one| Some((one, one.without.as_deref()?)));
        let mut found: Vec<Lack<'_>> =
            with_effect.filter_map(|(one, without)| Some(Lack { without, since: lack(one)? })).collect();
        found.sort_by_key(|lack| lack.since);
        found
    }
}

fn versions(words: &str) -> impl Iterator<Item = [u32; 3]> + '_ {
    words.split_whitespace().filter_map(parse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_hook::MIN_DEFER_VERSION;

    fn table(has: &str, lacks: &str) -> Versions {
        let without = Some("it fails".to_owned());
        let one = Capability { name: "it".into(), without, has: has.into(), lacks: lacks.into() };
        Versions { tested: "2.1.110 2.1.89".into(), capabilities: vec![one] }
    }

    #[test]
    fn a_version_lacks_what_the_next_older_measured_one_lacks() {
        let since = |versions: &Versions, version| versions.lacks(version).first().map(|lack| lack.since);
        let gained = table("2.1.300 2.1.329", "2.1.197 2.1.250");
        assert_eq!(since(&gained, [2, 1, 100]), Some([2, 1, 300]));
        assert_eq!(since(&gained, [2, 1, 299]), Some([2, 1, 300]));
        assert_eq!(since(&gained, [2, 1, 300]), None);
        assert_eq!(since(&gained, [3, 0, 0]), None);
        // A newer version is no help.
        let lost = table("2.1.197", "2.1.300");
        assert_eq!(since(&lost, [2, 1, 329]), None);
        let only_once = table("2.1.250", "2.1.197 2.1.300");
        assert_eq!(since(&only_once, [2, 1, 197]), None);
        assert_eq!(gained.oldest_tested(), Some([2, 1, 89]));
    }

    #[test]
    fn the_table_is_readable_and_agrees_with_the_hook() {
        let versions: Versions = serde_json::from_str(TABLE).unwrap();
        let defer = versions.capabilities.iter().find(|capability| capability.name == "defer").unwrap();
        assert_eq!(self::versions(&defer.has).min(), Some(MIN_DEFER_VERSION));
        assert!(self::versions(&defer.lacks).all(|version| version < MIN_DEFER_VERSION));
        let recent = versions.lacks([2, 1, 329]);
        assert_eq!(recent, [], "the version that fixtures are recorded with");
    }
}
