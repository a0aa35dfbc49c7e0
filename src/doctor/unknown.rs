//! What agents wrote in the last week that this murmur doesn't know.

use super::{Check, Environment, Finding, Hint};
use murmur_store::journal::unknown::{self, UnknownOutput};
use std::collections::BTreeMap;
use std::path::Path;
use sys::clock;

/// How many names are shown of each version. The file has them all.
const SHOWN: usize = 8;

/// The finding, if there was anything. Only unknown types are a warning: new fields come with every release.
pub(super) fn examine(environment: &Environment) -> Option<Finding> {
    let check = Check::OUTPUT;
    let path = environment.dir.unknown();
    let seen = match unknown::last_week(&environment.dir, clock::now()) {
        Ok(seen) if seen.is_empty() => return None,
        Ok(seen) => seen,
        Err(error) => {
            return Some(
                check.warn(format!("cannot read {}: {error}", path.display()), Hint::OWNER_AND_MODE),
            );
        }
    };
    let found = format!("unknown in the last week: {}", list(&seen, &path));
    let has_types = seen.keys().any(|one| !one.is_field());
    Some(if has_types { check.warn(found, Hint::UPDATE_MURMUR) } else { check.ok(found) })
}

/// `claude 2.1.340: system/new (3 times), assistant.new; codex …`: types first, the most frequent at the beginning.
fn list(seen: &BTreeMap<UnknownOutput, u64>, file: &Path) -> String {
    let mut versions: BTreeMap<(&str, &str), Vec<(&UnknownOutput, u64)>> = BTreeMap::new();
    for (one, count) in seen {
        versions.entry((&one.backend, &one.version)).or_default().push((one, *count));
    }
    let version = |((backend, version), mut names): ((&str, &str), Vec<(&UnknownOutput, u64)>)| {
        names.sort_by_key(|(one, count)| (one.is_field(), std::cmp::Reverse(*count)));
        let name = |(one, count): &(&UnknownOutput, u64)| match count {
            1 => one.name.clone(),
            count => format!("{} ({count} times)", one.name),
        };
        let shown: Vec<String> = names.iter().take(SHOWN).map(name).collect();
        let more = names.len().saturating_sub(SHOWN);
        let more = if more == 0 { String::new() } else { format!(" and {more} more in {}", file.display()) };
        format!("{}: {}{more}", format!("{backend} {version}").trim_end(), shown.join(", "))
    };
    versions.into_iter().map(version).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_come_first_and_long_lists_are_cut() {
        let one = |backend: &str, version: &str, name: &str| UnknownOutput {
            backend: backend.into(),
            version: version.into(),
            name: name.into(),
        };
        let mut seen = BTreeMap::from([
            (one("claude", "2.1.340", "assistant.new"), 120),
            (one("claude", "2.1.340", "system/new"), 3),
            (one("codex", "", "item/completed/new"), 1),
        ]);
        let list = |seen: &BTreeMap<UnknownOutput, u64>| list(seen, Path::new("/m/unknown.json"));
        insta::assert_snapshot!(list(&seen), @"claude 2.1.340: system/new (3 times), assistant.new (120 times); codex: item/completed/new");
        seen.extend((0..10).map(|number| (one("codex", "", &format!("result.f{number}")), 1)));
        assert!(list(&seen).ends_with("result.f6 and 3 more in /m/unknown.json"), "{}", list(&seen));
    }
}
