//! Usage errors in murmur's words: `derun::cli::usage` with murmur's hints.

use super::complaint;
use clap::Command;
use std::ffi::OsString;
use sys::error::Failure;

/// Describes a usage error in `typed` (program name first) for the command `root`. Returns `None` for help and
/// version, which are not errors.
pub(super) fn describe(error: &clap::Error, root: &Command, typed: &[OsString]) -> Option<Failure> {
    derun::cli::usage::describe(error, root, typed, complaint::hint)
}

#[cfg(test)]
mod tests {
    use super::super::args;
    use super::*;

    /// Phrases of clap and humantime that must not reach a user.
    const STOCK: [&str; 12] = [
        "invalid value",
        "a value is required",
        "unexpected argument",
        "unrecognized",
        "required arguments were not",
        "cannot be used with",
        "expected number at",
        "time unit needed",
        "invalid digit",
        "invalid character",
        "cannot parse",
        "possible values",
    ];

    /// Every command with its full name.
    fn commands(command: &Command, words: &[String]) -> Vec<(Vec<String>, Command)> {
        let mut all = vec![(words.to_vec(), command.clone())];
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            all.extend(commands(below, &[words, &[below.get_name().to_owned()]].concat()));
        }
        all
    }

    fn wrong(words: &[String]) -> Option<Failure> {
        let typed: Vec<OsString> = words.iter().map(Into::into).collect();
        let error = args::command().try_get_matches_from(&typed).err()?;
        describe(&error, &args::full(), &typed)
    }

    #[test]
    fn every_option_has_its_own_error_message() {
        let root = args::full();
        let mut checked = 0;
        for (words, command) in commands(&root, &["murmur".to_owned()]) {
            for arg in
                command.get_arguments().filter(|arg| arg.get_action().takes_values() && !arg.is_positional())
            {
                let option = arg
                    .get_long()
                    .map_or_else(|| format!("-{}", arg.get_short().unwrap()), |long| format!("--{long}"));
                for value in [
                    None,
                    Some(""),
                    Some("-1"),
                    Some("abc!"),
                    Some("1 parsec"),
                    Some("99999999999999999999999"),
                ] {
                    let mut typed = words.clone();
                    typed.push(option.clone());
                    typed.extend(value.map(str::to_owned));
                    // Any text is valid for some options.
                    let Some(failure) = wrong(&typed) else { continue };
                    let (what, hint) = (failure.to_string(), failure.to_do().unwrap_or_default().to_owned());
                    checked += 1;
                    for stock in STOCK {
                        assert!(!what.contains(stock) && !hint.contains(stock), "{typed:?}: {what} / {hint}");
                    }
                    assert!(!what.contains("; "), "{typed:?}: {what}");
                    let help = format!("ee: {} --help", words.join(" "));
                    assert!(hint.contains(&help), "{typed:?}: {what} / {hint}");
                    let is_optional = arg.get_num_args().is_some_and(|values| values.min_values() == 0);
                    if value.is_none() && !is_optional {
                        assert_eq!(what, format!("{option} needs a value"), "{typed:?}");
                        assert!(hint.contains("rite "), "{typed:?}: {hint}");
                    }
                }
            }
        }
        assert!(checked > 100, "{checked}");
    }

    #[test]
    fn an_invalid_value_is_reported_with_an_example_and_help() {
        for (line, expected) in [
            (
                "murmur log -n -1",
                "-n \"-1\" is not a number of lines; write one such as 20, or all; see: murmur log --help",
            ),
            ("murmur log -n", "-n needs a value; write one such as 20; see: murmur log --help"),
            (
                "murmur start --tick abc",
                "--tick \"abc\" is not a time span; write one such as 10s, 5m or 1h30m; see: murmur start --help",
            ),
            (
                "murmur agent stop a --grace soon",
                "--grace \"soon\" is not a time span; write one such as 10s, 5m or 1h30m; see: murmur agent stop --help",
            ),
            (
                "murmur capture run --retention soon",
                "--retention \"soon\" is not a time span; write one such as 10s, 5m or 1h30m; see: murmur capture run --help",
            ),
            (
                "murmur capture run --retention 1500ms",
                "--retention must be whole seconds; write one such as 90s or 7d; see: murmur capture run --help",
            ),
            (
                "murmur capture run --retention 40000d",
                "--retention must be at most a hundred years; write at most 36500d; see: murmur capture run --help",
            ),
            (
                "murmur log --outcome eror",
                "--outcome \"eror\" is not a known value; did you mean \"error\"? Write ok, attention, error, limited, skipped or stopped; see: murmur log --help",
            ),
            (
                "murmur log site's",
                r#"extra argument "site's"; write --name 'site'\''s'; see: murmur log --help"#,
            ),
            ("murmur usage site", r#"extra argument "site"; see: murmur usage --help"#),
            (
                "murmur --data-dir x log --folow",
                "unknown option \"--folow\"; did you mean \"--follow\"? See: murmur log --help",
            ),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(wrong(&words).unwrap().line(), expected);
        }
    }
}
