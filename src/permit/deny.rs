//! The deny list: what every beat hands to Claude Code's `--disallowedTools` (spec 0, Permissions).
//!
//! It is a first layer, and a thin one: Claude Code matches it against spellings, not meanings.

/// The patterns every beat gets, in the order of spec 0's table.
pub const DEFAULT: [&str; 12] = [
    "Bash(rm -rf /)",
    "Bash(rm -rf /*)",
    "Bash(rm -rf ~)",
    "Bash(rm -rf ~/*)",
    "Bash(mkfs*)",
    "Bash(dd if=* of=/dev/*)",
    "Bash(shred *)",
    "Bash(sudo *)",
    "Bash(shutdown *)",
    "Bash(reboot*)",
    "Bash(halt*)",
    "Bash(poweroff*)",
];

/// The defaults followed by `own`, in order, each pattern once. There is no way to take a default out.
#[must_use]
pub fn union<'a>(own: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut patterns: Vec<&str> = DEFAULT.to_vec();
    for pattern in own {
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_patterns_come_after_the_defaults_and_duplicates_once() {
        let patterns = union(["Bash(curl *)", "Bash(sudo *)", "Edit", "Bash(curl *)"]);
        assert_eq!(patterns[..12], DEFAULT);
        assert_eq!(patterns[12..], ["Bash(curl *)", "Edit"]);
    }
}
