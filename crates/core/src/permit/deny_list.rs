//! Builds the deny list that Claude Code gets as `--disallowedTools` (spec 0, Permissions). For other
//! backends, the hook applies it.
//!
//! A thin first layer: Claude Code matches it against the spelling of a command, not its meaning.

/// The key of the deny list in config.json and frontmatter.
pub const SETTING: &str = "permissions";

/// The built-in patterns, in the order of spec 0's table.
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

/// Returns the defaults followed by `own`, in order, without duplicates. Defaults can't be removed.
#[must_use]
pub fn build<'a>(own: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
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
    fn own_patterns_come_after_the_defaults_and_without_duplicates() {
        let patterns = build(["Bash(curl *)", "Bash(sudo *)", "Edit", "Bash(curl *)"]);
        assert_eq!(patterns[..12], DEFAULT);
        assert_eq!(patterns[12..], ["Bash(curl *)", "Edit"]);
    }
}
